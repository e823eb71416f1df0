"""What a tokenizer returns: encodings of single texts, and batches of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import weft

Offsets = list[tuple[int, int]]


@dataclass
class Encoding:
    """The tokens of one text, or of one part of a text that was cut.

    Attributes
    ----------
    ids, type_ids, special_tokens_mask : list of int
        Type 1 is the second text of a pair; the mask is 1 where a token was added.
    offsets : list of (int, int)
        Where each token's characters begin and end in its text; (0, 0) for an added one.
    overflowing : list of Encoding
        The other parts.
    """

    ids: list[int]
    type_ids: list[int]
    special_tokens_mask: list[int]
    offsets: Offsets
    overflowing: list[Encoding] = field(default_factory=list)


@dataclass(frozen=True)
class Truncation:
    """How texts are cut: ``tokenizers.Tokenizer.enable_truncation`` has the same words."""

    max_length: int
    strategy: str
    stride: int
    direction: str


class BatchEncoding(dict[str, Any]):
    """The parts of a batch by the names that models take them by: ``model(**batch)``.

    Examples
    --------
    >>> batch = BatchEncoding(input_ids=weft.tensor([[1, 2]]))
    >>> batch.input_ids.shape == batch.to("cpu")["input_ids"].shape
    True
    """

    def __getattr__(self, name: str) -> Any:
        """Return a part as an attribute."""
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(f"BatchEncoding has no {name!r}; it has {sorted(self)}") from error

    def to(self, *args: Any, **kwargs: Any) -> BatchEncoding:
        """Move the tensors, as `weft.Tensor.to`, and return the batch itself."""
        for name, part in self.items():
            self[name] = part.to(*args, **kwargs) if isinstance(part, weft.Tensor) else part
        return self


def padded(parts: dict[str, list[Any]], length: int, side: str, fill: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the lists of one text, each filled up to a length on the left or the right."""
    missing = length - len(parts["input_ids"])
    if missing <= 0:
        return parts
    return {
        name: [fill[name]] * missing + part if side == "left" else part + [fill[name]] * missing
        for name, part in parts.items()
    }


def as_tensors(batch: BatchEncoding, kind: str) -> BatchEncoding:
    """Turn the lists of a batch into tensors, or NumPy's arrays.

    Raises
    ------
    ValueError
        If the kind is unknown, or the texts have different numbers of tokens.
    """
    if kind not in ("pt", "weft", "np"):
        raise ValueError(f"return_tensors must be 'pt' or 'weft' for tensors or 'np' for arrays, got {kind!r}")
    lengths = sorted({len(ids) for ids in batch["input_ids"]})
    if len(lengths) > 1:
        raise ValueError(
            f"the texts have from {lengths[0]} to {lengths[-1]} tokens, which is no tensor: pass padding=True, and "
            "truncation=True where some are too long"
        )
    for name, part in batch.items():
        batch[name] = np.array(part, dtype=np.int64) if kind == "np" else weft.tensor(part, dtype=weft.int64)
    return batch


def windows(length: int, room: int, truncation: Truncation) -> list[slice]:
    """Return the parts of a sequence that is cut: the first is kept, the others overflow.

    Parameters
    ----------
    length : int
        Of the sequence.
    room : int
        The most that a part has.
    truncation : Truncation
        Neighbours share ``stride`` tokens; direction "left" keeps the end.
    """
    if length <= room:
        return [slice(0, length)]
    step = room - truncation.stride
    starts = range(0, length - truncation.stride, step) if step > 0 else range(1)
    if truncation.direction == "right":
        return [slice(start, min(start + room, length)) for start in starts]
    return [slice(max(length - start - room, 0), length - start) for start in starts]


def flat(parts: Sequence[Encoding]) -> list[Encoding]:
    """Return encodings, each followed by its other parts."""
    return [each for part in parts for each in (part, *part.overflowing)]
