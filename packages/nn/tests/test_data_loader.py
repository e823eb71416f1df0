"""The loader in this process: order, batches, and its options."""

import numpy as np
import pytest

import weft
from weft.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
    random_split,
)


class Items(Dataset):
    """The items 0, 1, ...; remembers in which way they were read."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return index


class Count(IterableDataset):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        return iter(range(self.length))


class CountWithLength(Count):
    def __len__(self):
        return 2


def batches(loader):
    return [batch.tolist() for batch in loader]


def test_batches_come_in_order_and_the_last_is_shorter():
    assert batches(DataLoader(Items(5), batch_size=2)) == [[0, 1], [2, 3], [4]]


def test_drop_last_leaves_the_shorter_batch_out():
    loader = DataLoader(Items(5), batch_size=2, drop_last=True)
    assert batches(loader) == [[0, 1], [2, 3]]
    assert len(loader) == 2


def test_a_shuffled_pass_is_pytorchs_for_the_same_seed():
    weft.manual_seed(5)
    first = batches(DataLoader(Items(10), batch_size=3, shuffle=True))
    weft.manual_seed(5)
    second = batches(DataLoader(Items(10), batch_size=3, shuffle=True))
    assert first == second == [[8, 3, 0], [5, 9, 1], [6, 2, 4], [7]]


def test_a_generator_decides_the_order_alone():
    generator = weft.Generator().manual_seed(5)
    loader = DataLoader(Items(10), batch_size=3, shuffle=True, generator=generator)
    assert batches(loader) == [[7, 4, 8], [1, 2, 3], [6, 5, 9], [0]]
    assert batches(loader) != [[7, 4, 8], [1, 2, 3], [6, 5, 9], [0]]


def test_beginning_a_pass_draws_one_seed_from_the_generator():
    first, second = weft.Generator().manual_seed(5), weft.Generator().manual_seed(5)
    iter(DataLoader(Items(3), generator=first))
    assert weft.empty((), dtype=weft.int64).random_(generator=second).item() == 4095051218741643470
    assert first.get_state().tolist() == second.get_state().tolist()


def test_batch_size_none_gives_single_samples_converted_to_tensors():
    class Arrays(Items):
        def __getitem__(self, index):
            return np.full(2, index)

    samples = list(DataLoader(Arrays(2), batch_size=None))
    assert all(isinstance(sample, weft.Tensor) for sample in samples)
    assert [sample.tolist() for sample in samples] == [[0, 0], [1, 1]]


def test_a_sampler_may_be_any_iterable():
    assert batches(DataLoader(Items(9), batch_size=2, sampler=[7, 3, 5])) == [[7, 3], [5]]
    assert batches(DataLoader(Items(9), batch_sampler=[[1, 2], [3]])) == [[1, 2], [3]]


def test_collate_fn_replaces_the_default():
    assert list(DataLoader(Items(3), batch_size=2, collate_fn=tuple)) == [(0, 1), (2,)]


def test_a_dataset_that_reads_many_at_once_is_asked_to():
    class Many(Items):
        def __getitems__(self, indices):
            return [-index for index in indices]

    assert batches(DataLoader(Many(3), batch_size=2)) == [[0, -1], [-2]]


def test_an_iterable_dataset_is_cut_into_batches():
    assert batches(DataLoader(Count(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert batches(DataLoader(Count(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Count(3), batch_size=None)) == [0, 1, 2]


def test_more_samples_than_an_iterable_dataset_promised_are_warned_of():
    loader = DataLoader(CountWithLength(3))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="Length of IterableDataset"):
        assert batches(loader) == [[0], [1], [2]]


def test_two_passes_at_once_do_not_disturb_each_other():
    loader = DataLoader(Items(3))
    pairs = [(a.item(), b.item()) for a in loader for b in loader]
    assert pairs == [(a, b) for a in range(3) for b in range(3)]


@pytest.mark.parametrize("wrap", [lambda data: data, lambda data: Subset(data, [3, 1, 4, 0, 2])])
def test_gathering_a_tensor_dataset_gives_what_collating_its_samples_gives(wrap):
    data = TensorDataset(weft.arange(5), weft.arange(10.0).reshape(5, 2))

    class Slow(Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return wrap(data)[index]

    fast, slow = list(DataLoader(wrap(data), batch_size=2)), list(DataLoader(Slow(), batch_size=2))
    assert [[part.tolist() for part in batch] for batch in fast] == [
        [part.tolist() for part in batch] for batch in slow
    ]
    assert [[part.dtype for part in batch] for batch in fast] == [[part.dtype for part in batch] for batch in slow]


def test_a_subclass_of_tensor_dataset_is_read_through_its_own_getitem():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple(part * 2 for part in super().__getitem__(index))

    data = Doubled(weft.arange(3))
    assert [batch[0].tolist() for batch in DataLoader(data, batch_size=2)] == [[0, 2], [4]]
    (first, _) = random_split(data, [2, 1])
    assert sorted(DataLoader(first, batch_size=2).__iter__().__next__()[0].tolist()) == sorted(
        2 * index for index in first.indices
    )


def test_an_index_out_of_range_is_an_index_error():
    data = TensorDataset(weft.arange(3))
    with pytest.raises(IndexError):
        list(DataLoader(data, sampler=[5]))


def test_gathered_samples_carry_gradients_to_the_dataset():
    source = weft.arange(3.0).requires_grad_()
    ((batch,),) = DataLoader(TensorDataset(source * 2), batch_size=3)
    batch.sum().backward()
    assert source.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
        ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified in multiprocessing"),
        ({"prefetch_factor": -1, "num_workers": 1}, ValueError, "prefetch_factor option should be non-negative"),
        ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [1], "shuffle": True}, ValueError, "mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 3}, ValueError, "mutually exclusive with batch_size"),
        ({"batch_size": None, "drop_last": True}, ValueError, "mutually exclusive with drop_last"),
        ({"batch_size": 0}, ValueError, "batch_size=0"),
        ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process loading"),
        ({"multiprocessing_context": "x", "num_workers": 1}, ValueError, "valid start method in"),
        ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "valid context object"),
    ],
)
def test_a_wrong_option_says_what_is_wrong(options, error, message):
    with pytest.raises(error, match=message):
        DataLoader(Items(3), **options)


@pytest.mark.parametrize(
    "options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}], ids=lambda value: next(iter(value))
)
def test_an_iterable_dataset_takes_no_order(options):
    (option,) = options
    with pytest.raises(ValueError, match=f"expected unspecified {option} option"):
        DataLoader(Count(3), **options)


def test_a_loader_of_ones_own_may_replace_its_sampler_as_timms_does():
    class Twice(DataLoader):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._DataLoader__initialized = False
            self.batch_sampler = [*self.batch_sampler] * 2
            self._DataLoader__initialized = True

    loader = Twice(Items(3), batch_size=2)
    assert [batch.tolist() for batch in loader] == [batch.tolist() for batch in [*DataLoader(Items(3), 2)] * 2]
    with pytest.raises(ValueError, match="batch_sampler attribute should not be set"):
        loader.batch_sampler = []


@pytest.mark.parametrize("name", ["batch_size", "sampler", "batch_sampler", "drop_last", "dataset"])
def test_what_decides_the_batches_cannot_be_changed_later(name):
    loader = DataLoader(Items(3))
    with pytest.raises(ValueError, match=f"{name} attribute should not be set"):
        setattr(loader, name, None)


def test_a_batch_sampler_stands_in_for_batch_size():
    loader = DataLoader(Items(3), batch_sampler=BatchSampler(SequentialSampler(range(3)), 2, True))
    assert (loader.batch_size, loader.drop_last, len(loader)) == (None, False, 1)


def test_the_functions_of_default_collate_can_be_extended_by_their_names():
    from weft.utils.data._utils.collate import collate, collate_str_fn, default_collate_fn_map

    class Label(str):
        pass

    functions = {**default_collate_fn_map, Label: lambda batch, collate_fn_map: "+".join(batch)}
    assert collate([("a", Label("x")), ("b", Label("y"))], collate_fn_map=functions) == [("a", "b"), "x+y"]
    assert collate_str_fn(["a", "b"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("batch", "dtype"),
    [([1, 2], weft.int64), ([True, False], weft.bool), ([True, 2], weft.int64), ([1, 2.5], weft.float32)],
    ids=str,
)
def test_numbers_have_the_dtype_that_a_tensor_of_them_has(batch, dtype):
    found = default_collate(batch)
    assert found.dtype is dtype
    assert found.tolist() == batch


def test_numbers_that_are_too_large_are_refused():
    with pytest.raises((RuntimeError, ValueError), match=r"verflow|range"):
        default_collate([1, 1 << 70])


def test_arrays_are_stacked_whatever_their_layout_and_type():
    rows = np.arange(12.0).reshape(3, 4)
    assert default_collate([rows.T, rows.T + 1])[1].tolist() == (rows.T + 1).tolist()
    assert default_collate([np.zeros(2, np.float32), np.ones(2)]).dtype is weft.float64
    assert default_collate([np.array(1), np.array(2)]).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([np.zeros(2), np.zeros(3)])


class OwnIterator(IterableDataset):
    """Counts to 5; an iterator of itself, which begins anew each time that it is asked for one."""

    def __iter__(self):
        self.n = 0
        return self

    def __next__(self):
        if self.n == 5:
            raise StopIteration
        self.n += 1
        return self.n


class GoesOn:
    """An iterator that ends after 3 items, and would go on if it were asked again."""

    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        if self.n == 4 or self.n > 9:
            raise StopIteration
        return self.n


@pytest.mark.parametrize("batch_size", [None, 1, 2, 5, 7])
@pytest.mark.parametrize("drop_last", [False, True])
def test_a_dataset_that_is_its_own_iterator_is_read_to_its_end(batch_size, drop_last):
    if batch_size is None:
        loader, expected = DataLoader(OwnIterator(), batch_size=None), [1, 2, 3, 4, 5]
    else:
        loader = DataLoader(OwnIterator(), batch_size=batch_size, drop_last=drop_last)
        expected = [list(range(i, min(i + batch_size, 6))) for i in range(1, 6, batch_size)]
        expected = [batch for batch in expected if len(batch) == batch_size or not drop_last]
    for _ in range(2):
        got = [batch if batch_size is None else batch.tolist() for batch, _ in zip(loader, range(20))]
        assert got == expected


@pytest.mark.parametrize("drop_last", [False, True])
def test_a_sampler_that_is_its_own_iterator_is_read_to_its_end(drop_last):
    batches = BatchSampler(OwnIterator(), 2, drop_last)
    expected = [[1, 2], [3, 4]] if drop_last else [[1, 2], [3, 4], [5]]
    for _ in range(2):
        assert [batch for batch, _ in zip(batches, range(20))] == expected


def test_an_iterator_that_has_ended_is_not_asked_again():
    class Wrapped(IterableDataset):
        def __iter__(self):
            return GoesOn()

    assert [batch.tolist() for batch in DataLoader(Wrapped(), batch_size=2)] == [[1, 2], [3]]
    assert list(BatchSampler(GoesOn(), 2, drop_last=False)) == [[1, 2], [3]]
    assert list(BatchSampler(GoesOn(), 2, drop_last=True)) == [[1, 2]]


def test_iterators_take_what_has_a_loaders_attributes():
    """fastai makes them of an object of its own; ignite asks for the kind of a loader's dataset."""
    from weft.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

    class Loader:
        _IterableDataset_len_called, _auto_collation, drop_last, generator = None, False, False, None
        _dataset_kind = _DatasetKind.Iterable
        _index_sampler = range(10)

        def __init__(self):
            self.dataset = self

        def collate_fn(self, sample):
            return sample * 2

        def __iter__(self):
            return iter([1, 2, 3])

    assert list(_SingleProcessDataLoaderIter(Loader())) == [2, 4, 6]
    assert DataLoader([1])._dataset_kind == _DatasetKind.Map


@pytest.mark.skipif(weft.accelerator.is_available(), reason="is about a machine without an accelerator")
def test_without_an_accelerator_pinning_is_warned_of():
    with pytest.warns(UserWarning, match="no accelerator is found"):
        batches = list(DataLoader([1, 2], pin_memory=True))
    assert len(batches) == 2
