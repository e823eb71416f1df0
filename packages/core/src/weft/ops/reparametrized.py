"""Gamma and Dirichlet samples as functions of their parameters: implicit reparametrization.

A sample x of cdf F(x; a) moves with its parameter as ``dx/da = -(dF/da) / (dF/dx)``. There is no closed form; here are
the approximations that PyTorch's gradients are, region by region, so that training goes the same way: Jankowiak and
Obermeyer, Pathwise derivatives beyond the reparameterization trick, 2018.
"""

from __future__ import annotations

from typing import Any

from weft._tensor.base import Tensor
from weft.ops._declare import op
from weft.ops._numerics import doubly, wide
from weft.ops.gamma_functions import digamma_array
from weft.ops.random import check_tensor
from weft.random import Generator, generator_for

# exp(P / Q) with P and Q of degree 3 in log(a), whose coefficients are of degree 2 in log(x / a).
GAMMA_P_AND_Q = (
    (0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084),
    (0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
    (
        0.040121004,
        -0.0065914022,
        -0.0026286047,
        -0.0013441777,
        0.017050642,
        -0.0021309326,
        0.00085092367,
        -1.5247877e-7,
    ),
)
# Of degree 2 in log(x), 2 in log(a / x), and 3 in the logarithm of the sum of all parameters less the latter.
DIRICHLET_P = (
    (
        (1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
        (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
        (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013),
    ),
    (
        (0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
        (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
        (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05),
    ),
    (
        (-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
        (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
        (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05),
    ),
)
DIRICHLET_Q = (
    (
        (1, -0.02924021934, -0.04438342661, 0.007285809825),
        (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
        (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149),
    ),
    (
        (0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
        (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
        (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05),
    ),
    (
        (0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
        (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
        (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06),
    ),
)


@op(tensors="input output", dtypes="float", gradient="refused", vmap="elementwise")
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """How each of the samples `output` of the gamma distribution moves with its shape parameter in `input`."""
    check_tensor("_standard_gamma_grad", input)
    check_tensor("_standard_gamma_grad", output, "output")
    return _standard_gamma_grad.op(input, output)


@_standard_gamma_grad.kernel
def _(xp, input, output):
    return by_region(
        xp,
        (input, output),
        lambda a, x: [
            (x < 0.8, gamma_near_zero),
            ((a > 8) & (x >= 0.9 * a) & (x <= 1.1 * a), gamma_near_mode),
            (a > 8, gamma_far_from_mode),
            (True, gamma_rational),
        ],
    )


@op(tensors="x alpha total", dtypes="float", gradient="refused", vmap="elementwise")
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """How each element `x` of a Dirichlet sample moves with its own parameter `alpha`; `total`: the sum of them all."""
    for name, each in (("x", x), ("alpha", alpha), ("total", total)):
        check_tensor("_dirichlet_grad", each, name)
    return _dirichlet_grad.op(x, alpha, total)


@_dirichlet_grad.kernel
def _(xp, x, alpha, total):
    return by_region(
        xp,
        (x, alpha, wide(xp, total) - alpha),
        lambda x, a, b: [
            ((x <= 0.5) & ((a + b) * x * (1 - x) < 2.5), beta_near_zero),
            ((x >= 0.5) & ((a + b) * x * (1 - x) < 0.75), beta_near_one),
            ((a > 6) & (b > 6) & (xp.absolute(x - a / (a + b)) <= 0.1 * beta_deviation(xp, a, b)), beta_near_mean),
            ((a > 6) & (b > 6), beta_far_from_mean),
            (True, beta_rational),
        ],
    )


@op(name="_sample_dirichlet", dtypes="float", vmap="random")
def sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Samples of the Dirichlet distributions whose parameters are the rows of `input`, by float64 gamma variables."""
    check_tensor("_sample_dirichlet", input)
    return sample_dirichlet.op(input, generator_for("_sample_dirichlet", generator, input.device))


@sample_dirichlet.kernel
def _(xp, input, generator):
    gamma = generator.sample("gamma", xp.ascontiguousarray(wide(xp, input)).reshape(-1)).reshape(input.shape)
    shares = (gamma / gamma.sum(-1, keepdims=True)).astype(input.dtype)
    limits = xp.finfo(input.dtype)
    # Neither 0 nor 1, whose densities are infinite where a parameter is below 1: the numbers next to them.
    return xp.clip(shares, limits.tiny, 1 - limits.epsneg)


@sample_dirichlet.gradient("input")
def _(grad, input, output):
    moves = _dirichlet_grad(output, input, input.sum(-1, True).expand_as(input))
    return moves * (grad - (output * grad).sum(-1, True))


def by_region(xp: Any, arguments: tuple[Any, ...], regions: Any) -> Any:
    """The function of the first region that each element lies in, computed in float64; 0 where that is NaN."""
    element = arguments[0].dtype
    arrays = [wide(xp, xp.asarray(each)).reshape(-1) for each in xp.broadcast_arrays(*arguments)]
    result = xp.zeros_like(arrays[0])
    left = xp.ones(result.shape, bool)
    for condition, function in regions(*arrays):
        chosen = left & condition
        if xp.any(chosen):
            result[chosen] = function(xp, *(each[chosen] for each in arrays))
        left &= ~chosen
    return xp.where(xp.isnan(result), 0.0, result).reshape(xp.broadcast(*arguments).shape).astype(element)


# Gamma: a is the parameter, x the sample


def gamma_near_zero(xp: Any, a: Any, x: Any) -> Any:
    """Six terms of ``Gamma(a) F = x**a sum((-x)**n / (n! (a + n)))``, and of its derivative."""
    term, first, second = xp.ones_like(x), 1 / a, 1 / (a * a)
    for n in range(1, 6):
        term = term * -x / n
        first = first + term / (a + n)
        second = second + term / (a + n) ** 2
    # dF/da and dF/dx have the factor x**(a - 1) / Gamma(a).
    slope = (xp.log(x) - doubly(xp, digamma_array, a)) * first - second
    return -x * slope * xp.exp(x)


def gamma_near_mode(xp: Any, a: Any, x: Any) -> Any:
    """The saddle point expansion around x = a, where the other one is 0 / 0."""
    first = 1 + 24 * a * (1 + 12 * a)
    second = 1440 * a**2 + 6 * x * (53 - 120 * x) - 65 * x**2 / a + a * (107 + 3600 * x)
    return first * second / (1244160 * a**4)


def gamma_far_from_mode(xp: Any, a: Any, x: Any) -> Any:
    """The saddle point expansion."""
    root, log_ratio, away = xp.sqrt(8 * a), xp.log(x / a), a - x
    bend = (-away - a * log_ratio) ** -1.5
    inner = log_ratio * (root / away - xp.sign(away) * bend) - xp.sqrt(2 / a) * (a + x) / away**2
    return -stirling(a) * x * inner / root


def stirling(a: Any) -> Any:
    """The series of Gamma(a) over Stirling's formula, as far as the expansions go."""
    return 1 + 1 / (12 * a) + 1 / (288 * a * a)


def gamma_rational(xp: Any, a: Any, x: Any) -> Any:
    """The fitted function of log(x / a) and log(a)."""
    u, v = xp.log(x / a), xp.log(a)
    c = [c0 + u * (c1 + u * c2) for c0, c1, c2 in zip(*GAMMA_P_AND_Q, strict=True)]
    p, q = (w0 + v * (w1 + v * (w2 + v * w3)) for w0, w1, w2, w3 in (c[:4], c[4:]))
    return xp.exp(p / q)


# Beta, the distribution of one element of a Dirichlet sample: a is its own parameter, b the sum of the others


def beta_near_zero(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """Eleven terms of the cdf's series in x."""
    factor = doubly(xp, digamma_array, a) - doubly(xp, digamma_array, a + b) - xp.log(x)
    term, total = xp.ones_like(x), (factor + 1 / a) / a
    for n in range(1, 11):
        term = term * (n - b) * x / n
        total = total + term / (a + n) * (factor + 1 / (a + n))
    return x * (1 - x) ** -b * total


def beta_near_one(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """Nine terms of the series in 1 - x, which is a beta variable with the parameters exchanged."""
    y = 1 - x
    factor = doubly(xp, digamma_array, a + b) - doubly(xp, digamma_array, a)
    term, product, slope, total = xp.ones_like(x), xp.ones_like(x), xp.zeros_like(x), factor / b
    for n in range(1, 9):
        term = term * -y / n
        slope = slope * (a - n) + product
        product = product * (a - n)
        total = total + term / (b + n) * (slope + factor * product)
    return x ** (1 - a) * total


def beta_deviation(xp: Any, a: Any, b: Any) -> Any:
    """The standard deviation."""
    return xp.sqrt(a * b / (a + b + 1)) / (a + b)


def beta_near_mean(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """The saddle point expansion around the mean, where the other one is 0 / 0."""
    total = a + b
    series = 47 * x * b**4 + a * (
        (43 + 20 * (16 + 27 * b) * x) * b**3
        + a
        * (
            3 * (59 + 180 * b - 90 * x) * b**2
            + a * ((453 + 1620 * b * (1 - x) - 455 * x) * b + a * (8 * (1 - x) * (135 * b - 11)))
        )
    )
    scale = (1 + 12 * a) * (1 + 12 * b) / (total * total)
    return scale * series / ((1 - x) * 12960 * a**3 * b**2 * (1 + 12 * total))


def beta_far_from_mean(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """The saddle point expansion."""
    total = a + b
    away = b * x + a * (x - 1)
    first = (2 * a**2 * (x - 1) + a * b * (x - 1) - x * b**2) / (xp.sqrt(2 * a / b) * total**1.5 * away**2)
    bend = (b * xp.log(b / (total * (1 - x))) + a * xp.log(a / (total * x))) ** -1.5
    second = 0.5 * xp.log(a / (total * x)) * (xp.sqrt(8 * a * b / total) / away + xp.where(away < 0, bend, -bend))
    series = stirling(a) * stirling(b) / stirling(total)
    return -series * x / xp.sqrt(2 * a * b / total) * (first + second)


def beta_rational(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """The fitted correction of what is exact for a sum of parameters of 1."""
    u = xp.log(x)
    v = xp.log(a) - u
    w = xp.log(a + b) - v
    p, q = (
        sum(
            u**i * v**j * (c[0] + w * (c[1] + w * (c[2] + w * c[3])))
            for i, row in enumerate(table)
            for j, c in enumerate(row)
        )
        for table in (DIRICHLET_P, DIRICHLET_Q)
    )
    exact = x * (doubly(xp, digamma_array, a + b) - doubly(xp, digamma_array, a)) / b
    return p / q * exact


@op(name="_standard_gamma", dtypes="float", vmap="random")
def standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw from gamma distributions of scale 1 whose shape parameters are the elements of `input`.

    Raises
    ------
    NotImplementedError
        For half types.
    """
    check_tensor("_standard_gamma", input)
    if input.dtype.is_half:
        raise NotImplementedError(
            f"_standard_gamma: not implemented for '{input.dtype.scalar_type_name}'; pass input.float()"
        )
    return standard_gamma.op(input, generator_for("_standard_gamma", generator, input.device))


@standard_gamma.kernel
def _(xp, input, generator):
    return generator.sample("gamma", xp.ascontiguousarray(input).reshape(-1)).reshape(input.shape)


@standard_gamma.gradient("input")
def _(grad, input, output):
    return grad * _standard_gamma_grad(input, output)


_standard_gamma, _sample_dirichlet = standard_gamma, sample_dirichlet  # PyTorch has them at the top level so
