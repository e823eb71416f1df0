"""The random stream of the meta device: samples without values, of which none is drawn."""

from __future__ import annotations

from typing import Any

import numpy

from weft._meta.array import MetaArray

FLOAT64, INT64 = numpy.dtype("float64"), numpy.dtype("int64")


class MetaStream:
    """The samplers of `weft._random.mt19937.MersenneStream`, which say only what they would return."""

    array_type = MetaArray
    initial_seed = 0

    def seed(self, seed: int) -> None:
        """Do nothing: there is no stream."""

    def get_state(self) -> Any:
        """The state, which is nothing."""
        return numpy.empty(0, numpy.uint8)

    def set_state(self, state: Any) -> None:
        """Do nothing: there is no stream."""

    def samples(self, n: int, dtype: Any, *parameters: Any) -> Any:
        """So many samples of a dtype."""
        return MetaArray((int(n),), numpy.dtype(dtype))

    uniform = normal = log_normal = exponential = cauchy = geometric = integers = full_range = samples

    def bernoulli(self, n: int, p: Any) -> Any:
        """Truth values."""
        return MetaArray((int(n),), numpy.dtype("bool"))

    def bernoulli_each(self, p: Any) -> Any:
        """Truth values of several probabilities."""
        return MetaArray(p.shape, numpy.dtype("bool"))

    def permutation(self, n: int) -> Any:
        """The order of numbers."""
        return MetaArray((int(n),), INT64)

    def multinomial(self, weights: Any, samples: int, replacement: bool) -> Any:
        """Positions, drawn by weights."""
        return MetaArray((*weights.shape[:-1], samples), INT64)

    def poisson(self, rates: Any) -> Any:
        """Counts, for each rate."""
        return MetaArray(rates.shape, rates.dtype)

    def gamma(self, shapes: Any) -> Any:
        """Samples, for each shape parameter."""
        return MetaArray(shapes.shape, shapes.dtype)

    def binomial(self, counts: Any, p: Any) -> Any:
        """Counts, for each pair of parameters."""
        return MetaArray(counts.shape, counts.dtype)
