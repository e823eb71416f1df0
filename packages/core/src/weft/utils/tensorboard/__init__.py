"""Logs for TensorBoard: a thin layer over the package tensorboardX or, where that is missing, tensorboard."""

try:
    try:
        from tensorboardX import FileWriter, RecordWriter
    except ImportError:
        from weft.utils.tensorboard._event_log import FileWriter, RecordWriter
except ImportError as error:
    raise ImportError(
        "weft.utils.tensorboard: needs the package tensorboardX or tensorboard; install it with: "
        "pip install weft-core[tensorboard]"
    ) from error

from weft.utils.tensorboard.writer import SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
