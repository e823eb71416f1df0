"""Memory: what is counted, what is held back for other streams, what is refused, and page-locked memory."""

import gc

import pytest

import weft
from weft import OutOfMemoryError

MIB = 1 << 20


@pytest.fixture
def counted():
    gc.collect()
    weft.cuda.empty_cache()
    weft.cuda.reset_peak_memory_stats()
    return weft.cuda.memory_allocated()


def test_what_tensors_take_is_counted(counted):
    x = weft.empty(MIB, dtype=weft.uint8, device="cuda")
    view = x[10:]
    assert weft.cuda.memory_allocated() - counted == MIB
    del x
    assert weft.cuda.memory_allocated() - counted == MIB  # the view has it still
    del view
    assert weft.cuda.memory_allocated() == counted
    assert weft.cuda.max_memory_allocated() - counted == MIB
    assert weft.cuda.memory_reserved() >= MIB
    weft.cuda.reset_peak_memory_stats()
    assert weft.cuda.max_memory_allocated() == counted
    weft.cuda.empty_cache()
    assert weft.cuda.memory_reserved() < MIB + counted


def test_statistics_are_nested_and_accelerators_too(counted):
    x = weft.empty(1000, dtype=weft.uint8, device="cuda")
    stats = weft.cuda.memory_stats()
    nested = weft.cuda.memory_stats_as_nested_dict()
    assert stats["allocated_bytes.all.current"] == nested["allocated_bytes"]["all"]["current"] == counted + 1024
    assert stats["requested_bytes.all.current"] <= stats["allocated_bytes.all.current"]
    assert weft.accelerator.memory_allocated() == weft.cuda.memory_allocated() > 0
    assert weft.accelerator.get_memory_info() == weft.cuda.mem_get_info()
    assert stats["allocation.all.allocated"] - stats["allocation.all.freed"] == stats["allocation.all.current"]
    weft.cuda.reset_accumulated_memory_stats()
    assert weft.cuda.memory_stats()["allocation.all.allocated"] == 0
    assert "Allocated memory" in weft.cuda.memory_summary()
    del x
    with pytest.raises(NotImplementedError, match="memory_stats"):
        weft.cuda.memory_snapshot()


def test_training_holds_no_more_from_step_to_step(counted):
    weight = weft.randn(64, 64, device="cuda", requires_grad=True)

    def step():
        loss = (weft.ones(8, 64, device="cuda") @ weight).relu().sum()
        loss.backward()
        weight.grad = None

    gc.disable()
    try:
        step()
        before = weft.cuda.memory_allocated()
        for _ in range(50):
            step()
        assert weft.cuda.memory_allocated() == before
    finally:
        gc.enable()


def test_too_large_an_allocation_says_what_is_held_and_free():
    with pytest.raises(OutOfMemoryError) as refused:
        weft.empty(1 << 45, dtype=weft.uint8, device="cuda")
    message = str(refused.value)
    for words in ("Tried to allocate 32.00 TiB", "GPU 0 has a total capacity of", "is free", "is allocated by tensors"):
        assert words in message
    assert type(refused.value).__name__ == "OutOfMemoryError" and isinstance(refused.value, MemoryError)
    assert weft.cuda.memory_stats()["num_ooms"] >= 1
    assert weft.ones(2, device="cuda").sum().item() == 2  # the device goes on


def test_an_op_that_runs_out_of_memory_says_so_too(limited):
    x = weft.ones(MIB // 4, device="cuda")
    with pytest.raises(OutOfMemoryError, match=r"set_per_process_memory_fraction"):
        kept = [x + 1 for _ in range(100)]
        del kept


@pytest.fixture
def limited():
    """This process may have 20 MiB more than it has."""
    gc.collect()
    weft.cuda.empty_cache()
    total = weft.cuda.mem_get_info()[1]
    weft.cuda.set_per_process_memory_fraction((weft.cuda.memory_reserved() + 20 * MIB) / total)
    yield
    weft.cuda.set_per_process_memory_fraction(1.0)


def test_what_the_pool_holds_for_others_is_given_back_before_memory_is_out(limited):
    assert weft.cuda.get_per_process_memory_fraction() < 1
    for size in (10, 12, 14, 16):  # together more than there may be
        weft.empty(size * MIB, dtype=weft.uint8, device="cuda")
    assert weft.cuda.memory_stats()["num_alloc_retries"] >= 1


@pytest.mark.parametrize("fraction", [-0.5, 1.5])
def test_a_fraction_is_from_0_to_1(fraction):
    with pytest.raises(ValueError, match="Allowed range"):
        weft.cuda.set_per_process_memory_fraction(fraction)
    with pytest.raises(TypeError, match="float"):
        weft.cuda.set_per_process_memory_fraction(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: weft.empty(2**62, device="cuda"),
        lambda: weft.zeros(2**33, 2**31, device="cuda"),
        lambda: weft.ones(1, device="cuda").expand(2**33, 2**31),
        lambda: weft.ones(1, device="cuda").repeat(2**33, 2**31),
        lambda: weft.full((2**32, 2**32), 1.0, device="cuda"),
        lambda: weft.ones(1, device="cuda").expand(2**62).clone(),
    ],
)
def test_sizes_whose_product_overflows_are_refused(call):
    """CuPy multiplies in 64 bits: the product would wrap around to a small buffer."""
    with pytest.raises(RuntimeError):
        call()


def test_memory_that_another_stream_uses_is_not_handed_out(on_stand_in):
    from cupy_stand_in import cuda

    stream = weft.cuda.Stream()
    x = weft.empty(MIB, dtype=weft.uint8, device="cuda")
    address = x._array.data.mem.ptr
    x.record_stream(stream)
    cuda.busy.add(stream.cuda_stream)
    before = weft.cuda.memory_stats()["active_bytes.all.current"]
    del x
    stats = weft.cuda.memory_stats()
    assert stats["active_bytes.all.current"] == before > stats["allocated_bytes.all.current"]
    other = weft.empty(MIB, dtype=weft.uint8, device="cuda")
    assert other._array.data.mem.ptr != address
    stream.synchronize()
    again = weft.empty(MIB, dtype=weft.uint8, device="cuda")
    assert again._array.data.mem.ptr == address


def test_memory_that_no_other_stream_uses_is_handed_out_at_once(on_stand_in):
    x = weft.empty(MIB, dtype=weft.uint8, device="cuda")
    address = x._array.data.mem.ptr
    del x
    assert weft.empty(MIB, dtype=weft.uint8, device="cuda")._array.data.mem.ptr == address
    with weft.cuda.stream(weft.cuda.Stream()):
        assert weft.empty(MIB, dtype=weft.uint8, device="cuda")._array.data.mem.ptr != address


def test_memory_that_waits_for_streams_is_waited_for_before_it_is_out(on_stand_in, limited):
    from cupy_stand_in import cuda

    stream = weft.cuda.Stream()
    x = weft.empty(16 * MIB, dtype=weft.uint8, device="cuda")
    x.record_stream(stream)
    cuda.busy.add(stream.cuda_stream)
    del x
    weft.empty(16 * MIB, dtype=weft.uint8, device="cuda")
    assert stream.query()


def test_record_stream_takes_streams_of_tensors_on_a_device():
    x = weft.ones(2, device="cuda")
    with pytest.raises(TypeError, match="must be Stream"):
        x.record_stream(0)
    x[1:].record_stream(weft.cuda.Stream())
    x.record_stream(weft.cuda.current_stream())


def test_other_libraries_get_memory_and_give_it_back(counted):
    address = weft.cuda.caching_allocator_alloc(1000)
    assert address and weft.cuda.memory_allocated() == counted + 1024
    weft.cuda.caching_allocator_delete(address)
    assert weft.cuda.memory_allocated() == counted
    with pytest.raises(RuntimeError, match="was not given"):
        weft.cuda.caching_allocator_delete(address)
    with pytest.raises(TypeError, match="stream argument"):
        weft.cuda.caching_allocator_alloc(1, stream="0")


def test_without_the_pool_memory_goes_back_to_the_device(counted):
    with weft.cuda.memory.caching_allocator_disabled():
        free = weft.cuda.mem_get_info()[0]
        x = weft.empty(8 * MIB, dtype=weft.uint8, device="cuda")
        assert weft.cuda.mem_get_info()[0] <= free - 8 * MIB
        del x
        assert weft.cuda.mem_get_info()[0] == free


# Page-locked memory


def test_pinned_tensors_are_equal_and_stay():
    x = weft.arange(6.0).reshape(2, 3)
    pinned = x.t().pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and weft.equal(pinned, x.t())
    assert pinned.pin_memory() is pinned and pinned[1:].is_pinned()
    assert weft.empty(0).pin_memory().shape == (0,)
    image = weft.ones(2, 3, 4, 5).to(memory_format=weft.channels_last)
    assert image.pin_memory().stride() == image.stride()
    assert x.untyped_storage().pin_memory().is_pinned() and not x.untyped_storage().is_pinned()
    with pytest.raises(RuntimeError, match="only those on the CPU"):
        x.cuda().pin_memory()


@pytest.mark.parametrize(
    "make",
    [
        lambda: weft.empty(2, 3, pin_memory=True),
        lambda: weft.zeros(2, 3, pin_memory=True),
        lambda: weft.full((2, 3), 1.0, pin_memory=True),
        lambda: weft.zeros_like(weft.ones(2, 3), pin_memory=True),
        lambda: weft.ones(2).new_empty(2, 3, pin_memory=True),
        lambda: weft.empty_strided((2, 3), (1, 2), pin_memory=True),
        lambda: weft.arange(6, pin_memory=True),
        lambda: weft.randn(2, 3, pin_memory=True, requires_grad=True),
        lambda: weft.tensor([1.0, 2.0], pin_memory=True, requires_grad=True),
    ],
)
def test_new_tensors_can_be_pinned(make):
    made = make()
    assert made.is_pinned() and made.is_leaf and made.device.type == "cpu"


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16, weft.int64, weft.bool])
def test_copies_from_and_to_pinned_memory_do_not_wait(on_stand_in, dtype):
    import cupy_stand_in

    x = weft.tensor([0, 1, 2]).to(dtype).pin_memory()
    with cupy_stand_in.record() as log:
        there = x.to("cuda", non_blocking=True)
        back = there.to("cpu", non_blocking=True)
        x.copy_(there, non_blocking=True)
    assert not [event for event in log if event.kind == "wait"]
    weft.cuda.synchronize()
    assert back.is_pinned() and weft.equal(back, x)


def test_copies_that_may_wait_do(on_stand_in):
    """A pinned source that is written to after the call must have been read."""
    import cupy_stand_in

    x = weft.ones(3).pin_memory()
    with cupy_stand_in.record() as log:
        there = x.cuda()
        there.to("cpu", weft.float64, non_blocking=True)  # converted there, and so needed
        weft.zeros(3).copy_(there, non_blocking=True)  # into memory that is not page-locked
    assert len([event for event in log if event.kind == "wait"]) == 3


def test_what_a_copy_reads_or_writes_is_kept_until_it_is_done(on_stand_in):
    from cupy_stand_in import cuda

    stream = weft.cuda.Stream()
    with weft.cuda.stream(stream):
        x = weft.ones(1000, device="cuda")
        target = x.to("cpu", non_blocking=True)
    address = target.data_ptr()
    cuda.busy.add(stream.cuda_stream)
    del target
    assert address in cuda.pinned
    stream.synchronize()
    weft.cuda.empty_cache()
    assert address not in cuda.pinned


class Batch(dict):
    """A batch of a class that has values besides its entries."""


class Custom:
    """A batch that pins itself."""

    def __init__(self, values):
        self.values, self.is_pinned = values, False

    def pin_memory(self):
        self.is_pinned = True
        return self


def test_a_loader_pins_its_batches():
    from weft.utils.data import DataLoader, TensorDataset

    data = TensorDataset(weft.arange(6.0).reshape(6, 1), weft.arange(6))
    for x, y in DataLoader(data, batch_size=3, pin_memory=True):
        assert x.is_pinned() and y.is_pinned() and weft.equal(x.reshape(3).long(), y)
        assert weft.equal(x.cuda(non_blocking=True).cpu(), x)
    for batch in DataLoader([{"x": 1.0, "name": "a"}], pin_memory=True, collate_fn=lambda found: Batch(*found)):
        assert type(batch) is Batch and batch["name"] == "a"
    for batch in DataLoader([1, 2], batch_size=2, pin_memory=True, collate_fn=Custom):
        assert batch.is_pinned
