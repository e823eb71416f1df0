"""Embeddings: rows of a table, chosen by index."""

from __future__ import annotations

from typing import Any

import numpy

import weft
from weft import Tensor
from weft.library.checks import check_positions, in_range, positioned, refuse_values, values_at_hand
from weft.library.declare import ALL_DTYPES, one_by_one, op, reads_values
from weft.library.layouts import memory_of
from weft.library.numerics import combine_at, is_numpy
from weft.nn.functional._common import whole_number

__all__ = ["embedding", "one_hot"]


def is_on_host(tensor: Any) -> bool:
    """Whether the values are in NumPy's memory, where they are read without waiting for a device."""
    return isinstance(memory_of(tensor), numpy.ndarray)


def check_indices(name: str, indices: Any) -> None:
    """Indices are a tensor of int32 or int64.

    Raises
    ------
    TypeError, RuntimeError
        If they are not.
    """
    if not isinstance(indices, Tensor):
        raise TypeError(f"{name}(): argument 'indices' must be Tensor, not {type(indices).__name__}")
    if indices.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            f"{name}: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
            f"but got {indices.dtype.scalar_type_name} instead ({indices.dtype}). Convert with .long()"
        )


@op(tensors="weight indices", dtypes=ALL_DTYPES, namespace="nn", name="embedding", linear="weight")
def embedding_op(weight: Tensor, indices: Tensor, padding_idx: int | None, scale_grad_by_freq: bool) -> Tensor:
    """Rows of a table."""
    return embedding_op.op(weight, indices, padding_idx, scale_grad_by_freq)


@embedding_op.kernel
def _(xp, weight, indices, padding_idx, scale_grad_by_freq):
    check_positions(xp, "embedding", indices, 0, weight.shape[0])
    return xp.take(weight, indices, axis=0)


@embedding_op.gradient("weight")
def _(grad, indices, weight_shape, padding_idx, scale_grad_by_freq):
    return embedding_gradient.op(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


@embedding_op.vmap
def _(batch):
    weight, indices, padding_idx, scale_grad_by_freq = batch.args
    if not batch.flags[0]:
        return embedding_op.op(*batch.args)
    if padding_idx is not None or scale_grad_by_freq:
        return one_by_one(batch)
    in_range("embedding", indices, weight._array.shape[1], 0, IndexError)  # another example's row is none of this one's
    first = weight._array.shape[1] * examples(batch, indices)  # rows of each example
    return embedding_op.op(weight.flatten(0, 1), indices + first, None, False)


@embedding_op.onnx
def _(graph, weight, indices, padding_idx, scale_grad_by_freq):
    return graph.Gather(weight, indices, axis=0)


def examples(batch: Any, indices: Tensor) -> Tensor:
    """The number of each example of a batch, broadcastable to its indices."""
    return weft.arange(batch.size, device=indices.device).reshape(-1, *(1,) * batch.rank(1))


@op(tensors="output_grad indices", compute_dtype="float32", namespace="nn", linear="output_grad")
def embedding_gradient(
    output_grad: Tensor, indices: Tensor, rows: int, padding_idx: int | None, scale_grad_by_freq: bool
) -> Tensor:
    """Sum the gradients of equal indices into the rows of a table."""
    return embedding_gradient.op(output_grad, indices, rows, padding_idx, scale_grad_by_freq)


@embedding_gradient.kernel
def _(xp, output_grad, indices, rows, padding_idx, scale_grad_by_freq):
    flat = indices.reshape(-1)
    grad = output_grad.reshape(flat.size, *output_grad.shape[indices.ndim :])
    result = xp.zeros((rows, *grad.shape[1:]), grad.dtype)
    if not flat.size:
        return result
    if is_numpy(xp):
        order = xp.argsort(flat, kind="stable")
        ordered = flat[order]
        starts = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), ordered[1:] != ordered[:-1]]))
        result[ordered[starts]] = xp.add.reduceat(grad[order], starts, axis=0)
    else:  # whose size would have to be waited for
        combine_at(xp, xp.add, result, (flat,), grad)
    if scale_grad_by_freq:
        counts = counts_of(xp, flat, rows)
        result /= xp.maximum(counts, 1).astype(grad.dtype).reshape(-1, *(1,) * (grad.ndim - 1))
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


def counts_of(xp: Any, positions: Any, size: int) -> Any:
    """How often each position occurs."""
    if is_numpy(xp):
        return xp.bincount(positions, minlength=size)
    counts = xp.zeros(size, xp.int64)
    combine_at(xp, xp.add, counts, (positions,), 1)
    return counts


@embedding_gradient.meta
def _(xp, output_grad, indices, rows, padding_idx, scale_grad_by_freq):
    return xp.empty((rows, *output_grad.shape[indices.ndim :]), output_grad.dtype)


@embedding_gradient.gradient("output_grad")
def _(grad, indices, padding_idx, scale_grad_by_freq):
    if padding_idx is not None:
        keep = weft.arange(grad.shape[0], device=grad.device) != padding_idx
        grad = grad * keep.to(grad.dtype).reshape(-1, *[1] * (grad.ndim - 1))
    result = embedding_op.op(grad, indices, None, False)
    if scale_grad_by_freq:
        flat = indices.reshape(-1)
        counts = grad.new_zeros(grad.shape[0]).index_add(0, flat, grad.new_ones(flat.shape))
        result = result / counts[indices].unsqueeze(-1)
    return result


@embedding_gradient.vmap
def _(batch):
    output_grad, indices, rows, padding_idx, scale_grad_by_freq = batch.args
    if scale_grad_by_freq:
        return one_by_one(batch)
    first = rows * examples(batch, indices)
    grad = embedding_gradient.op(
        batch.spread(output_grad, batch.flags[0]),
        (indices + first).expand(batch.size, *indices.shape[-batch.rank(1) :] if batch.rank(1) else ()),
        rows * batch.size,
        None,
        False,
    ).unflatten(0, (batch.size, rows))
    return grad if padding_idx is None else grad.index_fill(1, indices.new_full((), padding_idx), 0)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` at these indices.

    Parameters
    ----------
    input : Tensor of int64 or int32
    weight : Tensor, shape (num_embeddings, embedding_dim)
    padding_idx : int, optional
        This row gets no gradient.
    max_norm : float, optional
        Rows that are looked up are first scaled down in place to at most this norm.
    norm_type : float
        The p of that norm.
    scale_grad_by_freq : bool
        Divide each row's gradient by how often it was looked up.
    sparse : bool
        Whether the weight's gradient is a sparse tensor of the rows that were looked up; for SGD, Adagrad and
        SparseAdam.

    Raises
    ------
    IndexError
        If an index is out of range.
    RuntimeError
        If the indices are no integers.

    Examples
    --------
    >>> table = weft.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> weft.nn.functional.embedding(weft.tensor([2, 0]), table)
    tensor([[5., 6.],
            [1., 2.]])
    """
    if weight.ndim != 2:
        raise RuntimeError(
            f"embedding: 'weight' must be 2-D, (num_embeddings, embedding_dim), got {list(weight.shape)}"
        )
    if padding_idx is not None:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"embedding: Padding_idx must be within num_embeddings ({rows}), got {padding_idx}")
        padding_idx %= rows
    check_indices("embedding", input)
    if max_norm is not None or sparse:  # what follows takes negative ones
        in_range("embedding", input, weight.shape[0], 0, IndexError)
    if max_norm is not None:
        shrink_rows(weight, input, max_norm, norm_type)
    return positioned("embedding", IndexError, looked_up, weight, input, padding_idx, scale_grad_by_freq, sparse)


def looked_up(
    weight: Tensor, indices: Tensor, padding_idx: int | None, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    """Rows of a table, whose gradient is dense or ``sparse``."""
    if sparse and weight.requires_grad and weft.is_grad_enabled():
        from weft.nn.functional.sparse_gradient import Rows

        found: Tensor = Rows.apply(weight, indices, padding_idx, scale_grad_by_freq)
        return found
    return embedding_op.op(weight, indices.long(), padding_idx, scale_grad_by_freq)


def shrink_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are looked up down to a norm, in place."""
    with weft.no_grad():
        chosen = indices.reshape(-1)
        if values_at_hand(chosen):  # else without a wait: rows that come twice are shrunk alike
            chosen = chosen.unique()
        if chosen.numel():
            rows = weight.detach()  # no other tensor has tangents of forward mode to lose
            rows.index_copy_(0, chosen, rows[chosen].renorm(norm_type, 0, max_norm))


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the place of each class along a new last dimension, and 0 elsewhere.

    Parameters
    ----------
    tensor : Tensor of int64
        Classes.
    num_classes : int
        The size of the new dimension; -1: one more than the greatest class.

    Raises
    ------
    RuntimeError
        If a class is negative or not below ``num_classes``.

    Examples
    --------
    >>> weft.nn.functional.one_hot(weft.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype is not weft.int64:
        raise RuntimeError(f"one_hot: one_hot is only applicable to index tensor of dtype int64, got {tensor.dtype}")
    if not tensor.numel():
        if num_classes <= 0:
            raise RuntimeError("one_hot: Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros(*tensor.shape, num_classes)
    if num_classes == -1 and tensor._key.wrapped:
        refuse_values("one_hot without num_classes", tensor)
    if not is_on_host(tensor) and num_classes > 0:  # to read them would be to wait
        if not tensor.is_meta:
            in_range("one_hot", tensor, num_classes, tensor.ndim)
        return one_hot_op.op(tensor, num_classes)
    values = memory_of(tensor) if is_on_host(tensor) else tensor.detach()
    low, high = int(values.min()), int(values.max())
    if low < 0:
        raise RuntimeError(f"one_hot: Class values must be non-negative, got {low}.")
    if num_classes == -1:
        num_classes = high + 1
    elif num_classes < 1:
        raise RuntimeError(f"one_hot: num_classes should be positive, got {num_classes}")
    if high >= num_classes:
        raise RuntimeError(
            f"one_hot: Class values must be smaller than num_classes, got class {high}, num_classes {num_classes}"
        )
    return one_hot_op.op(tensor, num_classes)


@op(tensors="input", namespace="nn", name="one_hot", gradient=None, vmap="elementwise")
def one_hot_op(input: Tensor, num_classes: int) -> Tensor:
    """1 at the place of each class, which is in range."""
    return one_hot_op.op(input, num_classes)


@one_hot_op.kernel
def _(xp, input, num_classes):
    made = xp.zeros((*input.shape, num_classes), xp.int64)
    made.reshape(-1)[input.reshape(-1) + xp.arange(0, made.size, num_classes)] = 1
    return made


@one_hot_op.onnx
def _(graph, input, num_classes):
    classes = graph.cast(graph.range(0, num_classes), input.dtype)
    return graph.cast(graph.Equal(graph.Unsqueeze(input, graph.sizes([-1])), classes), weft.int64)


@reads_values
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or greatest elements of the rows that each bag of indices names.

    Parameters
    ----------
    input : Tensor of int64 or int32, shape (B, L) or (L,)
        Bags of equal size, or all indices one after the other.
    weight : Tensor, shape (num_embeddings, embedding_dim)
    offsets : Tensor, shape (B,), optional
        Where each bag begins; for one-dimensional indices.
    max_norm, norm_type, scale_grad_by_freq, sparse
        See `embedding`.
    mode : "sum", "mean" or "max"
    per_sample_weights : Tensor, of the input's shape, optional
        For "sum".
    include_last_offset : bool
        The last offset is the number of indices.
    padding_idx : int, optional
        This row counts in no bag.

    Returns
    -------
    Tensor, shape (B, embedding_dim); 0 for empty bags.

    Raises
    ------
    RuntimeError
        If an index is out of range.
    ValueError, RuntimeError
        If shapes or options do not fit together.

    Examples
    --------
    >>> table = weft.tensor([[1.0, 1.0], [2.0, 4.0], [5.0, 5.0]])
    >>> weft.nn.functional.embedding_bag(weft.tensor([0, 1, 2]), table, weft.tensor([0, 2]))  # [0, 1] and [2]
    tensor([[1.5000, 2.5000],
            [5.0000, 5.0000]])
    """
    name = "embedding_bag"
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"{name}: mode has to be one of sum or mean or max, got {mode!r}")
    if not isinstance(input, Tensor) or not isinstance(weight, Tensor):
        raise TypeError(f"{name}(): arguments 'input' and 'weight' must be Tensors")
    check_bag(input, weight, offsets, mode, per_sample_weights)
    check_bag_dtypes(weight, offsets, per_sample_weights)
    indices, starts = flattened_bags(name, input, offsets, include_last_offset)
    check_indices(name, indices)
    if max_norm is not None or sparse:
        in_range(name, indices, weight.shape[0], 0, RuntimeError)
    each_weight = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if padding_idx is not None:
        padding_idx = check_padding(name, whole_number(name, "padding_idx", padding_idx), weight.shape[0])
    if padding_idx is not None and not indices.is_meta:
        counted = indices != padding_idx
        kept = positions_of(counted)
        starts = weft.cat([starts.new_zeros(1), counted.cumsum(0)])[starts]
        indices, each_weight = indices[kept], None if each_weight is None else each_weight[kept]
    if max_norm is not None:
        shrink_rows(weight, indices, max_norm, norm_type)
    if mode == "max" and (sparse or scale_grad_by_freq):
        what = "sparse weights" if sparse else "scaling the gradient by the frequency"
        raise ValueError(f"{name}: max mode does not support {what}")
    if mode == "max":
        rows = positioned(name, RuntimeError, looked_up, weight, indices, None, scale_grad_by_freq, False)
        return greatest_by_bag(rows, starts)
    if not sparse:
        arguments = (weight, indices.long(), starts, each_weight, mode == "mean", scale_grad_by_freq)
        return positioned(name, RuntimeError, bag_totals.op, *arguments)
    rows = looked_up(weight, indices, None, scale_grad_by_freq, sparse)  # (M, D)
    return bag_totals.op(
        rows, weft.arange(rows.shape[0], device=rows.device), starts, each_weight, mode == "mean", False
    )


def positions_of(mask: Tensor) -> Tensor:
    """Where a mask holds; on a device, which would have to be waited for to know how often, then where it does not."""
    if is_on_host(mask):
        return mask.nonzero().reshape(-1)
    return mask.logical_not().to(weft.uint8).argsort(stable=True)


@op(
    tensors="weight indices starts each_weight",
    compute_dtype="native",
    namespace="nn",
    name="embedding_bag",
    vmap="one_by_one",
    linear="weight | each_weight",
)
def bag_totals(
    weight: Tensor, indices: Tensor, starts: Tensor, each_weight: Tensor | None, mean: bool, scale_grad_by_freq: bool
) -> Tensor:
    """The sums (or means) of rows of a table, for bags of neighbouring indices; ``starts`` has the last one's end.

    On a device there may be indices behind it, which count nothing.
    """
    return bag_totals.op(weight, indices, starts, each_weight, mean, scale_grad_by_freq)


@bag_totals.kernel
def _(xp, weight, indices, starts, each_weight, mean, scale_grad_by_freq):
    check_positions(xp, "embedding_bag", indices, 0, weight.shape[0])
    wide = weight.dtype if weight.dtype.itemsize > 2 else xp.dtype(xp.float32)  # halves are rounded once
    rows = xp.take(weight, indices, axis=0).astype(wide, copy=False)
    if each_weight is not None:
        rows = rows * each_weight.astype(wide)[:, None]
    counts = starts[1:] - starts[:-1]
    total = xp.zeros((counts.size, *rows.shape[1:]), wide)
    filled = counts > 0
    if not is_numpy(xp):
        total = xp.zeros((counts.size + 1, *rows.shape[1:]), wide)
        combine_at(xp, xp.add, total, (bag_numbers(xp, starts, len(rows)),), rows)
        total = total[:-1]
    elif filled.any():
        total[filled] = xp.add.reduceat(rows, starts[:-1][filled], axis=0)
    if mean:
        total /= xp.maximum(counts, 1).astype(wide)[:, None]
    return total.astype(weight.dtype, copy=False)


@bag_totals.meta
def _(xp, weight, indices, starts, each_weight, mean, scale_grad_by_freq):
    return xp.empty((starts.size - 1, *weight.shape[1:]), weight.dtype)


@bag_totals.onnx
def _(graph, weight, indices, starts, each_weight, mean, scale_grad_by_freq):
    """A bag is a row of a matrix that has ones where its elements are."""
    rows = graph.Gather(weight, indices, axis=0)
    if each_weight is not None:
        rows = graph.Mul(rows, graph.Unsqueeze(each_weight, graph.sizes([-1])))
    ends = (graph.slice(starts, 0, *each) for each in ((None, -1), (1, None)))
    first, last = (graph.Unsqueeze(each, graph.sizes([1])) for each in ends)
    places = graph.range(0, graph.size(indices, 0))
    inside = graph.And(graph.LessOrEqual(first, places), graph.Less(places, last))
    total = graph.MatMul(graph.cast(inside, weight.dtype), rows)
    if not mean:
        return total
    return graph.Div(total, graph.cast(graph.Max(graph.Sub(last, first), 1), weight.dtype))


def bag_numbers(xp: Any, starts: Any, size: int) -> Any:
    """The number of the bag that each index is in."""
    if is_numpy(xp):
        return xp.repeat(xp.arange(starts.size - 1), starts[1:] - starts[:-1])
    return xp.searchsorted(starts[1:], xp.arange(size), side="right")


@op(name="bag_numbers", tensors="starts", namespace="nn", gradient=None)
def bag_of_each(starts: Tensor, size: int) -> Tensor:
    """The number of the bag that each of so many indices is in; one more than the last for none."""
    return bag_of_each.op(starts, size)


bag_of_each.kernel(bag_numbers)


@bag_of_each.meta
def _(xp, starts, size):
    return xp.empty(size, xp.int64)


def spread_over_bags(grad: Tensor, indices: Tensor, starts: Tensor, each_weight: Tensor | None, mean: bool) -> Tensor:
    """The gradient of each bag's total for each of its rows."""
    counts = starts[1:] - starts[:-1]
    if mean:
        grad = grad / counts.clamp_min(1).to(grad.dtype).unsqueeze(1)
    if not is_on_host(grad):  # whose indices may be in none
        grad = weft.cat([grad, grad.new_zeros(1, *grad.shape[1:])])
    spread: Tensor = grad.index_select(0, bag_of_each.op(starts, indices.shape[0]))
    return spread if each_weight is None else spread * each_weight.unsqueeze(1)


@bag_totals.gradient("weight")
def _(grad, weight_shape, indices, starts, each_weight, mean, scale_grad_by_freq):
    spread = spread_over_bags(grad, indices, starts, each_weight, mean)
    return embedding_gradient.op(spread, indices, weight_shape[0], None, scale_grad_by_freq)


@bag_totals.gradient("each_weight")
def _(grad, weight, indices, starts, mean):
    return (spread_over_bags(grad, indices, starts, None, mean) * weight.index_select(0, indices)).sum(1)


def check_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None, mode: str, per_sample_weights: Tensor | None
) -> None:
    name = "embedding_bag"
    if weight.ndim != 2:
        raise ValueError(
            f"{name}: weight has to be a 2D Tensor, (num_embeddings, embedding_dim), got {list(weight.shape)}"
        )
    if input.ndim not in (1, 2):
        raise ValueError(f"{name}: input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if input.ndim == 2 and offsets is not None:
        raise ValueError(
            f"{name}: if input is 2D, then offsets has to be None, as input is treated as bags of one length"
        )
    if input.ndim == 1 and offsets is None:
        raise ValueError(f"{name}: offsets has to be a 1D Tensor but got None; input is 1D")
    if offsets is not None and offsets.ndim != 1:
        raise ValueError(f"{name}: offsets has to be a 1D Tensor, got {list(offsets.shape)}")
    if per_sample_weights is not None:
        if per_sample_weights.shape != input.shape:
            raise ValueError(
                f"{name}: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, then it must have the "
                f"same shape as the input ({list(input.shape)})"
            )
        if mode != "sum":
            raise NotImplementedError(
                f"{name}: per_sample_weights was not None. It is only supported for mode='sum', got {mode!r}"
            )


def check_bag_dtypes(weight: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None) -> None:
    name = "embedding_bag"
    if not weight.dtype.is_floating_point:
        raise RuntimeError(f"{name}: expected weight of a floating-point dtype, but got {weight.dtype}")
    if offsets is not None and offsets.dtype not in (weft.int64, weft.int32):
        raise RuntimeError(f"{name}: expected offsets of int64 or int32, but got {offsets.dtype}")
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            f"{name}: expected per_sample_weights of weight's dtype {weight.dtype}, got {per_sample_weights.dtype}"
        )


def check_padding(name: str, padding_idx: int, rows: int) -> int:
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"{name}: padding_idx must be within the number of embeddings, -{rows} through {rows - 1} but got "
            f"{padding_idx}"
        )
    return padding_idx % rows


def flattened_bags(
    name: str, input: Tensor, offsets: Tensor | None, include_last_offset: bool
) -> tuple[Tensor, Tensor]:
    """All indices, and where each bag begins, with the end of the last one."""
    if offsets is None:
        bags, length = input.shape
        if not length:
            return input.reshape(-1), input.new_zeros(bags + 1, dtype=weft.int64)
        return input.reshape(-1), weft.arange(0, bags * length + 1, length, device=input.device)
    if offsets.is_meta:
        last = int(include_last_offset)
        return input, offsets.new_empty(offsets.shape[0] + 1 - last, dtype=weft.int64)
    if not is_on_host(offsets):
        return flattened_on_device(name, input, offsets, include_last_offset)
    starts = memory_of(offsets)
    if include_last_offset:
        if not starts.size:
            raise RuntimeError(f"{name}: include_last_offset: number of offsets should be at least 1")
    size, count = input.shape[0], starts.size
    if count and starts[0] != 0:
        raise RuntimeError(
            f"{name}: offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {starts[0]}"
        )
    if count and starts[-1] > size:
        raise RuntimeError(
            f"{name}: offsets[-1] can not be greater than input's length ({size}), but got offsets[-1] of {starts[-1]}"
        )
    if (starts[1:] < starts[:-1]).any():
        raise RuntimeError(
            f"{name}: Your input appears to be incorrect: offsets must not decrease, and with include_last_offset the "
            f"last offset value should be the size of the indices tensor, {size}; got {starts.tolist()}"
        )
    if include_last_offset:
        return input[: int(starts[-1])], offsets.to(weft.int64)
    ends = offsets.new_full((count + 1,), size if count else 0, dtype=weft.int64)
    ends[:count] = offsets[:count]
    return (input if count else input[:0]), ends


def flattened_on_device(name: str, input: Tensor, offsets: Tensor, include_last_offset: bool) -> tuple[Tensor, Tensor]:
    """`flattened_bags` without reading the offsets, which would be to wait; there may be indices in no bag."""
    in_range(name, offsets, input.shape[0] + 1, 0)
    if include_last_offset:
        return input, offsets.to(weft.int64)
    count = offsets.shape[0]
    ends = offsets.new_full((count + 1,), input.shape[0] if count else 0, dtype=weft.int64)
    ends[:count] = offsets
    return (input if count else input[:0]), ends


def greatest_by_bag(rows: Tensor, starts: Tensor) -> Tensor:
    """The greatest elements of each bag's rows; the first of equal ones has the gradient."""
    if starts.is_meta:
        return bag_totals.op(rows, weft.arange(rows.shape[0], device=rows.device), starts, None, False, False)
    if not is_on_host(starts):
        return greatest_on_device(rows, starts)
    counts = starts.diff().tolist()
    rows = rows[: sum(counts)]
    if counts and counts[0] and counts.count(counts[0]) == len(counts):
        return rows.reshape(len(counts), counts[0], -1).max(1)[0]
    parts = rows.split(counts)
    zeros = rows.new_zeros(rows.shape[1])
    found = [part.max(0)[0] if part.shape[0] else zeros for part in parts]
    return weft.stack(found) if found else rows.new_zeros(0, rows.shape[1])


def greatest_on_device(rows: Tensor, starts: Tensor) -> Tensor:
    """`greatest_by_bag` without waiting for the bags' sizes: where the greatest of each bag is first."""
    count, bags = rows.shape[0], starts.shape[0] - 1
    if not count or not bags:
        return rows.new_zeros(bags, rows.shape[1])
    first = first_greatest(rows.detach(), bag_of_each.op(starts, count), bags)
    return rows.gather(0, first.clamp(max=count - 1)).masked_fill(first == count, 0)


def first_greatest(values: Tensor, bag: Tensor, bags: int) -> Tensor:
    """The number of the row that has each bag's greatest element of each column, the first of equal ones.

    Parameters
    ----------
    values : Tensor, shape (M, D)
    bag : Tensor of int64, shape (M,)
        The number of each row's bag; ``bags`` for none.
    bags : int

    Returns
    -------
    Tensor of int64, shape (bags, D)
        M for bags without rows.
    """
    count = values.shape[0]
    bag = bag.unsqueeze(1).expand(values.shape)
    most = values.new_zeros(bags + 1, values.shape[1]).scatter_reduce(0, bag, values, "amax", include_self=False)
    is_most = (values == most.gather(0, bag)) | values.isnan()
    order = weft.arange(count, device=values.device).unsqueeze(1)
    return bag.new_full(most.shape, count).scatter_reduce(0, bag, order.where(is_most, count), "amin")[:bags]
