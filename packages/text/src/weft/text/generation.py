"""Writing with a language model: the next token again and again.

Only methods of tensors are used, so that the tensors may be another framework's: a comparison samples alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import weft
from weft import Generator, Tensor


@weft.no_grad()
def generate(
    model: Callable[[Tensor], Tensor],
    prompt: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    block_size: int | None = None,
    stop_token: int | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Continue sequences of tokens.

    Parameters
    ----------
    model : callable
        From tokens of shape (B, T) to logits of shape (B, T, V), or (B, V) for the last place alone.
        A module should be in eval mode.
    prompt : Tensor, int64, shape (B, T) or (T,)
        What comes before; at least one token.
    max_new_tokens : int
        How many to add.
    temperature : float, default 1
        Divides the logits: below 1 the probable becomes more so; 0 takes the most probable token every time (greedy).
    top_k : int, optional
        Draw from the k most probable tokens only.
    top_p : float, optional
        Draw from the fewest tokens whose probabilities sum to at least p (nucleus sampling, arXiv:1904.09751).
    block_size : int, optional
        The model sees at most so many of the last tokens.
    stop_token : int, optional
        End when each sequence has had it; what follows it in a sequence that had it earlier is the same token again.
    generator : Generator, optional
        The source of random numbers; by default that of the device.

    Returns
    -------
    Tensor, int64, shape (B, T + added) or (T + added,)
        The prompt and what was added.

    Raises
    ------
    ValueError
        If the prompt is empty or has another shape, or an option is out of range.

    Examples
    --------
    >>> def count_on(tokens):
    ...     return weft.eye(10)[(tokens + 1) % 10]
    >>> generate(count_on, weft.tensor([7]), 5, temperature=0)
    tensor([7, 8, 9, 0, 1, 2])
    """
    _check_options(prompt, max_new_tokens, temperature, top_k, top_p, block_size)
    given = prompt.unsqueeze(0) if prompt.dim() == 1 else prompt
    batch, length = given.shape
    tokens = given.new_zeros((batch, length + max_new_tokens))
    tokens[:, :length] = given
    running = given.new_ones((batch, 1))
    while length < tokens.shape[1]:
        logits = model(tokens[:, max(length - block_size, 0) if block_size else 0 : length])
        added = _next_token(logits[:, -1] if logits.dim() == 3 else logits, temperature, top_k, top_p, generator)
        if stop_token is not None:
            added = added.masked_fill(running == 0, stop_token)
            running = running * (added != stop_token)
        tokens[:, length] = added[:, 0]
        length += 1
        if not bool(running.any()):
            break
    return tokens[0, :length] if prompt.dim() == 1 else tokens[:, :length]


def _next_token(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float | None, generator: Generator | None
) -> Tensor:
    """Draw (B, 1) from logits (B, V)."""
    if temperature == 0:
        return logits.argmax(dim=-1, keepdim=True)
    logits = logits / temperature
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    if top_p is not None:
        logits = _nucleus(logits, top_p)
    return logits.softmax(dim=-1).multinomial(1, generator=generator)


def _nucleus(logits: Tensor, top_p: float) -> Tensor:
    """Return the logits with all but the nucleus of probability ``top_p`` at minus infinity."""
    ordered, places = logits.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities  # of all more probable tokens; the first always stays
    kept = ordered.masked_fill(before >= top_p, -math.inf)
    return logits.scatter(-1, places, kept)


def _check_options(
    prompt: Tensor,
    max_new_tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    block_size: int | None,
) -> None:
    if prompt.dim() not in (1, 2) or prompt.shape[-1] == 0:
        raise ValueError(
            f"generate: prompt must be (B, T) or (T,) with at least one token, got shape {tuple(prompt.shape)}"
        )
    if max_new_tokens < 0:
        raise ValueError(f"generate: max_new_tokens must not be negative, got {max_new_tokens}")
    if temperature < 0:
        raise ValueError(f"generate: temperature must not be negative, got {temperature}; 0 is greedy")
    if top_k is not None and top_k < 1:
        raise ValueError(f"generate: top_k must be at least 1, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"generate: top_p must be greater than 0 and at most 1, got {top_p}")
    if block_size is not None and block_size < 1:
        raise ValueError(f"generate: block_size must be at least 1, got {block_size}")
