"""The functions that make nested tensors."""

from __future__ import annotations

from typing import Any

import weft
from weft._tensor.base import Tensor
from weft._tensor.layout import jagged, strided
from weft._tensor.values_wrapper import alias
from weft.nested import _strided
from weft.nested._jagged import made

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def check_layout(name: str, layout: Any) -> bool:
    """Whether the jagged layout is meant.

    Raises
    ------
    RuntimeError
        If neither that nor the strided one is.
    """
    if layout not in (None, jagged, strided):
        raise RuntimeError(f"{name}: Specified layout is unsupported for nested tensors: {layout}; use weft.jagged")
    return layout is jagged


def checked_components(name: str, tensors: list[Any]) -> list[Any]:
    """Components, of one number of dimensions, one dtype and one device.

    Raises
    ------
    RuntimeError
        If they are not alike.
    """
    for place, each in enumerate(tensors):
        first = tensors[0]
        if each.ndim != first.ndim:
            raise RuntimeError(
                f"{name}: All Tensors given to nested_tensor must have the same dimension. Found dimension {each.ndim} "
                f"for Tensor at index {place} and dimension {first.ndim} for Tensor at index 0."
            )
        if each.dtype is not first.dtype or each.device != first.device:
            raise RuntimeError(f"{name}: all tensors must have the same dtype and device as the first one")
    return tensors


def as_components(name: str, tensor_list: Any, dtype: Any, device: Any) -> list[Any]:
    """Tensors of a list of tensors, arrays or nested lists of numbers.

    Raises
    ------
    TypeError
        If there is no list.
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError(f"{name}(): Expected first argument to be a list or tuple, got {type(tensor_list).__name__}")
    return [weft.as_tensor(each, dtype=dtype, device=device) for each in tensor_list]


def jagged_of(name: str, tensors: list[Any]) -> Any:
    """A jagged tensor of components that differ in one dimension at most.

    Raises
    ------
    RuntimeError
        If there are none, they have no dimension, or differ in several.
    """
    if not tensors:
        raise RuntimeError(f"{name}: Cannot construct a nested tensor from an empty tensor list")
    checked_components(name, tensors)
    first = tensors[0]
    differing = [dim for dim in range(first.ndim) if any(each.shape[dim] != first.shape[dim] for each in tensors)]
    if first.ndim == 0 or len(differing) > 1:
        raise RuntimeError(
            f"{name}: Cannot represent given tensor list as a nested tensor with the jagged layout, which has a single "
            f"ragged dimension; got shapes {', '.join(str(tuple(each.shape)) for each in tensors)}. Leave out layout="
        )
    along = differing[0] if differing else 0
    lengths = [int(each.shape[along]) for each in tensors]
    offsets = weft.tensor([0, *lengths], dtype=weft.int64, device=first.device).cumsum(0)
    return made(weft.cat(tensors, along), offsets, None, along + 1, (min(lengths), max(lengths)))


def _nested_tensor_from_mask(t: Any, mask: Any, mask_check: bool = True) -> Any:
    """A nested tensor of the steps of sequences (N, L, D) that a mask (N, L) keeps: PyTorch's encoders' fast path.

    Raises
    ------
    RuntimeError
        If the mask is not boolean, shapes do not fit together, or what is kept does not come first in each sequence.
    """
    name = "_nested_tensor_from_mask"
    if mask.dtype is not weft.bool:
        raise RuntimeError(f"{name}: Expected mask to be of ScalarType Bool, but got {mask.dtype} instead")
    if mask.ndim != 2 or t.ndim != 3 or mask.shape != t.shape[:2]:
        raise RuntimeError(
            f"{name}: Expected input (N, L, D) and a mask of its first two sizes, but got input {list(t.shape)} and "
            f"mask {list(mask.shape)}"
        )
    if mask_check and bool((mask[:, 1:] & ~mask[:, :-1]).any()):
        raise RuntimeError(f"{name}: Mask must be left-aligned without gaps")
    return as_nested_tensor([row[: int(kept.sum())] for row, kept in zip(t, mask)])


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Make a nested tensor, a leaf, of copies of tensors.

    Parameters
    ----------
    tensor_list : list of Tensor, or of what `weft.tensor` takes
        Of one number of dimensions.
    dtype, device : optional
        Default: those of the first component.
    layout : layout, optional
        ``weft.jagged`` for components that differ in one dimension at most; default: ``weft.strided``.
    requires_grad : bool
    pin_memory : bool
        Accepted and not used.

    Raises
    ------
    TypeError
        If ``tensor_list`` is no list.
    RuntimeError
        If the components are not alike, or differ in more than the layout allows.

    Examples
    --------
    >>> x = weft.nested.nested_tensor([weft.zeros(2, 3), weft.ones(4, 3)], layout=weft.jagged)
    >>> x.offsets(), x.to_padded_tensor(-1.0).shape
    (tensor([0, 2, 6]), weft.Size([2, 4, 3]))
    """
    parts = [each.detach() for each in as_components("nested_tensor", tensor_list, dtype, device)]
    if check_layout("nested_tensor", layout):
        found = jagged_of("nested_tensor", parts)
    else:
        found = _strided.of_components(checked_components("nested_tensor", parts), dtype, device)
    return found.requires_grad_() if requires_grad else found


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of tensors, which their gradients reach.

    Parameters
    ----------
    ts : Tensor, or list or tuple of Tensor
        Of a dense tensor the slices along its first dimension are the components. A nested one is converted.
    dtype, device : optional
    layout : layout, optional
        As in `nested_tensor`.

    Raises
    ------
    TypeError, RuntimeError
        As `nested_tensor`.

    Examples
    --------
    >>> a = weft.ones(2, 3, requires_grad=True)
    >>> weft.nested.as_nested_tensor([a, weft.ones(1, 3)], layout=weft.jagged).sum().backward()
    >>> a.grad.sum()
    tensor(6.)
    """
    wants_jagged = check_layout("as_nested_tensor", layout)
    if isinstance(ts, Tensor) and ts.is_nested:
        if layout is None or layout is ts.layout:
            return ts.to(dtype=dtype or ts.dtype, device=device or ts.device)
        ts = list(ts.unbind())
    if isinstance(ts, Tensor):
        if not ts.ndim:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 0")
        ts = list(ts.unbind())
    parts = as_components("as_nested_tensor", ts, dtype, device)
    if wants_jagged:
        return jagged_of("as_nested_tensor", parts)
    return _strided.of_components(checked_components("as_nested_tensor", parts), dtype, device)


def nested_tensor_from_jagged(
    values: Any,
    offsets: Any = None,
    lengths: Any = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Any:
    """A jagged tensor of the parts that it consists of; they are not copied.

    Parameters
    ----------
    values : Tensor, shape (total, ...)
    offsets : Tensor of int, shape (batch + 1,), optional
        Where each component begins. Tensors made with the same one have the same ragged size.
    lengths : Tensor of int, shape (batch,), optional
        The length of each component; with ``offsets``, what is behind it up to the next one is left out.
    jagged_dim : int, default 1
        Which dimension of the result is ragged.
    min_seqlen, max_seqlen : int, optional
        The least and the largest length, if they are known.

    Raises
    ------
    RuntimeError
        If neither offsets nor lengths are given, or they do not fit the values.

    Examples
    --------
    >>> x = weft.nested.nested_tensor_from_jagged(weft.arange(5.0), weft.tensor([0, 2, 5]))
    >>> x.unbind()
    (tensor([0., 1.]), tensor([2., 3., 4.]))
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = weft.cat([lengths.new_zeros(1), lengths.cumsum(0)]), None
    ragged = 1 if jagged_dim is None else jagged_dim
    check_jagged(values, offsets, lengths, ragged)
    limits = None if min_seqlen is None or max_seqlen is None else (int(min_seqlen), int(max_seqlen))
    return made(alias(values), offsets, lengths, ragged, limits)


def check_jagged(values: Any, offsets: Any, lengths: Any, ragged: int) -> None:
    """Refuse offsets and lengths that lead outside of the values.

    Raises
    ------
    RuntimeError
        If they do.
    """
    name = "nested_tensor_from_jagged()"
    if not isinstance(values, Tensor) or not 1 <= ragged <= values.ndim:
        raise RuntimeError(f"{name}: jagged_dim={ragged} is no dimension behind the batch of values")
    if offsets.ndim != 1 or not len(offsets) or offsets.dtype not in (weft.int32, weft.int64):
        raise RuntimeError(f"{name}: offsets must be a vector of int32 or int64, got shape {tuple(offsets.shape)}")
    counts = offsets.diff() if lengths is None else lengths
    if len(counts) != len(offsets) - 1:
        raise RuntimeError(f"{name}: expected {len(offsets) - 1} lengths, got {len(counts)}")
    total = values.shape[ragged - 1]
    ends = offsets[1:] if lengths is None else offsets[:-1] + lengths
    if bool((counts < 0).any()) or bool((offsets < 0).any()) or bool((ends > total).any()):
        raise RuntimeError(f"{name}: offsets and lengths lead outside of the {total} places of the ragged dimension")
    if lengths is None and (int(offsets[0]), int(offsets[-1])) != (0, total):
        raise RuntimeError(
            f"{name}: offsets must begin with 0 and end with the {total} places of the ragged dimension, got "
            f"{int(offsets[0])} and {int(offsets[-1])}"
        )


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Any:
    """The components of a nested tensor in a dense one, with padding behind shorter ones.

    Parameters
    ----------
    input : nested Tensor
    padding : number
    output_size : sequence of int, optional
        Default: just large enough.
    out : Tensor, optional

    Raises
    ------
    RuntimeError
        If the input is not nested, or a component is larger than ``output_size``.

    Examples
    --------
    >>> x = weft.nested.nested_tensor([weft.ones(1), weft.ones(3)], layout=weft.jagged)
    >>> weft.nested.to_padded_tensor(x, 0.0)
    tensor([[1., 0., 0.],
            [1., 1., 1.]])
    """
    found = input.to_padded_tensor(padding, output_size)
    return found if out is None else out.copy_(found)


def narrow(tensor: Any, dim: int, start: Any, length: Any, layout: Any = strided) -> Any:
    """A nested tensor of parts of the slices along a dense tensor's first dimension.

    Parameters
    ----------
    tensor : Tensor, shape (batch, n, ...)
    dim : int
        1.
    start, length : int or Tensor of int, shape (batch,)
        Where the part of each slice begins, and how long it is.
    layout : layout
        With ``weft.jagged`` the result is a view.

    Raises
    ------
    RuntimeError
        If a part leads outside of the tensor, or ``dim`` is another one.

    Examples
    --------
    >>> x = weft.nested.narrow(weft.arange(6).reshape(2, 3), 1, 0, weft.tensor([1, 3]), layout=weft.jagged)
    >>> x.unbind()
    (tensor([0]), tensor([3, 4, 5]))
    """
    batch = tensor.shape[0]
    start, length = (
        each if isinstance(each, Tensor) else weft.full((batch,), int(each), dtype=weft.int64, device=tensor.device)
        for each in (start, length)
    )
    if dim != 1:
        raise RuntimeError(f"narrow: Only dim=1 is supported for nested tensors, got {dim}")
    if start.shape != (batch,) or length.shape != (batch,):
        raise RuntimeError(f"narrow: start and length must be numbers, or of shape ({batch},)")
    if bool((start < 0).any()) or bool((length < 0).any()) or bool((start + length > tensor.shape[1]).any()):
        raise RuntimeError(f"narrow: start and length lead outside of dimension 1, of size {tensor.shape[1]}")
    if not check_layout("narrow", layout):
        parts = zip(tensor, start.tolist(), length.tolist())
        return as_nested_tensor([each[begin : begin + count] for each, begin, count in parts], layout=strided)
    begins = weft.arange(batch, device=tensor.device) * tensor.shape[1] + start
    offsets = weft.cat([begins, (begins[-1:] + length[-1:]) if batch else length.new_zeros(1)])
    return made(tensor.flatten(0, 1), offsets, length)


def masked_select(tensor: Any, mask: Any) -> Any:
    """A jagged tensor of the elements of each row that a mask lets in.

    Parameters
    ----------
    tensor : Tensor, shape (batch, n)
    mask : Tensor of bool, that broadcasts to it

    Raises
    ------
    RuntimeError
        If the tensor is no strided matrix, or the mask is not of bool.

    Examples
    --------
    >>> x = weft.nested.masked_select(weft.tensor([[1, 2], [3, 4]]), weft.tensor([[True, True], [False, True]]))
    >>> x.unbind()
    (tensor([1, 2]), tensor([4]))
    """
    if tensor.layout is not strided or tensor.ndim != 2:
        raise RuntimeError(f"masked_select: requires a strided tensor of 2 dimensions, got {tuple(tensor.shape)}")
    if mask.dtype is not weft.bool:
        raise RuntimeError(f"masked_select: expected a mask of bool, got {mask.dtype}")
    mask = mask.expand(tensor.shape)
    counts = mask.sum(1)
    return made(tensor.masked_select(mask), weft.cat([counts.new_zeros(1), counts.cumsum(0)]), None)
