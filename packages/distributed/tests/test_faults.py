"""Ranks that are killed, raise, sleep or call something else: all end in time, with the error that says it.

These are the first cases of `faults/harness.py`, which runs as many as it is told to.
"""

import importlib.util
import os
import pathlib

import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="it looks for what is left in /proc")

END_SECONDS = 20  # 5 of them on a machine that nobody else loads


def load_harness():
    path = pathlib.Path(__file__).with_name("faults") / "harness.py"
    spec = importlib.util.spec_from_file_location("faults_harness", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


harness = load_harness()


@pytest.mark.parametrize("fault", harness.FAULTS)
@pytest.mark.parametrize("way", harness.WAYS, ids="/".join)
def test_a_faulty_rank_ends_all_in_time_with_the_error_that_says_it(way, fault):
    if way not in harness.available():
        pytest.skip("MPI is not installed")
    case = harness.make_case(harness.FAULTS.index(fault), [way])
    assert harness.run(case, END_SECONDS) == []
