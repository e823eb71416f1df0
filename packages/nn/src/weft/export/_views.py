"""Views, and what undoes them: a value of the whole in which the view has another value."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.export._operators import OpFunction, op_function

__all__ = ["Step", "inverse_of"]


class Step(NamedTuple):
    """A view of a value: the op, the name of its argument, the others, and the shapes and dtypes on both sides."""

    target: OpFunction
    name: str
    args: dict[str, Any]
    source: Any
    kinds: list[Any]
    output: int  # which of several results; -1: the only one


def inverse_of(step: Step, whole: Any, new: Any) -> tuple[OpFunction, dict[str, Any]] | None:
    """The call that puts a new value of a view into the value that it was taken of.

    Returns
    -------
    The op and its arguments; None for views that are not undone.
    """
    args, short = step.args, step.target.name.partition("::")[2]
    if short in ("view", "squeeze", "unsqueeze"):
        return op_function("core::view"), {"input": new, "shape": step.source.shape}
    if short == "alias":
        return op_function("core::alias"), {"input": new}
    if short == "transpose":
        return step.target, {"input": new, **args}
    if short == "permute":
        dims = tuple(args["dims"])
        return step.target, {"input": new, "dims": tuple(dims.index(dim) for dim in range(len(dims)))}
    key = key_of(step, short)
    return None if key is None else (op_function("core::setitem"), {"input": whole, "source": new, "key": key})


def key_of(step: Step, short: str) -> tuple[Any, ...] | None:
    """The integers and slices that say the same as a view of some elements."""
    args, rank = step.args, len(step.source.shape)
    if short == "getitem":
        return tuple(args["key"])
    if short not in ("select", "slice", "split", "unbind"):
        return None
    dim = args["dim"] % rank
    chosen: Any
    if short == "select":
        chosen = args["index"]
    elif short == "unbind":
        chosen = step.output
    elif short == "slice":
        chosen = slice(args["start"], args["stop"], args["step"])
    else:
        start = sum(args["sizes"][: step.output])
        chosen = slice(start, start + args["sizes"][step.output], None)
    return (*(slice(None),) * dim, chosen)
