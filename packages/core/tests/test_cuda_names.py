"""What programs call of ``weft.cuda`` and ``weft.cpu`` whether or not there is a device."""

from importlib.util import find_spec

import pytest

import weft
import weft.cpu.amp
import weft.cuda.amp

without = pytest.mark.skipif(weft.cuda.is_available(), reason="is about a machine without a CUDA device")


@without
def test_without_a_device_memory_is_0_and_generators_are_none():
    weft.cuda.empty_cache()
    weft.cuda.ipc_collect()
    weft.cuda.reset_peak_memory_stats()
    weft.cuda.reset_max_memory_allocated()
    weft.cuda.seed()
    weft.cuda.seed_all()
    weft.cuda.set_rng_state_all(weft.cuda.get_rng_state_all())
    assert weft.cuda.memory_stats() == {} and weft.cuda.get_rng_state_all() == []
    assert weft.cuda.memory_allocated() == weft.cuda.max_memory_allocated() == 0
    assert weft.cuda.memory_reserved() == weft.cuda.max_memory_reserved() == 0
    assert not weft.cuda.is_bf16_supported()


@without
def test_without_a_device_a_generators_state_is_an_error():
    with pytest.raises(RuntimeError, match="device 'cuda'"):
        weft.cuda.get_rng_state()


def test_mixed_precision_by_its_older_names():
    with weft.cpu.amp.autocast():
        assert (weft.ones(2, 2) @ weft.ones(2, 2)).dtype is weft.bfloat16
    with weft.cuda.amp.autocast(enabled=False):
        assert (weft.ones(2, 2) @ weft.ones(2, 2)).dtype is weft.float32
    assert not weft.cuda.amp.GradScaler(enabled=False).is_enabled()
    assert isinstance(weft.cpu.amp.GradScaler(), weft.amp.GradScaler)


def test_work_on_the_cpu_is_done_at_once():
    event = weft.cpu.Event(enable_timing=True)
    event.record()
    event.synchronize()
    assert event.query()


def test_a_block_in_no_stream_is_a_plain_one():
    with weft.cuda.stream(None) as entered:
        assert entered is None


@pytest.mark.parametrize("kind", [weft.cuda.CUDAGraph, weft.cuda.graph])
def test_graphs_are_names_alone(kind):
    with pytest.raises(NotImplementedError, match="does not capture"):
        kind()


@without
@pytest.mark.parametrize(
    "call",
    [
        weft.cuda.Stream,
        weft.cuda.Event,
        weft.cuda.current_stream,
        weft.cuda.default_stream,
        weft.cuda.get_device_properties,
        weft.cuda.get_device_capability,
        weft.cuda.mem_get_info,
        weft.cuda.cudart,
    ],
)
def test_without_a_device_what_needs_one_says_what_is_missing(call):
    with pytest.raises(RuntimeError, match="device 'cuda'"):
        call()


@without
def test_without_a_device_questions_have_answers():
    assert weft.cuda.get_arch_list() == [] and weft.cuda.default_generators == ()
    assert not weft.cuda.is_current_stream_capturing() and not weft.cuda.is_tf32_supported()
    assert "memory summary" in weft.cuda.memory_summary()
    with weft.cuda.device_of(weft.ones(2)):
        pass
    assert not weft.ones(2).is_pinned()


@without
def test_without_an_accelerator_streams_and_events_are_the_cpus():
    stream, event = weft.Stream(), weft.Event(enable_timing=True)
    with stream as entered:
        event.record()
    assert entered is stream and stream.device == weft.device("cpu") and stream.query() and event.query()
    assert stream == weft.Stream(device="cpu") and len({stream, weft.Stream(device="cpu")}) == 1
    end = stream.record_event(weft.Event(enable_timing=True))
    assert 0 <= event.elapsed_time(end) < 1000
    with pytest.raises(ValueError, match="enable_timing"):
        weft.Event().elapsed_time(end)


@pytest.mark.skipif(find_spec("pynvml") is not None, reason="is about a machine without nvidia-ml-py")
def test_without_the_management_library_it_is_named():
    for call in (weft.cuda.utilization, weft.cuda.temperature, weft.cuda.power_draw, weft.cuda.memory_usage):
        with pytest.raises(ModuleNotFoundError, match="nvidia-ml-py"):
            call()
    assert "nvidia-ml-py" in weft.cuda.list_gpu_processes()
