"""Rotary position embeddings (arXiv:2104.09864), with the scalings for contexts longer than those of the training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import weft
from weft import Tensor


def rotary_frequencies(head_dim: int, rope: Mapping[str, Any]) -> tuple[Tensor, float]:
    """Return how far each pair of a head's numbers is turned from one position to the next, and a factor of both.

    Parameters
    ----------
    head_dim : int
    rope : mapping
        "rope_theta", "rope_type" and what the type needs, as in ``config.json``.

    Returns
    -------
    (Tensor, float)
        Radians, float32 of shape (head_dim / 2,), and what cosines and sines are multiplied with.
    """
    exponents = weft.arange(0, head_dim, 2, dtype=weft.float32, device="cpu") / head_dim
    return ROPE_TYPES[rope["rope_type"]](1.0 / rope["rope_theta"] ** exponents, rope)


def _linear(frequencies: Tensor, rope: Mapping[str, Any]) -> tuple[Tensor, float]:
    """Positions divided by a factor (arXiv:2306.15595)."""
    return frequencies / rope["factor"], 1.0


def _llama3(frequencies: Tensor, rope: Mapping[str, Any]) -> tuple[Tensor, float]:
    """Slow turns divided by a factor, fast ones as they are, and between the two a mean of both."""
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)  # within the original context
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 - kept) * frequencies / rope["factor"] + kept * frequencies, 1.0


def _yarn(frequencies: Tensor, rope: Mapping[str, Any]) -> tuple[Tensor, float]:
    """The same by a ramp over the pairs' numbers; scores grow a little as well (arXiv:2309.00071)."""
    pairs, factor = len(frequencies), rope["factor"]

    def pair_of(turns: float) -> float:
        """Return the number of the pair that makes so many turns within the original context."""
        ratio = rope["original_max_position_embeddings"] / (turns * 2 * math.pi)
        return pairs * math.log(ratio) / math.log(rope["rope_theta"])

    low, high = pair_of(rope.get("beta_fast") or 32), pair_of(rope.get("beta_slow") or 1)
    if rope.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, 2 * pairs - 1)
    places = weft.arange(pairs, dtype=weft.float32, device="cpu")
    divided = ((places - low) / (high - low if high != low else 0.001)).clamp(0, 1)
    return divided * frequencies / factor + (1 - divided) * frequencies, _yarn_scale(rope)


def _yarn_scale(rope: Mapping[str, Any]) -> float:
    if rope.get("attention_factor") is not None:
        return float(rope["attention_factor"])
    growth = 0.1 * math.log(max(rope["factor"], 1.0))
    if rope.get("mscale") and rope.get("mscale_all_dim"):
        return (growth * rope["mscale"] + 1) / (growth * rope["mscale_all_dim"] + 1)
    return growth + 1


ROPE_TYPES: dict[str, Callable[[Tensor, Mapping[str, Any]], tuple[Tensor, float]]] = {
    "default": lambda frequencies, rope: (frequencies, 1.0),
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
}


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn pairs of numbers by their angles (arXiv:2104.09864); a pair is half a head apart.

    ``sin`` has the sign of the pair's first number folded in, so that the halves only change places here.
    """
    half = x.shape[-1] // 2
    return x * cos + weft.cat((x[..., half:], x[..., :half]), -1) * sin
