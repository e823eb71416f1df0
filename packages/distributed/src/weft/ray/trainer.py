"""`WeftTrainer`: Ray Train's data-parallel trainer, whose workers are a process group of weft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
from weft.ray.backend import WeftConfig

__all__ = ["WeftTrainer"]


class WeftTrainer(DataParallelTrainer):  # type: ignore[misc]  # Ray may not be installed
    """Run a function in workers that Ray starts, watches and starts again.

    In each worker the process group of all is there already. What `weft.ray.report` saved last is what
    `weft.ray.load_checkpoint` gives after a failure, whatever the number of workers is then.

    Parameters
    ----------
    train_loop_per_worker : callable
        Called without arguments, or with ``train_loop_config``.
    train_loop_config : dict, optional
    weft_config : WeftConfig, optional
        The backend and its timeout.
    scaling_config : ray.train.ScalingConfig, optional
        How many workers (``num_workers=(1, 4)`` for as many as there are), and what each has.
    run_config : ray.train.RunConfig, optional
        Where checkpoints go; ``failure_config=FailureConfig(max_failures=3)`` for restarts.
    datasets : dict of str to ray.data.Dataset, optional
        Each worker gets its part by ``ray.train.get_dataset_shard(name)``: see `weft.ray.iter_batches`.
    **kwargs
        Of ``ray.train.DataParallelTrainer``.
    """

    def __init__(
        self,
        train_loop_per_worker: Callable[..., Any],
        *,
        train_loop_config: dict[str, Any] | None = None,
        weft_config: WeftConfig | None = None,
        scaling_config: Any = None,
        run_config: Any = None,
        datasets: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            train_loop_per_worker,
            train_loop_config=train_loop_config,
            backend_config=weft_config or WeftConfig(),
            scaling_config=scaling_config,
            run_config=run_config,
            datasets=datasets,
            **kwargs,
        )
