"""Ops element by element, where their shapes or dtypes are special."""

from fractions import Fraction

import numpy as np
import pytest

import weft


def test_sign_of_a_zero_dimensional_tensor():
    assert weft.sign(weft.tensor(-2.5)).item() == -1
    assert weft.sgn(weft.tensor(2.5)).item() == 1


def test_a_bool_tensor_is_filled_with_a_number_by_its_truth():
    mask = weft.tensor([True, False])
    assert weft.tensor([False, False]).masked_fill(mask, 1).tolist() == [True, False]
    assert weft.tensor([True, True]).masked_fill(mask, 0).tolist() == [False, True]


def test_the_gradient_of_fmax_with_nan_goes_to_the_number():
    x = weft.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    y = weft.tensor([2.0, 2.0, float("nan")], requires_grad=True)
    weft.fmax(x, y).sum().backward()
    assert x.grad.tolist() == [0, 0, 1]
    assert y.grad.tolist() == [1, 1, 0]


def test_the_left_operand_is_what_a_shift_moves():
    assert (weft.tensor([-9, 8]) >> weft.tensor(2)).tolist() == [-3, 2]
    assert (weft.tensor([1, 3]) << 2).tolist() == [4, 12]
    assert (16 >> weft.tensor([1, 2])).tolist() == [8, 4]
    assert (1 << weft.tensor([1, 2])).tolist() == [2, 4]


def test_shifts_keep_all_bits_of_uint64():
    x = weft.tensor([(1 << 63) + 3], dtype=weft.uint64)
    assert (x << 1).tolist() == [6]
    assert (x >> 1).tolist() == [(1 << 62) + 1]
    assert (x >> 64).tolist() == [0]
    x <<= 0
    assert x.tolist() == [(1 << 63) + 3]


@pytest.mark.parametrize("call", [
    lambda x: x - True, lambda x: True - x, lambda x: x - (x > 0), lambda x: weft.rsub(x, True),
    lambda x: x.sub_(True), lambda x: -(x > 0),
])  # fmt: skip
def test_bool_is_no_operand_of_a_difference(call):
    with pytest.raises(RuntimeError, match=r"^(sub|neg): .*logical_not"):
        call(weft.ones(2))


@pytest.mark.parametrize(("call", "expected"), [
    (lambda: weft.add(4, 5), 9), (lambda: weft.mul(2, 1.5), 3.0), (lambda: weft.sub(2, 3), -1),
    (lambda: weft.true_divide(7, 2), 3.5), (lambda: weft.div(-7, 2, rounding_mode="trunc"), -3),
    (lambda: weft.floor_divide(-7, 2), -4), (lambda: weft.add(True, True), True),
])  # fmt: skip
def test_two_numbers_make_a_tensor_without_dimensions(call, expected):
    made = call()
    assert made.shape == ()
    assert made.item() == expected
    assert type(made.item()) is type(expected)


@pytest.mark.parametrize("number", [2**64, 2**70, -(2**63) - 1])
@pytest.mark.parametrize("dtype", [weft.int8, weft.float16, weft.float32, weft.float64], ids=str)
@pytest.mark.parametrize("call", [
    lambda x, n: x * n, lambda x, n: n + x, lambda x, n: weft.sub(n, x), lambda x, n: x.add_(n), lambda x, n: x == n,
    lambda x, n: x.clamp(max=n), lambda x, n: x.fill_(n), lambda x, n: x.masked_fill(x > 0, n), lambda x, n: x**n,
    lambda x, n: weft.where(x > 0, x, n), lambda x, n: weft.full_like(x, n), lambda x, n: x.add(x, alpha=n),
    lambda x, n: x.add(n, alpha=2), lambda x, n: weft.result_type(x, n), lambda x, n: (x > 1).add(x > 1, alpha=n),
])  # fmt: skip
def test_integers_beyond_64_bits_are_refused(number, dtype, call):
    with pytest.raises(OverflowError, match="int too big"):
        call(weft.tensor([1, 2], dtype=dtype), number)


@pytest.mark.parametrize("call", [
    lambda x: x.clamp(max=1000), lambda x: x.add(x, alpha=1000), lambda x: x.addcmul(x, x, value=1000),
    lambda x: x.masked_fill(x > 1, weft.tensor(300)), lambda x: x.index_fill(0, weft.tensor([0]), 300),
    lambda x: x**300, lambda x: x.pow_(128), lambda x: weft.pow(x, 2**63), lambda x: weft.where(x > 1, x, 300),
    lambda x: weft.addmm(x.view(1, 2), x.view(1, 2), x.view(2, 1).expand(2, 2), alpha=300),
    lambda x: weft.addr(x.view(1, 2), x[:1], x, beta=300), lambda x: weft.linspace(0, 300, 3, dtype=x.dtype),
])  # fmt: skip
def test_numbers_that_a_dtype_has_not_are_refused(call):
    with pytest.raises(RuntimeError, match=r"value cannot be converted to type weft\.int8 without overflow"):
        call(weft.tensor([1, 2], dtype=weft.int8))


@pytest.mark.parametrize("call", [lambda x, n: x**n, lambda x, n: x.pow_(n), lambda x, n: x.clamp(max=n)])
def test_numbers_that_half_precision_has_not_are_refused(call):
    for dtype, number in ((weft.float16, 70000), (weft.bfloat16, 1e300)):
        with pytest.raises(RuntimeError, match="without overflow"):
            call(weft.ones(2, dtype=dtype), number)


def test_numbers_that_half_precision_has_not_are_infinite():
    for dtype, number in ((weft.float16, 70000), (weft.bfloat16, 1e300)):
        x = weft.ones(2, dtype=dtype)
        assert weft.where(x < 1, x, number).tolist() == [float("inf")] * 2
        assert weft.scalar_tensor(-number, dtype=dtype).item() == -float("inf")
        x[0] = number
        assert x.tolist() == [float("inf"), 1.0]
        assert (x + number).tolist() == [float("inf")] * 2
        assert weft.pow(number, weft.ones(1, dtype=dtype)).item() == float("inf")


def test_factors_of_half_precision_are_those_of_float32():
    x = weft.full((2, 2), 1e-3, dtype=weft.float16)
    assert weft.addcmul(x, x, x, value=1e5)[0, 0].item() == pytest.approx(0.101, rel=1e-2)
    assert weft.addmm(x, x, x, alpha=1e5)[0, 0].item() == pytest.approx(0.201, rel=1e-2)


def test_bfloat16_takes_integers_of_64_bits():
    x = weft.full((2,), 2**63, dtype=weft.bfloat16)
    assert x.tolist() == [2.0**63] * 2
    assert x.fill_(2**64 - 1).tolist() == [2.0**64] * 2


def test_a_sum_with_a_number_and_alpha_wraps_around_as_that_of_tensors():
    x = weft.tensor([1, 2])
    assert weft.add(x, -(2**63), alpha=2).tolist() == [1, 2]
    assert weft.add(x.to(weft.uint8), 300, alpha=2).tolist() == [89, 90]
    assert weft.add(x > 1, True, alpha=2).tolist() == [True, True]
    assert weft.add(x > 1, 1, alpha=-1).tolist() == [-1, 0]


def test_the_gradient_of_the_power_of_a_number_beyond_the_dtype_is_infinite():
    x = weft.ones(1, requires_grad=True)
    (1e300**x).sum().backward()
    assert x.grad.item() == float("inf")


def test_infinity_becomes_the_largest_number_of_a_half():
    x = weft.tensor([float("inf"), -float("inf"), float("nan")])
    assert x.half().nan_to_num().tolist() == [65504.0, -65504.0, 0.0]


def test_heaviside_of_nan_is_zero():
    assert weft.heaviside(weft.tensor(float("nan")), weft.tensor(2.0)).item() == 0.0


def test_scaling_by_a_power_of_two_is_exact_where_the_power_overflows():
    assert weft.ldexp(weft.tensor(2.0**-100), weft.tensor(130)).item() == 2.0**30
    assert weft.ldexp(weft.ones(1, dtype=weft.float16), weft.tensor([3])).dtype is weft.float16


def test_the_logarithm_of_a_number_does_not_widen_a_result():
    made = weft.xlogy(weft.tensor([1, 2]), 2.0)
    assert made.dtype is weft.float32
    assert made.numpy().dtype == "float32"


@pytest.mark.parametrize(("function", "values", "expected"), [
    (weft.logaddexp, (0.0, float("inf")), (0.0, 1.0)),
    (weft.logaddexp2, (float("inf"), 0.0), (1.0, 0.0)),
    (weft.atan2, (0.0, 0.0), (0.0, 0.0)),
    (lambda x, y: weft.div(x, y, rounding_mode="floor"), (7.0, 2.0), (0.0, 0.0)),
])  # fmt: skip
def test_gradients_at_the_edge_of_a_domain(function, values, expected):
    inputs = [weft.tensor(value, requires_grad=True) for value in values]
    function(*inputs).backward()
    assert tuple(0.0 if each.grad is None else each.grad.item() for each in inputs) == expected


def test_nothing_flows_back_through_a_clamp_of_nan():
    x = weft.tensor([float("nan"), 0.5], requires_grad=True)
    x.clamp(0, 1).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_a_quotient_rounded_down_cannot_be_differentiated():
    x = weft.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="floor_divide: the derivative"):
        (x // 2).sum().backward()


NUMBERS = {
    "add": lambda x, t: weft.add(x, x, alpha=t),
    "add_": lambda x, t: (x * 1).add_(x, alpha=t),
    "sub": lambda x, t: weft.sub(x, x, alpha=t),
    "addcmul": lambda x, t: weft.addcmul(x, x, x, value=t),
    "addcdiv": lambda x, t: weft.addcdiv(x, x, x, value=t),
    "addmm": lambda x, t: weft.addmm(x[None], x[None], x[:, None] @ x[None], alpha=t),
    "full_like": weft.full_like,
    "elu": lambda x, t: weft.nn.functional.elu(x, t),
    "leaky_relu": lambda x, t: weft.nn.functional.leaky_relu(x, t),
    "hardtanh": lambda x, t: weft.nn.functional.hardtanh(x, -1.0, t),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_tensor_in_the_place_of_a_number_may_not_lose_a_gradient(name):
    x, number = weft.tensor([0.3, 0.7], requires_grad=True), weft.tensor(0.5)
    expected = NUMBERS[name](x, 0.5)
    weft.testing.assert_close(NUMBERS[name](x, number), expected)
    with pytest.raises(TypeError, match="requires grad"):
        NUMBERS[name](x, number.requires_grad_())
    with weft.no_grad():
        weft.testing.assert_close(NUMBERS[name](x, number), expected)


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16], ids=str)
def test_a_quotient_of_halves_is_rounded_before_it_is_truncated(dtype):
    weft.manual_seed(0)
    x, y = (weft.randn(5000).mul(30).to(dtype), weft.randn(5000).to(dtype).abs() + 0.5)
    assert weft.equal(weft.div(x, y, rounding_mode="trunc"), (x / y).trunc())
    x.requires_grad_()
    weft.div(x, y, rounding_mode="trunc").sum().backward()
    assert (x.grad == 0).all()


@pytest.mark.parametrize("dtype", [weft.complex64, weft.complex128], ids=str)
def test_log1p_of_complex_numbers_is_exact_near_0_and_on_the_circle_about_minus_1(dtype):
    real = dtype.to_real()
    small = weft.tensor([10.0**-power for power in range(1, 30)], dtype=real)
    close = {"rtol": 4 * weft.finfo(real).eps, "atol": 0}
    for x in (small, -0.5 * small):
        found = weft.complex(x, 0 * x).log1p()
        weft.testing.assert_close(found.real, x.log1p(), **close)
        found = weft.complex(0 * x, x).log1p()
        weft.testing.assert_close(found.real, 0.5 * (x * x).log1p(), **close)
        weft.testing.assert_close(found.imag, x.atan(), **close)
    # 1 + z = (1 + d) e^(i a): a number of 2^-k whose real and imaginary parts are exact
    x, y = weft.tensor([-0.2, -0.4], dtype=weft.float64), weft.tensor([0.6, 0.8], dtype=weft.float64)
    found = weft.complex(x, y).to(weft.complex128).log1p().real
    exact = [
        float(Fraction(a) * (2 + Fraction(a)) + Fraction(b) ** 2) / 2 for a, b in zip(x.tolist(), y.tolist())
    ]  # these are so small that the logarithm of 1 more is the same
    weft.testing.assert_close(found, weft.tensor(exact, dtype=weft.float64), rtol=1e-12, atol=0)
    far = weft.tensor([1e200 + 1e200j, -3 + 0j, 5j], dtype=weft.complex128)
    weft.testing.assert_close(far.log1p(), (far + 1).log(), rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", [weft.complex64, weft.complex128])
@pytest.mark.parametrize("size", [2, 10_000])
@pytest.mark.parametrize(
    "function",
    [
        weft.reciprocal,
        weft.rsqrt,
        lambda z: z**-1,
        lambda z: z**-2.0,
        lambda z: weft.pow(z, -0.5),
        lambda z: weft.pow(z, weft.full_like(z, -1 + 2j)),
        lambda z: weft.float_power(z, -3),
        lambda z: weft.pow(0.0, weft.full_like(z, -1)),
    ],
)
def test_negative_powers_of_complex_zero_are_infinite(function, size, dtype):
    found = function(weft.zeros(size, dtype=dtype))
    assert found.real.isposinf().all()
    assert found.abs().isposinf().all()


def test_positive_powers_of_complex_zero_are_zero():
    z = weft.zeros(3, dtype=weft.complex64)
    for exponent in (0.5, 1, 2, 3 + 1j):
        assert (z**exponent == 0).all()


def test_complex_roots_and_squares_are_exact_where_their_parts_are():
    z = weft.tensor([-4 + 0j, 2j, 3 + 4j], dtype=weft.complex128)
    assert (z**0.5).tolist() == [2j, 1 + 1j, 2 + 1j]
    assert (z**-0.5).tolist() == [-0.5j, 0.5 - 0.5j, 0.4 - 0.2j]
    assert (z**2).tolist() == [16, -4, -7 + 24j]
    assert (z**-2)[:2].tolist() == [1 / 16, -0.25]


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.bfloat16])
def test_a_remainder_of_zero_has_the_sign_of_the_dividend(dtype, size):
    x = weft.tensor([-6.0, 6.0, -0.0, 0.0], dtype=dtype).repeat(size)
    for other in (3, -3, weft.tensor(3.0, dtype=dtype), weft.full_like(x, -3)):
        found = weft.remainder(x, other)
        assert (found == 0).all()
        assert weft.equal(found.signbit(), x.signbit())
    assert weft.remainder(weft.tensor([-7.0, 7.0], dtype=dtype), 3).tolist() == [2, 1]


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
def test_products_of_pairs_have_the_signs_of_products(dtype):
    x = weft.tensor([-1.0, 0.0, 1.0], dtype=dtype)
    assert weft.equal(weft.outer(x, x).signbit(), (x[:, None] * x).signbit())


@pytest.mark.parametrize("other", [-1.0, 0.0, weft.tensor([-1.0, 0.0, -2.0])])
def test_nothing_times_a_logarithm_that_there_is_not_has_no_gradient(other):
    x = weft.tensor([0.0, 1.0, 2.0], requires_grad=True)
    (weft.xlogy(x, other) * 0).sum().backward()
    (weft.special.xlog1py(x, other - 1) * 0).sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.int32])
def test_a_number_by_a_tensor_is_its_reciprocal_times_the_number(dtype):
    """As PyTorch rounds it; the quotient differs for some."""
    x = (weft.arange(1, 200) if dtype is weft.int32 else weft.linspace(0.1, 9, 199)).to(dtype)
    assert weft.equal(3 / x, x.reciprocal() * 3)
    assert weft.equal(np.float32(0.7) / x, x.reciprocal() * np.float32(0.7))
    assert not weft.equal(3 / x, weft.full_like(x, 3) / x)
    with pytest.raises(TypeError, match="unsupported operand"):
        "3" / x


@pytest.mark.parametrize(("function", "argument", "words"), [
    (weft.sign, weft.tensor([1j]), "is not intended to support complex numbers"),
    (weft.isposinf, weft.tensor([1j]), "isposinf does not support complex inputs"),
    (weft.floor, weft.tensor([1j]), "floor is not supported for complex inputs"),
    (weft.deg2rad, weft.tensor([1j]), "deg2rad is not supported for complex tensors"),
    (weft.frexp, weft.tensor([1]), "only supports floating-point dtypes"),
    (weft.relu, weft.tensor([True]), "Boolean inputs not supported for relu"),
])  # fmt: skip
def test_a_dtype_that_an_op_does_not_take_is_refused_with_the_reason(function, argument, words):
    with pytest.raises(RuntimeError, match=words):
        function(argument)
