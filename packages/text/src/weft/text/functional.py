"""Steps of preparing tokens, as functions, with the names of ``torchtext.functional``.

Each takes one sequence, a list, or a batch, a list of lists; a tuple or a mixture raises TypeError.
"""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor, dtype
from weft.nn.utils.rnn import pad_sequence

__all__ = ["to_tensor", "truncate", "add_token", "str_to_int"]


def to_tensor(input: Any, padding_value: int | None = None, dtype: dtype = weft.long) -> Tensor:
    """Return token numbers as a tensor.

    Parameters
    ----------
    input : list of int, or list of lists of int
    padding_value : int, optional
        Fills up the shorter sequences of a batch; without it they must be equally long.
    dtype : dtype, default int64
        Of the tensor of a batch; a single sequence is int64, as in torchtext.

    Returns
    -------
    Tensor, shape (L,) or (N, L)

    Examples
    --------
    >>> to_tensor([[1, 2, 3], [4]], padding_value=0)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if is_list_of(input, int):
        return weft.tensor(input, dtype=weft.long)
    if not is_batch_of(input, int):
        raise unsupported("to_tensor", input)
    if padding_value is None:
        return weft.tensor(input, dtype=dtype)
    rows = [weft.tensor(ids, dtype=dtype) for ids in input]
    return pad_sequence(rows, batch_first=True, padding_value=float(padding_value))


def truncate(input: Any, max_seq_len: int) -> Any:
    """Return the first ``max_seq_len`` tokens of a sequence, or of each in a batch.

    Parameters
    ----------
    input : list of int or str, or list of such lists
    max_seq_len : int
    """
    if is_list_of(input, int) or is_list_of(input, str):
        return input[:max_seq_len]
    if is_batch_of(input, int) or is_batch_of(input, str):
        return [tokens[:max_seq_len] for tokens in input]
    raise unsupported("truncate", input)


def add_token(input: Any, token_id: Any, begin: bool = True) -> Any:
    """Add a token at the beginning or the end of a sequence, or of each in a batch.

    Parameters
    ----------
    input : list of int or str, or list of such lists
    token_id : int or str
        Of the same type as the tokens.
    begin : bool, default True

    Examples
    --------
    >>> add_token([["to", "be"], ["or"]], "<eos>", begin=False)
    [['to', 'be', '<eos>'], ['or', '<eos>']]
    """
    for kind in (int, str):
        if not isinstance(token_id, kind):
            continue
        if is_list_of(input, kind):
            return [token_id, *input] if begin else [*input, token_id]
        if is_batch_of(input, kind):
            return [[token_id, *tokens] if begin else [*tokens, token_id] for tokens in input]
    raise TypeError(
        "add_token: Input type not supported: expected a list of int with an int, or of str with a str, or a list of "
        f"such lists; got token_id {token_id!r} and input {input!r:.100}"
    )


def str_to_int(input: Any) -> Any:
    """Return tokens that are written numbers as integers.

    Parameters
    ----------
    input : list of str, or list of lists of str
    """
    if is_list_of(input, str):
        return [int(token) for token in input]
    if is_batch_of(input, str):
        return [[int(token) for token in tokens] for tokens in input]
    raise unsupported("str_to_int", input)


def is_list_of(value: Any, kind: type) -> bool:
    """Return whether a value is a list whose items are all of a type; an empty list is one of any type."""
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def is_batch_of(value: Any, kind: type) -> bool:
    """Return whether a value is a list of lists whose items are all of a type."""
    return isinstance(value, list) and all(is_list_of(item, kind) for item in value)


def unsupported(function: str, value: Any) -> TypeError:
    """Return the error for an input that is of none of a function's types."""
    return TypeError(
        f"{function}: Input type not supported: got {type(value).__name__} {value!r:.100}; expected one item or a "
        "list of those that its documentation names (no tuples, no mixtures)"
    )
