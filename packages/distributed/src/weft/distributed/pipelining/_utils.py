"""What schedules and stages share: metadata of tensors that stages exchange, and the errors about it."""

from __future__ import annotations

from typing import Any, NamedTuple

import weft

LENGTH = 512  # of a header: numbers for some 60 tensors of 5 dims
DTYPES = tuple(
    getattr(weft, name)
    for name in ("float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split())
)


class PipeliningMetadataError(RuntimeError):
    """A stage's outputs are not what its neighbour was told in the first step."""


class TensorMeta(NamedTuple):
    """What a neighbour must know to receive a tensor."""

    shape: tuple[int, ...]
    dtype: Any
    requires_grad: bool

    @classmethod
    def of(cls, tensor: Any) -> TensorMeta:
        """Return that of a tensor."""
        return cls(tuple(tensor.shape), tensor.dtype, bool(tensor.requires_grad))

    def empty(self, device: Any) -> Any:
        """Return a tensor to be received."""
        return weft.empty(self.shape, dtype=self.dtype, device=device)


def packed(metas: list[TensorMeta], device: Any) -> Any:
    """Metadata as a tensor of fixed length, so that every engine can send it."""
    numbers = [len(metas)]
    for meta in metas:
        numbers += [DTYPES.index(meta.dtype), int(meta.requires_grad), len(meta.shape), *meta.shape]
    if len(numbers) > LENGTH:
        raise ValueError(f"a stage's outputs are too many to describe: {len(metas)} tensors")
    return weft.tensor(numbers + [0] * (LENGTH - len(numbers)), device=device)


def unpacked(header: Any) -> list[TensorMeta]:
    """The metadata of such a tensor."""
    numbers = iter(header.tolist())
    metas = []
    for _ in range(next(numbers)):
        code, requires_grad, dims = (next(numbers) for _ in range(3))
        metas.append(TensorMeta(tuple(next(numbers) for _ in range(dims)), DTYPES[code], bool(requires_grad)))
    return metas


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A module's output as a tuple."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)
