"""The compiled operations element by element, on all layouts, against NumPy's functions."""

import math

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)

RANDOM = np.random.default_rng(0)
ROWS = 300  # times 300 columns: more than the least that is compiled

SHAPES = [
    ((ROWS, 300), (ROWS, 300)),
    ((ROWS, 300), (300,)),
    ((ROWS, 300), (ROWS, 1)),
    ((ROWS, 1), (300,)),
    ((40, 16, 12, 12), (16, 1, 1)),
    ((40_000, 3), (3,)),
    ((3, 30_000), (30_000,)),
    ((5, 40, 500), (5, 1, 500)),
]


def array(shape, element="float32"):
    values = RANDOM.standard_normal(shape) * 4
    values = values.astype(element)
    if values.dtype.kind == "f" and values.size > 9:
        values.reshape(-1)[:6] = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40]
    return values


def layouts(values):
    yield values
    yield np.asfortranarray(values)
    yield np.repeat(values, 2, axis=-1)[..., ::2]
    yield values[::-1]


@pytest.mark.parametrize("element", ["float32", "float64", "int64"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_arithmetic_and_comparisons_of_all_layouts(left, right, element):
    for a in layouts(array(left, element)):
        b = array(right, element)
        x, y = weft.from_numpy(np.array(a, order="K") if min(a.strides) < 0 else a), weft.from_numpy(b)
        with np.errstate(all="ignore"):
            for name, function in (("add", np.add), ("mul", np.multiply), ("sub", np.subtract), ("lt", np.less)):
                np.testing.assert_array_equal(getattr(weft, name)(x, y).numpy(), function(a, b))
                np.testing.assert_array_equal(getattr(weft, name)(y, x).numpy(), function(b, a))


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize(
    "name", ["exp", "expm1", "log", "log1p", "tanh", "sqrt", "abs", "neg", "square", "reciprocal", "sigmoid", "rsqrt"]
)
def test_functions_are_right_to_a_few_units_in_the_last_place(name, element):
    values = array((ROWS, 300), element)
    by_name = {"neg": np.negative, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "rsqrt": lambda x: 1 / np.sqrt(x)}
    with np.errstate(all="ignore"):
        expected = by_name.get(name, getattr(np, name, None))(values.astype("float64")).astype(element)
    found = getattr(weft, name)(weft.from_numpy(values)).numpy()
    np.testing.assert_allclose(found, expected, rtol=6e-7 if element == "float32" else 2e-15, atol=1e-37)


def test_numbers_come_on_either_side():
    values = array((ROWS, 300))
    x = weft.from_numpy(values)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((x - 2.5).numpy(), values - np.float32(2.5))
        np.testing.assert_array_equal((1 - x).numpy(), 1 - values)
        np.testing.assert_array_equal((3 / x).numpy(), 3 * (1 / values))  # PyTorch's bits
        np.testing.assert_allclose((x**3).numpy(), values**3, rtol=1e-6)
        np.testing.assert_allclose((x**0.5).numpy(), np.power(values.astype("float64"), 0.5), rtol=1e-6)


SPECIAL = [0.0, 1.0, 2.0, 3.0, 0.5, 2.5, np.inf, 1e38, 1e-40, 2.0**24 + 2, 1.0000001, 127.0, 149.0]


def test_powers_of_special_numbers_are_those_of_c():
    numbers = np.array([*SPECIAL, *[-each for each in SPECIAL], np.nan], "float32")
    x, y = (np.tile(each, (20, 1)) for each in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        expected = np.power(x.astype("float64"), y.astype("float64")).astype("float32")
    found = weft.pow(weft.from_numpy(x), weft.from_numpy(y)).numpy()
    np.testing.assert_array_max_ulp(found, expected, maxulp=1)
    numbered = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found[numbered]), np.signbit(expected[numbered]))


@pytest.mark.parametrize("other", ["array", "row", 2.5, -0.75, 1 / 3, 7.0, 0.0, 1.0])
def test_powers_are_right_to_a_unit_in_the_last_place(other):
    random = np.random.default_rng(0)
    x = np.exp(3 * random.standard_normal((ROWS, 300))).astype("float32")
    y = {"array": 5 * random.standard_normal((ROWS, 300)), "row": random.standard_normal(300)}.get(other, other)
    y = np.asarray(y, "float32")
    with np.errstate(all="ignore"):
        expected = np.power(x.astype("float64"), y.astype("float64")).astype("float32")
        reflected = np.power(np.float64(2.5), x.astype("float64")).astype("float32")
    found = weft.from_numpy(x) ** (weft.from_numpy(y) if y.ndim else other)
    np.testing.assert_array_max_ulp(found.numpy(), expected, maxulp=1)
    np.testing.assert_array_max_ulp((2.5 ** weft.from_numpy(x)).numpy(), reflected, maxulp=1)


def test_what_is_written_in_place_is_written_where_it_lies():
    values, others = array((ROWS, 300)), array((ROWS, 300))
    for a in (values.copy(), np.asfortranarray(values), np.repeat(values, 2, axis=0)[::2]):
        x = weft.from_numpy(a)
        with np.errstate(all="ignore"):
            x.mul_(2.0).add_(weft.from_numpy(others))
            np.testing.assert_array_equal(a, values * 2 + others)


@pytest.mark.parametrize("element", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("clamp", (-0.5, 0.5), {}),
        ("clamp", (None, 0.5), {}),
        ("lerp", ("y", 0.3), {}),
        ("addcmul", ("y", "z"), {"value": 0.1}),
        ("addcdiv", ("y", "row"), {"value": 0.1}),
        ("add", ("row",), {"alpha": 0.5}),
        ("sub", ("x",), {"alpha": 3}),
        ("exp", (), {}),
    ],
)
def test_an_op_in_place_writes_what_it_gives_otherwise_to_the_same_memory(name, args, options, element):
    for layout in (lambda x: x, lambda x: x.t().contiguous().t(), lambda x: weft.cat([x, x], 1)[:, ::2]):
        x, y, z = (weft.from_numpy(RANDOM.standard_normal((ROWS, 300))).to(getattr(weft, element)) for _ in range(3))
        x = layout(x)
        named = {"x": x, "y": y, "z": z, "row": y[0].abs() + 1}
        values = [named[each] if isinstance(each, str) else each for each in args]
        expected, place = getattr(x, name)(*values, **options), x.data_ptr()
        assert getattr(x, f"{name}_")(*values, **options) is x and x.data_ptr() == place
        np.testing.assert_array_equal(x.float().numpy(), expected.float().numpy())


def test_a_tensor_is_read_before_it_is_written_where_alpha_is_not_fused():
    x = weft.arange(90_000)
    np.testing.assert_array_equal(x.add_(x, alpha=2).numpy(), 3 * np.arange(90_000))


@pytest.mark.parametrize("shapes", [((30_000, 3), (30_000, 1)), ((700, 16, 2, 2), (16, 1, 1)), ((300, 300), (1,))])
def test_short_rows_and_single_elements_are_repeated(shapes):
    a, b = (RANDOM.standard_normal(shape).astype("float32") for shape in shapes)
    x, y = weft.from_numpy(a), weft.from_numpy(b)
    wide = y.expand_as(x)
    np.testing.assert_array_equal((x + y).numpy(), a + b)
    np.testing.assert_array_equal(weft.lerp(x, y, 0.25).numpy(), weft.lerp(x, wide.contiguous(), 0.25).numpy())
    np.testing.assert_array_equal((x.transpose(0, 1) * wide.transpose(0, 1)).numpy(), (a * b).swapaxes(0, 1))


def test_an_operand_that_overlaps_the_result_is_refused_before_anything_is_written():
    values = np.arange(90_000.0, dtype="float32")
    x = weft.from_numpy(values.copy())
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:].add_(x[:-1])
    np.testing.assert_array_equal(x.numpy(), values)
    x.add_(x)
    np.testing.assert_array_equal(x.numpy(), 2 * values)


def test_choices_limits_and_masks():
    values, others = array((ROWS, 300)), array((300,))
    x, y = weft.from_numpy(values), weft.from_numpy(others)
    np.testing.assert_array_equal(weft.where(x > 0, x, y).numpy(), np.where(values > 0, values, others))
    np.testing.assert_array_equal(x.masked_fill(y > 1, 7.0).numpy(), np.where(others > 1, np.float32(7), values))
    np.testing.assert_array_equal(x.clamp(-1, 2).numpy(), np.clip(values, -1, 2))
    np.testing.assert_array_equal(x.clamp(min=0.5).numpy(), np.maximum(values, np.float32(0.5)))
    np.testing.assert_array_equal(weft.maximum(x, y).numpy(), np.maximum(values, others))


def test_a_result_lies_in_memory_as_its_operands():
    x = weft.from_numpy(array((16, 20, 20, 16))).permute(0, 3, 1, 2)
    y = weft.from_numpy(array((16, 1, 1)))
    assert (x + y).stride() == x.stride()
    assert x.exp().stride() == x.stride()
    assert (x.contiguous() + x).is_contiguous()


@pytest.mark.parametrize("name", ["add_", "mul_", "sub_"])
@pytest.mark.parametrize(
    "shapes", [((1, 100_000), (3, 100_000)), ((100_000,), (1, 100_000)), ((100_000, 1), (100_000, 2))]
)
def test_nothing_is_written_where_broadcasting_would_enlarge_a_large_tensor(name, shapes):
    x, other = weft.ones(shapes[0]), weft.full(shapes[1], 3.0)
    with pytest.raises(RuntimeError, match=name):
        getattr(x, name)(other)
    assert (x == 1).all()


TURNED = {
    "a matrix": ((300, 320), (1, 0)),
    "in panels": ((700, 600), (1, 0)),
    "narrow": ((5000, 16), (1, 0)),
    "short rows": ((16, 5000), (1, 0)),
    "matrices": ((5, 130, 140), (0, 2, 1)),
    "first and last": ((60, 40, 50), (2, 1, 0)),
    "the last one first": ((60, 40, 50), (1, 2, 0)),
    "images": ((4, 30, 33, 35), (0, 3, 1, 2)),
}


@pytest.mark.parametrize("element", ["float32", "float64", "float16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("name", TURNED)
def test_large_operands_of_another_order_in_memory(name, element):
    """Each operand, both, and beside others: with results that are new, given, and written to."""
    shape, turn = TURNED[name]
    whole = array(shape, element)
    a = whole.transpose(turn)
    rest = [array(a.shape, element), array(a.shape, element), array(a.shape[-1:], element)]
    x, y, z, last = map(weft.from_numpy, (a, *rest))
    same = x.clone(memory_format=weft.contiguous_format)
    for others in ((x, y), (y, x), (x, last), (x, x), (y, x[..., :1].expand_as(x))):
        plain = [each.contiguous() for each in others]
        found = weft.mul(*others)
        np.testing.assert_array_equal(found.numpy(), weft.mul(*plain).numpy())
    mask = weft.from_numpy(RANDOM.random(a.shape) < 0.5)
    np.testing.assert_array_equal(weft.where(mask, x, z).numpy(), weft.where(mask, same, z).numpy())
    for out in (weft.empty_like(y), weft.empty_like(x), weft.from_numpy(np.empty((*a.shape, 2), element))[..., 0]):
        assert weft.mul(x, y, out=out) is out
        np.testing.assert_array_equal(out.numpy(), weft.mul(same, y).numpy())
        held = out.clone().mul_(x)
        np.testing.assert_array_equal(out.mul_(x).numpy(), held.numpy())
        np.testing.assert_array_equal(held.numpy(), weft.mul(weft.mul(same, y), same).numpy())


def test_a_large_matrix_and_itself_transposed():
    values = array((400, 400))
    x = weft.from_numpy(values.copy())
    np.testing.assert_array_equal(x.add(x.t()).numpy(), values + values.T)
    with pytest.raises(RuntimeError, match="memory"):
        x.add_(x.t())
    np.testing.assert_array_equal(x.numpy(), values)
