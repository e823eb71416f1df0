"""Ops on lists of tensors, one by one, and what asks for values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft.distributed.tensor._api import DTensor, made_of
from weft.distributed.tensor._dispatch import R, leaves, reduced, special, specials, whole_of
from weft.distributed.tensor.placement_types import Shard

FOREACH = """
abs acos add addcdiv addcmul asin atan
ceil clamp_max clamp_min clone copy cos cosh div erf erfc exp expm1 floor frac lerp
lgamma log log10 log1p log2
max maximum minimum mul neg norm pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan
tanh trunc zero
"""


def one_by_one(short: str) -> Any:
    """The op of each place of the lists, by the function of one tensor."""

    def run(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        count = len(args[0])
        rows = [
            [each[index] if isinstance(each, (list, tuple)) and len(each) == count else each for each in args]
            for index in range(count)
        ]
        options = [
            {
                name: each[index] if isinstance(each, (list, tuple)) and len(each) == count else each
                for name, each in kwargs.items()
            }
            for index in range(count)
        ]
        results = [called(short, row, option) for row, option in zip(rows, options)]
        return None if short.endswith("_") else tuple(results)

    return run


def called(short: str, row: Sequence[Any], options: dict[str, Any]) -> Any:
    """A function of one tensor, by its overload, which comes back to the dispatch; plain ones get plain numbers."""
    if not isinstance(row[0], DTensor):
        row = [whole_of(each) if isinstance(each, DTensor) else each for each in row]
    if short == "norm":
        order = row[1] if len(row) > 1 else options.get("ord", 2.0)
        return weft.ops.aten.linalg_vector_norm.default(row[0], float(order), None, False)
    packet = getattr(weft.ops.aten, short)
    return packet(*row, **options)


for _name in FOREACH.split():
    for _end in ("", "_"):
        specials[f"foreach.{_name}{_end}"] = specials[f"aten._foreach_{_name}{_end}"] = one_by_one(_name + _end)


@special("aten._local_scalar_dense")
def item(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The value of a tensor of one element."""
    tensor = reduced(args[0])
    if any(isinstance(each, Shard) for each in tensor._spec.placements):
        return whole_of(tensor).item()
    return tensor._local_tensor.item()


@special("aten.equal", "aten.allclose", "core.equal", "core.allclose")
def equal(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Whether the wholes are equal."""
    return func(*[whole_of(each) if isinstance(each, DTensor) else each for each in args], **kwargs)


@special("aten.is_same_size")
def same_size(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return args[0].shape == args[1].shape


@special("aten.nonzero", "aten.masked_select")
def of_whole(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Results whose shape the values say are of whole tensors."""
    tensors = [each for each in leaves(args) if isinstance(each, DTensor)]
    result = func(*[whole_of(each) if isinstance(each, DTensor) else each for each in args], **kwargs)
    mesh = tensors[0]._spec.mesh
    return made_of(result, mesh, (R,) * mesh.ndim, result.shape)


@special("aten.set_data", "aten.set_")
def refused(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    raise NotImplementedError(f"{func}: a DTensor's memory is that of its part: use to_local()")
