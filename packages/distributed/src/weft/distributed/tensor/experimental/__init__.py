"""What may change: contexts for DTensors, functions of parts, rules for ops of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import weft
from weft.distributed.device_mesh import DeviceMesh
from weft.distributed.tensor import _dispatch
from weft.distributed.tensor._api import DTensor
from weft.distributed.tensor.placement_types import Placement

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Let divided tensors meet plain ones inside of the block: those count as replicated."""
    before, _dispatch.mode.implicit_replication = _dispatch.mode.implicit_replication, True
    try:
        yield
    finally:
        _dispatch.mode.implicit_replication = before


def context_parallel(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(
        "context_parallel: weft has no attention over a divided sequence; divide the heads (ColwiseParallel for the "
        "projections) and the sequence between them (SequenceParallel)"
    )


def register_sharding(op: Any) -> Callable[[Any], Any]:
    """Decorator: a function says in which ways ops may run on divided tensors.

    Parameters
    ----------
    op : OpOverload or list of them

    Notes
    -----
    The function takes what the op takes, and returns a list of pairs for one dim of a mesh: the placements of the
    results, and those of the arguments in their order, None for what is no tensor.

    Examples
    --------
    >>> from weft.distributed.tensor import Replicate, Shard
    >>> from weft.distributed.tensor.experimental import register_sharding
    >>> @register_sharding(weft.ops.aten.cov.default)
    ... def of_variables(x, **options):
    ...     return [([Replicate()], [Replicate()])]
    """

    def declare(function: Any) -> Any:
        def ways(call: Any, dim: int) -> list[Any]:
            found = []
            for outputs, inputs in function(*call.args, **call.kwargs):
                output = tuple(outputs) if len(outputs) > 1 else outputs[0]
                found.append(_dispatch.Strategy(output, tuple(each for each in flat(inputs) if each is not None)))
            return found

        for each in op if isinstance(op, (list, tuple)) else [op]:
            _dispatch.registered[each] = ways
        _dispatch.plans.clear()
        return function

    return declare


def flat(values: Sequence[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, (list, tuple)):
            yield from flat(each)
        else:
            yield each


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: Any = None,
    in_grad_placements: Any = None,
    device_mesh: DeviceMesh | None = None,
    *,
    redistribute_inputs: bool = False,
) -> Any:
    """Make a function of plain tensors one of DTensors, which runs on the parts.

    Parameters
    ----------
    func : callable
    out_placements : sequence of Placement, or tuple of them
        Of what it returns; None for what is no tensor.
    in_placements : tuple of sequences of Placement, optional
        Of its arguments.
    in_grad_placements : tuple of sequences of Placement, optional
        Of their gradients.
    device_mesh : DeviceMesh, optional
        Default: that of the first DTensor.
    redistribute_inputs : bool
        Move arguments that are elsewhere; else they are refused.

    Raises
    ------
    ValueError
        If an argument is elsewhere.
    """
    if func is None:
        return lambda function: local_map(
            function,
            out_placements,
            in_placements,
            in_grad_placements,
            device_mesh,
            redistribute_inputs=redistribute_inputs,
        )

    def mapped(*args: Any, **kwargs: Any) -> Any:
        mesh = device_mesh
        parts: list[Any] = []
        if in_placements is not None and len(in_placements) != len(args):
            raise AssertionError(f"in_placements length {len(in_placements)} does not match the number of arguments")
        for index, each in enumerate(args):
            if not isinstance(each, DTensor):
                parts.append(each)
                continue
            mesh = mesh or each.device_mesh
            wanted = None if in_placements is None else in_placements[index]
            if wanted is not None and each.placements != tuple(wanted):
                if not redistribute_inputs:
                    raise ValueError(
                        f"arg {each} in local_map has a mismatched placements: arg placements {each.placements} but "
                        f"in_placements {wanted}! Use redistribute_inputs=True to move it"
                    )
                each = each.redistribute(placements=wanted)
            grads = None if in_grad_placements is None else in_grad_placements[index]
            parts.append(each.to_local(grad_placements=grads))
        result = func(*parts, **kwargs)
        if mesh is None:
            return result
        if isinstance(result, tuple) and not isinstance(out_placements[0], Placement):
            return tuple(whole(each, mesh, ways) for each, ways in zip(result, out_placements))
        return whole(result, mesh, out_placements)

    return mapped


def whole(part: Any, mesh: DeviceMesh, placements: Any) -> Any:
    if placements is None or not isinstance(part, weft.Tensor):
        return part
    if not isinstance(placements[0], Placement):
        (placements,) = placements
    return DTensor.from_local(part, mesh, placements, run_check=False)
