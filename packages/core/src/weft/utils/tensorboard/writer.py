"""The writer of logs: tensorboardX's or the one beside, with PyTorch's arguments, for tensors of any kind."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from weft._tensor.base import Tensor

try:
    from tensorboardX import SummaryWriter as PlainWriter
except ImportError:
    from weft.utils.tensorboard._event_log import SummaryWriter as PlainWriter

__all__ = ["SummaryWriter"]


class SummaryWriter(PlainWriter):  # type: ignore[misc]  # a package without types
    """Writes scalars, histograms, pictures, texts and the like into a folder, where TensorBoard finds them.

    All ``add_`` methods take tensors, wherever NumPy arrays or numbers are wanted: also with a history, on another
    device, or of bfloat16.

    Parameters
    ----------
    log_dir : str, optional
        By default ``runs/`` with the date and the machine's name.
    comment : str
        Appended to the default folder's name.
    purge_step : int, optional
        What is in the log from this step on is hidden: for a run that begins again after a crash.
    max_queue : int
        Entries that wait to be written.
    flush_secs : float
        Seconds after which they are written at the latest.
    filename_suffix : str

    Examples
    --------
    >>> with SummaryWriter("runs/first") as writer:  # doctest: +SKIP
    ...     writer.add_scalar("loss", weft.tensor(0.5), global_step=1)
    """

    def __init__(
        self,
        log_dir: str | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        **options: Any,
    ) -> None:
        super().__init__(
            logdir=None if log_dir is None else str(log_dir),
            comment=comment,
            purge_step=purge_step,
            max_queue=max_queue,
            flush_secs=flush_secs,
            filename_suffix=filename_suffix,
            **options,
        )
        self.log_dir = self.logdir

    def get_logdir(self) -> str:
        """The folder of the log."""
        folder: str = self.logdir
        return folder

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log one number; how it is stored (``new_style``, ``double_precision``) is left to tensorboardX.

        Raises
        ------
        NotImplementedError
            For what is neither a number nor an array or tensor: skorch logs what does not raise it.
        """
        value = plain(scalar_value)
        if not (numpy.isscalar(value) or isinstance(value, numpy.ndarray)):
            raise NotImplementedError(f"add_scalar: got {type(scalar_value)}, but a number or tensor is expected")
        super().add_scalar(tag, value, plain(global_step), walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Log the settings of a run and what it reached, as a row of the table of runs."""
        super().add_hparams(number(hparam_dict), number(metric_dict), run_name, plain(global_step))

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log a batch of pictures; of a list of them, ``dataformats`` is that of one (``"CHW"``)."""
        if isinstance(img_tensor, (list, tuple)):
            img_tensor = numpy.stack(plain(img_tensor))
            dataformats = f"N{dataformats.removeprefix('N')}"
        super().add_images(tag, plain(img_tensor), plain(global_step), walltime, dataformats)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Log a tensor's values, as their histogram: tensorboardX stores no tensors."""
        self.add_histogram(tag, tensor, global_step, walltime=walltime)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Warn: a model has no graph before it runs. Nothing is written, and the program goes on."""
        warnings.warn("SummaryWriter.add_graph: weft traces no graph of a model; none is logged", stacklevel=2)


def plain(value: Any) -> Any:
    """A value with NumPy arrays for its tensors, in lists, tuples and dicts too."""
    if isinstance(value, Tensor):
        dense = value.detach().cpu()
        return (dense.float() if dense.dtype.is_half else dense).numpy()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(plain(each) for each in value)
    return value


def number(values: dict[str, Any]) -> dict[str, Any]:
    """A dict with Python's numbers for tensors of one element."""
    return {key: value.item() if isinstance(value, Tensor) else value for key, value in values.items()}


def _taking_tensors(name: str) -> Any:
    """The package's method of this name, for tensors."""
    inherited = getattr(PlainWriter, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return inherited(self, *plain(args), **plain(kwargs))

    method.__name__ = name
    method.__qualname__ = f"SummaryWriter.{name}"
    method.__doc__ = inherited.__doc__
    return method


for _name in vars(PlainWriter):
    if _name.startswith("add_") and _name not in vars(SummaryWriter):
        setattr(SummaryWriter, _name, _taking_tensors(_name))
