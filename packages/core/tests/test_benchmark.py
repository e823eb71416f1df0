"""Timers and tables: what is run and how the results are told, not how long anything takes."""

import math

import pytest

import weft
from weft.utils.benchmark import (
    Compare,
    Measurement,
    TaskSpec,
    Timer,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)


def measured(times, **task):
    return Measurement(1, list(times), TaskSpec(stmt=task.pop("stmt", "f(x)"), setup="pass", **task))


class Clock:
    """A clock of which each run of the statement takes a microsecond."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def tick(self):
        self.now += 1e-6


@pytest.fixture
def timer():
    clock = Clock()
    return Timer("tick()", globals={"tick": clock.tick}, timer=clock, label="clock")


def test_timeit_runs_as_often_as_it_is_told(timer):
    found = timer.timeit(1000)
    assert (found.number_per_run, len(found.raw_times)) == (1000, 1)
    assert math.isclose(found.median, 1e-6, rel_tol=1e-6)


def test_blocks_go_on_until_the_time_is_over(timer):
    blocks = []
    found = timer.blocked_autorange(lambda number, seconds: blocks.append((number, seconds)), min_run_time=0.01)
    assert sum(found.raw_times) >= 0.01
    assert blocks == [(found.number_per_run, seconds) for seconds in found.raw_times]
    assert not found.has_warnings


def test_times_that_do_not_spread_are_soon_enough(timer):
    found = timer.adaptive_autorange(min_run_time=0.001, max_run_time=1.0)
    assert len(found.raw_times) >= 4
    assert sum(found.raw_times) < 0.1
    assert math.isclose(found.mean, 1e-6, rel_tol=1e-6)


def test_statements_know_weft_and_the_number_of_threads():
    before = weft.get_num_threads()
    seen = []
    Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=1).timeit(2)
    assert set(seen) == {1}
    with set_torch_threads(1):
        assert weft.get_num_threads() == 1
    assert weft.get_num_threads() == before


@pytest.mark.parametrize("options", [{"language": "c++"}, {"global_setup": "#include <x>"}])
def test_statements_in_other_languages_are_refused(options):
    with pytest.raises(ValueError, match=r"C\+\+"):
        Timer("x", **options)


def test_what_pytorch_does_not_offer_either_says_what_to_use(timer):
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        timer.autorange()
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        timer.repeat()


def test_a_measurement_tells_its_quantiles_and_warns_of_spread():
    found = measured([1e-3, 1e-3, 2e-3, 4e-3, 4e-3], label="copy", sub_label="large", num_threads=2)
    assert (found.median, found.iqr, found.has_warnings) == (2e-3, 3e-3, True)
    assert (found.title, found.as_row_name, found.num_threads, found.stmt) == ("copy: large", "large", 2, "f(x)")
    text = repr(found)
    assert "  Median: 2.00 ms" in text
    assert "5 measurements, 1 run per measurement, 2 threads" in text
    assert "WARNING: the interquartile range is 150.0% of the median" in text


def test_only_certain_digits_are_significant():
    assert measured([1.0] * 10).significant_figures == 4
    assert measured([1.0, 1.5, 0.5, 2.0]).significant_figures == 1


def test_measurements_of_one_task_are_merged():
    (found,) = Measurement.merge([measured([1.0, 2.0]), measured([3.0])])
    assert found.times == [1.0, 2.0, 3.0]


def test_a_table_has_a_row_for_each_sub_label_and_a_column_for_each_description():
    table = Compare(
        [
            measured([2e-6], label="add", sub_label="small", description="weft"),
            measured([3e-6], label="add", sub_label="small", description="other"),
            measured([123.4e-6], label="add", sub_label="large", description="weft", num_threads=2),
        ]
    )
    table.colorize(rowwise=True)
    assert str(table).splitlines() == [
        "[---------- add -----------]",
        "            |  weft  | other",
        "1 threads: -----------------",
        "      small |   *2.0 |   3.0",
        "2 threads: -----------------",
        "      large | *123.4 |      ",
        "",
        "Times are in microseconds (us).",
    ]
    table.trim_significant_figures()
    table.extend_results([measured([1.0], label="mul")])
    assert "Times are in seconds (s)." in str(table)
    assert " *123 |" in str(table)


def test_units_and_digits():
    assert [select_unit(t)[0] for t in (2.0, 2e-3, 2e-6, 2e-9, 1e-12)] == ["s", "ms", "us", "ns", "ns"]
    assert unit_to_english("us") == "microseconds"
    assert [trim_sigfig(1234.5, n) for n in (1, 2)] == [1000.0, 1200.0]
    assert trim_sigfig(0.0, 3) == 0.0
    assert ordered_unique("abca") == ["a", "b", "c"]
