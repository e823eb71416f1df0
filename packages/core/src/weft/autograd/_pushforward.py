"""Directional derivatives of ops, from what their declarations say already.

An op that is linear in an argument is its own derivative. For pointwise ops of real numbers the gradient function,
applied to the tangent, is the derivative: the Jacobian is diagonal, and so its own transpose. For all others the
gradient function is linear in the gradient that it takes, and the derivative is its transpose: it is run on unknown
gradients, and the tangent is pulled back through it. (Transposing the transpose is due to J. Townsend, 2017.)
"""

from __future__ import annotations

from typing import Any

from weft._engine.dispatch import saved_metadata
from weft._engine.tensor import TensorBase, local, state
from weft.autograd._backward import grad
from weft.autograd._grad_level import GradLevel

__all__ = ["push_forward"]


def push_forward(declaration: Any, args: list[Any], tangents: dict[int, Any], outputs: tuple[Any, ...]) -> list[Any]:
    """The tangent of each output (None: zero).

    Parameters
    ----------
    args : list
        What the op was called with.
    tangents : dict
        By the position of a tensor argument that has one: its tangent; for a list of tensors, a list with None
        for members without.
    outputs : tuple of Tensor
        What the op returned.
    """
    op = declaration.op
    if not op.differentiable or not any(out._key.is_differentiable for out in outputs):
        return [None] * len(outputs)
    if declaration.forward is not None:
        found = declared(declaration, args, tangents, outputs)
        if found is not NotImplemented:
            return found
    if op.is_view or declaration.linear:
        return linear(declaration, args, tangents)
    is_real = not any(each._key.is_complex for each in (*outputs, *present(tangents.values())))
    is_pointwise = declaration.vmap == "elementwise" and (declaration.promotes or len(op.positions) == 1)
    if is_pointwise and is_real:
        return diagonal(declaration, args, tangents, outputs)
    return transposed(declaration, args, tangents, outputs)


def present(tangents: Any) -> list[Any]:
    """The tangents that there are."""
    found: list[Any] = []
    for each in tangents:
        found.extend(member for member in (each if isinstance(each, list) else [each]) if member is not None)
    return found


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def linear(declaration: Any, args: list[Any], tangents: dict[int, Any]) -> list[Any]:
    """For ops linear in all differentiable arguments together, or in each of several for itself."""
    groups = declaration.linear or ((declaration.arguments[declaration.op.positions[0]],),)
    total: list[Any] | None = None
    for names in groups:
        places = [declaration.arguments.index(name) for name in names]
        if not any(place in tangents for place in places):
            continue
        changed = list(args)
        for place in places:
            changed[place] = or_zeros(args[place], tangents.get(place))
        found = as_list(declaration.op(*changed))
        total = found if total is None else [a + b for a, b in zip(total, found)]
    assert total is not None
    return total


def or_zeros(value: Any, tangent: Any) -> Any:
    """A tangent with zeros where there is none."""
    if isinstance(value, TensorBase):
        return zeros(value) if tangent is None else tangent
    if value is None:
        return None
    if not isinstance(value, (list, tuple)):  # a number
        return type(value)(0)
    given = tangent if tangent is not None else [None] * len(value)
    return [zeros(each) if found is None else found for each, found in zip(value, given)]


def zeros(value: Any) -> Any:
    return state.zeros(value._array.shape, value._key)


def ones(value: Any) -> Any:
    return value.detach().new_ones(value._array.shape)


def declared(declaration: Any, args: list[Any], tangents: dict[int, Any], outputs: tuple[Any, ...]) -> Any:
    """By the op's own rule: it asks for arguments, ``<argument>_tangent`` and outputs by name.

    NotImplemented: in this case it has none.
    """
    function, needs = declaration.forward
    values = []
    for name in needs:
        if name in ("output", "outputs"):
            values.append(outputs[0] if name == "output" else outputs)
        elif name in declaration.arguments:
            values.append(args[declaration.arguments.index(name)])
        else:
            place = declaration.arguments.index(name.removesuffix("_tangent"))
            values.append(or_zeros(args[place], tangents.get(place)))
    found = function(*values)
    return found if found is NotImplemented else as_list(found)


def saved_for(declaration: Any, plan: Any, args: list[Any], outputs: tuple[Any, ...]) -> list[Any]:
    """What the gradient functions of a plan take besides gradients."""
    saved = [args[place] if place >= 0 else saved_metadata(declaration.op, tuple(args), place) for place in plan.saves]
    if plan.saves_output:
        saved.append(outputs[0] if len(outputs) == 1 and plan.takes_first else list(outputs[plan.skips :]))
    return saved


def diagonal(declaration: Any, args: list[Any], tangents: dict[int, Any], outputs: tuple[Any, ...]) -> list[Any]:
    """For pointwise ops: the gradient functions, applied to the tangents."""
    shape = outputs[0]._array.shape
    total = None
    for place, tangent in tangents.items():
        plan = declaration.op.plan(1 << place)
        step = plan.steps[0]
        saved = saved_for(declaration, plan, args, outputs)
        found = step.function(tangent.expand(shape), *[saved[pick] for pick in step.picks])
        found = found if step.count == -1 else found[0]
        if found is not None:
            total = found if total is None else total + found
    if total is not None and total._array.shape != shape:
        total = total.expand(shape)
    return [total, *[None] * (len(outputs) - 1)]


def transposed(declaration: Any, args: list[Any], tangents: dict[int, Any], outputs: tuple[Any, ...]) -> list[Any]:
    """The transpose of the gradient functions, by running them on variables."""
    op = declaration.op
    places = [place for place in op.positions if place in tangents]
    plan = op.plan(sum(1 << place for place in places))
    with GradLevel() as level:
        # At ones, since some formulas that are linear take the logarithm of their gradient.
        seeds = [level.variable(ones(out)) if out._key.is_differentiable else None for out in outputs]
        saved = saved_for(declaration, plan, args, outputs)
        incoming: Any = seeds[0] if plan.takes_first else seeds
        pulled: list[Any] = []
        for step in plan.steps:
            found = step.function(incoming, *[saved[pick] for pick in step.picks])
            pulled.extend([found] if step.count == -1 else found)
        pairs = []
        for gradient, tangent in zip(pulled, edge_tangents(op, args, tangents, places)):
            if gradient is None or tangent is None or not (level.holds(gradient) and gradient._requires_grad):
                continue
            if gradient._array.shape != tangent._array.shape:
                gradient = state.sum_to_size(gradient, tangent._array.shape)
            if gradient._key.dtype is not tangent._key.dtype:
                gradient = gradient.to(tangent._key.dtype)
            pairs.append((gradient, tangent))
    if not pairs:
        return [None] * len(outputs)
    wanted = [seed for seed in seeds if seed is not None]
    found = iter(
        grad(
            [gradient for gradient, _ in pairs],
            wanted,
            [tangent for _, tangent in pairs],
            create_graph=local.grad_enabled,
            allow_unused=True,
        )
    )
    return [None if seed is None else next(found) for seed in seeds]


def edge_tangents(op: Any, args: list[Any], tangents: dict[int, Any], places: list[int]) -> list[Any]:
    """The tangents in the order of the gradients: one for each member of a list."""
    found: list[Any] = []
    for place in places:
        if place == op.sequence_position:
            members = [at for at, each in enumerate(args[place]) if isinstance(each, TensorBase)]
            found.extend(tangents[place][at] for at in members)
        else:
            found.append(tangents[place])
    return found
