"""Between checkpoints of several processes and files of `weft.save`."""

from __future__ import annotations

import os
from typing import Any

import weft
from weft.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from weft.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from weft.distributed.checkpoint.state_dict_loader import _load_state_dict
from weft.distributed.checkpoint.state_dict_saver import _save_state_dict

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write all of a checkpoint's folder into one file of `weft.save`.

    Parameters
    ----------
    dcp_checkpoint_dir : str or path
    torch_save_path : str or path
    """
    state_dict: dict[str, Any] = {}
    planner = _EmptyStateDictLoadPlanner()
    _load_state_dict(state_dict, FileSystemReader(dcp_checkpoint_dir), no_dist=True, planner=planner)
    weft.save(state_dict, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write a file of `weft.save`, or PyTorch's, as the folder of a checkpoint.

    Parameters
    ----------
    torch_save_path : str or path
        Read with ``weights_only=True``.
    dcp_checkpoint_dir : str or path
    """
    state_dict = weft.load(torch_save_path)
    _save_state_dict(state_dict, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)
