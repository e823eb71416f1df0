"""`parallelize_module`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

from weft.distributed.device_mesh import DeviceMesh, current_mesh
from weft.distributed.tensor.parallel.style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Any,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Any:
    """Divide a module, or submodules of it, among the processes of a mesh of one dim.

    Parameters
    ----------
    module : Module
        Changed in place.
    device_mesh : DeviceMesh, optional
        Default: that of the ``with`` block.
    parallelize_plan : ParallelStyle, or dict of them
        A style for the module itself, or styles by the names of submodules: ``"layers.*.mlp.up"``, each part of which
        may have ``*``, ``?`` and ``[...]`` as file names have.
    src_data_rank : int or None
        The process whose parameters are taken; None: each takes its own.

    Returns
    -------
    Module
        The same one.

    Raises
    ------
    ValueError
        If the mesh has several dims, or a name is empty.
    TypeError
        If the plan is neither a style nor a dict.

    Examples
    --------
    >>> from weft.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    >>> mesh = weft.distributed.init_device_mesh("cpu", (1,))
    >>> model = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.ReLU(), weft.nn.Linear(8, 2))
    >>> model = parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    >>> model[0].weight.placements, model(weft.ones(3, 4)).shape
    ((Shard(dim=0),), weft.Size([3, 2]))
    >>> weft.distributed.destroy_process_group()
    """
    mesh = current_mesh("parallelize_module") if device_mesh is None else device_mesh
    if mesh.ndim != 1:
        raise ValueError(
            f"parallelize_module: the mesh must have one dim, got {mesh}: give a part of it, as mesh['tp']"
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
            "parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        if path == "":
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        found = list(matching(module, path.split(".")))
        if not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching it in module {module}",
                stacklevel=2,
            )
        for each in found:
            parallelize_module(each, mesh, style, src_data_rank=src_data_rank)
    return module


def matching(module: Any, path: list[str]) -> Iterator[Any]:
    """The submodules whose names match the parts of a path."""
    if not path:
        yield module
        return
    for name, child in list(module.named_children()):
        if fnmatch(name, path[0]):
            yield from matching(child, path[1:])
