"""Word vectors as a module: tokens may be added, and it stands in a pipeline of transforms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.text import vocab

__all__ = ["FastText", "GloVe", "load_vectors_from_file_path", "build_vectors", "Vectors"]


class Vectors(nn.Module):
    """A vector for each token; `build_vectors` and the functions beside it make one.

    Parameters
    ----------
    tokens : sequence of str
    vectors : Tensor, shape (len(tokens), dim), float32
    unk_tensor : Tensor, shape (dim,)
        The vector of every other token.
    """

    def __init__(self, tokens: Sequence[str], vectors: Tensor, unk_tensor: Tensor) -> None:
        super().__init__()
        self._vectors = dict(zip(tokens, vectors))
        self._unknown = unk_tensor

    def forward(self, tokens: Sequence[str]) -> Tensor:
        """Return the vectors of tokens, as `lookup_vectors`."""
        return self.lookup_vectors(tokens)

    def __getitem__(self, token: str) -> Tensor:
        """Return the vector of a token."""
        return self._vectors.get(token, self._unknown)

    def __setitem__(self, token: str, vector: Tensor) -> None:
        """Set the vector of a token, which may be new.

        Raises
        ------
        TypeError
            If it is not float32.
        RuntimeError
            If it has another shape.
        """
        if vector.dtype != weft.float32:
            raise TypeError(f"`vector` should be of data type `float32` but it's of type {vector.dtype}")
        if vector.shape != self._unknown.shape:
            raise RuntimeError(
                f"Vectors: a vector must have shape {tuple(self._unknown.shape)}, got {tuple(vector.shape)}"
            )
        self._vectors[token] = vector

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self._vectors)

    def lookup_vectors(self, tokens: Sequence[str]) -> Tensor:
        """Return the vectors of tokens, of shape (len(tokens), dim); (0, 0) for none."""
        return weft.stack([self[token] for token in tokens]) if len(tokens) else weft.empty(0, 0)


def build_vectors(tokens: Sequence[str], vectors: Tensor, unk_tensor: Tensor | None = None) -> Vectors:
    """Return `Vectors` of tokens and a tensor.

    Parameters
    ----------
    tokens : sequence of str
    vectors : Tensor, shape (len(tokens), dim), float32
    unk_tensor : Tensor, shape (dim,), optional
        Zeros by default.

    Raises
    ------
    ValueError
        If there is neither a vector nor ``unk_tensor``.
    TypeError
        If the vectors are not float32.
    RuntimeError
        If a token is there twice, or the numbers of tokens and vectors differ.
    """
    if unk_tensor is None and len(vectors) == 0:
        raise ValueError("The vectors list is empty and a default unk_tensor wasn't provided.")
    if vectors.dtype != weft.float32:
        raise TypeError(f"`vectors` should be of data type `float32`, got {vectors.dtype}")
    twice = _twice(tokens)
    if twice:
        raise RuntimeError(f"build_vectors: duplicate tokens found in tokens list: {twice[:10]}")
    if len(tokens) != len(vectors):
        raise RuntimeError(f"build_vectors: there are {len(tokens)} tokens and {len(vectors)} vectors")
    return Vectors(tokens, vectors, weft.zeros_like(vectors[0]) if unk_tensor is None else unk_tensor)


def load_vectors_from_file_path(
    filepath: str | os.PathLike[str], delimiter: str = ",", unk_tensor: Tensor | None = None, num_cpus: int = 10
) -> Vectors:
    """Read vectors from lines with a token, the delimiter, and numbers between blanks.

    Parameters
    ----------
    filepath : path
    delimiter : str, default ","
    unk_tensor : Tensor, shape (dim,), optional
        Zeros by default.
    num_cpus : int
        Accepted.

    Raises
    ------
    ValueError
        If a token is there twice.
    """
    tokens: list[str] = []
    rows: list[list[float]] = []
    with open(filepath, encoding="utf-8") as file:
        for line in file:
            token, _, numbers = line.rstrip().partition(delimiter)
            row = [float(number) for number in numbers.split()]
            if len(row) > 1:  # a single number is in the header of some files
                tokens.append(token)
                rows.append(row)
    return _distinct(tokens, weft.tensor(rows, dtype=weft.float32), unk_tensor)


def GloVe(
    name: str = "840B",
    dim: int = 300,
    unk_tensor: Tensor | None = None,
    root: str | os.PathLike[str] = ".data",
    validate_file: bool = True,
    num_cpus: int = 32,
) -> Vectors:
    """Return GloVe's vectors, from their files in ``root``: see `weft.text.vocab.GloVe`.

    Parameters
    ----------
    name : {"6B", "42B", "840B", "twitter.27B"}
    dim : int
    unk_tensor : Tensor, shape (dim,), optional
        Zeros by default.
    root : path, default ".data"
    validate_file, num_cpus
        Accepted.
    """
    return _from_files(vocab.GloVe(name=name, dim=dim, cache=root), unk_tensor)


def FastText(
    language: str = "en",
    unk_tensor: Tensor | None = None,
    root: str | os.PathLike[str] = ".data",
    validate_file: bool = True,
    num_cpus: int = 32,
) -> Vectors:
    """Return fastText's vectors, from their file in ``root``: see `weft.text.vocab.FastText`.

    Parameters
    ----------
    language : str, default "en"
    unk_tensor : Tensor, shape (300,), optional
        Zeros by default.
    root : path, default ".data"
    validate_file, num_cpus
        Accepted.
    """
    return _from_files(vocab.FastText(language=language, cache=root), unk_tensor)


def _from_files(read: Any, unk_tensor: Tensor | None) -> Vectors:
    """Return what was read: of a token that is there twice, as a broken one of GloVe's is, the last vector."""
    rows = list(read.stoi.values())
    return build_vectors(list(read.stoi), read.vectors[rows], unk_tensor)


def _distinct(tokens: list[str], vectors: Tensor, unk_tensor: Tensor | None) -> Vectors:
    twice = _twice(tokens)
    if twice:
        raise ValueError(f"Found duplicate tokens in file: {twice}")
    return build_vectors(tokens, vectors, unk_tensor)


def _twice(tokens: Sequence[str]) -> list[str]:
    seen: set[str] = set()
    return [token for token in tokens if token in seen or seen.add(token)]  # type: ignore[func-returns-value]
