"""Data pipes: the base classes, the wrappers, and registration."""

import pytest

import weft
from weft.utils.data import DataLoader, Dataset, IterableDataset, IterDataPipe, MapDataPipe, functional_datapipe
from weft.utils.data.datapipes.iter import IterableWrapper
from weft.utils.data.datapipes.map import SequenceWrapper


def test_an_iterable_is_wrapped_and_loaded():
    pipe = IterableWrapper(range(5))
    assert isinstance(pipe, IterableDataset) and len(pipe) == 5
    assert [each.tolist() for each in DataLoader(pipe, batch_size=2)] == [[0, 1], [2, 3], [4]]


def test_what_is_written_to_samples_is_not_there_the_next_time():
    pipe = IterableWrapper([[1], [2]])
    for each in pipe:
        each.append(0)
    assert list(pipe) == [[1], [2]]
    shared = IterableWrapper([[1]], deepcopy=False)
    for each in shared:
        each.append(0)
    assert list(shared) == [[1, 0]]


def test_what_cannot_be_copied_is_used_with_a_warning():
    generator = (each for each in range(3))
    with pytest.warns(UserWarning, match="can not be deepcopied"):
        assert list(IterableWrapper(generator)) == [0, 1, 2]
    with pytest.raises(TypeError, match="doesn't have valid length"):
        len(IterableWrapper(generator))
    with pytest.warns(UserWarning, match="can not be deepcopied"):
        SequenceWrapper([generator])


def test_a_sequence_is_wrapped():
    pipe = SequenceWrapper({"a": 1, "b": 2})
    assert isinstance(pipe, Dataset) and isinstance(pipe, MapDataPipe)
    assert pipe["b"] == 2 and len(pipe) == 2


def test_a_registered_class_is_a_method(monkeypatch):
    monkeypatch.setattr(IterDataPipe, "functions", {})

    @functional_datapipe("plus")
    class Plus(IterDataPipe):
        def __init__(self, source, number):
            self.source, self.number = source, number

        def __iter__(self):
            return (each + self.number for each in self.source)

    assert list(IterableWrapper([1, 2]).plus(3)) == [4, 5]
    with pytest.raises(AttributeError, match="'IterableWrapper' object has no attribute 'minus'"):
        IterableWrapper([1]).minus
    with pytest.raises(TypeError, match="expected a class"):
        functional_datapipe("other")(weft.Tensor)
