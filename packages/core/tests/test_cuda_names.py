"""What programs call of ``weft.cuda`` and ``weft.cpu`` whether or not there is a device."""

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


def test_streams_are_names_alone():
    """Diffusers and transformers have them in annotations; a block in no stream is a plain one."""
    for kind in (weft.cuda.Stream, weft.cuda.Event, weft.cuda.CUDAGraph, weft.cuda.graph, weft.Stream):
        with pytest.raises(NotImplementedError, match="in one stream"):
            kind()
    with weft.cuda.stream(None) as entered:
        assert entered is None
    with pytest.raises(NotImplementedError):
        weft.cuda.current_stream()
