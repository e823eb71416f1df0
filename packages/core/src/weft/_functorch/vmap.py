"""The steps of vmap, under PyTorch's names: tensordict replaces them by its own, for its containers."""

from __future__ import annotations

import importlib
from typing import Any

from weft._engine.tensor import TensorBase, local
from weft._interception.transforms import record_of, settled
from weft._tensor.base import Tensor as Tensor
from weft.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = ["Tensor", "tree_flatten", "tree_unflatten"]


def _process_batched_inputs(in_dims: Any, args: tuple[Any, ...], func: Any) -> tuple[int, list[Any], list[Any], Any]:
    """The number of examples, and the arguments' dimensions to map over, leaves and structure."""
    leaves, spec = tree_flatten(args)
    dims = checked_dims(func, in_dims, leaves, spec)
    return batch_size(func, dims, leaves), dims, leaves, spec


def _create_batched_inputs(flat_in_dims: list[Any], flat_args: list[Any], vmap_level: int, args_spec: Any) -> Any:
    """The arguments for one example: a batch of the level for each tensor that is mapped over."""
    batched = [
        leaf if dim is None else _add_batch_dim(leaf, dim, vmap_level) for leaf, dim in zip(flat_args, flat_in_dims)
    ]
    return tree_unflatten(batched, args_spec)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Any) -> Any:
    """The results for all examples, below the level."""
    results, spec = tree_flatten(batched_outputs)
    places = places_of(func, results, spec, out_dims)
    name = _get_name(func)
    unwrapped = [_maybe_remove_batch_dim(name, each, vmap_level, batch_size, dim) for each, dim in zip(results, places)]
    return tree_unflatten(unwrapped, spec)


def _add_batch_dim(tensor: Any, in_dim: int, vmap_level: int) -> Any:
    """A tensor for one example, of the running vmap of this number; ``in_dim`` of the given one counts them."""
    return level_of(vmap_level).batch(tensor.movedim(in_dim, 0))


def _remove_batch_dim(tensor: Any, vmap_level: int, batch_size: int, out_dim: int) -> Any:
    """A tensor below the running vmap of this number, with the dimension of the examples at its place."""
    level, tensor = level_of(vmap_level), settled(tensor)
    if level.holds(tensor):
        return record_of(tensor).value.movedim(0, out_dim)
    return tensor.unsqueeze(0).expand(batch_size, *tensor.shape).movedim(0, out_dim)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """`_remove_batch_dim`, or with ``out_dim=None`` the tensor, which must not depend on the example."""
    if out_dim is not None:
        return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)
    if not isinstance(batched_output, TensorBase):
        return batched_output
    if level_of(vmap_level).holds(settled(batched_output)):
        raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
    return settled(batched_output)


def __getattr__(name: str) -> Any:
    """``restore_vmap``, which is made of these steps."""
    if name == "restore_vmap":
        return importlib.import_module("weft.func._vmap").restore_vmap
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def level_of(number: int) -> Any:
    """The running transform of this number."""
    return local.levels[number - 1]


def _get_name(func: Any) -> str:
    return str(getattr(func, "__name__", repr(func)))


def checked_dims(func: Any, in_dims: Any, leaves: list[Any], spec: Any) -> list[Any]:
    """For each leaf of the arguments the dimension to map over, not negative, or None."""
    name = _get_name(func)
    if not isinstance(in_dims, (int, dict, tuple, list)):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) "
            f"tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not leaves:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    given = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims = _broadcast_to_and_flatten(given, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of "
            f"`inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    found = []
    for leaf, dim in zip(leaves, dims):
        if dim is not None and not isinstance(dim, int):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input but in_dim must be "
                "either an integer dimension or None."
            )
        if dim is not None and not isinstance(leaf, TensorBase):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input but the input is of "
                f"type {type(leaf)}. We cannot vmap over non-Tensor arguments, please use None as the "
                "respective in_dim"
            )
        if dim is not None and not -leaf._array.ndim <= dim < leaf._array.ndim:
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for some input, but that input is a "
                f"Tensor of dimensionality {leaf._array.ndim} so expected in_dim to satisfy -{leaf._array.ndim} <= "
                f"in_dim < {leaf._array.ndim}."
            )
        found.append(dim if dim is None else dim % leaf._array.ndim)
    return found


def batch_size(func: Any, dims: list[Any], leaves: list[Any]) -> int:
    """The number of examples, on which all arguments agree."""
    sizes = {leaf._array.shape[dim] for leaf, dim in zip(leaves, dims) if dim is not None}
    if not sizes:
        raise ValueError(
            f"vmap({_get_name(func)}): Expected at least one Tensor to vmap over: in_dims is None for all inputs"
        )
    if len(sizes) > 1:
        raise ValueError(
            f"vmap({_get_name(func)}): Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sorted(sizes)} for the mapped dimension"
        )
    size: int = sizes.pop()
    return size


def places_of(func: Any, results: list[Any], spec: Any, out_dims: Any) -> list[Any]:
    """For each result the place of the batch's dimension; None for those that are the same for all examples."""
    if not isinstance(out_dims, int) and spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    given = tuple(out_dims) if isinstance(out_dims, list) and spec.type is tuple else out_dims
    places = _broadcast_to_and_flatten(given, spec)
    if not all(dim is None or isinstance(dim, int) for dim in tree_flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
            "collection of ints representing where in the outputs the vmapped dimension should appear."
        )
    if places is None:
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
            f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure "
            f"{spec}."
        )
    for each, place in zip(results, places):
        if place is not None and not isinstance(each, TensorBase):
            raise ValueError(
                f"vmap({_get_name(func)}, ...): `{_get_name(func)}` must only return Tensors, got type "
                f"{type(each)}. Did you mean to set out_dims= to None for output?"
            )
    return places
