"""Datasets, samplers, random splits and collation."""

from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import weft
from weft.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)
from weft.utils.data._utils.collate import collate, default_collate_fn_map


class Squares(Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if not 0 <= index < self.length:
            raise IndexError(index)
        return index * index


class Batches(Squares):
    def __getitems__(self, indices):
        return [-index for index in indices]


class Count(IterableDataset):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        return iter(range(self.length))

    def __len__(self):
        return self.length


# Datasets


def test_tensor_dataset_indexes_all_tensors():
    data = TensorDataset(weft.arange(4), weft.arange(8).reshape(4, 2))
    assert len(data) == 4
    number, row = data[2]
    assert number.item() == 2
    assert row.tolist() == [4, 5]
    assert [part.tolist() for part in data[1:3]] == [[1, 2], [[2, 3], [4, 5]]]


def test_concatenation_counts_through_its_parts_from_both_ends():
    data = Squares(2) + Squares(3)
    assert isinstance(data, ConcatDataset)
    assert [data[i] for i in range(len(data))] == [0, 1, 0, 1, 4]
    assert data[-1] == 4
    assert data[-5] == 0
    assert data.cumulative_sizes == [2, 5]


def test_a_chain_iterates_one_after_another():
    data = Count(2) + Count(3)
    assert isinstance(data, ChainDataset)
    assert list(data) == [0, 1, 0, 1, 2]
    assert len(data) == 5


def test_a_subset_reads_through_its_indices():
    data = Subset(Squares(9), [4, 2])
    assert (len(data), data[0], data[1]) == (2, 16, 4)
    assert Subset(Batches(9), [4, 2]).__getitems__([1, 0]) == [-2, -4]


def test_stacked_datasets_give_tuples_or_dicts():
    assert StackDataset(Squares(3), Batches(3))[2] == (4, 4)
    named = StackDataset(a=Squares(3), b=Batches(3))
    assert named[2] == {"a": 4, "b": 4}
    assert named.__getitems__([1, 2]) == [{"a": 1, "b": -1}, {"a": 4, "b": -2}]


def test_random_split_is_pytorchs_for_the_same_seed():
    parts = random_split(Squares(10), [0.35, 0.65], generator=weft.Generator().manual_seed(5))
    assert [part.indices for part in parts] == [[1, 4, 9, 6], [3, 5, 0, 2, 8, 7]]


def test_random_split_of_lengths_is_a_partition():
    parts = random_split(Squares(10), [3, 0, 7])
    assert [len(part) for part in parts] == [3, 0, 7]
    assert sorted(index for part in parts for index in part.indices) == list(range(10))


def test_random_split_warns_of_a_fraction_that_comes_to_nothing():
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(Squares(2), [0.9, 0.1])


# Samplers: the expected orders are those of PyTorch 2.13 after manual_seed(5)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: RandomSampler(range(10), num_samples=5), [7, 6, 5, 4, 8]),
        (
            lambda: RandomSampler(range(10), num_samples=25),
            [7, 6, 5, 4, 8, 3, 2, 9, 0, 1, 8, 5, 1, 0, 2, 7, 3, 6, 4, 9, 1, 5, 6, 7, 3],
        ),
        (lambda: RandomSampler(range(10), replacement=True), [7, 4, 9, 4, 6, 8, 2, 2, 1, 8]),
        (lambda: SubsetRandomSampler([5, 6, 7]), [7, 6, 5]),
        (lambda: WeightedRandomSampler([0.1, 0.5, 0.4], 5), [2, 1, 1, 1, 1]),
        (lambda: WeightedRandomSampler([0.1, 0.5, 0.4], 2, replacement=False), [1, 2]),
    ],
)
def test_a_samplers_order_is_pytorchs_for_the_same_seed(make, expected):
    weft.manual_seed(5)
    assert list(make()) == expected


def test_a_sampler_with_a_generator_leaves_the_global_one_alone():
    weft.manual_seed(5)
    before = weft.get_rng_state().tolist()
    list(RandomSampler(range(10), generator=weft.Generator().manual_seed(1)))
    assert weft.get_rng_state().tolist() == before


def test_each_pass_of_a_random_sampler_is_another_permutation():
    sampler = RandomSampler(range(100))
    first, second = list(sampler), list(sampler)
    assert first != second
    assert sorted(first) == sorted(second) == list(range(100))


def test_batch_sampler_drops_or_keeps_the_rest():
    source = SequentialSampler(range(5))
    assert list(BatchSampler(source, 2, drop_last=False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(source, 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert len(BatchSampler(source, 2, drop_last=False)) == 3
    assert len(BatchSampler(source, 2, drop_last=True)) == 2


def test_distributed_shares_are_pytorchs_and_cover_the_data():
    shares = [list(DistributedSampler(range(10), 3, rank, seed=2)) for rank in range(3)]
    assert shares == [[8, 5, 0, 3], [7, 6, 4, 8], [1, 9, 2, 7]]
    shares = [list(DistributedSampler(range(10), 3, rank, shuffle=False, drop_last=True)) for rank in range(3)]
    assert shares == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_distributed_order_changes_with_the_epoch():
    """By itself, until a program says which epoch it is: then as in PyTorch."""
    sampler = DistributedSampler(range(6), 2, 0)
    epochs = [list(sampler) for _ in range(3)]
    assert epochs[:2] == [[2, 3, 1], [1, 2, 3]]
    for epoch in (1, 0, 2):
        sampler.set_epoch(epoch)
        assert list(sampler) == list(sampler) == epochs[epoch]


# Collation

Point = namedtuple("Point", "x y")


def as_lists(value):
    """The same structure with tensors as (dtype, list)."""
    if isinstance(value, weft.Tensor):
        return (value.dtype, value.tolist())
    if isinstance(value, dict):
        return {key: as_lists(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_lists(item) for item in value]
    return value


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ([1, 2], (weft.int64, [1, 2])),
        ([1.0, 2.5], (weft.float64, [1.0, 2.5])),
        ([True, False], (weft.bool, [True, False])),
        ([np.float32(1), np.float32(2)], (weft.float32, [1.0, 2.0])),
        ([np.zeros(2, np.int32)] * 2, (weft.int32, [[0, 0], [0, 0]])),
        (["a", "b"], ["a", "b"]),
        ([b"a", b"b"], [b"a", b"b"]),
        ([(1, "a"), (2, "b")], [(weft.int64, [1, 2]), ("a", "b")]),
        ([[1, 2], [3, 4]], [(weft.int64, [1, 3]), (weft.int64, [2, 4])]),
        ([{"a": 1, "b": ["x"]}, {"a": 2, "b": ["y"]}], {"a": (weft.int64, [1, 2]), "b": [("x", "y")]}),
    ],
)
def test_collation_keeps_structure_and_dtypes(batch, expected):
    assert as_lists(default_collate(batch)) == expected


def test_tensors_are_stacked_in_a_new_first_dimension():
    batch = default_collate([weft.zeros(2, 3), weft.ones(2, 3)])
    assert tuple(batch.shape) == (2, 2, 3)
    assert batch[1].sum().item() == 6


def test_collation_keeps_named_tuples_and_types_of_mappings():
    point = default_collate([Point(1, 2.0), Point(3, 4.0)])
    assert type(point) is Point
    assert point.x.tolist() == [1, 3]
    assert type(default_collate([OrderedDict(a=1)])) is OrderedDict
    assert default_collate([defaultdict(int, a=1)]).default_factory is int


def test_collation_can_be_extended_to_another_type():
    class Text:
        def __init__(self, words):
            self.words = words

    functions = {Text: lambda batch, collate_fn_map: [text.words for text in batch], **default_collate_fn_map}
    batch = collate([(Text("a"), 1), (Text("b"), 2)], collate_fn_map=functions)
    assert batch[0] == ["a", "b"]
    assert batch[1].tolist() == [1, 2]


def test_conversion_turns_arrays_into_tensors_and_nothing_else():
    converted = default_convert({"a": np.zeros(2), "b": [1, "x", np.float32(2)], "c": Point(np.int64(3), None)})
    assert converted["a"].dtype is weft.float64
    assert converted["b"][:2] == [1, "x"]
    assert converted["b"][2].item() == 2
    assert type(converted["c"]) is Point
    assert converted["c"].x.item() == 3
    assert default_convert(np.array(["a"])).tolist() == ["a"]


# Wrong calls


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TensorDataset(weft.zeros(2), weft.zeros(3)), AssertionError, r"Size mismatch .* \[2, 3\]"),
        (lambda: ConcatDataset([]), AssertionError, "should not be an empty iterable"),
        (lambda: ConcatDataset([Count(2)]), AssertionError, "does not support IterableDataset"),
        (lambda: (Squares(1) + Squares(1))[-3], ValueError, "should not exceed dataset length"),
        (lambda: (Squares(1) + Squares(1))[2], IndexError, "index 2 is out of range for length 2"),
        (lambda: list(ChainDataset([[1]])), AssertionError, "only supports IterableDataset, got list"),
        (lambda: StackDataset(Squares(1), Squares(2)), ValueError, "Size mismatch between datasets"),
        (lambda: StackDataset(), ValueError, "At least one dataset"),
        (lambda: StackDataset(Squares(1), a=Squares(1)), ValueError, "got both"),
        (lambda: random_split(Squares(10), [3, 3]), ValueError, "They sum to 6, the dataset has 10"),
        (lambda: random_split(Squares(10), [-0.5, 1.5]), ValueError, "Fraction at index 0 is not between 0 and 1"),
        (lambda: Dataset()[0], NotImplementedError, "must define __getitem__"),
        (lambda: iter(IterableDataset()), NotImplementedError, "must define __iter__"),
        (lambda: RandomSampler([]), ValueError, "num_samples=0"),
        (lambda: RandomSampler([1], replacement=3), TypeError, "replacement=3"),
        (lambda: WeightedRandomSampler([0.1], 0), ValueError, "num_samples=0"),
        (lambda: WeightedRandomSampler([[0.1]], 1), ValueError, r"weights have shape \(1, 1\)"),
        (lambda: BatchSampler(range(3), 0, False), ValueError, "batch_size=0"),
        (lambda: BatchSampler(range(3), 2, 3), ValueError, "drop_last=3"),
        (lambda: DistributedSampler(range(3), 2, 2), ValueError, r"Invalid rank 2, .* \[0, 1\]"),
        (lambda: default_collate([object()]), TypeError, "found <class 'object'>"),
        (lambda: default_collate([1j]), TypeError, "found <class 'complex'>"),
        (lambda: default_collate([np.array(["a"])]), TypeError, "found an array of dtype <U1"),
        (lambda: default_collate([[1, 2], [3]]), RuntimeError, "should be of equal size"),
        (lambda: default_collate([weft.zeros(2), weft.zeros(3)]), RuntimeError, "equal size"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()
