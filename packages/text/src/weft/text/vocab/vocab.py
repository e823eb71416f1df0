"""Vocabularies: from tokens to numbers and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from weft import nn


class Vocab(nn.Module):
    """A list of distinct tokens; the place of a token is its number.

    It is a module, so that it can stand in a pipeline of transforms and be saved with a model: its
    ``state_dict`` has the tokens and the default number.

    Parameters
    ----------
    tokens : iterable of str
        In order of their numbers.
    default_index : int, optional
        The number of every token that is not in the list; without one, such a token is an error.

    Raises
    ------
    RuntimeError
        If a token is in the list twice.

    Examples
    --------
    >>> vocab = weft.text.build_vocab_from_iterator([["to", "be", "or", "not", "to", "be"]], specials=["<unk>"])
    >>> vocab.set_default_index(vocab["<unk>"])
    >>> vocab(["to", "do", "or", "not"])
    [2, 0, 4, 3]
    >>> vocab.lookup_tokens([1, 2])
    ['be', 'to']
    """

    def __init__(self, tokens: Iterable[str] = (), default_index: int | None = None) -> None:
        super().__init__()
        self._itos: list[str] = []
        self._stoi: dict[str, int] = {}
        self._default_index = default_index
        for token in tokens:
            self.append_token(token)

    def forward(self, tokens: Sequence[str]) -> list[int]:
        """Return the numbers of tokens."""
        return self.lookup_indices(tokens)

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self._itos)

    def __contains__(self, token: str) -> bool:
        """Return whether the token is in the list; the default number does not count."""
        return token in self._stoi

    def __getitem__(self, token: str) -> int:
        """Return the number of a token, or the default number."""
        index = self._stoi.get(token, self._default_index)
        if index is None:
            raise RuntimeError(
                f"Vocab: {token!r} is not among the {len(self)} tokens, and there is no default for unknown ones; "
                'set one, as with vocab.set_default_index(vocab["<unk>"])'
            )
        return index

    def set_default_index(self, index: int | None) -> None:
        """Set the number that unknown tokens get; None makes them errors."""
        self._default_index = index

    def get_default_index(self) -> int | None:
        """Return the number that unknown tokens get."""
        return self._default_index

    def append_token(self, token: str) -> None:
        """Add a token at the end.

        Raises
        ------
        RuntimeError
            If it is there already.
        """
        self.insert_token(token, len(self))

    def insert_token(self, token: str, index: int) -> None:
        """Add a token at a place; those from there on move up.

        Raises
        ------
        RuntimeError
            If the token is there already, or the place is not from 0 to the length.
        """
        if not isinstance(token, str):
            raise TypeError(f"Vocab: a token must be a str, got {type(token).__name__}: {token!r}")
        if token in self._stoi:
            raise RuntimeError(f"Vocab: {token!r} is there already, with the number {self._stoi[token]}")
        if not 0 <= index <= len(self):
            raise RuntimeError(f"Vocab: cannot insert at {index}; expected a place from 0 to {len(self)}")
        self._itos.insert(index, token)
        for place in range(index, len(self._itos)):
            self._stoi[self._itos[place]] = place

    def lookup_token(self, index: int) -> str:
        """Return the token with a number.

        Raises
        ------
        RuntimeError
            If there is none.
        """
        if not 0 <= index < len(self):
            raise RuntimeError(f"Vocab: no token has the number {index}; they go from 0 to {len(self) - 1}")
        return self._itos[index]

    def lookup_tokens(self, indices: Iterable[int]) -> list[str]:
        """Return the tokens with these numbers."""
        return [self.lookup_token(index) for index in indices]

    def lookup_indices(self, tokens: Iterable[str]) -> list[int]:
        """Return the numbers of these tokens."""
        return [self[token] for token in tokens]

    def get_itos(self) -> list[str]:
        """Return the tokens in order of their numbers."""
        return list(self._itos)

    def get_stoi(self) -> dict[str, int]:
        """Return the number of each token."""
        return dict(self._stoi)

    def get_extra_state(self) -> dict[str, Any]:
        """Return what ``state_dict`` keeps: the tokens and the default number."""
        return {"tokens": list(self._itos), "default_index": self._default_index}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take over the tokens and the default number of a ``state_dict``."""
        self._itos, self._stoi = [], {}
        for token in state["tokens"]:
            self.append_token(token)
        self._default_index = state["default_index"]

    def extra_repr(self) -> str:
        """Return what the repr shows."""
        return f"{len(self)} tokens, default_index={self._default_index}"
