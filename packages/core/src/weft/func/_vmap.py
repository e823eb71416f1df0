"""vmap: a function of one example, run on a batch of them at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft._devices.devices import backend_of, on_device_of
from weft._engine.dispatch import link_view
from weft._engine.tensor import TensorBase, local
from weft._functorch import vmap as steps
from weft._interception.transforms import Level, Wrapped, record_of, settled, wrap
from weft.autograd._function_levels import map_call
from weft.ops._batching import Batch, rule_for, warn_slow
from weft.ops.joining import cat, stack
from weft.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

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
        key = wrapped.value._key  # no examples: something of their shape
        return on_device_of(key, backend_of(key.device).xp.zeros)(array.shape[1:], array.dtype)

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

    def adopt(self, tensor: Any, source: Any) -> Wrapped:
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
        size, dims, leaves, spec = steps._process_batched_inputs(in_dims, args, func)
        if chunk_size is None or size <= chunk_size:
            return mapped_once(func, leaves, dims, spec, size, out_dims, randomness, kwargs)
        return mapped_in_chunks(func, leaves, dims, spec, size, out_dims, randomness, kwargs, chunk_size)

    return mapped


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """`vmap` in a number of parts of about one size; ``chunk_size`` of `vmap` took its place.

    Examples
    --------
    >>> chunk_vmap(lambda x: x.sum(), chunks=2)(weft.ones(5, 3))
    tensor([3., 3., 3., 3., 3.])
    """

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        size = steps._process_batched_inputs(in_dims, args, func)[0]
        chunk_size = max(1, -(-size // chunks))
        return vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)(*args, **kwargs)

    return mapped


def restore_vmap(func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str) -> Callable[..., Any]:
    """A function of values of a `vmap` and their dimensions, inside of which that `vmap` runs again.

    Parameters
    ----------
    func : callable
    in_dims : int, None, or nested containers of them like the arguments
    batch_size : int
    randomness : {"error", "different", "same"}

    Returns
    -------
    callable
        Takes the values of all examples; returns those of the results, and the dimension of each, or None.
    """

    def restored(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        leaves, spec = tree_flatten(args)
        dims: Any = _broadcast_to_and_flatten(in_dims, spec)
        with BatchLevel(batch_size, randomness) as level:
            batched = steps._create_batched_inputs(dims, leaves, level.number, spec)
            results, out_spec = tree_flatten(func(*batched, **kwargs))
            places = [0 if isinstance(each, TensorBase) and level.holds(settled(each)) else None for each in results]
            values = [
                each if place is None else steps._remove_batch_dim(each, level.number, batch_size, 0)
                for each, place in zip(results, places)
            ]
        return tree_unflatten(values, out_spec), tree_unflatten(places, out_spec)

    return restored


def mapped_once(
    func: Any, leaves: list[Any], dims: list[Any], spec: Any, size: int, out_dims: Any, randomness: str, kwargs: Any
) -> Any:
    """All examples at once."""
    with BatchLevel(size, randomness) as level:
        result = func(*steps._create_batched_inputs(dims, leaves, level.number, spec), **kwargs)
        return steps._unwrap_batched(result, out_dims, level.number, size, func)


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
        part = [leaf if dim is None else leaf.narrow(dim, start, count) for leaf, dim in zip(leaves, dims)]
        result = mapped_once(func, part, dims, spec, count, out_dims, randomness, kwargs)
        results, out_spec = tree_flatten(result)
        flat.append(results)
    places = steps.places_of(func, flat[0], out_spec, out_dims)
    joined = [column[0] if dim is None else cat(list(column), dim) for column, dim in zip(zip(*flat), places)]
    return tree_unflatten(joined, out_spec)


def batch_levels() -> list[BatchLevel]:
    """The vmaps that run in this thread, the outermost first."""
    return [level for level in local.levels if isinstance(level, BatchLevel)]
