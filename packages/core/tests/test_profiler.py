"""`weft.profiler`: what ran, in what, how often, on which shapes; and nothing of it once it has ended."""

import gzip
import json
import threading

import numpy
import pytest

import weft
from weft._interception import profiling
from weft.backend import KernelBySize
from weft.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from weft.profiler._names import public_name
from weft.profiler._table import flops_column, formatted_memory, formatted_time


def names(prof):
    return [event.name for event in prof.events()]


def averages(prof, **options):
    return {average.key: average for average in prof.key_averages(**options)}


def test_ops_have_pytorchs_names_in_the_order_in_which_they_ran():
    a, b = weft.ones(2, 3), weft.ones(3, 4)
    with profile() as prof:
        (a @ b).exp().sum()
    assert names(prof) == ["aten::mm", "aten::exp", "aten::sum"]


def test_products_are_named_by_their_operands():
    vector, matrix, batch = weft.ones(3), weft.ones(3, 3), weft.ones(2, 3, 3)
    with profile() as prof:
        for left, right in ((vector, vector), (matrix, vector), (matrix, matrix), (batch, batch)):
            weft.matmul(left, right)
    assert names(prof) == ["aten::dot", "aten::mv", "aten::mm", "aten::bmm"]


def test_a_direct_write_in_place_has_its_underscore():
    x = weft.ones(3)
    with profile() as prof:
        x.mul_(weft.full((3,), 2.0))
        x[0]
        x[1:]
    assert names(prof) == ["aten::mul_", "aten::select", "aten::slice"]


def test_an_op_that_runs_first_inside_of_the_profile_is_seen():
    x = weft.ones(3, dtype=weft.float64)
    with profile() as prof:
        x.digamma()
        x.digamma()
    assert averages(prof)["aten::digamma"].count == 2


def test_third_parties_ops_keep_their_names():
    assert public_name("mine::op", ()) == "mine::op"


def test_steps_of_backward_hold_the_ops_that_they_run():
    x = weft.ones(3, requires_grad=True)
    with profile() as prof:
        (x * x).sum().backward()
    node = next(event for event in prof.events() if event.name == "MulBackward0")
    assert {child.name for child in node.cpu_children} == {"aten::mul"}
    assert all(child.cpu_parent is node for child in node.cpu_children)


def test_gradients_under_a_profile_are_those_without():
    x = weft.arange(3.0, requires_grad=True)
    with profile():
        loss = (x * x).exp().sum()
        loss.backward(retain_graph=True)
    expected = 2 * x.detach() * (x.detach() ** 2).exp()
    assert weft.allclose(x.grad, expected)
    (again,) = weft.autograd.grad(loss, x)  # its nodes were watched by a profiler that has ended
    assert weft.allclose(again, expected)


def test_ranges_lie_in_each_other():
    x = weft.ones(3)

    @record_function("inner")
    def inner():
        return x + 1

    with profile() as prof, record_function("outer"):
        inner()
    outer, inside, add = prof.events()
    assert (outer.name, inside.name, add.name) == ("outer", "inner", "aten::add")
    assert inside.cpu_parent is outer
    assert add.cpu_parent is inside


def test_a_parents_own_time_is_without_its_childrens():
    x = weft.ones(3)
    with profile() as prof, record_function("range"):
        x.exp()
        x.exp()
    whole = averages(prof)
    total, of_ops = whole["range"].cpu_time_total, whole["aten::exp"].cpu_time_total
    assert whole["range"].self_cpu_time_total == pytest.approx(total - of_ops)
    assert prof.events().self_cpu_time_total == pytest.approx(total)
    assert whole["aten::exp"].cpu_time == pytest.approx(of_ops / 2)


def test_a_recursive_range_counts_its_time_once():
    @record_function("again")
    def again(depth):
        if depth:
            again(depth - 1)

    with profile() as prof:
        again(2)
    outermost = prof.events()[0]
    average = averages(prof)["again"]
    assert average.count == 3
    assert average.cpu_time_total == outermost.cpu_time_total


def test_an_exception_ends_the_ranges_and_the_profile():
    with pytest.raises(ZeroDivisionError), profile() as prof, record_function("range"):
        raise ZeroDivisionError
    assert names(prof) == ["range"]
    assert profiling.recorder is None


def test_nothing_is_left_behind():
    x = weft.ones(3)
    x.exp()
    op = weft.exp.op
    before = list(op.kernels)
    with profile():
        assert op.kernels != before
    assert op.kernels == before
    assert not hasattr(x._key.accumulate, "watched")


def test_both_kernels_of_an_op_that_has_two_are_seen():
    kernels = weft.exp.op.kernels
    index = weft.ones(1).exp()._key.index
    before = kernels[index]
    small, large = numpy.exp, numpy.exp
    kernels[index] = KernelBySize(small, large, 10)
    try:
        with profile() as prof:
            for size in (3, 30):
                weft.ones(size).exp()
        assert kernels[index].small is small
    finally:
        kernels[index] = before
    assert names(prof) == ["aten::exp", "aten::exp"]


def test_a_second_profiler_is_refused_while_one_runs():
    with profile(), pytest.raises(RuntimeError, match="already enabled"), profile():
        pass
    with profile() as prof:
        weft.ones(1) + 1
    assert names(prof) == ["aten::add"]


def test_shapes_are_grouped():
    with profile(record_shapes=True) as prof:
        for size in (2, 2, 3):
            weft.ones(size, 2) @ weft.ones(2, 2)
    assert prof.events()[0].input_shapes == [[2, 2], [2, 2]]
    grouped = prof.key_averages(group_by_input_shape=True)
    assert [(each.input_shapes, each.count) for each in grouped] == [("[[2, 2], [2, 2]]", 2), ("[[3, 2], [2, 2]]", 1)]
    assert "Input Shapes" in grouped.table()
    assert "Input Shapes" not in prof.key_averages().table()


def test_memory_is_that_of_results_less_what_is_freed():
    x = weft.ones(1000)
    with profile(profile_memory=True) as prof:
        with record_function("kept"):
            y = x + 1
        with record_function("dropped"):
            (x + 1) * 2
        with record_function("views"):
            y[1:].view(-1, 3)
    found = averages(prof)
    assert found["kept"].cpu_memory_usage == 4000
    assert found["dropped"].cpu_memory_usage == 0
    assert found["views"].cpu_memory_usage == 0
    assert found["aten::add"].self_cpu_memory_usage == 8000
    assert "CPU Mem" in prof.key_averages().table()


def test_what_is_freed_beside_all_ranges_is_an_event_of_its_own():
    with profile(profile_memory=True) as prof:
        x = weft.ones(10) + 1
        del x
    assert [(event.name, event.cpu_memory_usage) for event in prof.events()] == [("aten::add", 40), ("[memory]", -40)]


def test_floating_point_operations_of_products():
    with profile(with_flops=True) as prof:
        weft.ones(2, 3) @ weft.ones(3, 4)
        weft.ones(2, 5) + 1
    found = averages(prof)
    assert found["aten::mm"].flops == 2 * 2 * 3 * 4
    assert found["aten::add"].flops == 10
    assert "Total FLOPs" in prof.key_averages().table()
    assert flops_column([2_500_000, 0]) == {"Total MFLOPs": ["2.500", "--"]}


def test_copies_of_arguments_that_do_not_lie_in_order_are_counted():
    x = weft.ones(40, 30)
    with profile() as prof:
        x.t().cumsum(-1)
        x.cumsum(-1)
    assert prof.copies == averages(prof)["aten::cumsum"].copies
    assert prof.copies == 1
    assert "Copies" in prof.key_averages().table()


def test_stacks_say_where_an_op_was_called(tmp_path):
    with profile(with_stack=True) as prof:
        weft.ones(3).exp()
    stack = prof.events()[0].stack
    assert stack[0].startswith(f"{__file__}(")
    assert stack[0].endswith("test_stacks_say_where_an_op_was_called")
    table = prof.key_averages(group_by_stack_n=1).table(max_src_column_width=40)
    assert "...".join(("", "")) in table
    assert "Source Location" in table
    prof.export_stacks(tmp_path / "stacks.txt", "self_cpu_time_total")
    (line,) = (tmp_path / "stacks.txt").read_text().splitlines()
    calls, microseconds = line.rsplit(" ", 1)
    assert calls.endswith("test_stacks_say_where_an_op_was_called;aten::exp")
    assert int(microseconds) > 0
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks.txt", "count")


def test_threads_are_told_apart():
    def work():
        with record_function("elsewhere"):
            weft.ones(3) + 1

    with profile() as prof, record_function("here"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    here, elsewhere, add = prof.events()
    assert (here.thread, elsewhere.thread, add.thread) == (1, 2, 2)
    assert elsewhere.cpu_parent is None
    assert add.cpu_parent is elsewhere


def test_a_table_is_sorted_cut_and_titled():
    x = weft.ones(3)
    with profile() as prof:
        x.exp()
        for _ in range(3):
            x.sin()
    rows = prof.key_averages().table(sort_by="count", row_limit=1, header="Steps")
    assert rows.splitlines()[1] == "Steps"
    assert "aten::sin" in rows
    assert "aten::exp" not in rows
    assert "Self CPU time total: " in rows
    assert str(prof.events()) == prof.events().table()
    with pytest.raises(AttributeError, match="no column 'speed'"):
        prof.key_averages().table(sort_by="speed")


def test_the_top_level_of_a_table():
    with profile() as prof, record_function("range"):
        weft.ones(3).exp()
    assert "aten::exp" not in prof.events().table(top_level_events_only=True)


def test_times_and_sizes_have_the_unit_that_suits_them():
    assert [formatted_time(us) for us in (0.5, 1500.0, 2_000_000.0)] == ["0.500us", "1.500ms", "2.000s"]
    assert formatted_time(1500.0, "us") == "1500.000us"
    assert [formatted_memory(size) for size in (-20, 2048, 3 << 20)] == ["-20 B", "2.00 KB", "3.00 MB"]


def test_a_trace_is_chromes_json(tmp_path):
    with profile(record_shapes=True) as prof, record_function("range"):
        weft.ones(2, 3).exp()
    prof.add_metadata("run", "first")
    prof.add_metadata_json("numbers", "[1, 2]")
    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert (trace["run"], trace["numbers"]) == ("first", [1, 2])
    outer, op = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert (outer["name"], outer["cat"]) == ("range", "user_annotation")
    assert (op["name"], op["cat"], op["args"]["Input Dims"]) == ("aten::exp", "cpu_op", [[2, 3]])
    assert outer["ts"] <= op["ts"]
    assert op["ts"] + op["dur"] <= outer["ts"] + outer["dur"] + 0.001
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    assert json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))["run"] == "first"


N, W, R, S = ProfilerAction


def test_a_schedule_waits_warms_up_and_records_in_cycles():
    action = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    assert [action(step) for step in range(11)] == [N, N, W, R, S, N, W, R, S, N, N]
    first = schedule(wait=2, warmup=1, active=1, skip_first_wait=1)
    assert [first(step) for step in range(6)] == [W, S, N, N, W, S]


def test_a_schedule_without_active_steps_is_refused():
    with pytest.raises(AssertionError, match="Invalid profiler schedule"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.warns(UserWarning, match="won't be using warmup"):
        schedule(wait=1, warmup=0, active=1)


def test_each_cycle_is_handed_over_with_its_steps_alone():
    found = []

    def ready(prof):
        found.append((prof.step_num, names(prof)))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof:
        for _ in range(8):
            weft.ones(3).exp()
            prof.step()
    steps = [["ProfilerStep#2", "aten::exp", "ProfilerStep#3", "aten::exp"]]
    steps += [["ProfilerStep#6", "aten::exp", "ProfilerStep#7", "aten::exp"]]
    assert found == [(4, steps[0]), (8, steps[1])]


def test_events_of_earlier_cycles_are_kept_if_asked_for():
    with profile(schedule=schedule(wait=0, warmup=1, active=1), acc_events=True) as prof:
        for _ in range(4):
            weft.ones(3).exp()
            prof.step()
    assert averages(prof)["aten::exp"].count == 2


def test_a_profiler_without_a_schedule_hands_over_at_its_end():
    found = []
    prof = profile(activities=[ProfilerActivity.CPU], on_trace_ready=found.append)
    prof.start()
    prof.step()
    assert found == []
    prof.stop()
    prof.stop()
    assert found == [prof]


def test_events_before_the_start_are_refused():
    with pytest.raises(AssertionError, match="must be initialized"):
        profile().events()


def test_the_handler_for_tensorboard_writes_a_file_of_its_own_for_each_cycle(tmp_path):
    for use_gzip in (False, True):
        with profile(on_trace_ready=tensorboard_trace_handler(tmp_path / "runs", "me", use_gzip)):
            weft.ones(3).exp()
    first, second = sorted((tmp_path / "runs").iterdir(), key=lambda path: path.suffix == ".gz")
    assert first.name.startswith("me.")
    assert first.name.endswith(".pt.trace.json")
    assert second.name.endswith(".pt.trace.json.gz")


def test_only_the_processor_is_recorded():
    assert supported_activities() == {ProfilerActivity.CPU}


def test_the_older_names_record_too():
    from weft.autograd import profiler

    with profiler.profile(enabled=False) as nothing:
        assert nothing is None
    x = weft.ones(3)
    with profiler.profile(record_shapes=True) as prof, profiler.record_function("range"):
        x.exp()
    assert [event.name for event in prof.function_events] == ["range", "aten::exp"]
    assert prof.key_averages(group_by_input_shape=True)[1].input_shapes == "[[3]]"
    assert prof.total_average().count == 2
    assert "aten::exp" in prof.table(sort_by="cpu_time_total")
    assert prof.self_cpu_time_total > 0
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()


def test_marks_for_other_tools_are_refused():
    from weft.autograd import profiler

    with profiler.emit_nvtx(enabled=False):
        pass
    with pytest.raises(RuntimeError, match="emit_nvtx"), profiler.emit_nvtx():
        pass


def test_a_range_wants_a_name():
    with pytest.raises(TypeError, match="record_function: name must be a str"):
        record_function(3)


def test_events_that_programs_make_are_sorted_into_each_other_and_summed_up():
    from weft.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg

    spans = [("outer", 1, 0, 4), ("f", 1, 1, 2), ("f", 1, 2, 4), ("f", 2, 0, 1)]
    events = EventList(FunctionEvent(number, *span) for number, span in enumerate(spans))
    events._populate_cpu_children()
    assert [sorted(child.id for child in event.cpu_children) for event in events] == [[1, 2], [], [], []]
    average = FunctionEventAvg()
    average.add(events[1]).add(events[3])
    assert (average.key, average.count, average.cpu_time_total, average.cpu_time) == ("f", 2, 2, 1)
