"""Streams of tokens as input and target of a language model."""

from __future__ import annotations

from collections.abc import Sequence

import weft
from weft import Tensor
from weft.utils.data import Dataset


class LanguageModelDataset(Dataset[tuple[Tensor, Tensor]]):
    """Blocks of a stream of tokens, each with the block that lies one token further on.

    Samples are (x, y), both int64 of shape (block_size,), with ``y[i]`` the token after ``x[i]``.

    Parameters
    ----------
    tokens : Tensor of shape (N,), or sequence of int
    block_size : int
        Tokens in a sample.
    stride : int, optional
        From the start of a sample to the start of the next; by default ``block_size``: every token is a target just
        once. 1 gives every possible block.

    Raises
    ------
    ValueError
        If the tokens are not one row, are too few for one sample, or a number is not positive.

    Examples
    --------
    >>> data = LanguageModelDataset(range(10), block_size=3)
    >>> len(data), data[1]
    (3, (tensor([3, 4, 5]), tensor([4, 5, 6])))
    """

    def __init__(self, tokens: Tensor | Sequence[int], block_size: int, stride: int | None = None) -> None:
        stream = weft.tensor(list(tokens)) if isinstance(tokens, Sequence) else tokens
        stride = block_size if stride is None else stride
        if block_size < 1 or stride < 1:
            raise ValueError(f"LanguageModelDataset: block_size ({block_size}) and stride ({stride}) must be positive")
        if stream.dim() != 1 or len(stream) < block_size + 1:
            raise ValueError(
                f"LanguageModelDataset: blocks of {block_size} tokens and the token after them need a row of at least "
                f"{block_size + 1}, got shape {tuple(stream.shape)}"
            )
        self.tokens = stream.long()
        self.block_size = block_size
        self.stride = stride

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """Return (x, y) of a block."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"LanguageModelDataset: index {index} is out of range; there are {len(self)} blocks")
        start = index % len(self) * self.stride
        block = self.tokens[start : start + self.block_size + 1]
        return block[:-1], block[1:]

    def __len__(self) -> int:
        """Return the number of blocks; what is left over at the end is not used."""
        return (len(self.tokens) - self.block_size - 1) // self.stride + 1


def batchify(tokens: Tensor, batch_size: int) -> Tensor:
    """Cut a stream into ``batch_size`` equal pieces, side by side as columns; what is left over is dropped.

    Parameters
    ----------
    tokens : Tensor, shape (N,)
    batch_size : int

    Returns
    -------
    Tensor, shape (N // batch_size, batch_size)
        Going down the rows, each column is the text in its order: what a recurrent model is trained on.

    Examples
    --------
    >>> batchify(weft.arange(7), 2)
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    """
    if tokens.dim() != 1 or not 1 <= batch_size <= len(tokens):
        raise ValueError(
            f"batchify: tokens must be one row of at least batch_size ({batch_size}) numbers, got shape "
            f"{tuple(tokens.shape)}"
        )
    rows = len(tokens) // batch_size
    return tokens[: rows * batch_size].reshape(batch_size, rows).t().contiguous()


def get_batch(source: Tensor, index: int, block_size: int) -> tuple[Tensor, Tensor]:
    """Return rows ``index`` to ``index + block_size`` of what `batchify` made, and the rows one further on.

    Parameters
    ----------
    source : Tensor, shape (rows, batch_size)
    index : int
        The first row.
    block_size : int
        Rows to take; fewer at the end.

    Returns
    -------
    (Tensor, Tensor), both of shape (length, batch_size)
    """
    length = min(block_size, len(source) - 1 - index)
    if index < 0 or length < 1:
        raise IndexError(f"get_batch: index {index} is out of range: {len(source)} rows have a next one up to the last")
    return source[index : index + length], source[index + 1 : index + 1 + length]
