"""`prepare_model`: a module on this worker's device, with gradients that are averaged over the workers."""

from __future__ import annotations

from typing import Any

import weft
import weft.distributed as dist
from ray.train import get_context
from weft.nn.parallel import DistributedDataParallel

__all__ = ["get_device", "prepare_model"]


def get_device() -> weft.device:
    """The device of this worker: its GPU, or the CPU."""
    if not weft.cuda.is_available():
        return weft.device("cpu")
    return weft.device("cuda", get_context().get_local_rank() % weft.cuda.device_count())


def prepare_model(
    model: weft.nn.Module,
    move_to_device: bool | weft.device = True,
    parallel_strategy: str | None = "ddp",
    parallel_strategy_kwargs: dict[str, Any] | None = None,
) -> weft.nn.Module:
    """Put a module on this worker's device, and let its gradients be those of all workers.

    Parameters
    ----------
    model : Module
    move_to_device : bool or device
        Whether, or where to.
    parallel_strategy : str or None
        ``"ddp"``, `DistributedDataParallel`; ``"fsdp"``, `fully_shard`; or None for neither.
    parallel_strategy_kwargs : dict, optional
        Of these.

    Returns
    -------
    Module
        The module itself where there is one worker.

    Raises
    ------
    ValueError
        For another strategy.
    """
    if parallel_strategy not in ("ddp", "fsdp", None):
        raise ValueError(f"prepare_model: parallel_strategy is 'ddp', 'fsdp' or None; got {parallel_strategy!r}")
    device = move_to_device if isinstance(move_to_device, weft.device) else get_device()
    if device.type == "cuda":
        weft.cuda.set_device(device)
    if move_to_device:
        model = model.to(device)
    kwargs = parallel_strategy_kwargs or {}
    if parallel_strategy is None or not dist.is_initialized() or dist.get_world_size() == 1:
        return model
    if parallel_strategy == "fsdp":
        from weft.distributed.fsdp import fully_shard

        fully_shard(model, **kwargs)
        return model
    if device.type == "cuda":
        kwargs = {"device_ids": [device], "output_device": device, **kwargs}
    return DistributedDataParallel(model, **kwargs)
