"""``weft warm``: each of its workloads runs."""

import pytest

import weft
import weft.plugins
from weft._command import warm


@pytest.mark.parametrize("title", [*warm.WORK, *warm.OF_LAYERS])
def test_a_workload_runs_in_each_precision(title, capsys):
    work = (warm.WORK | warm.OF_LAYERS)[title]
    for dtype in (weft.float32, weft.bfloat16):
        assert warm.attempt(title, work, warm.Maker("cpu", dtype), weft.plugins.backend("cpu")), capsys.readouterr().out


def test_a_workload_that_fails_is_told_and_does_not_stop_the_others(capsys, monkeypatch):
    def broken(make):
        raise ValueError("not today\nnor tomorrow")

    ran = []
    monkeypatch.setattr(warm, "WORK", {"broken": broken, "whole": ran.append})
    monkeypatch.setattr(warm, "OF_LAYERS", {})
    parser = warm.argparse.ArgumentParser()
    warm.add_arguments(parser)
    assert warm.run(parser.parse_args(["--processes", "1"])) == 1
    printed = capsys.readouterr().out
    assert "failed: ValueError: not today\n" in printed
    assert "compiled kernels:" in printed
    assert len(ran) == 1
