"""What to send along with a report of a problem: the text that ``weft doctor`` prints.

python -m weft.utils.collect_env
"""

from __future__ import annotations

from weft._command.doctor import SECTIONS, guarded

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """Versions, backends, threads and optional parts of this installation, as lines of text."""
    lines = []
    for title, section in SECTIONS.items():
        lines.append(title)
        lines += [f"    {name:<18} {text}" for name, text in guarded(section)]
    return "\n".join(lines)


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
