"""Training on Ray: a trainer whose workers are one process group, and what a training function needs in it.

    def train(config):
        model = weft.ray.prepare_model(Model())
        for epoch in range(config["epochs"]):
            ...
            weft.ray.report({"loss": loss.item()}, {"model": model.state_dict(), "epoch": epoch})

    trainer = weft.ray.WeftTrainer(train, train_loop_config={"epochs": 10}, scaling_config=ScalingConfig(num_workers=4))
    result = trainer.fit()

This is the only part of weft that imports Ray, when one of its names is first asked for:
``pip install "weft-distributed[ray]"``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.ray.backend import WeftConfig
    from weft.ray.checkpoint import load_checkpoint, report
    from weft.ray.data import iter_batches, prepare_data_loader
    from weft.ray.model import get_device, prepare_model
    from weft.ray.trainer import WeftTrainer

__all__ = [
    "WeftConfig",
    "WeftTrainer",
    "get_device",
    "iter_batches",
    "load_checkpoint",
    "prepare_data_loader",
    "prepare_model",
    "report",
]

HOMES = {
    "WeftConfig": "backend",
    "WeftTrainer": "trainer",
    "get_device": "model",
    "iter_batches": "data",
    "load_checkpoint": "checkpoint",
    "prepare_data_loader": "data",
    "prepare_model": "model",
    "report": "checkpoint",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = getattr(import_module(f"weft.ray.{HOMES[name]}"), name)
    except ImportError as error:
        raise ImportError(f"weft.ray.{name}: {error}; install it with: pip install 'weft-distributed[ray]'") from error
    globals()[name] = found
    return found
