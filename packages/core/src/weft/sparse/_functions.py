"""What sparse tensors do for the functions and methods of Tensor: each is declared by their names."""

from __future__ import annotations

import builtins
from typing import Any

import weft
from weft._dtypes.dtypes import int64
from weft._tensor.base import Tensor
from weft.ops._geometry import check_index, wrap_dim, wrap_dims
from weft.sparse._tensor import (
    FUNCTIONS,
    SparseTensor,
    expect_sparse,
    flat_indices,
    implements,
    made,
)

__all__ = ["spdiags"]

# Elementwise

# f(0) = 0: done with the values alone.
OF_VALUES = """
abs absolute arcsin arcsinh arctan arctanh asin asinh atan atanh ceil conj_physical deg2rad erf erfinv expm1 floor frac
isinf isnan isneginf isposinf log1p nan_to_num rad2deg relu round sgn sign signbit sin sinh sqrt square tan tanh trunc
bool byte char int long short
""".split()
# The same where coordinates repeat, since f(a) + f(b) = f(a + b); or a question of the representation.
LINEAR = """
bfloat16 clone contiguous cpu cuda detach double float half neg negative pin_memory positive to type
""".split()
IN_PLACE = """
abs_ absolute_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_ deg2rad_ erf_ erfinv_ expm1_ floor_
frac_ log1p_ nan_to_num_ neg_ negative_ rad2deg_ relu_ round_ sgn_ sign_ sin_ sinh_ sqrt_ square_ tan_ tanh_ trunc_
""".split()


def of_values(tensor: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A function of each value, by its name."""
    values = getattr(tensor._inner_values, name)(*args, **kwargs)
    indices = tensor._sparse_indices.to(values.device)
    return made(indices, values, tensor.shape, tensor._sparse_coalesced)


def elementwise(name: str) -> Any:
    return lambda input, *args, **kwargs: of_values(input.coalesce(), name, args, kwargs)


def linear(name: str) -> Any:
    return lambda input, *args, **kwargs: of_values(input, name, args, kwargs)


def in_place(name: str) -> Any:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not input._sparse_coalesced and name not in ("neg_", "negative_"):
            raise RuntimeError(f"{name}: requires coalesced input, since coordinates repeat; take coalesce() first")
        getattr(input._inner_values, name)(*args, **kwargs)
        return input

    return function


FUNCTIONS.update({name: elementwise(name) for name in OF_VALUES})
FUNCTIONS.update({name: linear(name) for name in LINEAR})
FUNCTIONS.update({name: in_place(name) for name in IN_PLACE})
FUNCTIONS["conj"] = linear("conj_physical")
FUNCTIONS.update(dict.fromkeys(("is_conj", "is_neg"), lambda input: False))
FUNCTIONS.update(dict.fromkeys(("resolve_conj", "resolve_neg"), lambda input: input))


@implements("pow __pow__")
def power(input: Any, exponent: Any) -> Any:
    if not isinstance(input, SparseTensor) or isinstance(exponent, Tensor) or exponent == 0:
        raise RuntimeError("pow: a sparse tensor takes a number other than 0 as its exponent: the zeros stay zeros")
    return of_values(input.coalesce(), "pow", (exponent,), {})


@implements("mul multiply __mul__ __rmul__")
def multiplied(input: Any, other: Any) -> Any:
    """By a number, or by a tensor of the same size: what is zero in one of them is zero."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if isinstance(other, SparseTensor):
        return intersection(input, other)
    if isinstance(other, Tensor) and other.numel() != 1:
        input = input.coalesce()
        dense: Any = other.expand(tuple(input.shape))
        picked = dense[tuple(input._sparse_indices)]
        return made(input._sparse_indices, input._inner_values * picked, input.shape, True)
    return of_values(input, "mul", (other,), {})


def intersection(input: Any, other: Any) -> Any:
    """Product of two sparse tensors, at the coordinates that both have."""
    if input.shape != other.shape or input.sparse_dim() != other.sparse_dim():
        raise RuntimeError(
            f"mul: expected sparse tensors of one size, got {tuple(input.shape)} and {tuple(other.shape)} with "
            f"{input.sparse_dim()} and {other.sparse_dim()} sparse dimensions"
        )
    input, other = input.coalesce(), other.coalesce()
    mine, theirs = matches(input, other)
    values = input._inner_values[mine] * other._inner_values[theirs]
    return made(input._sparse_indices[:, mine], values, input.shape, True)


def matches(input: Any, other: Any) -> tuple[Any, Any]:
    """Where the coordinates that two coalesced tensors share stand in each of them."""
    sizes = tuple(input.shape)[: input.sparse_dim()]
    flat, wanted = flat_indices(input._sparse_indices, sizes), flat_indices(other._sparse_indices, sizes)
    place = weft.searchsorted(wanted, flat).clamp_max(builtins.max(len(wanted) - 1, 0))
    shared = wanted[place] == flat if len(wanted) else flat.new_zeros(len(flat), dtype=weft.bool)
    mine = shared.nonzero().squeeze(1)
    return mine, place[mine]


@implements("div divide true_divide __truediv__")
def divided(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    check_divisor(input, other)
    if rounding_mode is None:
        return of_values(input, "div", (other,), {})
    return of_values(input.coalesce(), "div", (other,), {"rounding_mode": rounding_mode})


@implements("floor_divide __floordiv__")
def floor_divided(input: Any, other: Any) -> Any:
    check_divisor(input, other)
    return of_values(input.coalesce(), "floor_divide", (other,), {})


def check_divisor(input: Any, other: Any) -> None:
    if not isinstance(input, SparseTensor) or isinstance(other, SparseTensor):
        raise RuntimeError("div: a sparse tensor can only be divided by a scalar, and divides nothing")
    if isinstance(other, Tensor) and other.ndim:
        raise RuntimeError(f"div: a sparse tensor can only be divided by a scalar, got shape {tuple(other.shape)}")


@implements("add __add__ __radd__")
def addition(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Sum of two tensors: sparse if both are."""
    if not isinstance(input, SparseTensor):
        return weft.add(input, other.to_dense(), alpha=alpha)
    if not isinstance(other, SparseTensor):
        return weft.add(input.to_dense(), other, alpha=alpha)
    if input.shape != other.shape:
        raise RuntimeError(f"add: expected sparse tensors of one size, got {tuple(input.shape)}, {tuple(other.shape)}")
    indices = weft.cat([input._sparse_indices, other._sparse_indices], 1)
    values = weft.cat([input._inner_values, other._inner_values * alpha])
    return made(indices, values, input.shape, False).coalesce()


@implements("sub subtract __sub__")
def subtraction(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return addition(input, other, alpha=-alpha)


@implements("backward")
def backward(input: Any, gradient: Any = None, *arguments: Any, **options: Any) -> None:
    """Backward of a dense tensor from a sparse gradient; a sparse tensor's is that of what is computed from it."""
    if isinstance(input, SparseTensor):
        raise NotImplementedError("backward: is not there for sparse tensors; take to_dense() of it, or its values()")
    weft.autograd.backward(input, gradient, *arguments, **options)


# In place


@implements("add_ __iadd__")
def add_in_place(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Add to a tensor in place: gradients of an embedding add up so, and optimizers move a table by one."""
    if not isinstance(other, SparseTensor):
        raise RuntimeError("add_: cannot add a dense tensor to a sparse one in place; take add(dense, sparse)")
    if input.shape != other.shape:
        raise RuntimeError(f"add_: expected tensors of one size, got {tuple(input.shape)}, {tuple(other.shape)}")
    values = other._inner_values if alpha == 1 else other._inner_values * alpha
    if not isinstance(input, SparseTensor):
        return input.index_put_(tuple(other._sparse_indices), values.to(input.dtype), accumulate=True)
    if input._sparse_coalesced and other._sparse_coalesced:
        return take_over(input, addition(input, other, alpha=alpha))
    indices = weft.cat([input._sparse_indices, other._sparse_indices], 1)
    return become(input, indices, weft.cat([input._inner_values, values]))


@implements("sub_ subtract_ __isub__")
def subtract_in_place(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return add_in_place(input, other, alpha=-alpha)


@implements("mul_ multiply_ __imul__")
def multiply_in_place(input: Any, other: Any) -> Any:
    return take_over(input, multiplied(input, other))


@implements("div_ divide_ __itruediv__")
def divide_in_place(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    return take_over(input, divided(input, other, rounding_mode=rounding_mode))


@implements("floor_divide_ __ifloordiv__")
def floor_divide_in_place(input: Any, other: Any) -> Any:
    return take_over(input, floor_divided(input, other))


@implements("pow_ __ipow__")
def power_in_place(input: Any, exponent: Any) -> Any:
    return take_over(input, power(input, exponent))


@implements("zero_")
def zero(input: Any) -> Any:
    return become(input, input._sparse_indices[:, :0], input._inner_values[:0])


@implements("copy_")
def copy_in_place(input: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take over the elements of another sparse tensor of the same size; a dense one takes over all of them."""
    if not isinstance(input, SparseTensor):
        return input.copy_(src.to_dense())
    if not isinstance(src, SparseTensor) or input.shape != src.shape:
        raise RuntimeError(
            f"copy_: expected a sparse tensor of size {tuple(input.shape)}, got {tuple(src.shape)} with layout "
            f"{src.layout}"
        )
    return take_over(input, src.to(input.dtype).clone())


def become(input: Any, indices: Any, values: Any, coalesced: bool = False) -> Any:
    """Put other coordinates and values into a tensor."""
    input.replace_values(values)
    input._sparse_indices, input._sparse_coalesced = indices, coalesced
    return input


def take_over(input: Any, found: Any) -> Any:
    """Put the elements of another tensor, of the same dtype, into a tensor."""
    if found.dtype is not input.dtype:
        raise RuntimeError(f"result type {found.dtype} can't be cast to the desired output type {input.dtype}")
    return become(input, found._sparse_indices, found._inner_values, found._sparse_coalesced)


# Size and order


@implements("permute")
def permuted(input: Any, *dims: Any) -> Any:
    dims = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    order = wrap_dims("permute", dims, input.ndim)
    count = input.sparse_dim()
    if len(order) != input.ndim:
        raise RuntimeError(f"permute: expected {input.ndim} dimensions, got dims={tuple(dims)}")
    if sorted(order[:count]) != list(range(count)):
        raise RuntimeError(
            f"permute: sparse and dense dimensions may not change places; the first {count} are sparse, got "
            f"dims={tuple(dims)}"
        )
    values = input._inner_values.permute(0, *(dim - count + 1 for dim in order[count:]))
    size = [input.shape[dim] for dim in order]
    return made(input._sparse_indices[list(order[:count])], values, size, False)


@implements("alias")
def aliased(input: Any) -> Any:
    return made(input._sparse_indices, input._inner_values, input.shape, input._sparse_coalesced)


@implements("t")
def matrix_transposed(input: Any) -> Any:
    if input.ndim > 2:
        raise RuntimeError(f"t: expected a sparse tensor of at most 2 dimensions, got {input.ndim}")
    return transposed(input, 0, 1) if input.ndim == 2 else input


@implements("transpose swapaxes swapdims")
def transposed(input: Any, dim0: int, dim1: int) -> Any:
    order = list(range(input.ndim))
    first, second = wrap_dim("transpose", dim0, input.ndim), wrap_dim("transpose", dim1, input.ndim)
    order[first], order[second] = second, first
    return input if first == second else permuted(input, order)


@implements("unsqueeze")
def unsqueezed(input: Any, dim: int) -> Any:
    dim = wrap_dim("unsqueeze", dim, input.ndim + 1)
    size = [*input.shape[:dim], 1, *input.shape[dim:]]
    indices, values, count = input._sparse_indices, input._inner_values, input.sparse_dim()
    if dim > count:
        return made(indices, values.unsqueeze(dim - count + 1), size, input._sparse_coalesced)
    zeros = indices.new_zeros((1, indices.shape[1]))
    return made(weft.cat([indices[:dim], zeros, indices[dim:]]), values, size, input._sparse_coalesced)


@implements("resize_as_ resize_as_sparse_")
def resize_as(input: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    return resize(input, the_template.shape, the_template.sparse_dim(), the_template.dense_dim())


@implements("sparse_resize_")
def resize(input: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give a tensor another size, in place, that holds all its elements.

    Raises
    ------
    RuntimeError
        If the dimensions are others, or a size is too small.
    """
    size = tuple(size)
    if input._nnz():
        if (sparse_dim, dense_dim) != (input.sparse_dim(), input.dense_dim()):
            raise RuntimeError(
                f"sparse_resize_: changing the number of dimensions of a tensor with elements is not supported: it has "
                f"{input.sparse_dim()} sparse and {input.dense_dim()} dense ones, got {sparse_dim} and {dense_dim}"
            )
        if any(new < old for new, old in zip(size, input.shape)) or size[sparse_dim:] != input.shape[sparse_dim:]:
            raise RuntimeError(
                f"sparse_resize_: shrinking a tensor with elements is not supported: its size is "
                f"{tuple(input.shape)}, got {size}"
            )
        resized = made(input._sparse_indices, input._inner_values, size, input._sparse_coalesced)
    else:
        resized = empty(size, sparse_dim, input._inner_values)
    input._array = resized._array
    return take_over(input, resized)


@implements("sparse_resize_and_clear_")
def resize_and_clear(input: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    return resize(zero(input), size, sparse_dim, dense_dim)


def empty(size: Any, sparse_dim: int, values: Any, dtype: Any = None) -> Any:
    """A tensor of zeros, with the dtype and device of some values."""
    indices = weft.zeros((sparse_dim, 0), dtype=int64, device=values.device)
    return made(indices, values.new_zeros((0, *size[sparse_dim:]), dtype=dtype or values.dtype), size, True)


@implements("zeros_like empty_like")
def zeros_like(input: Any, *, dtype: Any = None, **options: Any) -> Any:
    return empty(tuple(input.shape), input.sparse_dim(), input._inner_values, dtype)


@implements("new_zeros new_empty")
def new_zeros(input: Any, *size: Any, dtype: Any = None, **options: Any) -> Any:
    size = tuple(size[0] if size and not isinstance(size[0], int) else size)
    return empty(size, len(size), input._inner_values, dtype)


@implements("new")
def new(input: Any, *args: Any) -> Any:
    if args and isinstance(args[0], Tensor):
        return weft.sparse_coo_tensor(*args, dtype=input.dtype)
    return new_zeros(input, *args)


# Selection


@implements("select")
def selected(input: Any, dim: int, index: int) -> Any:
    """One slice; of a tensor with one sparse dimension it is dense."""
    dim = wrap_dim("select", dim, input.ndim)
    index = check_index("select", index, input.shape[dim], dim)
    indices, values, count = input._sparse_indices, input._inner_values, input.sparse_dim()
    size = [*input.shape[:dim], *input.shape[dim + 1 :]]
    if dim >= count:
        return made(indices, values.select(dim - count + 1, index), size, input._sparse_coalesced)
    here = (indices[dim] == index).nonzero().squeeze(1)
    if count == 1:
        return values[here].sum(0, dtype=values.dtype)
    kept = weft.cat([indices[:dim], indices[dim + 1 :]])[:, here]
    return made(kept, values[here], size, input._sparse_coalesced)


@implements("narrow_copy")
def narrowed(input: Any, dim: int, start: int, length: int) -> Any:
    dim = wrap_dim("narrow_copy", dim, input.ndim)
    start = int(start) + input.shape[dim] * (start < 0)
    if not 0 <= start <= start + length <= input.shape[dim]:
        raise RuntimeError(
            f"narrow_copy: start ({start}) + length ({length}) exceeds dimension {dim} of size {input.shape[dim]}"
        )
    indices, values, count = input._sparse_indices, input._inner_values, input.sparse_dim()
    size = [*input.shape[:dim], length, *input.shape[dim + 1 :]]
    if dim >= count:
        return made(indices, values.narrow(dim - count + 1, start, length), size, input._sparse_coalesced)
    here = ((indices[dim] >= start) & (indices[dim] < start + length)).nonzero().squeeze(1)
    kept = indices[:, here]
    kept[dim] -= start
    return made(kept, values[here], size, input._sparse_coalesced)


@implements("index_select")
def index_selected(input: Any, dim: int, index: Any) -> Any:
    """Slices by number, in this order, also several times."""
    dim = wrap_dim("index_select", dim, input.ndim)
    length = input.shape[dim]
    if not isinstance(index, Tensor) or index.ndim > 1 or index.dtype not in (int64, weft.int32):
        raise RuntimeError("index_select: index must be a 1-dimensional tensor of int32 or int64")
    index = index.reshape(-1).to(int64)
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < length:
        raise IndexError(f"index_select: index out of range: dimension {dim} has size {length}")
    size = [*input.shape[:dim], index.numel(), *input.shape[dim + 1 :]]
    indices, values, count = input._sparse_indices, input._inner_values, input.sparse_dim()
    if dim >= count:
        return made(indices, values.index_select(dim - count + 1, index), size, input._sparse_coalesced)
    order = indices[dim].argsort(stable=True)
    ordered = indices[dim][order]
    first = weft.searchsorted(ordered, index)
    counts = weft.searchsorted(ordered, index, right=True) - first
    slices = weft.arange(index.numel(), device=index.device).repeat_interleave(counts)
    within = weft.arange(slices.numel(), device=index.device) - (counts.cumsum(0) - counts)[slices]
    picked = order[first[slices] + within]
    kept = indices[:, picked]
    kept[dim] = slices
    return made(kept, values[picked], size, False)


@implements("unbind")
def unbound(input: Any, dim: int = 0) -> tuple[Any, ...]:
    dim = wrap_dim("unbind", dim, input.ndim)
    return tuple(selected(input, dim, index) for index in range(input.shape[dim]))


@implements("__getitem__ getitem")
def item(input: Any, index: Any) -> Any:
    """By numbers, slices with step 1, None and one tensor of indices, one after the other."""
    dim = 0
    entries = index if isinstance(index, tuple) else (index,)
    given = builtins.sum(entry is not None and entry is not Ellipsis for entry in entries)
    for entry in entries:
        if entry is None:
            input, dim = input.unsqueeze(dim), dim + 1
        elif entry is Ellipsis:
            dim = input.ndim - given
        elif isinstance(entry, slice):
            start, stop, step = entry.indices(input.shape[dim])
            if step != 1:
                raise NotImplementedError("getitem: slices of sparse tensors with a step are not there; see to_dense()")
            if (start, stop) != (0, input.shape[dim]):
                input = input.narrow_copy(dim, start, builtins.max(stop - start, 0))
            dim, given = dim + 1, given - 1
        elif isinstance(entry, Tensor) and entry.ndim == 1 and entry.dtype is not weft.bool:
            wrapped = weft.where(entry < 0, entry + input.shape[dim], entry)
            input, dim, given = input.index_select(dim, wrapped), dim + 1, given - 1
        else:
            input, given = input.select(dim, int(entry)), given - 1
    return input


@implements("index")
def advanced(input: Any, indices: Any) -> Any:
    return item(input, tuple(slice(None) if each is None else each for each in indices))


@implements("sparse_mask")
def masked(input: Any, mask: Any) -> Any:
    """The elements at the coordinates of a sparse tensor."""
    expect_sparse("sparse_mask", mask)
    if input.shape != mask.shape:
        raise RuntimeError(f"sparse_mask: expected tensors of one size, got {tuple(input.shape)}, {tuple(mask.shape)}")
    if not isinstance(input, SparseTensor):
        values = input[tuple(mask._sparse_indices)]
        return made(mask._sparse_indices.clone(), values, mask.shape, mask._sparse_coalesced)
    input, mask = input.coalesce(), mask.coalesce()
    there, place = matches(mask, input)
    values = input._inner_values.new_zeros((mask._nnz(), *input._inner_values.shape[1:]))
    values = values.index_copy(0, there, input._inner_values[place])
    return made(mask._sparse_indices.clone(), values, mask.shape, True)


# Joining


@implements("cat concat concatenate")
def joined(tensors: Any, dim: int = 0) -> Any:
    if not all(isinstance(each, SparseTensor) for each in tensors):
        raise RuntimeError("cat: expected either all tensors to be sparse or none of them")
    first = tensors[0]
    dim, count = wrap_dim("cat", dim, first.ndim), first.sparse_dim()
    for each in tensors:
        others = [*each.shape[:dim], *each.shape[dim + 1 :]] == [*first.shape[:dim], *first.shape[dim + 1 :]]
        if each.ndim != first.ndim or each.sparse_dim() != count or not others:
            raise RuntimeError(
                f"cat: sizes must match but for dimension {dim}, and sparse dimensions ({count}); got "
                f"{tuple(each.shape)} ({each.sparse_dim()}) beside {tuple(first.shape)}"
            )
    size = [*first.shape[:dim], builtins.sum(each.shape[dim] for each in tensors), *first.shape[dim + 1 :]]
    indices, values, start = [], [], 0
    for each in tensors:
        if dim < count:
            shift = each._sparse_indices.new_zeros((count, 1))
            shift[dim] = start
            indices.append(each._sparse_indices + shift)
            values.append(each._inner_values)
        else:  # dense parts before and behind are zeros
            part, axis = each._inner_values, dim - count + 1
            before, behind = list(part.shape), list(part.shape)
            before[axis], behind[axis] = start, size[dim] - start - each.shape[dim]
            indices.append(each._sparse_indices)
            values.append(weft.cat([part.new_zeros(before), part, part.new_zeros(behind)], axis))
        start += each.shape[dim]
    return made(weft.cat(indices, 1), weft.cat(values), size, False)


@implements("stack")
def stacked(tensors: Any, dim: int = 0) -> Any:
    dim = wrap_dim("stack", dim, tensors[0].ndim + 1)
    return joined([each.unsqueeze(dim) for each in tensors], dim)


@implements("vstack row_stack")
def stacked_rows(tensors: Any) -> Any:
    return joined([each.unsqueeze(0) if each.ndim == 1 else each for each in tensors], 0)


@implements("hstack")
def stacked_columns(tensors: Any) -> Any:
    return joined(tensors, 0 if tensors[0].ndim == 1 else 1)


# Construction


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix with these rows as its diagonals: element j of each is in column j.

    Parameters
    ----------
    diagonals : Tensor, shape (k, n) or (n,)
    offsets : Tensor of int, shape (k,) or ()
        Above the main diagonal if positive, each once.
    shape : tuple of int
    layout : layout, optional
        Of the result: ``weft.sparse_coo`` (the default), ``weft.sparse_csr`` or ``weft.sparse_csc``.

    Returns
    -------
    Tensor, sparse, of this shape

    Examples
    --------
    >>> weft.sparse.spdiags(weft.ones(2, 3), weft.tensor([0, 1]), (3, 3)).to_dense()
    tensor([[1., 1., 0.],
            [0., 1., 1.],
            [0., 0., 1.]])
    """
    diagonals, offsets = weft.atleast_2d(diagonals), weft.atleast_1d(offsets)
    rows, columns = shape
    if diagonals.ndim > 2 or offsets.shape != diagonals.shape[:1]:
        raise ValueError(
            f"spdiags: expected one offset for each diagonal, got {tuple(offsets.shape)} offsets and diagonals of "
            f"shape {tuple(diagonals.shape)}"
        )
    if len(set(offsets.tolist())) != len(offsets):
        raise ValueError(f"spdiags: offsets must differ from each other, got {offsets.tolist()}")
    if layout not in (None, weft.sparse_coo, weft.sparse_csr, weft.sparse_csc):
        raise ValueError(f"spdiags: layout={layout} is not there; use weft.sparse_coo, sparse_csr or sparse_csc")
    column = weft.arange(diagonals.shape[1], device=diagonals.device).expand(diagonals.shape)
    row = column - offsets[:, None]
    inside = ((row >= 0) & (row < rows) & (column < columns)).nonzero(as_tuple=True)
    found = made(weft.stack([row[inside], column[inside]]), diagonals[inside], (rows, columns), False)
    return found if layout is None else found.to_sparse(layout=layout)


# What sparse tensors have not


def refused(error: type[Exception], message: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise error(message)

    return function


for names, error, message in (
    ("numpy __array__", TypeError, "numpy: can't convert a sparse tensor to numpy; take to_dense() first"),
    ("data_ptr", RuntimeError, "data_ptr: a sparse tensor has no memory of its own; its values() have"),
    ("storage untyped_storage", NotImplementedError, "storage: a sparse tensor has no storage; its values() have"),
    ("expand expand_as", RuntimeError, "expand: is not there for sparse tensors; take to_dense() first"),
    ("reshape", RuntimeError, "reshape: is not there for sparse tensors; take to_dense() first"),
    ("is_nonzero __bool__", RuntimeError, "Boolean value of a sparse tensor is ambiguous; take to_dense() first"),
):
    FUNCTIONS.update(dict.fromkeys(names.split(), refused(error, message)))
