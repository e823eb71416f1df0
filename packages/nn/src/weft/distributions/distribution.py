"""Distribution: what all probability distributions have in common."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions.utils import lazy_property

__all__ = ["Distribution", "ExponentialFamily"]


class Distribution:
    """A probability distribution, or a batch of them.

    Parameters
    ----------
    batch_shape : Size
        The shape of the parameters: one distribution for each.
    event_shape : Size
        The shape of one value: () for numbers.
    validate_args : bool, optional
        Check parameters and values; default: what `set_default_validate_args` says.

    Attributes
    ----------
    has_rsample : bool
        Samples have gradients with respect to the parameters.
    has_enumerate_support : bool
        There are finitely many values.

    Examples
    --------
    >>> from weft.distributions import Normal
    >>> batch = Normal(weft.zeros(3), weft.ones(3))
    >>> batch.batch_shape, batch.event_shape, batch.sample((2,)).shape
    (weft.Size([3]), weft.Size([]), weft.Size([2, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support = False
    _validate_args = __debug__
    arg_constraints: ClassVar[Any] = None

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether parameters and values are checked where nothing else is said.

        Raises
        ------
        ValueError
            If it is neither True nor False.
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        """Each parameter is one that its constraint allows.

        Raises
        ------
        ValueError
            If not.
        """
        if self.arg_constraints is None:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # made from another parameter, which is checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with parameters expanded to another batch shape."""
        raise NotImplementedError

    @property
    def batch_shape(self) -> Size:
        """One distribution for each element of this shape."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    @property
    def support(self) -> Any:
        """The constraint that values satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The expected square of the distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Values of shape ``sample_shape + batch_shape + event_shape``, without gradients."""
        with weft.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Values as functions of the parameters, through which gradients flow."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``, as it was called before."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, or of the density, of values."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to each one."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along a new first dimension; ``expand``: for each distribution of the batch."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The expected negative logarithm of the probability, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return weft.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of samples."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _check_value(self, value: Any) -> None:
        """Check the argument of `log_prob` or `cdf`, unless the distribution was told not to."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Any) -> None:
        """A value fits the distribution.

        Raises
        ------
        ValueError
            If it is no tensor, of another shape, or outside of the support.
        """
        if not isinstance(value, Tensor):
            raise ValueError(f"The value argument to log_prob must be a Tensor, got {type(value).__name__}")
        lead = value.dim() - len(self._event_shape)
        if value.shape[lead:] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{tuple(value.shape)} vs {tuple(self._event_shape)}."
            )
        expected = (*self._batch_shape, *self._event_shape)
        for have, want in zip(reversed(value.shape), reversed(expected)):
            if 1 not in (have, want) and have != want:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {tuple(value.shape)} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """What `expand` fills: a new object of the same class.

        Raises
        ------
        NotImplementedError
            If a subclass has a constructor of its own and no `expand`.
        """
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _expanded(self, cls: Any, names: Iterable[str], batch_shape: Any, _instance: Any = None) -> Any:
        """`expand` where parameters, and distributions that it is made of, have the shape of the batch."""
        new = self._get_checked_instance(cls, _instance)
        batch_shape = Size(batch_shape)
        for name in names:
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(batch_shape))
        above: Any = super(cls, new)
        above.__init__(batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        given = [name for name in self.arg_constraints or () if name in self.__dict__]
        shown = ", ".join(
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in ((name, self.__dict__[name]) for name in given)
        )
        return f"{type(self).__name__}({shown})"


class ExponentialFamily(Distribution):
    """Distributions whose density is ``h(x) exp(<eta, t(x)> - A(eta))``: their entropy follows from ``A``.

    Parameters
    ----------
    batch_shape, event_shape
        As of `Distribution`.

    Notes
    -----
    Nielsen and Nock, Entropies and cross-entropies of exponential families, 2010.

    Examples
    --------
    >>> from weft.distributions import Gamma
    >>> isinstance(Gamma(1.0, 1.0), ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The parameters eta."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """The function A."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The expected logarithm of h."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """``A(eta) - <eta, grad A(eta)> - E[log h]``."""
        params = [each.detach().requires_grad_() for each in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = weft.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for param, gradient in zip(params, gradients, strict=True):
            result = result - (param * gradient).reshape(*self._batch_shape, -1).sum(-1)
        return result
