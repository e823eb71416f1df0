"""Special functions by PyTorch's names, most of them as ``scipy.special`` defines them.

Integers are converted to the default dtype. The functions of Bessel, Airy's and the incomplete gamma functions need
SciPy, which ``pip install "weft[scientific]"`` brings; `i0`, `i1` and their like do not.

Examples
--------
>>> weft.special.expit(weft.tensor([0.0, 2.0]))
tensor([0.5000, 0.8808])
"""

import sys

from weft._interception.torch_function import offer
from weft.ops.bessel_functions import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    i0,
    i0e,
    i1,
    i1e,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from weft.ops.error_functions import entr, erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri, xlog1py
from weft.ops.gamma_functions import digamma, polygamma, zeta
from weft.ops.gamma_functions import digamma as psi
from weft.ops.gamma_functions import igamma as gammainc
from weft.ops.gamma_functions import igammac as gammaincc
from weft.ops.gamma_functions import lgamma as gammaln
from weft.ops.gamma_functions import mvlgamma as multigammaln
from weft.ops.orthogonal_polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from weft.ops.pointwise import exp2, expm1, log1p, logit, round, sinc, xlogy
from weft.ops.pointwise import sigmoid as expit
from weft.ops.reductions import logsumexp
from weft.ops.softmax import log_softmax, softmax

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]


offer(sys.modules[__name__], __all__)  # to overrides by __torch_function__
