"""From constraints to maps onto them: how parameters that are free are turned into ones that are allowed.

`biject_to` gives invertible maps, for densities; `transform_to` maps that are good for optimization, which may be
redundant (a softmax).

Examples
--------
>>> from weft.distributions import constraints, transform_to
>>> transform_to(constraints.positive)(weft.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """From types of constraints to functions that make a map onto one."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Callable[[Any], Any]:
        """Say how a type of constraint (or that of an object) is mapped to. May be a decorator.

        Raises
        ------
        TypeError
            If it is no type of constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """A map whose codomain is the constraint.

        Raises
        ------
        NotImplementedError
            If none is registered.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


@biject_to.register(constraints.real)
@transform_to.register(constraints.real)
def _(constraint: Any) -> Any:
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def _(constraint: Any) -> Any:
    return transforms.IndependentTransform(biject_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _(constraint: Any) -> Any:
    return transforms.IndependentTransform(
        transform_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims
    )


@biject_to.register(constraints.positive)
@biject_to.register(constraints.nonnegative)
@transform_to.register(constraints.positive)
@transform_to.register(constraints.nonnegative)
def _(constraint: Any) -> Any:
    return transforms.ExpTransform()


@biject_to.register(constraints.greater_than)
@biject_to.register(constraints.greater_than_eq)
@transform_to.register(constraints.greater_than)
@transform_to.register(constraints.greater_than_eq)
def _(constraint: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@biject_to.register(constraints.less_than)
@transform_to.register(constraints.less_than)
def _(constraint: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@biject_to.register(constraints.interval)
@biject_to.register(constraints.half_open_interval)
@transform_to.register(constraints.interval)
@transform_to.register(constraints.half_open_interval)
def _(constraint: Any) -> Any:
    lower, upper = constraint.lower_bound, constraint.upper_bound
    if isinstance(lower, int | float) and isinstance(upper, int | float) and (lower, upper) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(lower, upper - lower)]
    )


@biject_to.register(constraints.simplex)
def _(constraint: Any) -> Any:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _(constraint: Any) -> Any:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _(constraint: Any) -> Any:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


@biject_to.register(constraints.corr_cholesky)
@transform_to.register(constraints.corr_cholesky)
def _(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.cat)
def _(constraint: Any) -> Any:
    return transforms.CatTransform([biject_to(each) for each in constraint.cseq], constraint.dim, constraint.lengths)


@transform_to.register(constraints.cat)
def _(constraint: Any) -> Any:
    return transforms.CatTransform([transform_to(each) for each in constraint.cseq], constraint.dim, constraint.lengths)


@biject_to.register(constraints.stack)
def _(constraint: Any) -> Any:
    return transforms.StackTransform([biject_to(each) for each in constraint.cseq], constraint.dim)


@transform_to.register(constraints.stack)
def _(constraint: Any) -> Any:
    return transforms.StackTransform([transform_to(each) for each in constraint.cseq], constraint.dim)
