"""Distributions that are given by probabilities, or by their logits: each is made from the other when asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft import Size, Tensor
from weft.distributions.distribution import Distribution
from weft.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ProbsOrLogits"]


class ProbsOrLogits(Distribution):
    """A distribution with ``probs`` and ``logits``, one of which is given.

    Attributes
    ----------
    is_binary : bool
        The logits are log-odds; else unnormalized log-probabilities of classes along the last dimension.
    """

    is_binary = True

    def _take(self, probs: Any, logits: Any) -> None:
        """Keep the one that is given.

        Raises
        ------
        ValueError
            If it is not exactly one.
        """
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.probs = probs
        else:
            self.logits = logits
        self._param = probs if logits is None else logits

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds, or unnormalized log-probabilities."""
        return probs_to_logits(self.probs, is_binary=self.is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self.is_binary)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        found: Size = self._param.size()
        return found

    def _expanded(self, cls: Any, names: Iterable[str], batch_shape: Any, _instance: Any = None) -> Any:
        new = super()._expanded(cls, names, batch_shape, _instance)
        for name in ("probs", "logits"):
            if name in self.__dict__:
                value = self.__dict__[name]
                setattr(new, name, value.expand(new.batch_shape + value.shape[len(self.batch_shape) :]))
        given = "probs" if self._param is self.__dict__.get("probs") else "logits"
        new._param = new.__dict__[given]
        return new
