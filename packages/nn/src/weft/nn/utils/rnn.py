"""Batches of sequences of different lengths: padded, or packed without padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import weft
from weft import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _PackedFields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_PackedFields):
    """Sequences of different lengths in one tensor: the first elements of all, then the second ones, and so on.

    Made by `pack_padded_sequence` or `pack_sequence`; recurrent layers take and return it.

    Attributes
    ----------
    data : Tensor, shape (all elements, ...)
    batch_sizes : Tensor
        How many sequences have a first element, a second one, and so on; int64, on the CPU.
    sorted_indices : Tensor, optional
        The order of the sequences by length, longest first.
    unsorted_indices : Tensor, optional
        The inverse of it.

    Examples
    --------
    >>> packed = pack_sequence([weft.ones(3, 2), weft.ones(1, 2)])
    >>> packed.data.shape, packed.batch_sizes
    (weft.Size([4, 2]), tensor([2, 1, 1]))
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        """Check that the batch sizes are there, and complete the indices."""
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            raise ValueError("PackedSequence: batch_sizes is missing; make it with pack_padded_sequence")
        if batch_sizes.device.type != "cpu":
            raise ValueError(f"PackedSequence: batch_sizes should always be on CPU, but is on {batch_sizes.device}")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move and cast the data, as `Tensor.to` does; the indices follow to the device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = (
            None if part is None else part.to(data.device) for part in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move to the CPU; arguments are those of `to`."""
        return self.to(*args, device="cpu", **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move to the GPU."""
        return self.to(*(args or ("cuda",)), **kwargs)

    def double(self) -> PackedSequence:
        """Cast the data to float64."""
        return self.to(weft.float64)

    def float(self) -> PackedSequence:
        """Cast the data to float32."""
        return self.to(weft.float32)

    def half(self) -> PackedSequence:
        """Cast the data to float16."""
        return self.to(weft.float16)

    def byte(self) -> PackedSequence:
        """Cast the data to uint8."""
        return self.to(weft.uint8)

    def char(self) -> PackedSequence:
        """Cast the data to int8."""
        return self.to(weft.int8)

    def short(self) -> PackedSequence:
        """Cast the data to int16."""
        return self.to(weft.int16)

    def int(self) -> PackedSequence:
        """Cast the data to int32."""
        return self.to(weft.int32)

    def long(self) -> PackedSequence:
        """Cast the data to int64."""
        return self.to(weft.int64)

    def pin_memory(self) -> PackedSequence:
        """Copy the data, and the indices, to memory that a GPU reads directly, where there is one."""
        parts: Any = (None if part is None else part.pin_memory() for part in self)
        return type(self)(*parts)

    def is_pinned(self) -> bool:
        """Whether the data are in such memory."""
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        """Whether the data are on the GPU."""
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes ``permutation``; None for None.

    Parameters
    ----------
    permutation : Tensor of int64, or None

    Examples
    --------
    >>> invert_permutation(weft.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else weft.argsort(permutation)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences.

    Parameters
    ----------
    input : Tensor, shape (L, N, ...), or (N, L, ...) with batch_first
    lengths : Tensor or sequence of int
        Of each sequence, at least 1.
    batch_first : bool
    enforce_sorted : bool
        Whether the sequences must come longest first; otherwise they are sorted here.

    Raises
    ------
    RuntimeError
        For lengths that do not fit, or are not sorted although they must be.

    Examples
    --------
    >>> padded = weft.tensor([[1, 2, 3], [4, 0, 0]])
    >>> packed = pack_padded_sequence(padded, [3, 1], batch_first=True)
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """
    sizes = weft.as_tensor(lengths, dtype=weft.int64)
    if sizes.ndim != 1:
        raise RuntimeError(
            f"pack_padded_sequence: 'lengths' argument should be a 1D CPU int64 tensor, but got {sizes.ndim}D"
        )
    sorted_indices = None
    if not enforce_sorted:
        sizes, sorted_indices = weft.sort(sizes, descending=True, stable=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    steps = input.transpose(0, 1) if batch_first else input
    counts = [int(length) for length in sizes.tolist()]
    _check_lengths(counts, steps)
    batch_sizes = [sum(length > step for length in counts) for step in range(counts[0])]
    data = weft.cat([steps[step, :size] for step, size in enumerate(batch_sizes)])
    return PackedSequence(data, weft.tensor(batch_sizes, dtype=weft.int64), sorted_indices)


def _check_lengths(lengths: list[int], steps: Tensor) -> None:
    if len(lengths) != steps.size(1):
        raise RuntimeError(f"pack_padded_sequence: {len(lengths)} lengths for a batch of {steps.size(1)} sequences")
    if min(lengths, default=0) <= 0:
        raise RuntimeError(f"pack_padded_sequence: Length of all samples has to be greater than 0, got {lengths}")
    if lengths != sorted(lengths, reverse=True):
        raise RuntimeError(
            f"pack_padded_sequence: lengths must be sorted in decreasing order when enforce_sorted is True, got "
            f"{lengths}; pass enforce_sorted=False"
        )
    if lengths[0] > steps.size(0):
        raise RuntimeError(f"pack_padded_sequence: length {lengths[0]} is beyond the padded length {steps.size(0)}")


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Undo `pack_padded_sequence`.

    Parameters
    ----------
    sequence : PackedSequence
    batch_first : bool
        Whether the result is (N, L, ...) rather than (L, N, ...).
    padding_value : float
    total_length : int, optional
        L, if it should be more than the longest sequence.

    Returns
    -------
    (padded, lengths)

    Examples
    --------
    >>> packed = pack_sequence([weft.tensor([1, 2, 3]), weft.tensor([4])])
    >>> pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    (tensor([[ 1,  2,  3],
            [ 4, -1, -1]]), tensor([3, 1]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    if batch_sizes.dtype is not weft.int64 or batch_sizes.ndim != 1:
        raise RuntimeError(
            f"pad_packed_sequence: batch_sizes should be a 1D CPU int64 tensor, but got {batch_sizes.ndim}D "
            f"{batch_sizes.dtype}"
        )
    sizes = [int(size) for size in batch_sizes.tolist()]
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            f"pad_packed_sequence: expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    steps = []
    for step in data.split(sizes):
        missing = sizes[0] - step.size(0)
        padding = step.new_full((missing, *step.shape[1:]), padding_value)
        steps.append(weft.cat([step, padding]) if missing else step)
    padded = weft.stack(steps)
    if total_length is not None and total_length > longest:
        extra = padded.new_full((total_length - longest, *padded.shape[1:]), padding_value)
        padded = weft.cat([padded, extra])
    if batch_first:
        padded = padded.transpose(0, 1)
    lengths = weft.tensor([sum(size > position for size in sizes) for position in range(sizes[0])], dtype=weft.int64)
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences of different lengths, the shorter ones padded.

    Parameters
    ----------
    sequences : sequence of Tensor, each of shape (its length, ...)
    batch_first : bool
        Whether the result is (N, L, ...) rather than (L, N, ...).
    padding_value : float
    padding_side : {"right", "left"}

    Returns
    -------
    Tensor, shape (L, N, ...)

    Examples
    --------
    >>> pad_sequence([weft.tensor([1, 2, 3]), weft.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences).__name__}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"pad_sequence: padding_side should be either 'left' or 'right', got {padding_side!r}")
    parts = list(sequences)
    if not parts:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    longest = max(part.size(0) for part in parts)
    rows = []
    for part in parts:
        padding = part.new_full((longest - part.size(0), *part.shape[1:]), padding_value)
        rows.append(weft.cat([part, padding] if padding_side == "right" else [padding, part]))
    return weft.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded batch, each with its own length, in memory of their own.

    Parameters
    ----------
    padded_sequences : Tensor, shape (L, N, ...), or (N, L, ...) with ``batch_first``
    lengths : Tensor, shape (N,)
    batch_first : bool

    Examples
    --------
    >>> unpad_sequence(weft.tensor([[1, 2, 3], [4, 0, 0]]), weft.tensor([3, 1]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(length)].clone() for row, length in zip(rows.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths; see `pack_padded_sequence`.

    Parameters
    ----------
    sequences : sequence of Tensor, each of shape (its length, ...)
    enforce_sorted : bool
        Whether the sequences must come longest first; otherwise they are sorted here.

    Raises
    ------
    RuntimeError
        If they are not sorted although they must be.

    Examples
    --------
    >>> packed = pack_sequence([weft.tensor([1, 2, 3]), weft.tensor([4])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a PackedSequence, in their first order.

    Parameters
    ----------
    packed_sequences : PackedSequence

    Examples
    --------
    >>> unpack_sequence(pack_sequence([weft.tensor([4]), weft.tensor([1, 2, 3])], enforce_sorted=False))
    [tensor([4]), tensor([1, 2, 3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
