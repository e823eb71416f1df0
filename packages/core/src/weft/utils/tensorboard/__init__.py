"""Logs for TensorBoard: a thin layer over the package tensorboardX, which has to be installed."""

try:
    from tensorboardX import FileWriter, RecordWriter
except ImportError as error:
    raise ImportError(
        "weft.utils.tensorboard: needs the package tensorboardX; install it with: pip install weft-core[tensorboard]"
    ) from error

from weft.utils.tensorboard.writer import SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
