"""Optimizers, learning-rate schedules and weight averaging."""

from weft.optim import lr_scheduler
from weft.optim.adam import Adam
from weft.optim.adamw import AdamW
from weft.optim.optimizer import Optimizer
from weft.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
