"""The benchmarks run: each case once on weft, and their report. Nothing is timed here."""

import importlib
import json
import sys
from pathlib import Path

import pytest

import weft

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

contestants, report, rounds, run = map(importlib.import_module, ("contestants", "report", "rounds", "run"))

CASES = [
    (suite, case)
    for suite in ("overhead", "kernels", "training")
    for case in importlib.import_module(f"suites.{suite}").CASES
]


@pytest.mark.parametrize(("suite", "case"), CASES, ids=[": ".join(each) for each in CASES])
def test_a_case_runs(suite, case):
    importlib.import_module(f"suites.{suite}").CASES[case](weft)()


@pytest.fixture
def worker():
    made = contestants.Contestant("weft", "weft", 1)
    yield made
    made.close()


def test_a_worker_builds_times_and_forgets_a_case(worker):
    worker.ask("build", suite="overhead", case="exp")
    assert worker.ask("calibrate", seconds=0.001) >= 1
    assert worker.ask("turn", calls=1) > 0
    assert worker.ask("products", steps=1) == 0
    worker.forget()


def test_a_case_that_fails_is_a_note_and_the_worker_goes_on(worker):
    found = rounds.measure("overhead", "no such case", [worker], rounds.QUICK)
    assert found.ratio is None
    assert found.note == "weft: KeyError: 'no such case'"
    worker.ask("build", suite="overhead", case="exp")


def test_a_worker_that_ended_is_told(worker):
    worker.start().kill()
    with pytest.raises(contestants.Died, match="weft: the process ended with status"):
        worker.ask("describe")
    assert worker.ask("describe")["weft"] == weft.__version__  # by a new one


def test_workers_start_without_settings_that_favour_one(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    made = contestants.environment(2)
    assert "OPENBLAS_CORETYPE" not in made
    assert made["OMP_NUM_THREADS"] == made["NUMBA_NUM_THREADS"] == "2"


def test_ratios_are_of_speed_and_of_bytes():
    timed = rounds.compared("x", [1.0, 2.0, 1.0], [2.0, 2.0, 4.0])
    assert (timed.ratio, timed.taken, timed.other) == (2.0, 1.0, 2.0)
    assert rounds.compared("x", [10.0], [5.0], memory=True).ratio == 2.0
    timed.products, timed.other_products = 0.5, 0.75
    assert timed.rest_ratio == 1.0
    assert run.summary([timed, rounds.Measurement("y", 0.5)]) == "  geometric mean 1.00; least 0.50 (y)"


def test_a_recorded_run_is_in_the_tables_and_keeps_other_suites(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "HERE", tmp_path)
    monkeypatch.setattr(report, "plot", lambda results, path: None)
    (tmp_path / "README.md").write_text(f"before\n{report.BEGIN}old\n{report.END}after\n")
    found = {"name": "add", "ratio": 2.0, "low": 1.5, "high": 2.5, "taken": 0.25, "other": 5e-5}
    report.record({"overhead": {"machine": {"Python": "3.11", "compared with": "PyTorch"}, "cases": [found]}})
    report.record(
        {"kernels": {"machine": {"Python": "3.12", "compared with": "PyTorch"}, "cases": [found | {"name": "exp"}]}}
    )
    text = (tmp_path / "README.md").read_text()
    assert "| add | 2.00 | 1.50 to 2.50 | 250 ms | 50 us |" in text
    assert "| exp | 2.00" in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "Python 3.11; compared with PyTorch." in text
    assert "Python 3.12; compared with PyTorch." in text
    assert set(json.loads((tmp_path / "results.json").read_text())) == {"overhead", "kernels"}


def test_imports_are_of_fresh_processes_with_their_variables():
    processes = importlib.import_module("suites.processes")
    asks = "os, sys; assert os.environ['CHOSEN'] == 'yes' and 'weft' not in sys.modules"
    taken = processes.fresh_imports([("json", {}), (asks, {"CHOSEN": "yes"})], 2)
    assert [len(each) for each in taken] == [2, 2]
