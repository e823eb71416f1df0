"""The entries of a log, made by tensorboardX: those that libraries write themselves, as Lightning does."""

from tensorboardX.summary import hparams

__all__ = ["hparams"]
