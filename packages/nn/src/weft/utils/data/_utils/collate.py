"""Collation: from a list of samples to one batch."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import weft
from weft import Tensor

__all__ = [
    "collate",
    "collate_float_fn",
    "collate_int_fn",
    "collate_numpy_array_fn",
    "collate_numpy_scalar_fn",
    "collate_str_fn",
    "collate_tensor_fn",
    "default_collate",
    "default_collate_err_msg_format",
    "default_collate_fn_map",
    "default_convert",
    "np_str_obj_array_pattern",
]

CollateFn = Callable[..., Any]

# For programs that have their own version of collate: what an unknown type is refused with, and dtypes without numbers.
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
np_str_obj_array_pattern = re.compile(r"[SaUO]")

_not_numeric = "SaUO"  # the kinds of NumPy's dtypes that no tensor has: strings, bytes, objects


def default_convert(data: Any) -> Any:
    """NumPy arrays and scalars, however nested, as tensors; everything else as it is.

    Parameters
    ----------
    data : any
        What a loader without batches (``batch_size=None``) gets from its dataset.

    Examples
    --------
    >>> default_convert({"x": np.arange(2), "name": "a"})
    {'x': tensor([0, 1]), 'name': 'a'}
    """
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in _not_numeric else weft.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuild_sequence(data, [default_convert(item) for item in data])
    return data


def default_collate(batch: Any) -> Any:
    """Samples as one batch: tensors stacked in a new first dimension, structure kept.

    Parameters
    ----------
    batch : list
        Samples of equal structure: tensors, NumPy arrays and numbers, strings, or mappings, tuples, named tuples and
        sequences of these.

    Returns
    -------
    Of tensors, arrays and numbers a tensor (of floats a float64 one); of strings and bytes their list; of a container
    one like it with collated entries, of a tuple a list.

    Examples
    --------
    >>> default_collate([(0, "a"), (1, "b")])
    [tensor([0, 1]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: dict[Any, CollateFn] | None = None) -> Any:
    """Collate with a function for each type of sample; :func:`default_collate` extended to types of one's own.

    Parameters
    ----------
    batch : list
    collate_fn_map : dict
        From a type, or a tuple of types, to ``function(batch, collate_fn_map=...)``. The sample's own type is looked
        for first, then the types that it is an instance of, in the order of the dict.
    """
    sample = batch[0]
    functions = collate_fn_map or {}
    if type(sample) in functions:
        return functions[type(sample)](batch, collate_fn_map=collate_fn_map)
    for types, function in functions.items():
        if isinstance(sample, types):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        entries = {key: collate([item[key] for item in batch], collate_fn_map=collate_fn_map) for key in sample}
        return _rebuild_mapping(sample, entries)
    if isinstance(sample, Sequence):
        return _collate_sequences(batch, sample, collate_fn_map)
    raise TypeError(
        default_collate_err_msg_format.format(type(sample)) + ". Pass a collate_fn of your own to the loader."
    )


def _collate_sequences(batch: Any, sample: Sequence[Any], collate_fn_map: dict[Any, CollateFn] | None) -> Any:
    lengths = {len(item) for item in batch}
    if len(lengths) > 1:
        raise RuntimeError(
            f"default_collate: each element in list of batch should be of equal size, got sizes {sorted(lengths)}. "
            "Pad them in the dataset, or pass a collate_fn of your own to the loader."
        )
    columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
    if _is_namedtuple(sample):
        return type(sample)(*columns)
    if isinstance(sample, tuple):
        return columns
    return _rebuild_sequence(sample, columns)


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _rebuild_mapping(like: Mapping[Any, Any], entries: dict[Any, Any]) -> Any:
    """A mapping of the same type; a dict where the type cannot be made from entries."""
    try:
        if isinstance(like, MutableMapping):
            clone = copy.copy(like)  # keeps what a subclass has besides entries, as a default factory
            clone.update(entries)
            return clone
        return type(like)(entries)  # type: ignore[call-arg]
    except TypeError:
        return entries


def _rebuild_sequence(like: Sequence[Any], items: list[Any]) -> Any:
    """A sequence of the same type; a list where the type, as a range, cannot be made from items."""
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for index, item in enumerate(items):
                clone[index] = item
            return clone
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """Tensors stacked."""
    return weft.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Sequence[np.ndarray[Any, Any]], *, collate_fn_map: Any = None) -> Tensor:
    """Arrays as tensors, stacked."""
    if batch[0].dtype.kind in _not_numeric:
        raise TypeError(default_collate_err_msg_format.format(f"an array of dtype {batch[0].dtype}"))
    first = batch[0]
    if all(type(each) is np.ndarray and each.dtype is first.dtype and each.shape == first.shape for each in batch):
        return weft.as_tensor(np.array(batch))  # one tensor instead of one for each sample
    return weft.stack([weft.as_tensor(array) for array in batch], 0)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """NumPy numbers as a tensor of their dtype."""
    return weft.as_tensor(np.asarray(batch))


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    """Floats as a float64 tensor."""
    return weft.tensor(batch, dtype=weft.float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    """Ints as an int64 tensor, bools as a bool one."""
    numbers = np.array(batch)
    return weft.as_tensor(numbers) if numbers.dtype in (np.int64, np.bool_) else weft.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Strings and bytes as they are."""
    return batch


default_collate_fn_map: dict[Any, CollateFn] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
"""The functions of :func:`default_collate`, by type."""
