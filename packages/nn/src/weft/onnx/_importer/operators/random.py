"""Random numbers: where a node has a seed, those of NumPy's ``RandomState`` of it, as ONNX's reference draws them."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.onnx._importer.reading import dtype_of
from weft.onnx._importer.registry import operator


def normal(shape: Any, dtype: Any, device: Any, seed: float | None) -> Any:
    """Numbers of the standard normal distribution."""
    if seed is None:
        return weft.randn(shape, dtype=dtype, device=device)
    return weft.tensor(np.random.RandomState(int(seed)).randn(*shape), device=device).to(dtype)


def uniform(shape: Any, dtype: Any, device: Any, seed: float | None) -> Any:
    """Numbers from 0 to 1."""
    if seed is None:
        return weft.rand(shape, dtype=dtype, device=device)
    return weft.tensor(np.random.RandomState(int(seed)).random_sample(tuple(shape)), device=device).to(dtype)


@operator("RandomNormal")
def random_normal(
    *, shape: Any, dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None, context: Any
) -> Any:
    return normal(shape, dtype_of(dtype), context.device, seed) * scale + mean


@operator("RandomNormalLike")
def random_normal_like(
    input: Any, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> Any:
    kind = input.dtype if dtype is None else dtype_of(dtype)
    return normal(input.shape, kind, input.device, seed) * scale + mean


@operator("RandomUniform")
def random_uniform(
    *, shape: Any, dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: float | None = None, context: Any
) -> Any:
    return uniform(shape, dtype_of(dtype), context.device, seed) * (high - low) + low


@operator("RandomUniformLike")
def random_uniform_like(
    input: Any, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0, seed: float | None = None
) -> Any:
    kind = input.dtype if dtype is None else dtype_of(dtype)
    return uniform(input.shape, kind, input.device, seed) * (high - low) + low


@operator("Bernoulli")
def bernoulli(input: Any, *, dtype: int | None = None, seed: float | None = None) -> Any:
    kind = input.dtype if dtype is None else dtype_of(dtype)
    if seed is None:
        return weft.bernoulli(input).to(kind)
    drawn = np.random.RandomState(int(seed)).binomial(1, input.detach().cpu().double().numpy())
    return weft.tensor(drawn, device=input.device).to(kind)


@operator("Multinomial")
def multinomial(input: Any, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> Any:
    generator = None if seed is None else weft.Generator(input.device).manual_seed(int(seed))
    drawn = weft.multinomial(input.softmax(-1), sample_size, replacement=True, generator=generator)
    return drawn.to(dtype_of(dtype))
