"""Pipes that are read by key."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from weft.utils.data.datapipes.datapipe import MapDataPipe

__all__ = ["MapDataPipe", "SequenceWrapper"]


class SequenceWrapper(MapDataPipe[Any]):
    """A pipe of the items of a sequence or a mapping.

    Parameters
    ----------
    sequence : sequence or mapping
    deepcopy : bool
        Keep a copy.

    Examples
    --------
    >>> SequenceWrapper(["a", "b"])[1]
    'b'
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "SequenceWrapper: The input sequence can not be deepcopied, please be aware of in-place "
                    "modification would affect source data; deepcopy=False says so",
                    stacklevel=2,
                )

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
