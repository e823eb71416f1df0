"""Streams and events: which stream work goes to, and what is ordered."""

import gc
import threading

import pytest

import weft

two_devices = pytest.mark.skipif("weft.cuda.device_count() < 2", reason="needs two CUDA devices")


@pytest.fixture(autouse=True)
def one_stream_after_all():
    """Tests after these begin in the default streams, and as if there had been no others."""
    yield
    from weft._devices import streams

    weft.cuda.set_device(0)
    for index in range(weft.cuda.device_count()):
        weft.cuda.set_stream(weft.cuda.default_stream(index))
    weft.cuda.set_device(0)
    streams.several.clear()


def order_of(log):
    return [event.what for event in log if event.kind == "order"]


def test_a_block_makes_its_stream_the_current_one():
    stream = weft.cuda.Stream()
    assert weft.cuda.current_stream() == weft.cuda.default_stream() != stream
    with weft.cuda.stream(stream):
        assert weft.cuda.current_stream() == stream
        with weft.cuda.stream(weft.cuda.default_stream()):
            assert weft.cuda.current_stream().cuda_stream == 0
        assert weft.cuda.current_stream() == stream
    assert weft.cuda.current_stream() == weft.cuda.default_stream()


def test_a_stream_is_a_block_itself_and_can_be_entered_twice():
    stream = weft.Stream(device="cuda")
    with stream, stream as entered:
        assert entered is stream and weft.accelerator.current_stream() == stream
    assert weft.cuda.current_stream() == weft.cuda.default_stream()
    assert isinstance(weft.cuda.current_stream(), weft.Stream)


def test_each_thread_has_its_current_stream():
    seen = []
    with weft.cuda.stream(weft.cuda.Stream()):
        thread = threading.Thread(target=lambda: seen.append(weft.cuda.current_stream().cuda_stream))
        thread.start()
        thread.join()
    assert seen == [0]


@two_devices
def test_a_stream_of_another_device_brings_its_device():
    stream = weft.cuda.Stream("cuda:1")
    assert stream.device == weft.device("cuda:1") and stream.device_index == 1
    with weft.cuda.stream(stream):
        assert weft.cuda.current_device() == 1 and weft.ones(1, device="cuda").device.index == 1
        assert weft.cuda.current_stream(0) == weft.cuda.default_stream(0)
    assert weft.cuda.current_device() == 0 and weft.cuda.current_stream(1) == weft.cuda.default_stream(1)


def test_streams_come_again_in_turn():
    """The pool keeps blocks for each stream that ever allocated: a stream a step would hold more and more."""
    streams = {weft.cuda.Stream() for _ in range(100)}
    assert len(streams) == 32


def test_a_stream_is_found_again_by_its_parts():
    stream = weft.cuda.Stream()
    again = weft.cuda.Stream(
        stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type
    )
    external = weft.cuda.ExternalStream(stream.cuda_stream)
    assert stream == again == external and len({stream, again, external}) == 1
    assert stream.__cuda_stream__() == (0, stream.cuda_stream)
    with weft.cuda.stream(external):
        assert weft.ones(2, device="cuda").sum().item() == 2
    assert "cuda_stream=0x" in repr(stream)


def test_priorities_are_negative_or_zero():
    assert weft.cuda.Stream(priority=-1).priority == -1
    assert weft.cuda.Stream(priority=3).priority == 0
    least, greatest = weft.cuda.Stream.priority_range()
    assert least == 0 > greatest


def test_events_mark_and_measure():
    start, end = weft.cuda.Event(enable_timing=True), weft.cuda.Event(enable_timing=True)
    assert start.query() and start.device is None and "uninitialized" in repr(start)
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    weft.ones(100, device="cuda").exp()
    end.record()
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 0 and start.device == weft.device("cuda:0")
    with pytest.raises(ValueError, match="enable_timing"):
        start.elapsed_time(weft.cuda.Event())


@two_devices
def test_an_event_stays_on_its_device():
    event = weft.cuda.Event()
    event.record(weft.cuda.current_stream(0))
    with pytest.raises(RuntimeError, match="does not match"):
        event.record(weft.cuda.current_stream(1))
    event.wait(weft.cuda.current_stream(1))  # to wait is another thing


def test_an_event_takes_streams_alone():
    with pytest.raises(TypeError, match="expected a Stream"):
        weft.cuda.Event().record(0)


def test_wait_stream_orders_by_an_event(on_stand_in):
    import cupy_stand_in

    stream = weft.cuda.Stream()
    with cupy_stand_in.record() as log:
        stream.wait_stream(weft.cuda.current_stream())
    recorded, waited = order_of(log)
    assert recorded.endswith("in stream 0") and waited.startswith(f"stream {stream.cuda_stream} after event")
    assert not [event for event in log if event.kind == "wait"]


def test_query_tells_whether_work_is_under_way(on_stand_in):
    from cupy_stand_in import cuda

    stream, event = weft.cuda.Stream(), weft.cuda.Event()
    event.record(stream)
    cuda.busy.add(stream.cuda_stream)
    assert not stream.query() and not event.query()
    stream.synchronize()
    assert stream.query() and event.query()


def test_backward_begins_after_all_streams_and_they_go_on_after_it(on_stand_in):
    import cupy_stand_in

    x = weft.ones(3, device="cuda", requires_grad=True)
    stream = weft.cuda.Stream()
    weft.cuda.set_stream(stream)
    (x * 1).sum().backward()  # after what other tests did
    x.grad = None
    weft.cuda.set_stream(weft.cuda.default_stream())
    with weft.cuda.stream(stream):
        y = (x * 2).sum()
    with cupy_stand_in.record() as log:
        y.backward()
    told = order_of(log)
    assert [each.partition(" after ")[0].split(" in ")[-1] for each in told] == [
        f"stream {stream.cuda_stream}",  # an event there
        "stream 0",  # waits for it
        "stream 0",  # an event at the end
        f"stream {stream.cuda_stream}",  # waits for that
    ]
    assert x.grad.tolist() == [2.0] * 3


def test_backward_in_one_stream_asks_nothing(on_stand_in):
    import cupy_stand_in

    x = weft.ones(3, device="cuda", requires_grad=True)
    y = (x * 2).sum()
    with cupy_stand_in.record() as log:
        y.backward()
    assert not order_of(log)


@two_devices
def test_copies_between_devices_are_ordered_in_both(on_stand_in):
    import cupy_stand_in

    x = weft.ones(3, device="cuda:0")
    with cupy_stand_in.record() as log:
        y = x.to("cuda:1")
    assert y.device.index == 1 and y.tolist() == [1.0] * 3
    assert len(order_of(log)) == 4
    assert weft.cuda.can_device_access_peer(0, 1)
    with pytest.raises(ValueError, match="Invalid device id"):
        weft.cuda.can_device_access_peer(0, 9)


def test_threads_with_streams_of_their_own_leave_no_memory_behind(on_stand_in):
    import random

    from cupy_stand_in import cuda

    gc.collect()  # what other tests left behind
    failed, before = [], weft.cuda.memory_allocated()

    def work(seed):
        chance = random.Random(seed)
        try:
            with weft.cuda.stream(weft.cuda.Stream()):
                for step in range(50):
                    x = weft.empty(chance.randrange(1, 5000), device="cuda")
                    x.record_stream(weft.cuda.default_stream())
                    (weft.ones(4, device="cuda", requires_grad=True) * 2).sum().backward()
                    (cuda.busy.add if step % 10 == 0 else cuda.busy.discard)(0)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    weft.cuda.synchronize()
    stats = weft.cuda.memory_stats()
    assert not failed and stats["allocated_bytes.all.current"] == before == stats["active_bytes.all.current"]
