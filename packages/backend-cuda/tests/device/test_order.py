"""Order, searches, running results and products: as on the CPU for sizes and values of which that takes shorter ways.

On the CPU these ops look at values to choose a way. On a device that would be to wait, and is done nowhere here.
"""

import contextlib
import os

import pytest

import weft
from weft.testing import assert_close

ON_STAND_IN = os.environ.get("WEFT_CUDA") == "stand-in"
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]


@contextlib.contextmanager
def without_waits():
    """No wait and no upload in the block, where they are counted."""
    if not ON_STAND_IN:
        yield
        return
    import cupy_stand_in

    with cupy_stand_in.record() as log:
        yield
    assert not [event for event in log if event.kind != "call"]


def numbers(dtype, *shape, missing=0):
    """Numbers with many equal ones among them, and some that are nan."""
    element = getattr(weft, dtype)
    x = weft.randint(0, 2 if dtype == "bool" else 40, shape, generator=weft.Generator().manual_seed(5))
    x = x.to(element)
    if element.is_floating_point:
        x = x - 20
        x.view(-1)[:missing] = float("nan")
        x.view(-1)[missing : missing + 2] = weft.tensor([float("inf"), -0.0])
    return x


def on_both(function, *tensors):
    """What a function gives on the device, which must be what it gives on the CPU."""
    expected = function(*tensors)
    there = [each.to("cuda") for each in tensors]
    with without_waits():
        found = function(*there)
    for one, other in zip(*[(each,) if isinstance(each, weft.Tensor) else tuple(each) for each in (found, expected)]):
        assert one.device.type == "cuda" and one.dtype is other.dtype
        assert_close(one.cpu(), other, equal_nan=True)


def picked(x, dim, function, *arguments):
    """The values that were picked, twice: as they are, and by the positions, which may be those of any equal ones."""
    values, indices = function(x, *arguments)
    return values, x.gather(dim, indices)


ORDERS = {
    "sort": lambda x: weft.sort(x, 0),
    "sort descending": lambda x: weft.sort(x, -1, descending=True),
    "argsort": lambda x: weft.argsort(x, -1),
    "msort": weft.msort,
    "topk": lambda x: picked(x.to(weft.uint8) if x.dtype is weft.bool else x, 1, weft.topk, 3),
    "the least few": lambda x: picked(x.to(weft.uint8) if x.dtype is weft.bool else x, 0, weft.topk, 3, 0, False),
    "mode": lambda x: weft.mode(x, 0),
    "kthvalue": lambda x: picked(x, 1, weft.kthvalue, 5, 1, True),
    "cummax": lambda x: weft.cummax(x, 1),
    "cummin": lambda x: weft.cummin(x, 0),
    "max": lambda x: weft.max(x, 1),
    "min": lambda x: weft.min(x, 0, keepdim=True),
    "isin": lambda x: weft.isin(x, x[0]),
    "searchsorted": lambda x: weft.searchsorted(weft.sort(x, 1).values, x),
    "bucketize": lambda x: weft.bucketize(x, weft.sort(x[0]).values, right=True),
    "cumsum": lambda x: weft.cumsum(x, 1),
    "hash_tensor": lambda x: weft.hash_tensor(x, (0, 1)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ORDERS)
def test_rows_with_equal_elements(name, dtype):
    on_both(ORDERS[name], numbers(dtype, 33, 300, missing=7))


@pytest.mark.parametrize("dtype", [each for each in DTYPES if each != "bool"])
@pytest.mark.parametrize("missing", [0, 1, 200])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_of_all_and_along_a_dim(name, dtype, missing):
    x = numbers(dtype, 4, 400, missing=missing)
    on_both(getattr(weft, name), x)
    on_both(lambda x: getattr(weft, name)(x, 1).values, x)


def test_nan_of_all_elements():
    x = weft.full((3, 300), float("nan"))
    on_both(weft.median, x)
    on_both(weft.nanmedian, x)
    on_both(lambda x: weft.nanmedian(x, 1).values, x)


@pytest.mark.parametrize("q", [0.3, weft.tensor([0.0, 0.5, 1.0])], ids=["number", "vector"])
def test_quantiles(q):
    x = numbers("float32", 5, 300)
    there, share = x.to("cuda"), q.to("cuda") if isinstance(q, weft.Tensor) else q
    with without_waits():
        found = weft.quantile(there, share, 1)
    assert_close(found.cpu(), weft.quantile(x, q, 1), equal_nan=True)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.parametrize(
    "function",
    [weft.sort, lambda x: weft.cummax(x, 0), lambda x: weft.cumprod(x, 0), lambda x: weft.softmax(x, -1), weft.prod],
    ids=["sort", "cummax", "cumprod", "softmax", "prod"],
)
def test_nothing_has_an_order(function, shape):
    on_both(function, weft.zeros(shape))


def test_complex_running_sums_have_the_turns_of_the_cpu():
    generator = weft.Generator().manual_seed(1)
    x = weft.complex(*(9 * weft.randn(2, 7, 300, generator=generator)))
    on_both(lambda x: weft.logcumsumexp(x, 1), x)


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_gradients_of_products_do_not_ask_for_zeros(name, zeros):
    def gradient(x):
        x = x.detach().requires_grad_()
        out = x.prod(1) if name == "prod" else x.cumprod(1)
        return weft.autograd.grad(out, x, weft.ones_like(out))

    x = weft.linspace(0.5, 1.5, 24).reshape(3, 8)
    x[1, 2 : 2 + zeros] = 0
    on_both(gradient, x)


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("dtype", DTYPES)
def test_distinct_values_and_slices(dtype, dim):
    x = numbers(dtype, 40, 2)
    x = x.clamp(0, 1) if dtype != "bool" else x
    for function in (weft.unique, weft.unique_consecutive):
        expected = function(x, return_inverse=True, return_counts=True, dim=dim)
        found = function(x.to("cuda"), return_inverse=True, return_counts=True, dim=dim)
        for one, other in zip(found, expected):
            assert_close(one.cpu(), other)


def test_histograms_of_given_limits():
    on_both(lambda x: weft.histc(x, 12, -15, 11), numbers("float32", 700, missing=3))
    on_both(lambda x: weft.histc(x, 12, 2, 11), numbers("int64", 700))


@pytest.mark.parametrize("offset", [-9, -1, 0, 1, 3])
@pytest.mark.parametrize("size", [(0, 4), (4, 0), (3, 7), (5, 2)], ids=str)
@pytest.mark.parametrize("name", ["triu_indices", "tril_indices"])
def test_triangles_are_found_on_the_device(name, size, offset):
    with without_waits():
        found = getattr(weft, name)(*size, offset, dtype=weft.int32, device="cuda")
    assert_close(found.cpu(), getattr(weft, name)(*size, offset, dtype=weft.int32))


def test_distances_of_pairs():
    on_both(weft.nn.functional.pdist, weft.arange(12.0).reshape(4, 3))
