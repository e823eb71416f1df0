"""Training on Ray: a trainer whose workers are one process group, and what a training function needs in it.

    def train(config):
        model = weft.ray.prepare_model(Model())
        for epoch in range(config["epochs"]):
            ...
            weft.ray.report({"loss": loss.item()}, {"model": model.state_dict(), "epoch": epoch})

    trainer = weft.ray.WeftTrainer(train, train_loop_config={"epochs": 10}, scaling_config=ScalingConfig(num_workers=4))
    result = trainer.fit()

This is the only part of weft that imports Ray: ``pip install "weft-distributed[ray]"``.
"""

try:
    import ray.train as _ray_train  # noqa: F401
except ImportError as error:
    raise ImportError(f"weft.ray: {error}; install it with: pip install 'weft-distributed[ray]'") from error

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
