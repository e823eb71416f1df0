"""Optimizers, learning-rate schedules and weight averaging."""

from weft.optim.optimizer import Optimizer
from weft.optim.sgd import SGD
from weft.optim.adam import Adam
from weft.optim.adamw import AdamW

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
