"""Data loading: datasets, samplers, and the loader that turns them into batches."""

from weft.utils.data._utils.collate import default_collate, default_convert
from weft.utils.data._utils.worker import get_worker_info
from weft.utils.data.dataloader import DataLoader
from weft.utils.data.datapipes import IterDataPipe, MapDataPipe, functional_datapipe
from weft.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from weft.utils.data.distributed import DistributedSampler
from weft.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "TensorDataset",
    "StackDataset",
    "ConcatDataset",
    "ChainDataset",
    "Subset",
    "IterDataPipe",
    "MapDataPipe",
    "functional_datapipe",
    "random_split",
    "Sampler",
    "SequentialSampler",
    "RandomSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
    "BatchSampler",
    "DistributedSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
]
