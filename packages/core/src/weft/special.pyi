"""Special functions. Made by scripts/make_stubs.py (./dev lint --fix), not by hand."""

from collections.abc import Sequence
from weft.types import DType
from weft.types import Number
from weft.types import Tensor

def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Airy's function Ai, the solution of ``y'' = x * y`` that vanishes for large x. It needs SciPy."""

def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0. It needs SciPy."""

def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1. It needs SciPy."""

def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0: nan below 0. It needs SciPy."""

def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1: nan below 0. It needs SciPy."""

def chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomials of the first kind: ``cos(n * acos(x))``."""

def chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomials of the second kind: ``sin((n + 1) * acos(x)) / sin(acos(x))``."""

def chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomials of the third kind: ``cos((n + 1 / 2) * acos(x)) / cos(acos(x) / 2)``."""

def chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomials of the fourth kind: ``sin((n + 1 / 2) * acos(x)) / sin(acos(x) / 2)``."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`: nan at the negative integers, infinite at 0."""

def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-x * log(x)`` of each element x; 0 at 0, minus infinity below."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t * t)`` from 0 to each element."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(x)``, without loss of precision for large x."""

def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(x * x) * erfc(x)`` of each element x: `erfc` without its decay."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose `erf` is the element; infinite at -1 and 1, nan outside."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 raised to the power of each element."""

def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / (1 + exp(-x))`` of each element x."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of each element, minus 1, exact near 0."""

def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function."""

def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function, ``1 - igamma(input, other)``. It needs SciPy."""

def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function's absolute value; infinite at 0 and the negative integers."""

def hermite_polynomial_h(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hermite polynomials of physicists: ``H(n + 1) = 2 * x * H(n) - 2 * n * H(n - 1)``."""

def hermite_polynomial_he(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hermite polynomials of probabilists: ``He(n + 1) = x * He(n) - n * He(n - 1)``."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""

def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-abs(x)) * i0(x)`` of each element x."""

def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""

def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-abs(x)) * i1(x)`` of each element x."""

def laguerre_polynomial_l(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Laguerre polynomials: ``(n + 1) * L(n + 1) = (2 * n + 1 - x) * L(n) - n * L(n - 1)``."""

def legendre_polynomial_p(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Legendre polynomials: ``(n + 1) * P(n + 1) = (2 * n + 1) * x * P(n) - n * P(n - 1)``."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of 1 plus each element, exact near 0."""

def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `ndtr`, exact where that is too small to be represented."""

def log_softmax(input: Tensor, dim: int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`, accurate where that is close to 0."""

def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the odds ``x / (1 - x)``: the inverse of `sigmoid`."""

def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials over some dimensions, without overflow."""

def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`i0`, without a gradient."""

def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`i1`, without a gradient."""

def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0: nan below 0. It needs SciPy."""

def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1: nan below 0. It needs SciPy."""

def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""

def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The probability that a standard normal number is below each element."""

def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `ndtr`: the point below which a standard normal number is with this probability."""

def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of `digamma`."""

def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`: nan at the negative integers, infinite at 0."""

def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to the nearest value with so many decimals; halves to even."""

def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(x) * modified_bessel_k0(x)`` of each element x. It needs SciPy."""

def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(x) * modified_bessel_k1(x)`` of each element x. It needs SciPy."""

def shifted_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomials of the first kind at ``2 * x - 1``."""

def shifted_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomials of the second kind at ``2 * x - 1``."""

def shifted_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomials of the third kind at ``2 * x - 1``."""

def shifted_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomials of the fourth kind at ``2 * x - 1``."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi x) / (pi x)`` of each element x; 1 at 0."""

def softmax(input: Tensor, dim: int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(input)`` divided by its sum along a dimension, without overflow."""

def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The spherical Bessel function of the first kind of order 0: ``sin(x) / x``, 1 at 0."""

def xlog1py(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log1p(other)``, 0 where input is 0 (and other is no nan)."""

def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, 0 where input is 0 (and other is no nan)."""

def zeta(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz's zeta function: the sum of ``(other + k) ** -input`` over all k from 0 on."""
