"""oneDNN's kernels compute what NumPy's do, from operands in any layout, in threads and forked processes too."""

import multiprocessing
import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries, onednn
from weft.nn.functional import convolution as declared
from weft.ops._registry import registry
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
    """The family of matrix products, which takes the smallest ones too, and those that NumPy's BLAS computes faster."""
    from weft.backend_cpu.onednn import matmul

    monkeypatch.setattr(matmul, "MIN_MULTIPLICATIONS", 0)
    monkeypatch.setattr(matmul, "shares_lines", lambda a, b: False)
    return matmul


@layouts
@pytest.mark.parametrize("other", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((5, 7), (7, 3)),
        ((16, 512), (512, 512)),
        ((1030, 7), (7, 3)),
        ((4, 5, 7), (7, 3)),
        ((5, 7), (6, 7, 3)),
        ((2, 1, 5, 7), (3, 7, 4)),
        ((2, 3, 4, 5, 6), (2, 3, 4, 6, 5)),
    ],
)
def test_a_product_is_that_of_numpy(a, b, layout, other, matmul):
    a, b = layout(random(*a)), other(random(*b))
    result = matmul.matmul(none)(a, b)
    np.testing.assert_allclose(result, a.astype(float) @ b.astype(float), atol=2e-6 * a.shape[-1] + 1e-5)


@pytest.mark.parametrize("has_avx512", [False, True])
@pytest.mark.parametrize(
    ("a", "b", "shares"),
    [
        (random(16, 512), random(512, 512), True),  # rows of b
        (random(256, 512).T, random(256, 24), True),  # rows of the transpose of a
        (random(16, 512), random(512, 520), False),
        (random(16, 512), random(512, 520)[:, :512], False),
        (random(16, 512), random(512, 512).T, False),  # copied by the library itself
        (random(16, 64), random(64, 512), False),  # few terms
    ],
)
def test_rows_that_share_lines_of_the_cache_are_found_and_multiplied(has_avx512, a, b, shares, monkeypatch):
    from weft.backend_cpu import threads
    from weft.backend_cpu.onednn import matmul

    monkeypatch.setattr(matmul, "has_avx512", lambda: has_avx512)
    assert matmul.shares_lines(a, b) == (shares and not has_avx512)
    for count in (1, 2):
        monkeypatch.setattr(threads, "count", lambda count=count: count)
        np.testing.assert_allclose(matmul.matmul(np.matmul)(a, b), a.astype(float) @ b, atol=1e-4)
        spread = matmul.spread_out(b, matmul.MIN_USES)
        assert not matmul.are_close(spread) and matmul.spread_out(b, 8) is b
        np.testing.assert_array_equal(spread, b)


def test_a_batch_that_is_expanded_is_not_copied(matmul):
    a, b = np.broadcast_to(random(5, 7), (4, 5, 7)), random(4, 7, 3)
    np.testing.assert_allclose(matmul.matmul(none)(a, b), a @ b, atol=1e-5)


EXPANDED = {  # the sizes that memory has, of a batch of shape (2, 3)
    "the whole batch": (1, 1),
    "outer": (1, 3),
    "inner": (2, 1),
    "not at all": (2, 3),
}


@pytest.mark.parametrize("first", EXPANDED.values(), ids=EXPANDED)
@pytest.mark.parametrize("second", [*EXPANDED.values(), (3,), (1,), ()], ids=str)
@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16], ids=str)
def test_every_batch_is_written_where_both_operands_are_expanded(dtype, first, second, matmul, monkeypatch):
    def empty(*args):
        made = np.empty(*args)
        made.reshape(-1).view(np.uint8).fill(0xFF)  # nan, which shows what is not written
        return made

    monkeypatch.setattr(matmul, "numpy", SimpleNamespace(**(vars(np) | {"empty": empty})))
    a = weft.randn(*first, 64, 65).to(dtype).expand(2, 3, 64, 65)
    b = weft.randn(*second, 65, 66).to(dtype).expand(*(2, 3)[2 - len(second) :], 65, 66)
    expected = a.float().numpy().astype(float) @ b.float().numpy().astype(float)
    result = matmul.matmul(none)(a.numpy(), b.numpy()) if dtype is weft.float32 else (a @ b).float().numpy()
    np.testing.assert_allclose(result, expected, atol=1e-4 if dtype is weft.float32 else 0.2, rtol=0)


def test_a_primitive_writes_all_of_the_result_and_nothing_else():
    from weft.backend_cpu.onednn import matmul
    from weft.backend_cpu.onednn.library import UnsupportedError, make
    from weft.backend_cpu.onednn.primitives import Arranged, Handle, Primitive, engine

    a, b, result = (matmul.described(shape, matmul.contiguous(shape, 4)) for shape in ((5, 7), (7, 3), (5, 3)))
    create = "dnnl_matmul_primitive_desc_create"
    description = Handle("primitive_desc", make(create, engine(), a, b, None, result, matmul.attributes()))
    arguments = [(matmul.SRC, a), (matmul.WEIGHTS, b), (matmul.DST, result)]
    for kind in (Primitive, Arranged):
        kind(description, arguments, 60)
        for size in (56, 64, 180):
            with pytest.raises(UnsupportedError, match=f"a result of {size} bytes"):
                kind(description, arguments, size)


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
@pytest.mark.parametrize("shape", [(6, 5), (1030, 5), (2, 3, 5), (2, 3, 4, 5), (2, 1, 5)])
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


def test_bfloat16_is_multiplied_as_it_is_and_rounded_once(matmul):
    a, b = (random(*shape).astype("bfloat16") for shape in ((40, 50), (50, 30)))
    found = matmul.multiply(a, b, None, (40, 30))
    if found is None:
        pytest.skip("this processor has no products of bfloat16")
    assert found.dtype == "bfloat16"
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=2**-7, atol=1e-3)


@pytest.mark.parametrize("shape", [(6, 5), (2, 3, 5)])
def test_scaled_sums_and_biases_of_bfloat16_are_rounded_once(shape, matmul):
    a, b, bias = (random(*each).astype("bfloat16") for each in (shape, (4, shape[-1]), (4,)))
    if matmul.multiply(b, b.T, None, (4, 4)) is None:
        pytest.skip("this processor has no products of bfloat16")
    exact = a.astype(np.float64) @ b.T.astype(np.float64)
    found = matmul.linear(none)(a, b, bias)
    np.testing.assert_allclose(found.astype(np.float64), exact + bias.astype(np.float64), rtol=2**-7, atol=1e-3)
    if len(shape) == 2:
        found = matmul.addmm(none)(bias, a, b.T, 0.5, 2)
        np.testing.assert_allclose(found.astype(np.float64), 2 * exact + bias.astype(np.float64) / 2, rtol=2**-7)


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


# Convolutions: input, weight, stride, padding, dilation, groups
CONVOLUTIONS = [
    ((2, 3, 11), (4, 3, 3), (1,), (1,), (1,), 1),
    ((2, 4, 11, 12), (6, 4, 3, 2), (1, 1), (0, 0), (1, 1), 1),
    ((2, 16, 11, 12), (32, 16, 3, 3), (2, 1), (1, 1), (1, 1), 1),
    ((2, 16, 13, 12), (16, 16, 3, 3), (2, 3), (2, 0), (2, 1), 1),
    ((2, 16, 9, 9), (32, 4, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    ((2, 16, 9, 9), (16, 1, 3, 3), (2, 2), (1, 1), (1, 1), 16),
    ((2, 16, 9, 9), (32, 16, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 16, 9, 9), (32, 16, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((2, 1, 9, 9), (8, 1, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((1, 1, 3, 3), (1, 1, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 5, 6, 7), (4, 3, 2, 3, 2), (1, 2, 1), (0, 1, 0), (1, 1, 2), 1),
]
convolutions = pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)

ORDERS = {
    "contiguous": lambda x: x,
    "channels last": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1),
    "sliced": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "images and channels swapped": lambda x: np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1),
    "reversed": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
}
orders = pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)


@pytest.fixture
def convolution(monkeypatch):
    """The family of convolutions, which takes the smallest ones too."""
    from weft.backend_cpu.onednn import convolution

    monkeypatch.setattr(convolution, "MIN_MULTIPLICATIONS", 0)
    return convolution


def out_of(input, weight, stride, padding, dilation):
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(input[2:], weight[2:], stride, padding, dilation)
    )


@orders
@convolutions
def test_a_convolution_and_its_gradients_are_those_of_numpy(case, order, convolution):
    input_shape, weight_shape, *geometry, groups = case
    input, weight, bias = random(*input_shape), random(*weight_shape), random(weight_shape[0])
    grad = random(input_shape[0], weight_shape[0], *out_of(*case[:5]))
    found = convolution.convolution(none)(order(input), order(weight), bias, *geometry, groups)
    np.testing.assert_allclose(found, declared.convolve(np, input, weight, bias, *geometry, groups), atol=1e-4)
    found = convolution.input_gradient(none)(order(grad), order(weight), input_shape, *geometry, groups)
    expected = declared.input_gradient(np, grad, weight, input_shape, *geometry, groups)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    found = convolution.weight_gradient(none)(order(grad), order(input), weight_shape, *geometry, groups)
    expected = declared.weight_gradient(np, grad, input, weight_shape, *geometry, groups)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("spatial", [1, 2])
def test_convolutions_of_bfloat16_are_rounded_once(spatial, groups, convolution, matmul):
    a = random(4, 4).astype("bfloat16")
    if matmul.multiply(a, a, None, (4, 4)) is None:
        pytest.skip("this processor has no products of bfloat16")
    input, weight = random(2, 8, *(9,) * spatial).astype("bfloat16"), random(8, 8 // groups, *(3,) * spatial)
    weight = weight.astype("bfloat16")
    geometry = (1,) * spatial, (1,) * spatial, (1,) * spatial, groups
    wide = input.astype(np.float32)
    for kernel, define, other, more in (
        (convolution.convolution, declared.convolve, weight, None),
        (convolution.input_gradient, declared.input_gradient, weight, input.shape),
        (convolution.weight_gradient, declared.weight_gradient, input, weight.shape),
    ):
        found = kernel(none)(input, other, more, *geometry)
        assert found.dtype == "bfloat16"
        expected = define(np, wide, other.astype(np.float32), more, *geometry)
        np.testing.assert_allclose(found.astype(np.float32), expected, rtol=2**-7, atol=1e-2)


def integers(dtype, *shape):
    of = np.iinfo(dtype)
    low, high = (of.min, of.max) if of.bits == 8 else (-300, 300)
    return np.random.default_rng(sum(shape)).integers(low, high, shape, dtype=dtype, endpoint=True)


def in_bytes(run, primitives):
    """The kernel that falls back on nothing, if the processor has exact products of bytes."""
    if not primitives.sums_bytes():
        pytest.skip("this processor has no exact products of bytes")
    return run(none)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64"])
@convolutions
def test_convolutions_of_integers_go_around_beyond_their_range(case, dtype, convolution):
    from weft.backend_cpu.onednn import primitives

    input_shape, weight_shape, *geometry, groups = case
    input, weight = integers(dtype, *input_shape), integers(dtype, *weight_shape)
    bias = integers(dtype, weight_shape[0])
    if input.itemsize == 1:
        run = in_bytes(convolution.convolution_modulo, primitives)
    else:
        run = convolution.convolution_of_integers(none)
    wide = input.astype(np.int64), weight.astype(np.int64), bias.astype(np.int64)
    found = run(input, weight, bias, *geometry, groups)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, declared.convolve(np, *wide, *geometry, groups).astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("order", ["contiguous", "channels last"])
@convolutions
def test_sums_of_bytes_are_exact_and_scaled_for_each_channel(case, order, dtype, convolution):
    from weft.backend_cpu.onednn import primitives
    from weft.nn.functional.quantized import convolve_bytes

    input_shape, weight_shape, *geometry, groups = case
    input, weight = ORDERS[order](integers(dtype, *input_shape)), integers("int8", *weight_shape)
    run = in_bytes(convolution.convolution_of_bytes, primitives)
    found = run(input, weight, None, None, *geometry, groups)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, convolve_bytes(np, input, weight, None, None, *geometry, groups))
    bias, scale = random(weight_shape[0]), random(weight_shape[0])
    found = run(input, weight, bias, scale, *geometry, groups)
    assert found.dtype == np.float32
    np.testing.assert_allclose(
        found, convolve_bytes(np, input, weight, bias, scale, *geometry, groups), rtol=1e-5, atol=1e-2
    )


def test_the_largest_bytes_are_not_clipped(convolution):
    from weft.nn.functional.quantized import convolve_bytes

    input, weight = np.full((1, 8, 9, 9), 255, np.uint8), np.full((16, 8, 3, 3), 127, np.int8)
    run = convolution.convolution_of_bytes(lambda *args: convolve_bytes(np, *args))
    assert (run(input, weight, None, None, (1, 1), (0, 0), (1, 1), 1) == 255 * 127 * 72).all()


def test_a_processor_that_clips_products_of_bytes_leaves_them_to_numpy(convolution, matmul, monkeypatch):
    from weft.backend_cpu.onednn import primitives

    primitives.pool.cache_clear()
    monkeypatch.setattr(primitives, "sums_bytes", lambda: False)
    run = convolution.convolution_of_bytes(lambda *args: "generic")
    args = integers("int8", 2, 4, 5, 5), integers("int8", 4, 4, 3, 3), None, None, (1, 1), (0, 0), (1, 1), 1
    assert run(*args) == "generic"
    assert matmul.int_mm(lambda *args: "generic")(integers("int8", 8, 8), integers("int8", 8, 8)) == "generic"
    primitives.pool.cache_clear()


def test_the_result_has_its_channels_last_as_the_input_has(convolution):
    input = ORDERS["channels last"](random(2, 16, 9, 9))
    found = convolution.convolution(none)(input, random(32, 16, 3, 3), None, (1, 1), (1, 1), (1, 1), 1)
    assert found.transpose(0, 2, 3, 1).flags.c_contiguous


def test_a_gradient_that_is_expanded_from_one_number_will_do(convolution):
    grad, weight = np.broadcast_to(np.float32(2), (2, 4, 9, 9)), random(4, 3, 3, 3)
    args = (weight, (2, 3, 11, 11), (1, 1), (0, 0), (1, 1), 1)
    expected = declared.input_gradient(np, grad, *args)
    np.testing.assert_allclose(convolution.input_gradient(none)(grad, *args), expected, atol=1e-4)


def test_an_empty_batch_is_left_to_numpy(convolution):
    run = convolution.convolution(lambda *args: declared.convolve(np, *args))
    found = run(random(0, 3, 9, 9), random(4, 3, 3, 3), None, (1, 1), (0, 0), (1, 1), 1)
    assert found.shape == (0, 4, 7, 7)


def test_an_output_smaller_than_it_would_be_is_left_to_numpy(convolution):
    args = (random(1, 4, 2, 2), random(4, 3, 2, 2), (1, 3, 9, 9), (2, 2), (0, 0), (1, 1), 1)
    run = convolution.input_gradient(lambda *args: declared.input_gradient(np, *args))
    np.testing.assert_allclose(run(*args), declared.input_gradient(np, *args), atol=1e-5)


# Averages: input, kernel, stride, padding, windows, whether padding counts
AVERAGES = [
    ((2, 5, 11), (2,), (2,), (0,), (5,), True),
    ((2, 16, 12, 11), (3, 2), (2, 1), (1, 0), (6, 10), True),
    ((2, 5, 12, 11), (3, 3), (1, 1), (1, 1), (12, 11), False),
    ((1, 16, 9, 9), (2, 2), (2, 2), (0, 0), (5, 5), True),
    ((2, 3, 6, 7, 8), (2, 3, 2), (2, 2, 2), (0, 1, 1), (3, 4, 5), True),
]


@pytest.mark.parametrize("order", ["contiguous", "channels last", "images and channels swapped"])
@pytest.mark.parametrize("case", AVERAGES, ids=str)
def test_averages_of_windows_and_their_gradient_are_those_of_numpy(case, order):
    from weft.backend_cpu.onednn import pooling

    shape, *geometry, out, counts = case
    input, grad = ORDERS[order](random(*shape)), ORDERS[order](random(*shape[:2], *out))
    define = [partial(registry[name].generic, np) for name in ("nn::avg_pool", "nn::avg_pool_gradient")]
    found = pooling.avg_pool(define[0])(input, *geometry, out, (counts, None))
    np.testing.assert_allclose(found, define[0](input, *geometry, out, (counts, None)), atol=1e-6)
    found = pooling.avg_pool_gradient(define[1])(grad, shape, *geometry, out, (counts, None))
    np.testing.assert_allclose(found, define[1](grad, shape, *geometry, out, (counts, None)), atol=1e-6)


def test_large_averages_with_their_channels_last_are_the_librarys_and_stay_so():
    from weft.backend_cpu.onednn import pooling

    input = ORDERS["channels last"](random(2, 16, 20, 20))
    found = pooling.avg_pool(none)(input, (2, 2), (2, 2), (0, 0), (10, 10), (True, None))
    assert found.transpose(0, 2, 3, 1).flags.c_contiguous
    np.testing.assert_allclose(found, input.reshape(2, 16, 10, 2, 10, 2).mean((3, 5)), atol=1e-6)


def test_what_the_library_counts_otherwise_is_left_to_others():
    from weft.backend_cpu.onednn import pooling

    input, windows = random(2, 4, 12, 12), ((3, 3), (2, 2), (1, 1), (7, 7))
    run = pooling.avg_pool(lambda *args: "generic")
    assert run(input, *windows, (True, None)) == "generic"  # the last window ends beyond the padding
    assert run(input, (3, 3), (2, 2), (1, 1), (6, 6), (True, 4)) == "generic"  # a divisor of its own
    assert run(input, (12, 12), (1, 1), (0, 0), (1, 1), (True, None)) == "generic"  # one window
    assert run(input[:0], (2, 2), (2, 2), (0, 0), (6, 6), (True, None)) == "generic"


def step():
    """A product, and a convolution with its gradients, which several threads compute."""
    x = weft.ones(256, 256)
    images, weight = weft.ones(4, 16, 32, 32), weft.ones(32, 16, 3, 3, requires_grad=True)
    weft.nn.functional.conv2d(images, weight).sum().backward()
    return (x @ x).sum().item(), weight.grad.sum().item()


SUMS = (256.0**3, 4 * 30 * 30 * 32 * 16 * 9.0)


def test_the_number_of_threads_may_change_between_calls():
    count = weft.get_num_threads()
    try:
        for number in (1, 2, 4, 1, count):
            weft.set_num_threads(number)
            assert step() == SUMS
    finally:
        weft.set_num_threads(count)


def test_another_thread_takes_the_number_that_was_set():
    count = weft.get_num_threads()
    found = []
    try:
        weft.set_num_threads(1)
        thread = threading.Thread(target=lambda: found.append(step()))
        thread.start()
        thread.join()
    finally:
        weft.set_num_threads(count)
    assert found == [SUMS]


def forked(queue):
    queue.put(step())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_computes_after_its_parent_did():
    assert step() == SUMS
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=forked, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=60) == SUMS
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
