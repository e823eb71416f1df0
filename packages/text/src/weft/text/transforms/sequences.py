"""Steps on sequences of tokens and of their numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft import dtype as Dtype
from weft.text import functional as F
from weft.text.vocab import Vocab


class Sequential(nn.Sequential):
    """Steps one after the other; the first takes what the whole is called with.

    Examples
    --------
    >>> from weft.text.transforms import AddToken, Sequential, ToTensor, VocabTransform
    >>> vocab = weft.text.Vocab(["<pad>", "<bos>", "to", "be"])
    >>> prepare = Sequential(VocabTransform(vocab), AddToken(1), ToTensor(padding_value=0))
    >>> prepare([["to", "be"], ["be"]])
    tensor([[1, 2, 3],
            [1, 3, 0]])
    """


class VocabTransform(nn.Module):
    """From tokens to their numbers.

    Parameters
    ----------
    vocab : Vocab
    """

    def __init__(self, vocab: Vocab) -> None:
        super().__init__()
        if not isinstance(vocab, Vocab):
            raise AssertionError(f"VocabTransform: expected a weft.text.Vocab, got {type(vocab).__name__}")
        self.vocab = vocab

    def forward(self, input: Any) -> Any:
        """Return the numbers of a list of str, or of each in a list of such lists."""
        if F.is_list_of(input, str):
            return self.vocab.lookup_indices(input)
        if F.is_batch_of(input, str):
            return [self.vocab.lookup_indices(tokens) for tokens in input]
        raise F.unsupported("VocabTransform", input)


class ToTensor(nn.Module):
    """From token numbers to a tensor: see `weft.text.functional.to_tensor`."""

    def __init__(self, padding_value: int | None = None, dtype: Dtype = weft.long) -> None:
        super().__init__()
        self.padding_value = padding_value
        self.dtype = dtype

    def forward(self, input: Any) -> Tensor:
        """Return the tensor."""
        return F.to_tensor(input, padding_value=self.padding_value, dtype=self.dtype)


class LabelToIndex(nn.Module):
    """From the names of classes to their numbers.

    Parameters
    ----------
    label_names : list of str, optional
        All names, each once.
    label_path : path, optional
        A file with a name in each line, in place of ``label_names``.
    sort_names : bool, default False
        Number them in alphabetical order.

    Raises
    ------
    AssertionError
        If neither or both of the first two are given.

    Examples
    --------
    >>> weft.text.transforms.LabelToIndex(["neg", "pos"])(["pos", "neg"])
    [1, 0]
    """

    def __init__(
        self,
        label_names: Sequence[str] | None = None,
        label_path: str | os.PathLike[str] | None = None,
        sort_names: bool = False,
    ) -> None:
        super().__init__()
        if bool(label_names) == bool(label_path):
            raise AssertionError(
                "LabelToIndex: label_names or label_path is required, and they are mutually exclusive; got "
                f"label_names={label_names!r:.100}, label_path={label_path!r}"
            )
        names = list(label_names or ())
        if label_path:
            with open(label_path, encoding="utf-8") as file:
                names = [line.strip() for line in file if line.strip()]
        self._label_vocab = Vocab(sorted(names) if sort_names else names)

    def forward(self, input: Any) -> Any:
        """Return the number of a str, or those of a list of str."""
        if isinstance(input, str):
            return self._label_vocab[input]
        if F.is_list_of(input, str):
            return self._label_vocab.lookup_indices(input)
        raise F.unsupported("LabelToIndex", input)

    @property
    def label_names(self) -> list[str]:
        """The names, in order of their numbers."""
        return self._label_vocab.get_itos()


class Truncate(nn.Module):
    """Keep the first ``max_seq_len`` tokens: see `weft.text.functional.truncate`."""

    def __init__(self, max_seq_len: int) -> None:
        super().__init__()
        self.max_seq_len = max_seq_len

    def forward(self, input: Any) -> Any:
        """Return the beginning of a sequence, or of each in a batch."""
        return F.truncate(input, self.max_seq_len)


class AddToken(nn.Module):
    """Add a token at the beginning, or the end: see `weft.text.functional.add_token`."""

    def __init__(self, token: int | str, begin: bool = True) -> None:
        super().__init__()
        self.token = token
        self.begin = begin

    def forward(self, input: Any) -> Any:
        """Return the longer sequence, or batch of them."""
        return F.add_token(input, self.token, self.begin)


class PadTransform(nn.Module):
    """Fill up the last axis of a tensor to a length; a longer one stays as it is.

    Parameters
    ----------
    max_length : int
    pad_value : int

    Examples
    --------
    >>> weft.text.transforms.PadTransform(max_length=4, pad_value=0)(weft.tensor([[1, 2], [3, 4]]))
    tensor([[1, 2, 0, 0],
            [3, 4, 0, 0]])
    """

    def __init__(self, max_length: int, pad_value: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.pad_value = float(pad_value)

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of shape (..., max(L, max_length)) for one of shape (..., L)."""
        missing = self.max_length - x.size(-1)
        return nn.functional.pad(x, (0, missing), value=self.pad_value) if missing > 0 else x


class StrToIntTransform(nn.Module):
    """From written numbers to integers: see `weft.text.functional.str_to_int`."""

    def forward(self, input: Any) -> Any:
        """Return the integers of a list of str, or of each in a batch."""
        return F.str_to_int(input)
