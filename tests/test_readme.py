"""What the READMEs say is true: their programs run, their commands, links and extras exist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    page
    for pattern in ("*.md", "docs/**/*.md", "packages/**/*.md", "examples/**/*.md", "benchmarks/*.md", "tests/**/*.md")
    for page in sorted(ROOT.glob(pattern))
]


def name(page):
    return page.relative_to(ROOT).as_posix()


def programs(page):
    """The page's Python, on the lines on which it stands there."""
    text, code = page.read_text(), ""
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        code += "\n" * (text[: match.start(1)].count("\n") - code.count("\n")) + match[1]
    return code


@pytest.mark.parametrize("page", [page for page in PAGES if programs(page)], ids=name)
def test_the_programs_of_a_page_run_and_print_what_they_say(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(programs(page), str(page), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    for said in re.findall(r"^print\(.*\)  # (.*)$", programs(page), re.MULTILINE):
        assert any(said in line for line in printed), (said, printed)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)  # functions[0](x) is no link
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_commands_and_extras_of_the_pages_exist():
    text = "\n".join(page.read_text() for page in PAGES)
    commands = set(re.findall(r'^@command\("(\w+)', (ROOT / "dev").read_text(), re.MULTILINE))
    assert set(re.findall(r"\./dev ([a-z]+)", text)) <= commands
    for project in [ROOT, *sorted((ROOT / "packages").iterdir())]:
        table = tomllib.loads((project / "pyproject.toml").read_text())["project"]
        named = set(re.findall(rf"{table['name']}\[(\w+)\]", text))
        assert named <= set(table.get("optional-dependencies", {})), (table["name"], named)


def test_the_readme_lists_every_package():
    assert {name(page.parent) for page in ROOT.glob("packages/*/README.md")} <= set(
        re.findall(r"^\| \[(packages/[\w-]+)\]", (ROOT / "README.md").read_text(), re.MULTILINE)
    )
