"""Functions that NumPy lacks, or computes in several passes over memory or by a call for each number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.backend import destination
from weft.backend_cpu.compiled.codegen import mathematics
from weft.backend_cpu.compiled.codegen.array_header import HEAD, array_at, word_at
from weft.backend_cpu.compiled.codegen.elementwise import run_elementwise, scalar_function
from weft.backend_cpu.compiled.codegen.mathematics import (
    between,
    erfc,
    erfcx,
    floor,
    function,
    fused,
    like,
    log,
    log1p,
    logaddexp,
    next_to,
    polynomial,
    truncated,
    whole,
)
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.pointwise import REAL, element_of, elementwise_kernel, operands_of, run_of
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

WHOLE = "int32 int64"
FLOATS = "float32 float64"

# Signs and nan

elementwise_kernel(
    "core::sign",
    lambda a: like(a, (1 if a > 0 else 0) - (1 if a < 0 else 0)),
    f"{REAL} {WHOLE}",
    min_size=MIN_SIZE_FUSED,
    bitwise=True,
)
elementwise_kernel(
    "core::sgn",
    lambda a: like(a, (1 if a > 0 else 0) - (1 if a < 0 else 0)),
    f"{REAL} {WHOLE}",
    min_size=MIN_SIZE_FUSED,
    bitwise=True,
)
elementwise_kernel(
    "core::angle",
    lambda a: a if a != a else like(a, math.pi if a < 0 else 0.0),
    REAL,
    min_size=MIN_SIZE_FUSED,
    bitwise=True,
)
elementwise_kernel("core::copysign", lambda a, b: math.copysign(a, b), REAL, min_size=MIN_SIZE_FUSED, bitwise=True)
elementwise_kernel("core::frac", lambda a: a - truncated(a), REAL, min_size=MIN_SIZE_FUSED, bitwise=True)


@function
def neighbour(a, b):
    """The next number from ``a`` towards ``b``."""
    value = next_to(a, (a < b) == (a > 0))
    value = next_to(math.copysign(like(a, 0.0), b), True) if a == 0 else value
    value = b if a == b else value
    return value if a == a and b == b else a + b


# Not for halves: their neighbours are not those of float32
@register_kernel("core::nextafter", dtypes=FLOATS, min_size=MIN_SIZE_FUSED)
def nextafter_kernel(generic: Any) -> Any:
    return run_of(scalar_function("core::nextafter", lambda a, b: neighbour(a, b)), 2, generic)


@function
def replaced(a, nan, most, least):
    """The element, or what stands for it if it is no finite number."""
    return nan if a != a else most if a == like(a, math.inf) else least if a == like(a, -math.inf) else a


@register_kernel("core::nan_to_num", dtypes=REAL, min_size=MIN_SIZE_FUSED, halves=True, bitwise=True)
def nan_to_num_kernel(generic: Any) -> Any:
    key = scalar_function("nan_to_num", lambda a, b, c, d: replaced(a, b, c, d))

    def run(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
        numbers = [float(each) for each in (nan or 0.0, posinf, neginf)]
        made = run_elementwise(key, [x, *numbers], x.dtype)
        return generic(x, nan, posinf, neginf) if made is None else made

    return run


# Functions of one number, and of two


def function_kernel(name: str, formula: Callable[..., Any], cost: int) -> None:
    """Register the kernel of a function of floating-point numbers."""
    elementwise_kernel(f"core::{name}", formula, cost=cost, min_size=MIN_SIZE_FUSED)


function_kernel("exp2", lambda a: mathematics.exp2(a), 3)
function_kernel("erfc", lambda a: erfc(a), 6)
function_kernel("erfcx", lambda a: erfcx(a), 8)
function_kernel("erfinv", lambda a: mathematics.erfinv(a), 8)
function_kernel("ndtr", lambda a: mathematics.normal_below(a), 6)
function_kernel("lgamma", lambda a: mathematics.lgamma(np.float64(a)), 16)
function_kernel("digamma", lambda a: mathematics.digamma(np.float64(a)), 16)
function_kernel("hypot", lambda a, b: mathematics.hypot(a, b), 3)
function_kernel("logaddexp", lambda a, b: logaddexp(a, b), 5)


@function
def logaddexp2(a, b):
    most = a if a > b or a != a else b
    apart = abs(a - b)
    rest = mathematics.softplus(like(a, -0.6931471805599453) * apart) * like(a, 1.4426950408889634)
    return a + like(a, 1.0) if a == b else most + (rest if apart < like(a, math.inf) else like(a, 0.0))


function_kernel("logaddexp2", lambda a, b: logaddexp2(a, b), 5)


@function
def log_normal_below(a):
    """The logarithm of the probability that a standard normal number is below a."""
    z = a * like(a, 0.7071067811865476)
    tail = log(like(a, 0.5) * erfcx(-z)) - like(a, 0.5) * a * a
    body = log1p(-mathematics.normal_below(-a))
    return tail if z < like(a, -1.0) else body


function_kernel("log_ndtr", lambda a: log_normal_below(a), 16)


# The modified Bessel functions of the first kind, times exp(-x): polynomials of x / 4 - 1 for x < 8, where that of
# order 1 is divided by x, and beyond times sqrt(x) of 16 / x - 1. To 2e-8 in float32, and 2e-16.

I0_NEAR_SINGLE = (
    -0.0008179725460897107,
    0.001978308759881825,
    -0.0008991624061954382,
    0.0012403794731531738,
    -0.007766332662051006,
    0.014507777636494707,
    -0.019090664146748454,
    0.028625284356183882,
    -0.04319487770478447,
    0.05732588823414282,
    -0.06950006317644594,
    0.07916705742834407,
    -0.08496741817534578,
    0.0873540400773373,
    -0.08904328935517108,
    0.09451522840742617,
    -0.11300432782525216,
    0.2070019236960542,
)
I0_NEAR_DOUBLE = (
    -1.601973429472564e-08,
    5.753995763975938e-08,
    -8.791296325157322e-08,
    2.699153146632741e-07,
    -1.1360524712119476e-06,
    3.40892232481125e-06,
    -9.194264364358614e-06,
    2.4986432931858343e-05,
    -6.555606021032439e-05,
    0.00016258361907161146,
    -0.0003828745840656792,
    0.0008562120964037982,
    -0.001811898032010941,
    0.0036171685199186195,
    -0.006792396673321815,
    0.011960065956449436,
    -0.019682655309282406,
    0.030177914326369393,
    -0.04298594937721531,
    0.05677703173239174,
    -0.06954119562303405,
    0.07927522592865593,
    -0.08496338091593245,
    0.08734341617468505,
    -0.08904344136076327,
    0.0945156285399639,
    -0.11300432688620547,
    0.20700192122398667,
)
I0_FAR_SINGLE = (
    1.0829898259260847e-07,
    3.631710305277285e-07,
    1.4767921099426897e-06,
    1.1111525456650673e-05,
    0.00013621684311530046,
    0.003360555851925354,
    0.4021765094450081,
)
I0_FAR_DOUBLE = (
    4.135876648682931e-11,
    -1.4445672537505243e-10,
    -3.071906127922479e-10,
    9.544601432676015e-10,
    1.1661402343034395e-09,
    -2.8927339071525176e-09,
    -3.2125135187536916e-09,
    5.143209552133765e-09,
    7.396966944501919e-09,
    -4.270650077736271e-09,
    -1.3356327855568524e-08,
    -7.116744361973559e-09,
    7.54377527049265e-09,
    2.1624460310964813e-08,
    3.932712308155178e-08,
    8.871293194031703e-08,
    2.973597885293129e-07,
    1.4838481508614861e-06,
    1.1143033791893037e-05,
    0.00013621607437737268,
    0.003360551983667876,
    0.40217650944500816,
)
I1_NEAR_SINGLE = (
    -0.00011931581510371305,
    0.0003070296457280514,
    -0.00022115376803467696,
    0.00041297783826617823,
    -0.0016662365553797404,
    0.0033589298866077547,
    -0.005457398639463575,
    0.009369502835494129,
    -0.01559849009725923,
    0.023761659175848278,
    -0.03366601114728899,
    0.04465968644830776,
    -0.05528056337853474,
    0.06376886448103815,
    -0.0684825864792795,
    0.0680575449174863,
    -0.06112433815152135,
    0.04468771021532535,
)
I1_NEAR_DOUBLE = (
    -1.3931836382589292e-09,
    5.211654337723065e-09,
    -9.144761049555143e-09,
    2.9883402742599985e-08,
    -1.2376686539665326e-07,
    3.9091632529126733e-07,
    -1.133551346432692e-06,
    3.2758896983910484e-06,
    -9.135581253751598e-06,
    2.4248618918164148e-05,
    -6.142435066991627e-05,
    0.0001484126353082137,
    -0.00034117562574038554,
    0.0007445158546973146,
    -0.0015388747130763492,
    0.003005761422600446,
    -0.0055345678088487725,
    0.009583962342948091,
    -0.015571309250544394,
    0.023686016933733296,
    -0.03367135552039122,
    0.04467457262304859,
    -0.05528003922703299,
    0.06376740371333725,
    -0.06848260620582576,
    0.06805759990951267,
    -0.06112433802966629,
    0.04468770987560883,
)
I1_FAR_SINGLE = (
    -1.2212498465941114e-07,
    -4.2155543729815765e-07,
    -1.8267145046635388e-06,
    -1.500332306614829e-05,
    -0.00021923666942859845,
    -0.009749581526547915,
    0.38939845902587233,
)
I1_FAR_DOUBLE = (
    -3.8283175381954764e-11,
    1.5138593188994937e-10,
    2.8795331756056494e-10,
    -1.0032286657469367e-09,
    -1.1153081471020825e-09,
    3.058266063030481e-09,
    3.158128394038914e-09,
    -5.508410101058488e-09,
    -7.500259261458366e-09,
    4.794244928288129e-09,
    1.3986230463406462e-08,
    7.11857304159907e-09,
    -8.417810920963156e-09,
    -2.3453111578911273e-08,
    -4.3130341636591896e-08,
    -1.0000323945504966e-07,
    -3.48385512527697e-07,
    -1.8349107416208325e-06,
    -1.5038547201402326e-05,
    -0.0002192357638187367,
    -0.009749577193235751,
    0.3893984590258723,
)


@function
def scaled_modified(a, order):
    """``exp(-abs(a))`` times the function of order 0 or 1."""
    x = abs(a)
    near = between(x, like(x, 0.0), like(x, 8.0)) * like(x, 0.25) - like(x, 1.0)
    inverse = like(x, 1.0) / (x if x > like(x, 8.0) else like(x, 8.0))
    far = like(x, 16.0) * inverse - like(x, 1.0)
    if order == 0:
        below, above = polynomial(near, I0_NEAR_SINGLE, I0_NEAR_DOUBLE), polynomial(far, I0_FAR_SINGLE, I0_FAR_DOUBLE)
    else:
        below, above = (
            a * polynomial(near, I1_NEAR_SINGLE, I1_NEAR_DOUBLE),
            polynomial(far, I1_FAR_SINGLE, I1_FAR_DOUBLE),
        )
        above = math.copysign(above, a)
    value = below if x < like(x, 8.0) else above * math.sqrt(inverse)
    if order == 0 and x == like(x, 0.0):
        value = like(x, 1.0)  # not the number before it
    return value if x == x else x


@function
def modified(a, order):
    half = mathematics.exp(like(a, 0.5) * abs(a))  # the whole would overflow before the result does
    return scaled_modified(a, order) * half * half


for op in ("i0", "modified_bessel_i0"):
    function_kernel(op, lambda a: modified(a, 0), 8)
for op in ("i1", "modified_bessel_i1"):
    function_kernel(op, lambda a: modified(a, 1), 8)
function_kernel("i0e", lambda a: scaled_modified(a, 0), 6)
function_kernel("i1e", lambda a: scaled_modified(a, 1), 6)


@register_kernel("core::polygamma", dtypes=FLOATS, min_size=MIN_SIZE_FUSED)
def polygamma_kernel(generic: Any) -> Any:
    first = scalar_function("digamma", lambda a: mathematics.digamma(np.float64(a)))
    second = scalar_function(
        "trigamma", lambda a: mathematics.trigamma(np.float64(a), np.float64(a * like(a, 3.141592653589793)))
    )

    def run(x: Any, n: int) -> Any:
        return run_elementwise(first if n == 0 else second, [x], x.dtype, 16) if n < 2 else generic(x, n)

    return with_rest(generic, run)


# Formulas for part of the range: they give nan for other numbers, which the generic kernel then computes one by one.


@loop
def nan_loop(x, found, lo, hi):
    some = False
    for i in range(lo, hi):
        some |= x[i] != x[i]
    if some:
        found[0] = True


@launcher
def find_nan(x, found):
    parallel(nan_loop, (x, found), x.size, x.size)


def with_rest(generic: Any, run: Callable[..., Any]) -> Any:
    """A kernel that has results of nan, or all if it is None, computed again by the generic one."""

    def complete(*args: Any) -> Any:
        made = run(*args)
        if made is None:
            return generic(*args)
        found = np.zeros(1, bool)
        find_nan(made.ravel(order="K"), found)
        if found[0]:
            compute_again(made, args, generic)
        return made

    return complete


def compute_again(made: Any, args: tuple[Any, ...], generic: Any) -> None:
    """Replace results of nan by the generic kernel's."""
    wrong = np.isnan(made)
    again = [np.broadcast_to(x, made.shape)[wrong] if isinstance(x, np.ndarray) else x for x in args]
    made[wrong] = generic(*again)


def function_kernel_with_rest(
    name: str, formula: Callable[..., Any], dtypes: str, cost: int, bitwise: bool = False
) -> None:
    """Register the kernel of a function by a formula that is nan where it does not apply."""
    key, count = scalar_function(name, formula), formula.__code__.co_argcount

    @register_kernel(name, dtypes=dtypes, min_size=MIN_SIZE_FUSED, bitwise=bitwise)
    def make(generic: Any) -> Any:
        def run(*args: Any) -> Any:
            arrays = operands_of(args) if len(args) == count else None
            return None if arrays is None else run_elementwise(key, arrays, element_of(arrays), cost)

        return with_rest(generic, run)


function_kernel_with_rest("core::sin", lambda a: mathematics.sine(a), "float64", 6)
function_kernel_with_rest("core::cos", lambda a: mathematics.cosine(a), "float64", 6)


# Sines and cosines of contiguous float32: the loop itself finds whether some are nan


@loop
def waves_loop(x, y, quarters, found, lo, hi):
    some = False
    for i in range(lo, hi):
        value = mathematics.single_sine_of(x[i], quarters)
        y[i] = x[i] if quarters == 0 and x[i] == 0 else value
        some |= value != value
    if some:
        found[0] = True


@launcher
def waves(x, y, quarters, size, example):
    """Sines of the elements plus ``quarters`` right angles, by the arrays' identities; whether some are nan."""
    found = np.zeros(1, np.bool_)
    source, target = array_at(word_at(x + HEAD), size, example), array_at(word_at(y + HEAD), size, example)
    parallel(waves_loop, (source, target, quarters, found), size, size * 3)
    return found[0]


def sine_kernel(name: str, formula: Callable[..., Any], quarters: int) -> None:
    """Register the kernel of the sine, or of the cosine."""
    key = scalar_function(name, formula)
    example = np.zeros(1, np.float32)

    @register_kernel(name, dtypes="float32", min_size=MIN_SIZE_FUSED)
    def make(generic: Any) -> Any:
        def any_layout(x: Any) -> Any:
            return run_elementwise(key, [x], x.dtype, 3)

        def run(x: Any, out: Any = None) -> Any:
            if out is not None:  # not written to: where the formula is nan, the angle is needed again
                out[...] = run(x)
                return out
            if not (x.flags.c_contiguous and x.flags.aligned) or destination.array is not None:
                return complete(x)
            made = np.empty(x.shape, x.dtype)
            if waves(id(x), id(made), quarters, x.size, example):
                compute_again(made, (x,), generic)
            return made

        complete = with_rest(generic, any_layout)
        return run


sine_kernel("core::sin", lambda a: mathematics.single_sine(a), 0)
sine_kernel("core::cos", lambda a: mathematics.single_cosine(a), 1)


@function
def rest_of(a, b):
    """The remainder of a truncated division in float64; nan where the quotient needs more digits."""
    quotient = a / b
    rest = fused(-whole(quotient), b, a)
    rest = rest + math.copysign(b, a) if rest != 0 and (rest < 0) != (a < 0) else rest
    rest = math.copysign(rest, a) if rest == 0 else rest
    rest = a if abs(b) == math.inf and abs(a) < math.inf else rest
    return rest if abs(quotient) < 2.0**51 else math.nan


@function
def modulus(a, b):
    """The remainder of a floored division in float64; nan where the quotient needs more digits."""
    rest = rest_of(a, b)
    other = rest + b if (rest < 0) != (b < 0) else rest
    return math.copysign(0.0, a) if rest == 0 else other


@function
def floor_of(a, b):
    """The quotient, rounded down."""
    quotient = a / b
    value = floor(quotient)
    rest = fused(-value, b, a)
    value = value - like(a, 1.0) if rest != 0 and (rest < 0) != (b < 0) else value
    apart = like(a, -1.0) if a != 0 and (a < 0) != (b < 0) else quotient
    value = apart if abs(b) == math.inf else value
    value = value if abs(a) < like(a, math.inf) else like(a, math.nan)
    return quotient if b == 0 else value


function_kernel_with_rest("core::fmod", lambda a, b: rest_of(np.float64(a), np.float64(b)), FLOATS, 4, True)
function_kernel_with_rest("core::remainder", lambda a, b: modulus(np.float64(a), np.float64(b)), FLOATS, 4, True)
for op in ("floor_divide", "div_floor"):
    function_kernel(op, lambda a, b: floor_of(a, b), 3)
function_kernel("div_trunc", lambda a, b: truncated(a / b), 2)


# Whole numbers


@function
def quotient_of(a, b):
    """The floored quotient of integers, by two divisions in float64, the second for the digits that the first lacks."""
    x, y = np.float64(a), np.float64(b)
    quotient = x / y
    value = np.int64(truncated(quotient if quotient < 9223372036854774784.0 else 9223372036854774784.0))
    rest = a - value * b
    second = np.int64(floor(np.float64(rest) / y))
    value += second
    rest -= second * b
    beyond = rest >= b if b > 0 else rest <= b
    below = rest < 0 if b > 0 else rest > 0
    return value + (1 if beyond else 0) - (1 if below else 0)


@function
def quotient_of_short(a, b):
    """As `quotient_of`, for 32 bits, where one division has all digits."""
    return np.int64(floor(np.float64(a) / np.float64(b)))


@function
def towards_zero(a, b, value):
    """The quotient rounded towards 0, from that rounded down."""
    return value + (1 if value < 0 and value * b != a else 0)


def whole_operands(args: tuple[Any, ...]) -> list[Any] | None:
    """Arrays of one dtype, and integers in it; None if there are others, or a divisor of 0."""
    element = next((each.dtype for each in args if isinstance(each, np.ndarray)), None)
    arrays = [np.asarray(each, element) if type(each) is int else each for each in args]
    return arrays if all(isinstance(each, np.ndarray) and each.dtype == element for each in arrays) else None


def integer_kernel(
    name: str,
    formula: Callable[..., Any],
    dtypes: str,
    cost: int = 1,
    *,
    divides: bool = False,
    bitwise: bool = False,
) -> None:
    """Register an op of integers; one that divides leaves a divisor of 0 to the generic kernel, which refuses it."""
    key = scalar_function(name, formula)

    @register_kernel(f"core::{name}", dtypes=dtypes, min_size=MIN_SIZE_FUSED, bitwise=bitwise)
    def make(generic: Any) -> Any:
        def run(*args: Any) -> Any:
            arrays = whole_operands(args)
            if arrays is None or (divides and (arrays[1] == 0).any()):
                return generic(*args)
            made = run_elementwise(key, arrays, arrays[0].dtype, cost)
            return generic(*args) if made is None else made

        return run


for op in ("floor_divide", "div_floor"):
    integer_kernel(op, lambda a, b: quotient_of(a, b), "int64", 8, divides=True)
    integer_kernel(op, lambda a, b: quotient_of_short(a, b), "int32", 4, divides=True)
integer_kernel("div_trunc", lambda a, b: towards_zero(a, b, quotient_of(a, b)), "int64", 8, divides=True)
integer_kernel("div_trunc", lambda a, b: towards_zero(a, b, quotient_of_short(a, b)), "int32", 4, divides=True)
integer_kernel("remainder", lambda a, b: a - b * quotient_of(a, b), "int64", 8, divides=True, bitwise=True)
integer_kernel("remainder", lambda a, b: a - b * quotient_of_short(a, b), "int32", 4, divides=True, bitwise=True)
integer_kernel(
    "fmod", lambda a, b: a - b * towards_zero(a, b, quotient_of(a, b)), "int64", 8, divides=True, bitwise=True
)
integer_kernel(
    "fmod", lambda a, b: a - b * towards_zero(a, b, quotient_of_short(a, b)), "int32", 4, divides=True, bitwise=True
)
integer_kernel("bitwise_left_shift", lambda a, b: a << b if 0 <= b < 64 else like(a, 0), "int64")
integer_kernel("bitwise_right_shift", lambda a, b: a >> (b if 0 <= b < 63 else 63), "int64")
integer_kernel("bitwise_left_shift", lambda a, b: like(a, a << b) if 0 <= b < 32 else like(a, 0), "int32")
integer_kernel("bitwise_right_shift", lambda a, b: like(a, a >> (b if 0 <= b < 31 else 31)), "int32")


# Complex numbers of their parts


@loop
def joined_loop(real, imag, out, lo, hi):
    for i in range(lo, hi):
        out[2 * i] = real[i]
        out[2 * i + np.uintp(1)] = imag[i]


@launcher
def joined(real, imag, out):
    parallel(joined_loop, (real, imag, out), real.size, real.size)


@register_kernel("core::complex", dtypes=FLOATS, min_size=MIN_SIZE_FUSED)
def complex_kernel(generic: Any) -> Any:
    def run(real: Any, imag: Any) -> Any:
        alike = real.shape == imag.shape and real.dtype == imag.dtype
        if not (alike and real.flags.c_contiguous and imag.flags.c_contiguous):
            return generic(real, imag)
        made = np.empty(real.shape, np.complex64 if real.itemsize == 4 else np.complex128)
        joined(real.reshape(-1), imag.reshape(-1), made.reshape(-1).view(real.dtype))
        return made

    return run
