"""vmap: a function of one example, run on a batch of them at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft._devices.devices import backend_of
from weft._engine.dispatch import link_view
from weft._engine.tensor import TensorBase, local
from weft._interception.transforms import Level, Wrapped, record_of, settled, wrap
from weft.autograd._function_levels import map_call
from weft.ops._batching import Batch, rule_for, warn_slow
from weft.ops.joining import cat, stack
from weft.utils._pytree import broadcast_prefix, tree_flatten, tree_unflatten

__all__ = ["BatchLevel", "vmap"]


class BatchLevel(Level):
    """A running vmap: the first dimension of a tensor's value counts the examples.

    Parameters
    ----------
    size : int
        The number of examples.
    randomness : str
        ``"error"``, ``"different"`` or ``"same"``: what random operations do.
    """

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__()
        self.size = size
        self.randomness = randomness

    def seen(self, wrapped: Wrapped) -> Any:
        array = wrapped.value._array
        if self.size:
            return array[(0, ...)]
        where = wrapped.value._key.device  # no examples: something of their shape
        return backend_of(where).xp.zeros(array.shape[1:], array.dtype)

    def batch(self, value: Any) -> Any:
        """A tensor of this level; the first dimension of the value counts the examples."""
        return wrap(Wrapped(self, value, batched=True))

    def run(self, declaration: Any, args: tuple[Any, ...]) -> Any:
        """Run the op on all examples at once, by its rule."""
        positions = declaration.op.positions
        flags: list[Any] = [False] * len(args)
        values = list(args)
        for position in positions:
            arg = args[position]
            if isinstance(arg, TensorBase):
                flags[position], values[position] = self.holds(arg), self.below(arg)
            elif position == declaration.op.sequence_position and arg is not None:
                flags[position] = [isinstance(each, TensorBase) and self.holds(each) for each in arg]
                values[position] = [self.below(each) if flag else each for each, flag in zip(arg, flags[position])]
        result = rule_for(declaration)(Batch(declaration, values, flags, self))
        if not isinstance(result, tuple):
            return self.viewed(self.batch(result), declaration.op, args, -1)
        return tuple(self.viewed(self.batch(each), declaration.op, args, at) for at, each in enumerate(result))

    def apply_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return map_call(self, function, args, kwargs)

    def read_values(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function that needs the values of its tensors once for each example of the innermost batch."""
        leaves, spec = tree_flatten((args, kwargs))
        wrapped = [settled(leaf) for leaf in leaves if isinstance(leaf, TensorBase)]
        levels = {record_of(each).level for each in wrapped if record_of(each) and record_of(each).batched}
        if not levels:
            return function(*args, **kwargs)
        level = max(levels, key=lambda each: each.number)
        warn_slow(function.__name__, level.size)
        rows = []
        for number in range(level.size):
            one = [
                level.below(leaf).select(0, number) if isinstance(leaf, TensorBase) and level.holds(leaf) else leaf
                for leaf in leaves
            ]
            given, named = tree_unflatten(one, spec)
            rows.append(self.read_values(function, given, named))
        columns = zip(*[tree_flatten(row)[0] for row in rows])
        return tree_unflatten([level.batch(stack(list(column))) for column in columns], tree_flatten(rows[0])[1])

    def viewed(self, out: Any, op: Any, args: tuple[Any, ...], index: int) -> Any:
        """An output, known as a view of the input if it is one."""
        if op.is_view:
            link_view(out, args, op, index)
        return out

    def adopt(self, tensor: Any) -> Wrapped:
        raise RuntimeError(
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor in extra_args "
            "that stands for a batch, while self is one tensor for all examples. Use the out-of-place variant, or make "
            "self from a tensor of the batch (x.new_zeros(...), weft.zeros_like(x))"
        )

    def write(self, target: Wrapped, source: Any) -> None:
        target.value.copy_(self.below(source))


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function of one example as a function of a batch of them, without a loop.

    Parameters
    ----------
    func : callable
        Takes tensors (in nested containers) and returns tensors.
    in_dims : int, None, or nested containers of them like the arguments
        The dimension of each tensor that counts the examples; None: the same tensor in each.
    out_dims : int, None, or containers of them like the results
        Where the results have that dimension.
    randomness : {"error", "different", "same"}
        Whether random operations raise, draw for each example, or draw once for all.
    chunk_size : int, optional
        How many examples are run at once; default: all.

    Raises
    ------
    ValueError
        If ``in_dims`` does not fit the arguments, the sizes differ, or there is nothing to map over.
    RuntimeError
        For an unknown ``randomness``, or in the function: for values read from a tensor of the batch.

    Notes
    -----
    Keyword arguments are not mapped. An op without a batching rule runs once for each example, and warns.

    Examples
    --------
    >>> x = weft.arange(6.0).reshape(2, 3)
    >>> weft.func.vmap(weft.dot)(x, x)
    tensor([ 5., 50.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"vmap: Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args)
        dims = checked_dims(func, in_dims, leaves, spec)
        size = batch_size(func, dims, leaves)
        fronted = [leaf if dim is None else leaf.movedim(dim, 0) for leaf, dim in zip(leaves, dims)]
        if chunk_size is None or size <= chunk_size:
            return mapped_once(func, fronted, dims, spec, size, out_dims, randomness, kwargs)
        return mapped_in_chunks(func, fronted, dims, spec, size, out_dims, randomness, kwargs, chunk_size)

    return mapped


def name_of(func: Any) -> str:
    return str(getattr(func, "__name__", repr(func)))


def checked_dims(func: Any, in_dims: Any, leaves: list[Any], spec: Any) -> list[Any]:
    """For each leaf of the arguments the dimension to map over, not negative, or None."""
    name = name_of(func)
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
    dims = broadcast_prefix(given, spec)
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
            f"vmap({name_of(func)}): Expected at least one Tensor to vmap over: in_dims is None for all inputs"
        )
    if len(sizes) > 1:
        raise ValueError(
            f"vmap({name_of(func)}): Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sorted(sizes)} for the mapped dimension"
        )
    size: int = sizes.pop()
    return size


def mapped_once(
    func: Any, leaves: list[Any], dims: list[Any], spec: Any, size: int, out_dims: Any, randomness: str, kwargs: Any
) -> Any:
    """All examples at once; the leaves have them in front."""
    level = BatchLevel(size, randomness)
    with level:
        wrapped = [leaf if dim is None else level.batch(leaf) for leaf, dim in zip(leaves, dims)]
        result = func(*tree_unflatten(wrapped, spec), **kwargs)
        results, out_spec = tree_flatten(result)
        places = places_of(func, results, out_spec, out_dims)
        return tree_unflatten([unwrapped(level, func, each, dim) for each, dim in zip(results, places)], out_spec)


def places_of(func: Any, results: list[Any], spec: Any, out_dims: Any) -> list[Any]:
    """For each result the place of the batch's dimension."""
    for each in results:
        if not isinstance(each, TensorBase):
            raise ValueError(
                f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got type "
                f"{type(each)}. Did you mean to set out_dims= to None for output?"
            )
    if not isinstance(out_dims, int) and spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    given = tuple(out_dims) if isinstance(out_dims, list) and spec.type is tuple else out_dims
    places = broadcast_prefix(given, spec)
    if not all(dim is None or isinstance(dim, int) for dim in tree_flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection "
            "of ints representing where in the outputs the vmapped dimension should appear."
        )
    if places is None:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return places


def unwrapped(level: BatchLevel, func: Any, result: Any, dim: int | None) -> Any:
    """A result below the level, with the batch's dimension at its place."""
    result = settled(result)
    is_batched = level.holds(result)
    if dim is None:
        if is_batched:
            raise ValueError(
                f"vmap({name_of(func)}, ...): `{name_of(func)}` can not return a BatchedTensor when out_dim is None"
            )
        return result
    if is_batched:
        return record_of(result).value.movedim(0, dim)
    return result.unsqueeze(0).expand(level.size, *result.shape).movedim(0, dim)


def mapped_in_chunks(
    func: Any,
    leaves: list[Any],
    dims: list[Any],
    spec: Any,
    size: int,
    out_dims: Any,
    randomness: str,
    kwargs: Any,
    chunk_size: int,
) -> Any:
    """Some examples at a time, and the results joined."""
    flat: list[list[Any]] = []
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        part = [leaf if dim is None else leaf.narrow(0, start, count) for leaf, dim in zip(leaves, dims)]
        result = mapped_once(func, part, dims, spec, count, out_dims, randomness, kwargs)
        results, out_spec = tree_flatten(result)
        flat.append(results)
    places = places_of(func, flat[0], out_spec, out_dims)
    joined = [column[0] if dim is None else cat(list(column), dim) for column, dim in zip(zip(*flat), places)]
    return tree_unflatten(joined, out_spec)


def batch_levels() -> list[BatchLevel]:
    """The vmaps that run in this thread, the outermost first."""
    return [level for level in local.levels if isinstance(level, BatchLevel)]
