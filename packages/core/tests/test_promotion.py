"""The dtype of a result, for all pairs of dtypes. The tables were observed from PyTorch.

A dtype is one character (NumPy's, and ``g`` for bfloat16); ``.`` is an error. Rows and columns are in the order of
``NAMES``.
"""

import itertools

import pytest

import weft

NAMES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
DTYPES = [getattr(weft, name) for name in NAMES.split()]
LETTER = dict(zip(DTYPES, "?BHIQbhilegfdFD"))

PAIRS = """
?B...bhilegfdFD
BB...hhilegfdFD
..H......egfd..
...I.....egfd..
....Q....egfd..
bh...bhilegfdFD
hh...hhilegfdFD
ii...iiilegfdFD
ll...llllegfdFD
eeeeeeeeeeffdFD
gggggggggfgfdFD
ffffffffffffdFD
dddddddddddddDD
FF...FFFFFFFDFD
DD...DDDDDDDDDD
""".split()

# A tensor with dimensions (row) and one without (column), which counts only if its category is higher. PyTorch gives
# complex32, which weft has not, for float16 and complex.
ZERO_DIMENSIONAL = """
?B...bhilegfdFD
BBBBBBBBBegfdFD
HHHHHHHHHegfdFD
IIIIIIIIIegfdFD
QQQQQQQQQegfdFD
bbbbbbbbbegfdFD
hhhhhhhhhegfdFD
iiiiiiiiiegfdFD
lllllllllegfdFD
eeeeeeeeeeeeeFF
gggggggggggggFF
fffffffffffffFF
dddddddddddddDD
FFFFFFFFFFFFFFF
DDDDDDDDDDDDDDD
""".split()

NUMBERS = (True, 2, 2.0, 2j)
WITH_NUMBERS = "?lfF BBfF HHfF IIfF QQfF bbfF hhfF iifF llfF eeeF gggF fffF dddD FFFF DDDD".split()

# Which dtypes (columns) may be written into which (rows): by out=, and in place where they promote with each other.
CASTS = """
1..............
111111111......
111111111......
111111111......
111111111......
111111111......
111111111......
111111111......
111111111......
1111111111111..
1111111111111..
1111111111111..
1111111111111..
111111111111111
111111111111111
""".split()

# The result of a function of one tensor, by its dtype.
FUNCTIONS = {
    "sum": "lllllllllegfdFD",
    "prod": "lllllllllegfdFD",
    "cumsum": "lllllllllegfdFD",
    "mean": ".........egfdFD",
    "var": ".........egfdfd",
    "exp": "fffffffffegfdFD",
    "sqrt": "fffffffffegfdFD",
    "sigmoid": "fffffffffegfdFD",
    "floor": ".BHIQbhilegfd..",
    "sin": "fffffffffegfdFD",
    "isnan": "???????????????",
}


def made(dtype, *shape):
    return weft.ones(shape, dtype=dtype)


def outcome(call, *args):
    try:
        return LETTER[call(*args).dtype]
    except (RuntimeError, NotImplementedError, TypeError):
        return "."


def row(call, columns=DTYPES):
    return "".join(outcome(call, column) for column in columns)


@pytest.mark.parametrize(("dtype", "expected"), list(zip(DTYPES, PAIRS)), ids=NAMES.split())
def test_two_tensors_have_the_smallest_dtype_that_holds_both(dtype, expected):
    assert row(lambda other: made(dtype, 2) + made(other, 2)) == expected
    assert row(lambda other: made(dtype) + made(other)) == expected
    assert row(lambda other: made(other, 2) * made(dtype, 2)) == expected
    assert row(lambda other: weft.where(weft.tensor([True]), made(dtype, 2), made(other, 2))) == expected
    letters = "".join(
        "." if letter == "." else LETTER[weft.promote_types(dtype, other)] for letter, other in zip(expected, DTYPES)
    )
    assert letters == expected


@pytest.mark.parametrize(("dtype", "expected"), list(zip(DTYPES, ZERO_DIMENSIONAL)), ids=NAMES.split())
def test_a_tensor_without_dimensions_counts_if_its_category_is_higher(dtype, expected):
    assert row(lambda other: made(dtype, 2) + made(other)) == expected
    assert row(lambda other: made(other) + made(dtype, 2)) == expected
    assert row(lambda other: weft.empty(0, dtype=weft.result_type(made(dtype, 2), made(other)))) == expected


@pytest.mark.parametrize(("dtype", "expected"), list(zip(DTYPES, WITH_NUMBERS)), ids=NAMES.split())
def test_a_number_counts_if_its_category_is_higher(dtype, expected):
    assert row(lambda number: made(dtype, 2) * number, NUMBERS) == expected
    assert row(lambda number: number * made(dtype, 2), NUMBERS) == expected
    assert row(lambda number: made(dtype) * number, NUMBERS) == expected


def test_division_of_integers_is_floating():
    for one, other in itertools.product(DTYPES[:1] + DTYPES[5:9], repeat=2):
        assert (made(one, 2) / made(other, 2)).dtype is weft.float32
        if not one is other is weft.bool:
            assert (made(one, 2) // made(other, 2)).dtype is weft.promote_types(one, other)
    with pytest.raises(NotImplementedError, match="floor_divide: not implemented for 'Bool'"):
        made(weft.bool, 2) // made(weft.bool, 2)


@pytest.mark.parametrize(("dtype", "expected"), list(zip(DTYPES, CASTS)), ids=NAMES.split())
def test_what_may_be_written_into_what(dtype, expected):
    allowed = [other for letter, other in zip(expected, DTYPES) if letter == "1"]
    for other in DTYPES:
        target = made(dtype, 2)
        promotes = PAIRS[DTYPES.index(dtype)][DTYPES.index(other)]
        fits = promotes != "." and expected[DTYPES.index(next(d for d in DTYPES if LETTER[d] == promotes))] == "1"
        assert weft.can_cast(other, dtype) == (other in allowed)
        assert (outcome(lambda: target.add_(made(other, 2))) != ".") == fits  # noqa: B023
        result = outcome(lambda: weft.mul(made(other, 2), made(other, 2), out=weft.empty(2, dtype=dtype)))  # noqa: B023
        assert result == (LETTER[dtype] if other in allowed else ".")


@pytest.mark.parametrize(("name", "expected"), list(FUNCTIONS.items()))
def test_the_dtype_of_a_function_of_one_tensor(name, expected):
    function = getattr(weft, name)
    assert row(lambda dtype: function(made(dtype, 2), 0) if name == "cumsum" else function(made(dtype, 2))) == expected


def test_the_default_dtype_is_what_integers_become():
    weft.set_default_dtype(weft.float64)
    try:
        assert (made(weft.int64, 2) / 2).dtype is weft.float64
        assert made(weft.int32, 2).exp().dtype is weft.float64
        assert (made(weft.int32, 2) * 2.0).dtype is weft.float64
        assert (made(weft.int32, 2) * 2j).dtype is weft.complex128
        assert (made(weft.float32, 2) * 2.0).dtype is weft.float32
    finally:
        weft.set_default_dtype(weft.float32)
    assert made(weft.int32, 2).exp().dtype is weft.float32


def test_numbers_keep_their_value_in_the_dtype_of_the_tensor():
    assert (weft.tensor([200], dtype=weft.uint8) + 100).tolist() == [44]
    assert (weft.tensor([1.0], dtype=weft.float16) + 1e-9).tolist() == [1.0]
    assert (weft.tensor([True]) * 3).tolist() == [3]


def test_gradients_have_the_dtype_of_their_tensor():
    for dtype in (weft.float16, weft.bfloat16, weft.float32, weft.float64, weft.complex64):
        x = weft.ones(2, dtype=dtype, requires_grad=True)
        (x * weft.ones(2, dtype=weft.float64) + 1).abs().sum().backward()
        assert x.grad.dtype is dtype


def test_pythons_number_types_are_dtypes():
    assert weft.zeros(2, dtype=bool).dtype is weft.bool
    assert weft.arange(3, dtype=float).dtype is weft.float64
    assert weft.full((2,), 1, dtype=complex).dtype is weft.complex128
    assert weft.ones(2).to(int).dtype is weft.int64
    assert weft.ones(2).sum(dtype=float).dtype is weft.float64
    assert weft.rand(2, dtype=float).dtype is weft.float64
    with pytest.raises(TypeError, match=r"must be weft\.dtype, not type"):
        weft.zeros(2, dtype=str)


@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16], ids=str)
@pytest.mark.parametrize("size", [1, 2048])
def test_numbers_are_rounded_to_half_precision_before_they_are_compared(dtype, size):
    x = weft.full((size,), 0.1, dtype=dtype)
    assert (x == 0.1).all() and not (x > 0.1).any() and (x <= 0.1).all() and (x < 1e9).all()


HALVES = pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16], ids=str)
SIZES = pytest.mark.parametrize("size", [64, 4096])  # below and above that of compiled loops


def halves(size, dtype):
    return (weft.arange(1, size + 1) % 61 / 7 + 0.1).to(dtype)


def in_float32(call, x, number):
    """What a call gives that computes in float32 and rounds once."""
    return call(x.float(), number).to(x.dtype)


@HALVES
@SIZES
@pytest.mark.parametrize(("call", "number"), [
    (lambda x, n: x + n, 257.3), (lambda x, n: n + x, 257.3), (lambda x, n: x.clone().add_(n), 257.3),
    (lambda x, n: x - n, 257.3), (lambda x, n: n - x, 257.3), (lambda x, n: x.remainder(n), 0.3),
    (lambda x, n: weft.remainder(n, x), 257.3), (lambda x, n: x**n, 2.573), (lambda x, n: n**x, 2.573),
    (lambda x, n: weft.mul(n, x), 257.3), (lambda x, n: weft.div(n, x), 257.3),
    (lambda x, n: weft.add(x, n, alpha=3), 257.3), (lambda x, n: weft.sub(n, x, alpha=3), 257.3),
    (lambda x, n: weft.add(x, x, alpha=n), 257.3), (lambda x, n: x.clone().sub_(x, alpha=n), 257.3),
])  # fmt: skip
def test_numbers_are_rounded_to_half_precision_before_a_sum(dtype, size, call, number):
    x = halves(size, dtype)
    assert call(x, number).equal(in_float32(call, x, weft.tensor(number).to(dtype).item()))
    assert not call(x, number).equal(in_float32(call, x, number))


@HALVES
@SIZES
@pytest.mark.parametrize("call", [
    lambda x, n: x * n, lambda x, n: n * x, lambda x, n: x / n, lambda x, n: x.clone().mul_(n),
    lambda x, n: x.clone().div_(n), lambda x, n: x.addcmul(x, x, value=n), lambda x, n: x.lerp(-x, n),
])  # fmt: skip
def test_numbers_that_multiply_half_precision_keep_that_of_float32(dtype, size, call):
    x = halves(size, dtype)
    assert call(x, 257.3).equal(in_float32(call, x, 257.3))
    assert not call(x, 257.3).equal(call(x, weft.tensor(257.3).to(dtype).item()))


@HALVES
def test_a_constant_without_dimensions_multiplies_half_precision_as_a_number_does(dtype):
    x, number = halves(64, dtype), weft.tensor(257.3)
    assert (x * number).equal(in_float32(lambda x, n: x * n, x, 257.3)) and (x * number).dtype is dtype
    assert x.clone().div_(number).equal(in_float32(lambda x, n: x / n, x, 257.3))
    assert (number * x).equal(x * number.to(dtype))  # as the first operand it is rounded
    assert (x + number).equal(x + number.to(dtype))
    number.requires_grad_()
    (x * number).sum().backward()
    assert number.grad.dtype is weft.float32


@pytest.mark.parametrize("call", [
    lambda x: x + 2**63, lambda x: x * (2**64 - 1), lambda x: x == 2**63, lambda x: weft.where(x, 2**63, x),
])  # fmt: skip
def test_a_number_of_64_bits_without_sign_goes_with_no_bool(call):
    with pytest.raises(RuntimeError, match=r"not supported, attempted to promote (Bool and UInt64|UInt64 and Bool)"):
        call(weft.tensor([True, False]))


def test_a_number_of_64_bits_without_sign_goes_with_other_dtypes():
    assert (weft.tensor([1, 2], dtype=weft.int8) + 2**63).tolist() == [1, 2]
    assert (weft.tensor([1.0]) + 2**63).tolist() == [2.0**63]
    assert weft.result_type(weft.tensor([1]), 2**63) is weft.int64


@pytest.mark.parametrize(("sequence", "values"), [("int8", "int32"), ("int64", "float32"), ("float32", "float64")])
def test_searchsorted_compares_in_the_common_dtype(sequence, values):
    numbers = weft.tensor([1, 2, 3], dtype=getattr(weft, sequence))
    assert weft.searchsorted(numbers, weft.tensor([2, 3], dtype=getattr(weft, values))).tolist() == [1, 2]
    assert weft.searchsorted(numbers, weft.tensor(3, dtype=getattr(weft, values))) == 2
    with pytest.raises(NotImplementedError):
        weft.searchsorted(numbers, weft.tensor([1j]))


def test_limits_are_numbers_or_tensors():
    x = weft.tensor([-1.0, 0.5, 2.0])
    for limits in ((0, weft.ones(3)), (weft.zeros(3), 1)):
        with pytest.raises(TypeError, match="both be numbers or both be Tensors"):
            weft.clamp(x, *limits)
    assert weft.clamp(x, 0, weft.tensor(1.0)).tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("call", ["lerp_(1.5, 0.5)", "lerp(1.5, 0.5)", "addcmul(2.0, 3.0, value=2)"])
def test_numbers_do_not_stand_for_tensors(call):
    with pytest.raises(TypeError):
        eval(f"x.{call}", {"x": weft.zeros(3)})


def test_absolute_values_are_not_written_into_complex_numbers():
    x = weft.tensor([3 + 4j])
    for name in ("abs_", "absolute_"):
        with pytest.raises(RuntimeError, match="not supported for complex"):
            getattr(x, name)()
    assert x.tolist() == [3 + 4j]


def test_differences_with_bool_are_refused_with_a_factor_too():
    for call in (lambda: weft.sub(weft.ones(2), True, alpha=2), lambda: weft.rsub(weft.tensor([True]), 1, alpha=3)):
        with pytest.raises(RuntimeError, match=r"(?i)bool"):
            call()


def test_sums_without_nan_may_be_of_bool():
    found = weft.tensor([1.0, float("nan")]).nansum(dtype=weft.bool)
    assert found.dtype is weft.bool and found


def test_inverting_floats_is_an_error_of_the_operator():
    with pytest.raises(TypeError):
        ~weft.ones(2)
    with pytest.raises(NotImplementedError):
        weft.bitwise_not(weft.ones(2))


def test_a_tensor_without_dimensions_has_a_variance():
    assert weft.tensor(2.0).var(0, correction=0) == 0
    assert weft.tensor(2.0).std(correction=0) == 0


def test_out_that_is_an_operand_is_not_resized():
    x, y = weft.zeros(()), weft.ones(3)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        weft.add(x, y, out=x)
    assert x.shape == ()
    z = weft.tensor([1.0, -1.0])
    assert weft.where(z > 0, z, 0.0, out=z) is z and z.tolist() == [1, 0]


NUMBERS_ONLY = [
    lambda x, p: x.norm(p),
    lambda x, p: x.norm(p=p),
    lambda x, p: weft.linalg.vector_norm(x, p),
    lambda x, p: weft.linalg.cond(x @ x.mT, p),
    lambda x, p: weft.dist(x, x, p),
    lambda x, p: weft.cdist(x, x, p=p),
    lambda x, p: weft.pairwise_distance(x, x + 1, p),
    lambda x, p: weft.pairwise_distance(x, x + 1, eps=p),
    lambda x, p: weft.cosine_similarity(x, x, eps=p),
    lambda x, p: weft.pdist(x, p),
    lambda x, p: weft.renorm(x, p, 0, 1.0),
    lambda x, p: x.clone().renorm_(2, 0, p),
    lambda x, p: x.logit(p / 8),
    lambda x, p: weft.logit(x, eps=p / 8, out=weft.empty(2, 3)),
    lambda x, p: weft.nan_to_num(x, p),
    lambda x, p: weft.isclose(x, x, rtol=p),
    lambda x, p: weft.histc(x, 3, 0, p),
    lambda x, p: weft.arange(0, p),
    lambda x, p: weft.trapezoid(x, dx=p),
    lambda x, p: weft.var(x, correction=p),
    lambda x, p: weft.std_mean(x, 1, correction=p / 2)[0],
    lambda x, p: weft.masked.var(x, 1, correction=p / 2),
    lambda x, p: weft.logspace(0, 1, 3, base=p),
    lambda x, p: weft.kaiser_window(4, beta=p),
    lambda x, p: weft.hamming_window(4, alpha=p),
    lambda x, p: weft.pinverse(x, p / 8),
    lambda x, p: weft.linalg.lstsq(x, x, rcond=p / 8).solution,
]


@pytest.mark.parametrize("call", NUMBERS_ONLY)
def test_a_tensor_that_requires_grad_is_no_number_whose_gradient_would_be_lost(call):
    x, number = weft.rand(2, 3), weft.tensor(2.0)
    assert weft.equal(call(x, number), call(x, 2.0))
    with pytest.raises(TypeError, match="must be Number, not a Tensor that requires grad"):
        call(x, number.requires_grad_())
    with weft.no_grad():
        assert weft.equal(call(x, number), call(x, 2.0))


def test_tolerances_and_bounds_that_require_grad():
    x, number = weft.rand(2, 3), weft.tensor(0.5, requires_grad=True)
    for name in ("atol", "rtol", "rcond"):
        with pytest.raises(RuntimeError, match=f"not differentiable with respect to '{name}'"):
            weft.linalg.pinv(x, **{name: number})
    for spaced in (weft.linspace, weft.logspace):  # as in PyTorch, which has no gradient of them
        found = spaced(number, number * 4, 3)
        assert weft.equal(found, spaced(0.5, 2, 3))
        assert not found.requires_grad


@pytest.mark.parametrize(
    ("dtype", "elements", "other"),
    [
        ("uint8", [2, 3, 250], weft.tensor(-1)),
        ("uint8", [2, 3, 250], weft.tensor(-1, dtype=weft.int8)),
        ("uint8", [2, 3, 250], weft.tensor(300)),
        ("int8", [2, 3, -100], weft.tensor(200)),
        ("int32", [2, 3, -4], weft.tensor(2**40)),
        ("bool", [True, False, True], weft.tensor(-3)),
    ],
)
@pytest.mark.parametrize(
    "name", "div atan2 xlogy copysign float_power special.xlog1py special.zeta special.chebyshev_polynomial_t".split()
)
def test_integers_become_floats_before_their_common_dtype_could_wrap_them(name, dtype, elements, other):
    """A tensor without dimensions does not widen the other's dtype, which may lack its number."""
    function = weft
    for part in name.split("."):
        function = getattr(function, part)
    x = weft.tensor(elements, dtype=getattr(weft, dtype))
    for a, b in ((x, other), (other, x)):
        found = function(a, b)
        expected = function(a.to(found.dtype), b.to(found.dtype))
        assert weft.equal(found.nan_to_num(), expected.nan_to_num())
        assert found.dtype == (weft.float64 if name == "float_power" else weft.float32)
