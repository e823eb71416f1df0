"""The number of cases at the end of a run, and all kernels compiled when they are first called."""

from typing import Any

from weft.backend_cpu import libraries

collect_ignore = ["arrangements.py", "calls.py", "kernels.py", "sizes.py", "trial.py"]
libraries.compile_at_once()  # else NumPy's would go on for a while


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Add up what the tests, in whichever process, say of their cases."""
    counts: dict[str, int] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for key, value in getattr(report, "user_properties", ()):
                if getattr(report, "when", "") == "call" and key.startswith("layouts: "):
                    counts[key] = counts.get(key, 0) + value
    for key in sorted(counts):
        terminalreporter.write_line(f"{key}: {counts[key]}")
