"""What the READMEs say is true: their programs run, their commands, links and extras exist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("packages/*/README.md"))]
PAGES += sorted(ROOT.glob("examples/**/README.md")) + sorted(ROOT.glob("benchmarks/*.md"))


def name(page):
    return page.relative_to(ROOT).as_posix()


def programs():
    for page in PAGES:
        for match in re.finditer(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
            line = page.read_text()[: match.start()].count("\n") + 2
            yield pytest.param(page, line, match[1], id=f"{name(page)}:{line}")


@pytest.mark.parametrize(("page", "line", "code"), list(programs()))
def test_a_program_in_a_readme_runs_and_prints_what_it_says(page, line, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile("\n" * (line - 1) + code, str(page), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    for said in re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE):
        assert any(said in text for text in printed), (said, printed)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
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
