"""What reads and writes at positions gives the CPU's results in every dtype and layout, and waits for nothing."""

import itertools

import cupy_stand_in
import pytest

import weft
import weft.nn.functional as F
from weft.testing import assert_close

DTYPES = ("float32", "int64", "bool", "complex64", "bfloat16", "int8", "uint8", "float16", "float64")
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.mT.contiguous().mT,
    "strided": lambda x: x.repeat_interleave(2, 1)[:, ::2],
    "broadcast": lambda x: x[:1].expand(x.shape),
    "empty": lambda x: x[:, :0],
}


def grown(x, i):
    return i.reshape(-1, 1).expand(-1, x.shape[1])


READS = {
    "index": lambda x, i, y: x[i],
    "index with negative ones": lambda x, i, y: x[i - 3],
    "index of two": lambda x, i, y: x[i, i[:, None] % max(x.shape[1], 1)] if x.numel() else x[i],
    "index after a slice": lambda x, i, y: x[1:, None, i[:0]],
    "list": lambda x, i, y: x[[2, 0, 2]],
    "take": lambda x, i, y: x.take(i) if x.numel() else x.take(i[:0]),
    "take_along_dim": lambda x, i, y: x.take_along_dim(grown(x, i), 0),
    "gather": lambda x, i, y: x.gather(0, grown(x, i)),
    "index_select": lambda x, i, y: x.index_select(0, i),
    "scatter": lambda x, i, y: x.scatter(0, grown(x, i.unique()), y),
    "scatter number": lambda x, i, y: x.scatter(0, grown(x, i), 1),
    "scatter_add": lambda x, i, y: x.scatter_add(0, grown(x, i), y),
    "scatter multiply": lambda x, i, y: x.scatter(0, grown(x, i), 3, reduce="multiply"),
    "scatter_reduce sum": lambda x, i, y: x.scatter_reduce(0, grown(x, i), y, "sum", include_self=False),
    "scatter_reduce prod": lambda x, i, y: x.scatter_reduce(0, grown(x, i), y, "prod"),
    "scatter_reduce mean": lambda x, i, y: x.scatter_reduce(0, grown(x, i), y, "mean"),
    "scatter_reduce amax": lambda x, i, y: x.scatter_reduce(0, grown(x, i), y, "amax"),
    "scatter_reduce amin": lambda x, i, y: x.scatter_reduce(0, grown(x, i), y, "amin", include_self=False),
    "index_add": lambda x, i, y: x.index_add(0, i, y, alpha=2),
    "index_copy": lambda x, i, y: x.index_copy(0, i.unique(), y[:2]),
    "index_fill": lambda x, i, y: x.index_fill(0, i, 1),
    "index_reduce": lambda x, i, y: x.index_reduce(0, i, y, "prod"),
    "index_put": lambda x, i, y: x.index_put((i.unique(),), y[:2]),
    "index_put accumulate": lambda x, i, y: x.index_put((i,), y, accumulate=True),
    "put accumulate": lambda x, i, y: x.put(i, y.reshape(-1)[:3], accumulate=True) if x.numel() else x,
    "masked_scatter": lambda x, i, y: x.masked_scatter(y != 0, y),
    "setitem mask": lambda x, i, y: put_mask(x, y),
    "setitem mask of rows": lambda x, i, y: put_rows(x, i),
    "setitem": lambda x, i, y: put_at(x, i),
    "nonzero_static": lambda x, i, y: weft.nonzero_static(x, size=5),
    "repeat_interleave": lambda x, i, y: weft.repeat_interleave(x, i, 0, output_size=4),
    "embedding": lambda x, i, y: F.embedding(i, x, padding_idx=0, scale_grad_by_freq=True),
}
WITHOUT_ORDER = {"scatter_reduce amax", "scatter_reduce amin"}  # which complex numbers have not


def put_mask(x, y):
    made = x.clone()
    made[y != 0] = 2
    return made


def put_rows(x, i):
    made = x.clone()
    made[i > 0] = 1
    return made


def put_at(x, i):
    made = x.clone()
    made[i] = 1
    return made


def tensors(dtype, layout):
    """A tensor of a layout, positions of which one comes twice, and one of values, on the CPU."""
    made = weft.tensor([[1, 2, 0, 4], [3, 0, 2, 1], [2, 2, 3, 0]]).to(getattr(weft, dtype))
    return LAYOUTS[layout](made), weft.tensor([2, 0, 2]), LAYOUTS[layout](made.flip(0))


def moved(made):
    """The tensors on the device, in the same layout."""
    return [each.cuda().as_strided(each.shape, each.stride()) if 0 in each.stride() else each.cuda() for each in made]


def attempt(call, made):
    try:
        return call(*made), None
    except Exception as error:
        return None, error


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", READS)
def test_results_at_positions_are_those_of_the_cpu(name, layout):
    for dtype in DTYPES:
        made = tensors(dtype, layout)
        expected, refused = attempt(READS[name], made)
        found, error = attempt(READS[name], moved(made))
        assert type(error) is type(refused), (dtype, error)
        if refused is None:
            assert found.device.type == "cuda"
            assert_close(found.cpu(), expected, equal_nan=True, msg=lambda said, dtype=dtype: f"{dtype}: {said}")


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", [each for each in READS if each not in ("nonzero_static", "scatter multiply")])
def test_gradients_at_positions_are_those_of_the_cpu_twice(name):
    for dtype, layout in itertools.product(("float32", "complex64", "bfloat16"), ("contiguous", "transposed")):
        if dtype == "complex64" and name in WITHOUT_ORDER:
            continue
        made = tensors(dtype, layout)
        here, there = (slopes(READS[name], each) for each in (made, moved(made)))
        for expected, found in zip(here, there):
            assert found.device.type == "cuda"
            assert_close(found.cpu(), expected, equal_nan=True)


def slopes(call, made):
    """The gradients of a call, and those of their squares' sum."""
    x, index, y = (each.detach().clone() for each in made)
    x, y = x.requires_grad_(), y.requires_grad_()
    result = call(x, index, y)
    weights = (weft.arange(result.numel(), device=result.device) % 7 + 1).reshape(result.shape).to(result.dtype)
    first = weft.autograd.grad((result * result * weights).sum().abs(), (x, y), create_graph=True, allow_unused=True)
    first = [each for each in first if each is not None]
    total = sum((each * each).sum().abs() for each in first)
    second = weft.autograd.grad(total, (x, y), allow_unused=True) if total.requires_grad else ()
    return [*first, *[each for each in second if each is not None]]


SIZES = {"list": "upload"}  # a list comes from the host


@pytest.mark.usefixtures("on_stand_in")
@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", READS)
def test_nothing_waits_or_is_sent(name):
    for dtype in DTYPES:
        x, index, y = moved(tensors(dtype, "transposed"))
        unique = index[1:]
        index.unique = lambda unique=unique: unique  # waited for before
        attempt(READS[name], (x, index, y))  # tables are sent once
        with cupy_stand_in.record() as log:
            attempt(READS[name], (x, index, y))
        found = [each for each in log if each.kind in ("wait", "upload") and each.kind != SIZES.get(name)]
        assert not found, (dtype, found)


def test_what_has_no_dimensions_is_read_and_written_as_on_the_cpu():
    for device in ("cpu", "cuda"):
        x, i = weft.tensor(5.0, device=device), weft.tensor([0, 0], device=device)
        zero = weft.tensor(0, device=device)
        assert x.take(i).tolist() == [5, 5]
        assert x.gather(0, zero).item() == 5
        assert x.index_select(0, zero).item() == 5
        assert x.scatter_add(0, zero, x).item() == 10
        assert x.scatter_reduce(0, zero, x, "prod").item() == 25
        assert x.index_add(0, zero, x).item() == 10
        assert x.index_fill(0, zero, 3).item() == 3
        assert x.clone().put_(i, weft.ones(2, device=device), accumulate=True).item() == 7
        x[x > 0] = 2
        assert x.item() == 2


def test_sums_at_positions_are_the_same_each_time_where_that_is_asked_for():
    weft.use_deterministic_algorithms(True)
    try:
        x, i = weft.rand(1000, device="cuda"), weft.randint(0, 3, (1000,), device="cuda")
        sums = [weft.zeros(3, device="cuda").index_add(0, i, x) for _ in range(3)]
        assert all(weft.equal(each, sums[0]) for each in sums)
        assert_close(sums[0].cpu(), weft.zeros(3).index_add(0, i.cpu(), x.cpu()))
    finally:
        weft.use_deterministic_algorithms(False)


def test_the_greatest_at_a_position_is_nan_where_one_is():
    x = weft.tensor([1.0, -weft.inf, weft.inf, -0.0], device="cuda")
    values, index = weft.tensor([3.0, weft.nan, -5.0, -7.0], device="cuda"), weft.tensor([0, 0, 1, 3], device="cuda")
    for reduce in ("amax", "amin"):
        expected = x.cpu().scatter_reduce(0, index.cpu(), values.cpu(), reduce)
        assert_close(x.scatter_reduce(0, index, values, reduce).cpu(), expected, equal_nan=True)


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_an_empty_index_writes_all_elements(shape):
    x = weft.zeros(shape, device="cuda")
    x[()] = 2.0
    assert (x == 2).all()
    x[()] = weft.ones((), device="cuda")
    assert (x == 1).all()


OVERLAPPING = {
    "mask": lambda v, i: v.__setitem__(i.new_tensor([0, 1, 0, 0]).bool(), 9),
    "index": lambda v, i: v.__setitem__(i, 9),
    "masked_fill_": lambda v, i: v.masked_fill_(i.new_tensor([0, 1, 0, 0]).bool()[:, None], 9),
    "index_fill_": lambda v, i: v.index_fill_(0, i, 9),
    "index_copy_": lambda v, i: v.index_copy_(0, i, v.new_full((1, 2), 9)),
    "scatter_": lambda v, i: v.scatter_(0, i.expand(1, 2), 9),
    "put_": lambda v, i: v.put_(i + i.new_tensor([1, 2]), v.new_full((2,), 9)),
}


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16], ids=str)
@pytest.mark.parametrize("name", OVERLAPPING)
def test_what_is_written_at_positions_of_overlapping_windows_stays(name, dtype):
    x = weft.arange(5, dtype=dtype, device="cuda")
    OVERLAPPING[name](x.unfold(0, 2, 1), weft.tensor([1], device="cuda"))
    assert x.tolist() == [0, 9, 9, 3, 4]


@pytest.mark.filterwarnings("ignore:Use of index_fill_ on expanded tensors")
def test_filling_positions_of_an_expanded_tensor_fills_what_is_there():
    x = weft.zeros(3, 1, device="cuda")
    x.expand(3, 4).index_fill_(0, weft.tensor([0], device="cuda"), 1.0)
    assert x.tolist() == [[1.0], [0.0], [0.0]]
