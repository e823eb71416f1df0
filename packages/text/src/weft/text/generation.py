"""Writing with a language model: the next token again and again.

Only methods of tensors are used, so that the tensors may be another framework's: a comparison samples alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import weft
from weft import Generator, Tensor


@weft.no_grad()
def generate(
    model: Callable[..., Tensor],
    prompt: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float = 1.0,
    presence_penalty: float = 0.0,
    frequency_penalty: float = 0.0,
    no_repeat_ngram_size: int | None = None,
    block_size: int | None = None,
    attention_mask: Tensor | None = None,
    stop_token: int | Collection[int] | None = None,
    stream: Callable[[Tensor], object] | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Continue sequences of tokens.

    Parameters
    ----------
    model : callable
        From tokens of shape (B, T) to logits of shape (B, T, V), or (B, V) for the last place alone.
        A module should be in eval mode. One with a method ``make_cache``, such as `weft.text.models.Decoder`, is given
        the new tokens and the cache of what came before; any other computes the whole sequence for each token.
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
    min_p : float, optional
        Draw from the tokens whose probability is at least p times that of the most probable one (arXiv:2407.01082).
    repetition_penalty : float, default 1
        Divides the positive logits, and multiplies the negative ones, of the tokens in prompt and continuation
        (arXiv:1909.05858).
    presence_penalty, frequency_penalty : float, default 0
        Subtracted from the logits of the tokens in the continuation: once, and as often as each is in it.
    no_repeat_ngram_size : int, optional
        No run of so many tokens is twice in prompt and continuation (arXiv:1705.04304).
    block_size : int, optional
        The model sees at most so many of the last tokens; no cache is used then.
    attention_mask : Tensor, shape of the prompt, optional
        1 or True for tokens, 0 for the padding on the left of shorter prompts. It is given to the model as the argument
        of this name.
    stop_token : int or collection of int, optional
        End when each sequence has had one of them; what follows it in a sequence that had it earlier is the same token
        again.
    stream : callable, optional
        Called with each new token of the sequences, of shape (B,), as soon as it is there.
    generator : Generator, optional
        The source of random numbers; by default that of the device.

    Returns
    -------
    Tensor, int64, shape (B, T + added) or (T + added,)
        The prompt and what was added.

    Raises
    ------
    ValueError
        If the prompt is empty or has another shape, it is padded on the right, or an option is out of range.

    Examples
    --------
    >>> def count_on(tokens):
    ...     return weft.eye(10)[(tokens + 1) % 10]
    >>> generate(count_on, weft.tensor([7]), 5, temperature=0)
    tensor([7, 8, 9, 0, 1, 2])
    """
    _check_prompt(prompt, max_new_tokens)
    _check_options(temperature, top_k, top_p, min_p, repetition_penalty, no_repeat_ngram_size, block_size)
    given = prompt.unsqueeze(0) if prompt.dim() == 1 else prompt
    batch, start = given.shape
    tokens = given.new_zeros((batch, start + max_new_tokens))
    tokens[:, :start] = given
    mask = _mask_of_all(attention_mask, prompt, tokens)
    last_logits = _last_logits(model, tokens, block_size)
    stops = [stop_token] if isinstance(stop_token, int) else list(stop_token or ())
    running = given.new_ones((batch, 1)).bool() if stops else None
    length = start
    while length < tokens.shape[1]:
        logits = last_logits(tokens[:, :length], None if mask is None else mask[:, :length])
        logits = _repeated_less(logits, tokens[:, :length], mask, repetition_penalty)
        logits = _present_less(logits, tokens[:, start:length], presence_penalty, frequency_penalty)
        logits = _without_repeated_ngrams(logits, tokens[:, :length], mask, no_repeat_ngram_size)
        added = _next_token(logits, temperature, top_k, top_p, min_p, generator)
        if running is not None:
            added = added.where(running, tokens[:, length - 1 : length])
            for stop in stops:
                running = running & (added != stop)
        tokens[:, length : length + 1] = added
        length += 1
        if stream is not None:
            stream(added[:, 0])
        if running is not None and not bool(running.any()):
            break
    return tokens[0, :length] if prompt.dim() == 1 else tokens[:, :length]


def _mask_of_all(attention_mask: Tensor | None, prompt: Tensor, tokens: Tensor) -> Tensor | None:
    """Return the mask of prompt and continuation, (B, T + added); None if nothing is padded."""
    if attention_mask is None:
        return None
    if attention_mask.shape != prompt.shape:
        raise ValueError(
            f"generate: attention_mask must have the prompt's shape {tuple(prompt.shape)}, got "
            f"{tuple(attention_mask.shape)}"
        )
    given = attention_mask.bool().reshape(-1, prompt.shape[-1])
    if bool(given.all()):
        return None
    if not bool(given[:, -1].all()):
        raise ValueError("generate: the prompts must be padded on the left; a row of attention_mask ends in 0")
    mask = given.new_ones(tokens.shape)
    mask[:, : given.shape[1]] = given
    return mask


def _last_logits(
    model: Callable[..., Tensor], tokens: Tensor, block_size: int | None
) -> Callable[[Tensor, Tensor | None], Tensor]:
    """Return the function from the tokens so far and their mask to the logits (B, V) of the next one."""
    make_cache = getattr(model, "make_cache", None)
    if make_cache is None or block_size is not None:
        return lambda tokens, mask: _last_of_whole(model, tokens, mask, block_size)
    cache = make_cache(tokens.shape[0], tokens.shape[1] - 1)  # the last token is not read again

    def last_logits(tokens: Tensor, mask: Tensor | None) -> Tensor:
        return model(tokens[:, cache.length :], attention_mask=mask, cache=cache, logits_to_keep=1)[:, -1]

    return last_logits


def _last_of_whole(model: Callable[..., Tensor], tokens: Tensor, mask: Tensor | None, block_size: int | None) -> Tensor:
    """Compute the logits (B, V) of the next token from the whole sequence, or the last block of it."""
    first = max(tokens.shape[1] - block_size, 0) if block_size else 0
    options: dict[str, Any] = {} if mask is None else {"attention_mask": mask[:, first:]}
    logits = model(tokens[:, first:], **options)
    return logits[:, -1] if logits.dim() == 3 else logits


def _repeated_less(logits: Tensor, tokens: Tensor, mask: Tensor | None, penalty: float) -> Tensor:
    """Return the logits (B, V) with those of tokens that are there already made smaller by a factor."""
    if penalty == 1:
        return logits
    if mask is not None:
        tokens = tokens.where(mask[:, : tokens.shape[1]], tokens[:, -1:])  # padding counts as the last token
    found = logits.gather(-1, tokens)
    return logits.scatter(-1, tokens, (found / penalty).where(found > 0, found * penalty))


def _present_less(logits: Tensor, added: Tensor, presence: float, frequency: float) -> Tensor:
    """Return the logits (B, V) less the penalties of the tokens that were added."""
    if presence == 0 and frequency == 0:
        return logits
    counts = logits.new_zeros(logits.shape).scatter_add(-1, added, logits.new_ones(added.shape))
    return logits - presence * (counts > 0).to(logits.dtype) - frequency * counts


def _without_repeated_ngrams(logits: Tensor, tokens: Tensor, mask: Tensor | None, size: int | None) -> Tensor:
    """Return the logits (B, V) with minus infinity for tokens that would end a run that is there already."""
    if size is None or tokens.shape[1] < size:
        return logits
    runs = tokens.unfold(1, size, 1)  # (B, T - size + 1, size)
    begun = tokens[:, tokens.shape[1] - size + 1 :]  # the size - 1 tokens that the next one would end
    same = (runs[..., :-1] == begun[:, None]).all(-1)
    if mask is not None:
        same = same & mask[:, : tokens.shape[1]].unfold(1, size, 1).all(-1)
    ends = logits.new_zeros(logits.shape).scatter_add(-1, runs[..., -1], same.to(logits.dtype))
    return logits.masked_fill(ends > 0, -math.inf)


def _next_token(
    logits: Tensor,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    min_p: float | None,
    generator: Generator | None,
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
    probabilities = logits.softmax(dim=-1)
    if min_p is not None:
        least = min_p * probabilities.amax(dim=-1, keepdim=True)
        probabilities = logits.masked_fill(probabilities < least, -math.inf).softmax(dim=-1)
    return probabilities.multinomial(1, generator=generator)


def _nucleus(logits: Tensor, top_p: float) -> Tensor:
    """Return the logits with all but the nucleus of probability ``top_p`` at minus infinity."""
    ordered, places = logits.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities  # of all more probable tokens; the first always stays
    kept = ordered.masked_fill(before >= top_p, -math.inf)
    return logits.scatter(-1, places, kept)


def _check_prompt(prompt: Tensor, max_new_tokens: int) -> None:
    if prompt.dim() not in (1, 2) or prompt.shape[-1] == 0:
        raise ValueError(
            f"generate: prompt must be (B, T) or (T,) with at least one token, got shape {tuple(prompt.shape)}"
        )
    if max_new_tokens < 0:
        raise ValueError(f"generate: max_new_tokens must not be negative, got {max_new_tokens}")


def _check_options(
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    min_p: float | None,
    repetition_penalty: float,
    no_repeat_ngram_size: int | None,
    block_size: int | None,
) -> None:
    if temperature < 0:
        raise ValueError(f"generate: temperature must not be negative, got {temperature}; 0 is greedy")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"generate: top_p must be greater than 0 and at most 1, got {top_p}")
    if min_p is not None and not 0 <= min_p <= 1:
        raise ValueError(f"generate: min_p must be from 0 to 1, got {min_p}")
    if repetition_penalty <= 0:
        raise ValueError(f"generate: repetition_penalty must be positive, got {repetition_penalty}; 1 is none")
    for name, count in (("top_k", top_k), ("no_repeat_ngram_size", no_repeat_ngram_size), ("block_size", block_size)):
        if count is not None and count < 1:
            raise ValueError(f"generate: {name} must be at least 1, got {count}")
