"""How the programs of PyTorch's libraries print: so that the comparison sees numbers rather than their roundings."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).resolve().parent / "ecosystem" / "programs").glob("*.py"))
DIGITS = 4  # one unit of the last is a tenth of the tolerance, 1e-3, by which numbers are compared


def digits(node):
    """To how many digits an expression rounds a number; None if it does not round, or if that is not a constant."""
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        found = re.search(r"\.(\d+)", ast.unparse(node.format_spec))
        return int(found[1]) if found else None
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "round":
        given = node.args[1:]
    elif isinstance(node.func, ast.Attribute) and node.func.attr in ("round", "around"):
        given = node.args[-1:]
    else:
        return None
    given = [*given, *(each.value for each in node.keywords)]
    if not given:
        return 0
    return given[0].value if isinstance(given[0], ast.Constant) else None


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_no_printed_number_is_rounded_so_far_that_a_rounding_edge_exceeds_the_tolerance(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    rounded = [(node, digits(node)) for node in ast.walk(tree)]
    coarse = [node.lineno for node, number in rounded if number is not None and number < DIGITS]
    assert not coarse, f"lines {coarse} of {path.name} print fewer than {DIGITS} digits"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_names_the_version_of_each_library(path):
    (dependencies,) = re.findall(r"^# dependencies = (\[.*\])$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert all("==" in each for each in ast.literal_eval(dependencies)), dependencies


@pytest.fixture
def runner(monkeypatch):
    """The module that runs the programs."""
    pytest.importorskip("packaging")
    folder = PROGRAMS[0].parents[1]
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("ecosystem_run", folder / "run.py")  # "run" is the benchmarks' too
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_what_was_seen_is_not_run_again_but_for_other_sources_programs_and_versions(runner, tmp_path, monkeypatch):
    path = tmp_path / "numbers.py"
    path.write_text('# /// script\n# dependencies = ["numpy==2.0"]\n# ///\n')
    seen = runner.Program(path, "differs", "line 1", {"numpy": "2.0"})
    runner.Record(tmp_path / "record").add(seen)
    record, again = runner.Record(tmp_path / "record"), runner.Program(path)
    assert record.fill(again) and again.outcome == seen.outcome
    assert not runner.Record(None).fill(again)
    with monkeypatch.context() as changed:
        changed.setattr(runner, "brought", lambda requirements: ["numpy==2.1"])
        assert not record.fill(runner.Program(path))
    with monkeypatch.context() as changed:
        changed.setattr(runner, "sources", lambda: "0")
        assert not record.fill(runner.Program(path))
    path.write_text(path.read_text() + "print(1)\n")
    assert not record.fill(runner.Program(path))
