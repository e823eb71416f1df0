"""Invertible maps of random variables, with the logarithms of their Jacobian determinants."""

from __future__ import annotations

import functools
import math
import operator
import weakref
from collections.abc import Sequence
from typing import Any

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions.utils import (
    _sum_rightmost,
    broadcast_all,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from weft.nn.functional import pad, softplus

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A map from one set of values to another.

    Parameters
    ----------
    cache_size : {0, 1}
        1: the last pair (x, y) is kept, so that the inverse of a value that was just made is exact.

    Attributes
    ----------
    domain, codomain : Constraint
        What it maps, and to what.
    bijective : bool
    sign : int or Tensor
        Of the Jacobian's determinant, for maps of numbers that are monotonic.

    Examples
    --------
    >>> transform = ExpTransform()
    >>> y = transform(weft.tensor(0.0))
    >>> y, transform.inv(y)
    (tensor(1.), tensor(0.))
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: Any = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__, _cached_x_y=(None, None))
        if isinstance(self._inv, weakref.ref):  # cannot be pickled, and is made anew when asked for
            state["_inv"] = None
        return state

    @property
    def event_dim(self) -> int:
        """The dimensions of one value, if the map keeps their number."""
        if self.domain.event_dim == self.codomain.event_dim:
            found: int = self.domain.event_dim
            return found
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse map."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same map with another size of its cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        """The image of x."""
        if self._cache_size == 0:
            return self._call(x)
        old_x, old_y = self._cached_x_y
        if x is old_x:
            found: Tensor = old_y
            return found
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        """What is mapped to y."""
        if self._cache_size == 0:
            return self._inverse(y)
        old_x, old_y = self._cached_x_y
        if y is old_y:
            found: Tensor = old_x
            return found
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the size of the Jacobian's determinant at x, whose image is y."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the image of values of a shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what is mapped to values of a shape."""
        return shape


class _InverseTransform(Transform):
    """A map backwards."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform  # strongly: the map keeps its inverse weakly

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self._inv.codomain

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return bool(self._inv.bijective)

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        found: Transform = self._inv
        return found

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        return self.inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self.inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self.inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class ComposeTransform(Transform):
    """Several maps, one after the other.

    Parameters
    ----------
    parts : sequence of Transform

    Examples
    --------
    >>> ComposeTransform([AffineTransform(1.0, 2.0), ExpTransform()])(weft.tensor(-0.5))  # exp(1 + 2 x)
    tensor(1.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """The domain of the first, for as many dimensions as any of them needs."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return widened(self.parts[0].domain, event_dim)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        """The codomain of the last, for as many dimensions as any of them needs."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return widened(self.parts[-1].codomain, event_dim)

    @lazy_property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:  # type: ignore[override]
        return functools.reduce(operator.mul, [part.sign for part in self.parts], 1)

    @property
    def inv(self) -> Transform:
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return weft.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        terms = []
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, points[:-1], points[1:]):
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inside = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {inside}\n)"


def widened(constraint: Any, event_dim: int) -> Any:
    """A constraint over more dimensions on the right."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Another map whose last dimensions count as one value: their determinants are multiplied.

    Parameters
    ----------
    base_transform : Transform
    reinterpreted_batch_ndims : int
        How many dimensions.

    Examples
    --------
    >>> x = weft.tensor([1.0, 2.0])
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return bool(self.base_transform.bijective)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError(f"IndependentTransform: Too few dimensions on input: {x.dim()} < {self.domain.event_dim}")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError(
                f"IndependentTransform: Too few dimensions on input: {y.dim()} < {self.codomain.event_dim}"
            )
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Values of one shape as values of another, with as many elements.

    Parameters
    ----------
    in_shape, out_shape : sequence of int

    Examples
    --------
    >>> ReshapeTransform((4,), (2, 2))(weft.zeros(3, 4)).shape
    weft.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"ReshapeTransform: in_shape {tuple(in_shape)} and out_shape {tuple(out_shape)} have different numbers "
                "of elements"
            )
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape((*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.out_shape, self.in_shape)

    def _exchanged(self, shape: Any, have: Size, want: Size) -> Size:
        lead = len(shape) - len(have)
        if lead < 0:
            raise ValueError(f"ReshapeTransform: Too few dimensions on input: {len(shape)} < {len(have)}")
        if tuple(shape[lead:]) != tuple(have):
            raise ValueError(f"ReshapeTransform: Shape mismatch: expected {tuple(have)} but got {tuple(shape[lead:])}")
        return Size((*shape[:lead], *want))


class ExpTransform(Transform):
    """y = exp(x).

    Examples
    --------
    >>> ExpTransform().inv(weft.tensor(1.0))
    tensor(0.)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExpTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x ** exponent, for positive x.

    Parameters
    ----------
    exponent : float or Tensor

    Examples
    --------
    >>> PowerTransform(weft.tensor(2.0))(weft.tensor(3.0))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Any:  # type: ignore[override]
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all().item())

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return weft.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid, away from 0 and 1, where its inverse is infinite."""
    info = weft.finfo(x.dtype)
    return weft.sigmoid(x).clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)).

    Examples
    --------
    >>> SigmoidTransform()(weft.tensor(0.0))
    tensor(0.5000)
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SigmoidTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        info = weft.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)).

    Examples
    --------
    >>> SoftplusTransform()(weft.tensor(0.0))  # log(2)
    tensor(0.6931)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftplusTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x).

    Examples
    --------
    >>> TanhTransform()(weft.tensor(0.0))
    tensor(0.)
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TanhTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return weft.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)**2), where the square would round to 1
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|, whose inverse is the positive one.

    Examples
    --------
    >>> AbsTransform()(weft.tensor(-2.0)), AbsTransform().inv(weft.tensor(2.0))
    (tensor(2.), tensor(2.))
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x.

    Parameters
    ----------
    loc, scale : Tensor or float
    event_dim : int
        The dimensions of one value.

    Examples
    --------
    >>> AffineTransform(1.0, 2.0)(weft.tensor(3.0))
    tensor(7.)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale = loc, scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return widened(constraints.real, self._event_dim)

    codomain = domain  # type: ignore[assignment]

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return all(
            a == b if not isinstance(a, Tensor) and not isinstance(b, Tensor) else bool(weft.as_tensor(a == b).all())
            for a, b in ((self.loc, other.loc), (self.scale, other.scale))
        )

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return int(self.scale > 0) - int(self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        slope = scale.abs().log() if isinstance(scale, Tensor) else weft.full_like(x, math.log(abs(scale)))
        shape = x.shape[: x.dim() - self.event_dim]
        if self.event_dim:
            slope = slope.expand(weft.broadcast_shapes(x.shape, slope.shape))
        return _sum_rightmost(slope, self.event_dim).expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return weft.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers as Cholesky factors of correlation matrices.

    Notes
    -----
    Each tanh of a number is a partial correlation: Lewandowski, Kurowicka and Joe, 2009.

    Examples
    --------
    >>> L = CorrCholeskyTransform()(weft.zeros(3))  # no correlation
    >>> weft.equal(L, weft.eye(3))
    True
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = weft.tanh(x)
        eps = weft.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        # What the elements before each one leave of the row's length: the product of 1 - r**2.
        rest = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + weft.eye(partial.shape[-1], dtype=partial.dtype, device=partial.device)
        return partial * pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - weft.cumsum(y * y, dim=-1)
        shifted = pad(left[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(shifted, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        left = 1 - (y * y).cumsum(dim=-1)
        by_row = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        by_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return by_row + by_tanh

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(Transform):
    """Vectors as points of the simplex: exp, then normalized. Not invertible, since a shift is lost.

    Examples
    --------
    >>> SoftmaxTransform()(weft.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return weft.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Vectors of n numbers as points of the simplex of n + 1: each takes a share of what is left of a stick.

    Examples
    --------
    >>> StickBreakingTransform()(weft.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        share = weft.sigmoid(x - offset.log())
        left = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        head = y[..., :-1]
        offset = y.shape[-1] - head.new_ones(head.shape[-1]).cumsum(-1)
        left = (1 - head.cumsum(-1)).clamp(min=weft.finfo(y.dtype).tiny)
        return head.log() - left.log() + offset.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        x = x - offset.log()
        return (-x + weft.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Transform):
    """Square matrices as lower triangular ones with a positive diagonal.

    Examples
    --------
    >>> LowerCholeskyTransform()(weft.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices as positive definite ones.

    Examples
    --------
    >>> PositiveDefiniteTransform()(weft.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(weft.linalg.cholesky(y))


class _JoinedTransform(Transform):
    """Maps that each take a part of a tensor along a dimension."""

    transforms: list[Transform]
    dim: int

    def _parts(self, value: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _join(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._join([each(part) for each, part in zip(self.transforms, self._parts(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([each.inv(part) for each, part in zip(self.transforms, self._parts(y), strict=True)])

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(each.bijective for each in self.transforms)


class CatTransform(_JoinedTransform):
    """Maps for parts of given lengths along a dimension.

    Parameters
    ----------
    tseq : sequence of Transform
    dim : int
    lengths : sequence of int, optional
        Default: 1 for each.

    Examples
    --------
    >>> CatTransform([ExpTransform(), AbsTransform()], lengths=[1, 2])(weft.tensor([0.0, -2.0, -3.0]))
    tensor([1., 2., 3.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        if not all(isinstance(each, Transform) for each in tseq):
            raise AssertionError("CatTransform: tseq must hold Transforms")
        if cache_size:
            tseq = [each.with_cache(cache_size) for each in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"CatTransform: {len(self.transforms)} transforms need as many lengths, got {lengths}")
        self.dim = dim

    @lazy_property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(each.event_dim for each in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value: Tensor) -> Sequence[Tensor]:
        if value.dim() == 0 or value.size(self.dim) != self.length:
            raise AssertionError(
                f"CatTransform: dimension {self.dim} must have size {self.length}, got {list(value.shape)}"
            )
        found: Sequence[Tensor] = value.split(self.lengths, self.dim)
        return found

    def _join(self, parts: list[Tensor]) -> Tensor:
        return weft.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        for each, before, after in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            term = each.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - each.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return weft.cat(terms, dim=dim) if dim < 0 else functools.reduce(operator.add, terms)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)


class StackTransform(_JoinedTransform):
    """Maps for the parts of length 1 along a dimension.

    Parameters
    ----------
    tseq : sequence of Transform
    dim : int

    Examples
    --------
    >>> StackTransform([ExpTransform(), AbsTransform()])(weft.tensor([0.0, -2.0]))
    tensor([1., 2.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(each, Transform) for each in tseq):
            raise AssertionError("StackTransform: tseq must hold Transforms")
        if cache_size:
            tseq = [each.with_cache(cache_size) for each in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = list(tseq), dim

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, value: Tensor) -> Sequence[Tensor]:
        if value.dim() == 0 or value.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"StackTransform: dimension {self.dim} must have size {len(self.transforms)}, got {list(value.shape)}"
            )
        found: Sequence[Tensor] = value.unbind(self.dim)
        return found

    def _join(self, parts: list[Tensor]) -> Tensor:
        return weft.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return weft.stack([each.log_abs_det_jacobian(before, after) for each, before, after in pairs], dim=self.dim)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.stack([each.domain for each in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.stack([each.codomain for each in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = cdf(x): what is distributed so becomes uniform.

    Parameters
    ----------
    distribution : Distribution

    Examples
    --------
    >>> from weft.distributions import Uniform
    >>> CumulativeDistributionTransform(Uniform(0.0, 4.0))(weft.tensor(1.0))
    tensor(0.2500)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1  # type: ignore[assignment]

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        found: Tensor = self.distribution.cdf(x)
        return found

    def _inverse(self, y: Tensor) -> Tensor:
        found: Tensor = self.distribution.icdf(y)
        return found

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found: Tensor = self.distribution.log_prob(x)
        return found

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
