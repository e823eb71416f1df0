"""Positions out of range are refused on a device: in the call, or when the host next waits; the next call works."""

import pytest

import weft
import weft.nn.functional as F

WRONG = [1, 7]  # of rows in which 7 is out of range


def rows(device, *shape):
    """A tensor in the middle of one that has zeros around it, and those."""
    guard = weft.zeros(shape[0] + 4, *shape[1:], device=device)
    inside = guard[2:-2]
    inside.copy_(weft.arange(inside.numel(), device=device).reshape(shape) + 1)
    return inside, guard


def at(device, *shape, values=WRONG):
    found = weft.tensor(values, device=device)
    return found.reshape(shape) if shape else found


def grown(x, index):
    """Positions along dim 0 for all columns."""
    return index.reshape(-1, 1).expand(-1, x.shape[1])


READS = {
    "index": lambda x, i: x[i],
    "index of two": lambda x, i: x[i % 3, i],
    "index after a slice": lambda x, i: x[:, i],
    "index negative": lambda x, i: x[-i],
    "take": lambda x, i: x.take(i * 10),
    "take_along_dim": lambda x, i: x.take_along_dim(grown(x, i), 0),
    "gather": lambda x, i: x.gather(0, grown(x, i)),
    "index_select": lambda x, i: x.index_select(0, i),
    "index_select along dim 1": lambda x, i: x.index_select(1, i),
    "embedding": lambda x, i: F.embedding(i, x),
    "embedding with max_norm": lambda x, i: F.embedding(i, x.clone(), max_norm=1.0),
    "embedding_bag": lambda x, i: F.embedding_bag(i, x, i[:1] * 0),
    "embedding_bag max": lambda x, i: F.embedding_bag(i, x, i[:1] * 0, mode="max"),
    "nll_loss": lambda x, i: F.nll_loss(x[:2], i),
    "nll_loss 2d": lambda x, i: F.nll_loss(x[:2].reshape(1, 4, 2), i.reshape(1, 2)),
    "cross_entropy": lambda x, i: F.cross_entropy(x[:2], i),
    "cross_entropy weighted": lambda x, i: F.cross_entropy(x[:2], i, weight=x[0], label_smoothing=0.1),
    "multi_margin_loss": lambda x, i: F.multi_margin_loss(x[:2], i),
    "multilabel_margin_loss": lambda x, i: F.multilabel_margin_loss(x[:2, :2], i.expand(2, 2)),
    "ctc_loss": lambda x, i: F.ctc_loss(x.log_softmax(1).unsqueeze(1), i.unsqueeze(0), (3,), (2,)),
    "ctc_loss lengths": lambda x, i: F.ctc_loss(x.log_softmax(1).unsqueeze(1), i.unsqueeze(0), i[1:] % 4, i[:1] * 2),
    "max_unpool1d": lambda x, i: F.max_unpool1d(x[:1, :2], i.reshape(1, 2), 2),
    "max_unpool2d": lambda x, i: F.max_unpool2d(x[:1, :2].reshape(1, 1, 1, 2), i.reshape(1, 1, 1, 2), (1, 2)),
    "max_unpool3d": lambda x, i: F.max_unpool3d(x[:1, :2].reshape(1, 1, 1, 1, 2), i.reshape(1, 1, 1, 1, 2), (1, 1, 2)),
    "unravel_index": lambda x, i: weft.unravel_index(i, (2, 2)),
    "one_hot": lambda x, i: F.one_hot(i, 3),
    "one_hot negative": lambda x, i: F.one_hot(-i, 3),
    "bincount": lambda x, i: (-i).bincount(),
    "searchsorted": lambda x, i: weft.searchsorted(x[0, :2], x[0, :2], sorter=i),
    "gradient of index": lambda x, i: weft.autograd.grad(x.requires_grad_()[i].sum(), x),
    "scatter": lambda x, i: x.scatter(0, grown(x, i), x),
    "scatter number": lambda x, i: x.scatter(0, grown(x, i), 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, grown(x, i), x),
    "scatter multiply": lambda x, i: x.scatter(0, grown(x, i), 2.0, reduce="multiply"),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, grown(x, i), x, "amax"),
    "index_add": lambda x, i: x.index_add(0, i, x[:2]),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:2]),
    "index_fill": lambda x, i: x.index_fill(0, i, 1.0),
    "index_reduce": lambda x, i: x.index_reduce(0, i, x[:2], "prod"),
    "index_put": lambda x, i: x.index_put((i,), x[:2]),
    "repeat_interleave": lambda x, i: weft.repeat_interleave(x[:2], i, output_size=2, dim=0),
    "masked_scatter": lambda x, i: x.masked_scatter(x > 0, x[0]),
    "sparse_coo_tensor": lambda x, i: weft.sparse_coo_tensor(i.reshape(1, 2), x[:2], (3, 4)),
}

WRITES = {
    "setitem": lambda x, i: x.__setitem__(i, x[:2] * 2),
    "setitem number": lambda x, i: x.__setitem__(i, 5.0),
    "setitem of two": lambda x, i: x.__setitem__((i % 3, i), 5.0),
    "index_put_": lambda x, i: x.index_put_((i,), x[:2] * 2),
    "index_put_ accumulate": lambda x, i: x.index_put_((i,), x[:2] * 2, accumulate=True),
    "put_": lambda x, i: x.put_(i * 10, x[0, :2] * 2),
    "put_ accumulate": lambda x, i: x.put_(i * 10, x[0, :2] * 2, accumulate=True),
    "scatter_": lambda x, i: x.scatter_(0, grown(x, i), x * 2),
    "scatter_ number": lambda x, i: x.scatter_(0, grown(x, i), 5.0),
    "scatter_add_": lambda x, i: x.scatter_add_(0, grown(x, i), x * 2),
    "scatter_reduce_": lambda x, i: x.scatter_reduce_(0, grown(x, i), x * 2, "prod"),
    "index_add_": lambda x, i: x.index_add_(0, i, x[:2] * 2),
    "index_copy_": lambda x, i: x.index_copy_(0, i, x[:2] * 2),
    "index_fill_": lambda x, i: x.index_fill_(0, i, 5.0),
    "index_reduce_": lambda x, i: x.index_reduce_(0, i, x[:2] * 2, "mean"),
    "embedding with max_norm": lambda x, i: F.embedding(i, x, max_norm=1.0),
}


@pytest.fixture(params=["now", "later"])
def checks(request):
    weft.cuda.set_index_checks(request.param)
    yield request.param
    weft.cuda.set_index_checks("later")


WAITING = {"bincount"}  # of which the size of a result is read


def refuse(name, x, checks):
    """Have the device refuse a call: now, as the CPU does, or when it is waited for."""
    call = READS.get(name) or WRITES[name]
    with pytest.raises(Exception) as here:
        call(rows("cpu", 3, 4)[0], at("cpu"))
    index = at("cuda")
    if checks == "now":
        with pytest.raises(type(here.value)):
            call(x, index)
    elif name in WAITING:
        with pytest.raises((weft.AcceleratorError, type(here.value))):
            call(x, index)
    else:
        call(x, index)
        with pytest.raises(weft.AcceleratorError, match="asserted on the device"):
            weft.cuda.synchronize()


pytestmark = pytest.mark.filterwarnings("ignore:index_reduce")


@pytest.mark.parametrize("name", READS)
def test_reading_at_a_position_out_of_range_is_refused_and_the_next_call_works(name, checks):
    x, guard = rows("cuda", 3, 4)
    refuse(name, x, checks)
    assert (guard.cpu() == rows("cpu", 3, 4)[1]).all()
    assert x[at("cuda", values=[1, 2])].cpu().tolist() == [[5, 6, 7, 8], [9, 10, 11, 12]]


@pytest.mark.parametrize("name", WRITES)
def test_writing_at_a_position_out_of_range_is_refused_and_nothing_outside_is_written(name, checks):
    x, guard = rows("cuda", 3, 4)
    refuse(name, x, checks)
    around = guard.cpu()
    assert not around[:2].any()
    assert not around[-2:].any()
    if checks == "now":
        assert (around == rows("cpu", 3, 4)[1]).all()
    assert (x + 1).cpu().shape == (3, 4)


@pytest.mark.parametrize("name", [each for each in (*READS, *WRITES) if each != "bincount"])
def test_without_checks_positions_wrap_around_and_write_nothing_outside(name):
    weft.cuda.set_index_checks("never")
    try:
        x, guard = rows("cuda", 3, 4)
        (READS.get(name) or WRITES[name])(x, at("cuda"))
        around = guard.cpu()
    finally:
        weft.cuda.set_index_checks("later")
    assert not around[:2].any()
    assert not around[-2:].any()


def test_the_error_that_comes_later_names_the_op_the_dim_and_the_size():
    x, _ = rows("cuda", 3, 4)
    y = x.gather(1, at("cuda", 1, 2))
    with pytest.raises(weft.AcceleratorError, match=r"gather: index 7 is out of bounds for dimension 1 with size 4"):
        y.cpu()
    assert y.cpu().shape == (1, 2)  # it is told once


@pytest.mark.parametrize("read", ["item", "tolist", "cpu", "numpy of the copy", "bool", "print"])
def test_every_way_to_the_host_looks(read):
    x, _ = rows("cuda", 3, 4)
    x.index_select(0, at("cuda"))
    ways = {"item": lambda: x[0, 0].item(), "tolist": x.tolist, "cpu": x.cpu, "bool": lambda: bool(x[0, 0])}
    ways |= {"print": lambda: str(x), "numpy of the copy": lambda: x.cpu().numpy()}
    with pytest.raises(weft.AcceleratorError, match="index_select"):
        ways[read]()


def test_positions_of_the_host_are_checked_in_the_call():
    x, _ = rows("cuda", 3, 4)
    for index in ([1, 7], [-4], weft.tensor([1, 7]), weft.tensor(7), 7, (0, [1, 9]), weft.tensor([[1, 7]]).numpy()):
        with pytest.raises(IndexError, match=r"out of (bounds|range)"):
            x[index]
        with pytest.raises(IndexError, match=r"out of (bounds|range)"):
            x[index] = 1.0
    weft.cuda.synchronize()


@pytest.mark.parametrize("index", [([], [0]), ([7], []), ([7], [[]]), (slice(None), [])], ids=str)
@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (2, 3)])
def test_where_one_of_several_positions_is_empty_none_is_read(shape, index, checks):
    there = tuple(weft.tensor(each, dtype=weft.int64, device="cuda") if type(each) is list else each for each in index)
    for given in (index, there):
        x, here = weft.zeros(shape, device="cuda"), weft.zeros(shape)
        assert x[given].shape == here[index].shape
        x[given] = 1.0
        assert x.cpu().equal(here)
    weft.cuda.synchronize()


def test_good_positions_are_no_error_however_many_kinds_there_are():
    x = weft.arange(700.0, device="cuda")
    for size in range(300, 700):
        x[:size].index_select(0, weft.tensor([size - 1], device="cuda"))
    x[:5].index_select(0, weft.tensor([5], device="cuda"))
    with pytest.raises(weft.AcceleratorError, match="size 5"):
        weft.cuda.synchronize()
    weft.cuda.synchronize()
    x[:6].index_select(0, weft.tensor([5], device="cuda"))
    weft.cuda.synchronize()


def test_what_runs_on_another_stream_is_seen_when_that_or_the_device_is_waited_for():
    x, _ = rows("cuda", 3, 4)
    for waited in (weft.cuda.Stream(), weft.cuda):
        stream = waited if isinstance(waited, weft.cuda.Stream) else weft.cuda.Stream()
        stream.wait_stream(weft.cuda.current_stream())
        with weft.cuda.stream(stream):
            x.index_select(0, at("cuda"))
        with pytest.raises(weft.AcceleratorError, match="index_select"):
            waited.synchronize()
        weft.cuda.synchronize()


def test_only_three_words_say_when():
    with pytest.raises(ValueError, match="'soon'"):
        weft.cuda.set_index_checks("soon")
    assert weft.cuda.get_index_checks() == "later"
