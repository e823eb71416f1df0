"""Data loading: whole passes of a `DataLoader` over small samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rounds import Effort

SAMPLES = 60_000
EFFORT = Effort(rounds=5, turns=1, seconds=0.01)  # an epoch takes a second


def images(lib: Any, num_workers: int) -> Callable[[], Any]:
    """28 x 28 bytes, each made a tensor, converted, scaled and normalized; batches of 64."""
    pictures = np.random.default_rng(0).integers(0, 256, (SAMPLES, 28, 28), dtype=np.uint8)
    labels = np.random.default_rng(1).integers(0, 10, SAMPLES)

    class Pictures(lib.utils.data.Dataset):
        def __len__(self) -> int:
            return SAMPLES

        def __getitem__(self, index: int) -> Any:
            picture = lib.from_numpy(pictures[index]).unsqueeze(0).float().div(255)
            return picture.sub_(0.1307).div_(0.3081), int(labels[index])

    return _pass(lib, Pictures(), num_workers)


def vectors(lib: Any, num_workers: int) -> Callable[[], Any]:
    """Rows of 64 numbers that are in memory already; batches of 64."""
    rows = lib.utils.data.TensorDataset(lib.zeros(SAMPLES, 64), lib.zeros(SAMPLES, dtype=lib.int64))
    return _pass(lib, rows, num_workers)


def _pass(lib: Any, data: Any, num_workers: int) -> Callable[[], None]:
    """One epoch, in which the consumer does nothing; workers by fork, as both start them by default."""
    context = "fork" if num_workers else None
    loader = lib.utils.data.DataLoader(
        data, batch_size=64, shuffle=True, num_workers=num_workers, multiprocessing_context=context
    )

    def epoch() -> None:
        seen = sum(len(target) for _, target in loader)
        assert seen == SAMPLES, f"{seen} of {SAMPLES} samples"

    return epoch


CASES = {
    "60,000 images with a transform, 2 workers": lambda lib: images(lib, 2),
    "60,000 images with a transform, no workers": lambda lib: images(lib, 0),
    "60,000 rows of a TensorDataset, 2 workers": lambda lib: vectors(lib, 2),
    "60,000 rows of a TensorDataset, no workers": lambda lib: vectors(lib, 0),
}
