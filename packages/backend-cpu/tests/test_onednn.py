"""oneDNN's kernels compute what NumPy's do, from operands in any layout, in threads and forked processes too."""

import multiprocessing
import threading

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries, onednn
from weft.testing import assert_close

pytestmark = pytest.mark.skipif(onednn not in libraries.available(), reason="needs oneDNN")


def none(*args):
    """What stands in for NumPy's kernel where the library's has to be used."""
    raise AssertionError(f"fell back on {[each.shape for each in args if isinstance(each, np.ndarray)]}")


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "columns of a wider one": lambda x: np.concatenate([x, x], -1)[..., : x.shape[-1]],
    "every second column": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "reversed": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "other way round in the batch": lambda x: np.ascontiguousarray(x.T).T,
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


@pytest.fixture
def matmul(monkeypatch):
    """The family of matrix products, which takes the smallest ones too."""
    from weft.backend_cpu.onednn import matmul

    monkeypatch.setattr(matmul, "LEAST", 0)
    return matmul


@layouts
@pytest.mark.parametrize("other", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((5, 7), (7, 3)),
        ((4, 5, 7), (7, 3)),
        ((5, 7), (6, 7, 3)),
        ((2, 1, 5, 7), (3, 7, 4)),
        ((2, 3, 4, 5, 6), (2, 3, 4, 6, 5)),
    ],
)
def test_a_product_is_that_of_numpy(a, b, layout, other, matmul):
    a, b = layout(random(*a)), other(random(*b))
    result = matmul.matmul(none)(a, b)
    np.testing.assert_allclose(result, a.astype(float) @ b.astype(float), atol=1e-5)


def test_a_batch_that_is_expanded_is_not_copied(matmul):
    a, b = np.broadcast_to(random(5, 7), (4, 5, 7)), random(4, 7, 3)
    np.testing.assert_allclose(matmul.matmul(none)(a, b), a @ b, atol=1e-5)


def test_a_product_may_be_of_memory_that_is_not_to_be_written(matmul):
    a = random(5, 7)
    a.flags.writeable = False
    np.testing.assert_allclose(matmul.matmul(none)(a, a.T), a @ a.T, atol=1e-5)


def test_nan_and_infinities_go_through_a_product(matmul):
    a, b = random(5, 7), random(7, 3)
    a[0, 0], a[1, 1], a[2, 2], a[3, :2] = np.nan, np.inf, -np.inf, [np.inf, -np.inf]
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(matmul.matmul(none)(a, b), a @ b, atol=1e-5)


@layouts
@pytest.mark.parametrize("shape", [(6, 5), (2, 3, 5), (2, 3, 4, 5), (2, 1, 5)])
@pytest.mark.parametrize("bias", [None, random(4), random(8)[::2]], ids=["no bias", "bias", "strided bias"])
def test_linear_adds_the_bias(shape, bias, layout, matmul):
    input, weight = layout(random(*shape)), layout(random(4, 5))
    expected = input @ weight.T + (0 if bias is None else bias)
    np.testing.assert_allclose(matmul.linear(none)(input, weight, bias), expected, atol=1e-5)


@pytest.mark.parametrize("input", [random(3), random(6, 3), random(6, 1), random(1)])
@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0.5, 2), (1, -3)])
def test_addmm_is_a_scaled_sum(input, beta, alpha, matmul):
    a, b = random(6, 5), random(5, 3)
    np.testing.assert_allclose(matmul.addmm(none)(input, a, b, beta, alpha), beta * input + alpha * (a @ b), atol=1e-5)


@pytest.mark.parametrize(
    ("a", "b"), [((0, 3), (3, 2)), ((3, 0), (0, 2)), ((0, 3, 4), (4, 5)), ((3,), (3, 4)), ((3,), (3,))]
)
def test_empty_products_and_vectors_are_left_to_numpy(a, b, matmul):
    a, b = random(*a), random(*b)
    np.testing.assert_allclose(matmul.matmul(np.matmul)(a, b), a @ b, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "tanh", "sigmoid"])
def test_an_activation_follows_in_the_same_call(activation, matmul):
    a, b = random(6, 5), random(5, 3)
    tensor = weft.from_numpy(a) @ weft.from_numpy(b)
    functions = {
        "gelu": weft.nn.functional.gelu,
        "gelu_tanh": lambda x: weft.nn.functional.gelu(x, approximate="tanh"),
    }
    expected = functions.get(activation, getattr(weft, activation, None))(tensor)
    result = matmul.multiply(a, b, None, (6, 3), activation)
    assert_close(weft.from_numpy(result), expected, rtol=1e-4, atol=1e-5)


def test_threads_at_the_same_time_do_not_disturb_each_other(matmul):
    run = matmul.matmul(none)
    operands = [(random(40, 50) + i, random(50, 60)) for i in range(6)]
    right = []

    def work(a, b):
        expected = a.astype(float) @ b
        right.extend(np.allclose(run(a, b), expected, rtol=1e-4, atol=1e-3) for _ in range(30))

    threads = [threading.Thread(target=work, args=each) for each in operands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 180


def forked(queue):
    x = weft.ones(256, 256)
    queue.put((x @ x).sum().item())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_computes_after_its_parent_did():
    x = weft.ones(256, 256)
    assert (x @ x).sum().item() == 256.0**3
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=forked, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60) == 256.0**3
    finally:
        child.kill()
        child.join()


def test_an_unknown_file_leaves_the_kernels_to_numpy(monkeypatch):
    from weft.backend_cpu.onednn import library

    monkeypatch.setenv("WEFT_ONEDNN", "/nowhere/libdnnl.so.3")
    library.load.cache_clear()
    try:
        assert library.load() is None
    finally:
        library.load.cache_clear()


def test_a_failure_says_which_call_it_was():
    from weft.backend_cpu.onednn.library import UnsupportedError, make

    with pytest.raises(UnsupportedError, match=r"dnnl_engine_create: oneDNN says: invalid arguments"):
        make("dnnl_engine_create", 77, 0)
