"""The entries of a log that libraries write themselves, as Lightning does."""

try:
    from tensorboardX.summary import hparams
except ImportError:
    from weft.utils.tensorboard._hparams import hparams

__all__ = ["hparams"]
