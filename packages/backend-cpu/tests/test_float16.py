"""The compiled loops of bfloat16 and float16: computed in float32, and rounded once."""

import math

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)

RANDOM = np.random.default_rng(0)
HALVES = (weft.bfloat16, weft.float16)
SIZE = {weft.bfloat16: 2.0**-8, weft.float16: 2.0**-11}  # of the last place


def halves(element, shape=(60, 300), special=False):
    """A tensor of halves, and the same numbers in float32."""
    values = (RANDOM.standard_normal(shape) * 3).astype("float32")
    if special:
        values.reshape(-1)[:8] = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, 3e-7, 6e4]
    tensor = weft.from_numpy(values.astype(element.numpy))
    return tensor, weft.from_numpy(tensor.numpy().astype("float32"))


def rounded(result, element):
    """What is computed in float32, rounded by NumPy."""
    with np.errstate(all="ignore"):
        return result.numpy().astype(element.numpy).astype("float32")


def wide(tensor):
    return tensor.numpy().astype("float32")


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("name", ["neg", "abs", "sqrt", "exp", "log1p", "sigmoid", "tanh", "relu"])
def test_functions_are_rounded_once(name, element):
    x, single = halves(element, special=True)
    for a, b in ((x, single), (x.t(), single.t()), (x[:, ::2], single[:, ::2])):
        found, expected = getattr(weft, name)(a), rounded(getattr(weft, name)(b), element)
        np.testing.assert_allclose(wide(found), expected, rtol=SIZE[element] * 1.01, atol=6e-8)


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "lt", "eq"])
def test_two_operands_of_all_layouts_are_rounded_once(name, element):
    x, single = halves(element, special=True)
    y, other = halves(element)
    f = getattr(weft, name)
    for a, b in (
        (y, other),
        (y[0], other[0]),
        (y[:, :1], other[:, :1]),
        (y.flip(0).t().contiguous().t(), other.flip(0)),
    ):
        np.testing.assert_array_equal(wide(f(x, a)), rounded(f(single, b), element))
        np.testing.assert_array_equal(wide(f(a, x)), rounded(f(b, single), element))


def test_numbers_beside_halves_are_not_rounded_but_where_they_are_compared():
    x = weft.full((60, 300), 2.0, dtype=weft.bfloat16)
    assert (x * 1.01)[0, 0].item() == 2.015625  # 2.02, and not 2 times the nearest number to 1.01, which is 1.0078125
    assert (x == 2.001).all()
    assert (x.clamp(max=1.001) == 1).all()


@pytest.mark.parametrize("element", HALVES, ids=str)
def test_conversions_round_to_the_nearest_and_of_two_to_the_even_one(element):
    values = np.array([1, 1 + SIZE[element], 1 + 3 * SIZE[element], -1 - SIZE[element] * 1.01, math.nan, -math.inf])
    values = np.tile(values.astype("float32"), 500)
    found = weft.from_numpy(values).to(element)
    np.testing.assert_array_equal(wide(found), values.astype(element.numpy).astype("float32"))
    np.testing.assert_array_equal(found.float().numpy(), wide(found))
    np.testing.assert_array_equal(found.bool().numpy(), values != 0)


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var", "logsumexp", "norm"])
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
def test_reductions_are_rounded_once(name, element, dim):
    x, single = halves(element)
    for a, b in ((x, single), (x.t(), single.t())):
        found, expected = getattr(weft, name)(a, dim=dim), getattr(weft, name)(b, dim=dim)
        assert found.dtype is element
        np.testing.assert_allclose(wide(found), expected.numpy(), rtol=SIZE[element], atol=1e-5)


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("columns", [3, 300, 9000])
def test_softmax_and_its_gradient_are_those_of_float32(element, columns):
    x, single = halves(element, (7, columns))
    for name in ("softmax", "log_softmax"):
        f = getattr(weft, name)
        a, b = x.clone().requires_grad_(), single.clone().requires_grad_()
        found, expected = f(a, -1), f(b, -1)
        np.testing.assert_allclose(wide(found.detach()), expected.detach().numpy(), rtol=SIZE[element], atol=1e-7)
        grad, other = halves(element, (7, columns))
        slope, expected = weft.autograd.grad(found, a, grad)[0], weft.autograd.grad(expected, b, other)[0]
        scale = expected.abs().max().item() * 8 * SIZE[element]
        np.testing.assert_allclose(wide(slope), expected.numpy(), atol=scale)


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_are_near_to_those_of_float32(element, name):
    layer = getattr(weft.nn, name)(20, 24)
    small = getattr(weft.nn, name)(20, 24).to(element)
    small.load_state_dict(layer.state_dict())
    layer.load_state_dict(small.state_dict())
    x, single = halves(element, (30, 4, 20))
    found, expected = small(x)[0], layer(single)[0]
    assert found.dtype is element
    np.testing.assert_allclose(wide(found.detach()), expected.detach().numpy(), atol=4 * SIZE[element])


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {"momentum": 0.9}), ("AdamW", {"amsgrad": True}), ("Adagrad", {})]
)
def test_steps_of_optimizers_are_computed_in_float32_and_rounded(element, name, options):
    x, single = halves(element, (50, 30))
    grad, other = halves(element, (50, 30))
    x.grad, single.grad = grad, other
    for each in (x, single):
        getattr(weft.optim, name)([each.requires_grad_()], lr=0.01, **options).step()
    np.testing.assert_allclose(wide(x.detach()), single.detach().numpy(), rtol=SIZE[element], atol=SIZE[element] / 16)


@pytest.mark.parametrize("element", HALVES, ids=str)
def test_gradients_of_halves_add_up(element):
    x = halves(element)[0]
    x.requires_grad_()
    (weft.sin(x) * 0 + x * 2 + x * 3 + x).sum().backward()
    assert x.grad.dtype is element
    assert (x.grad == 6).all()


@pytest.mark.parametrize("element", HALVES, ids=str)
@pytest.mark.parametrize("columns", [30, 5000])
def test_layer_norm_and_its_gradients_are_those_of_float32(element, columns):
    parts, gradients = [], []
    tensors = [halves(element, shape) for shape in ((9, columns), (columns,), (columns,), (9, columns))]
    for x, weight, bias, grad in zip(*tensors):
        inputs = [each.clone().requires_grad_() for each in (x, weight, bias)]
        parts.append(weft.nn.functional.layer_norm(inputs[0], (columns,), *inputs[1:]))
        gradients.append(weft.autograd.grad(parts[-1], inputs, grad))
    assert parts[0].dtype is element
    for found, expected in zip((parts[0].detach(), *gradients[0]), (parts[1].detach(), *gradients[1])):
        scale = expected.abs().max().item() * 4 * SIZE[element]
        np.testing.assert_allclose(wide(found), expected.numpy(), atol=scale)


def test_conversions_by_integers_are_those_of_instructions(monkeypatch):
    """Processors without instructions for float16 have them; the others could as well."""
    from numba import njit, types
    from numba.extending import intrinsic

    from weft.backend_cpu.compiled.codegen import float16

    monkeypatch.setattr(float16, "HAS_CONVERSIONS", False)

    @intrinsic
    def widened(typingctx, bits):
        return types.float32(types.uint16), lambda context, builder, signature, args: float16.widened(builder, args[0])

    @intrinsic
    def narrowed(typingctx, value):
        return types.uint16(types.float32), lambda context, builder, signature, args: float16.narrowed(builder, args[0])

    @njit
    def both(bits, values, wide, narrow):
        for i in range(bits.size):
            wide[i] = widened(bits[i])
        for i in range(values.size):
            narrow[i] = narrowed(values[i])

    bits = np.arange(1 << 16, dtype=np.uint16)
    exact = bits.view(np.float16).astype(np.float32)
    finite = np.sort(exact[np.isfinite(exact)])
    between = (finite[1:].astype(float) + finite[:-1]) / 2  # exactly, and to both sides
    values = [exact, between, np.nextafter(between.astype("f4"), 1e9), np.nextafter(between.astype("f4"), -1e9)]
    with np.errstate(invalid="ignore"):  # of signalling nan
        values = np.concatenate([*values, [65519.99, 65520, 65536, 1e30, np.inf, -np.inf, 1e-30]]).astype(np.float32)
    wide, narrow = np.empty(bits.size, np.float32), np.empty(values.size, np.uint16)
    both(bits, values, wide, narrow)
    np.testing.assert_array_equal(wide, exact)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = values.astype(np.float16)
    np.testing.assert_array_equal(narrow.view(np.float16), expected)
    np.testing.assert_array_equal(np.signbit(narrow.view(np.float16)), np.signbit(expected))
