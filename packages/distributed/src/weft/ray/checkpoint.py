"""`report` and `load_checkpoint`: what a training function saves at each report, and begins with after a failure."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import ray.train
import weft
from ray.train import Checkpoint

__all__ = ["load_checkpoint", "report"]

FILE = "checkpoint.pt"


def report(metrics: dict[str, Any], state: Any = None) -> None:
    """Report metrics to Ray, with a checkpoint; all workers call it.

    Parameters
    ----------
    metrics : dict
        Numbers.
    state : object, optional
        What `weft.save` takes, such as a dict of state dicts. The worker of rank 0 saves its own; None saves nothing,
        and Ray's result keeps only metrics that came with a checkpoint.
    """
    if state is None or ray.train.get_context().get_world_rank() != 0:
        ray.train.report(metrics)
        return
    with tempfile.TemporaryDirectory(prefix="weft-ray-") as folder:
        weft.save(state, os.path.join(folder, FILE))
        ray.train.report(metrics, checkpoint=Checkpoint.from_directory(folder))


def load_checkpoint(map_location: Any = "cpu", checkpoint: Any = None) -> Any:
    """What the last `report` saved, in every worker.

    Parameters
    ----------
    map_location : device or str
    checkpoint : ray.train.Checkpoint, optional
        Another one, such as ``result.checkpoint``.

    Returns
    -------
    object
        None where nothing was saved: at the first start.
    """
    checkpoint = checkpoint or ray.train.get_checkpoint()
    if checkpoint is None:
        return None
    with checkpoint.as_directory() as folder:
        return weft.load(os.path.join(folder, FILE), map_location=map_location)
