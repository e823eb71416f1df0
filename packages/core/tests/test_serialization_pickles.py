"""Plain pickles: classes under other names, and nothing that the caller did not list."""

import os
import pickle

import pytest

import weft
from weft.serialization import pickles


class Record:
    def __init__(self, value):
        self.value = value


def restore(target, state):
    if type(state) is not dict or type(state.get("value")) is not weft.Size:
        raise ValueError("a record of no size")
    target.value = state["value"]


NAMES = {Record: "elsewhere.package.Record"}
CLASSES = {"elsewhere.package.Record": (Record, restore)}


def test_a_class_is_written_and_read_under_another_name():
    data = pickles.dumps([Record(weft.Size([2, 3])), weft.bfloat16], NAMES)
    assert b"elsewhere.package" in data
    assert b"torch" in data
    assert b"weft" not in data
    record, dtype = pickles.loads(data, CLASSES)
    assert type(record) is Record
    assert record.value == weft.Size([2, 3])
    assert dtype is weft.bfloat16


class Call:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    "value",
    [Call(os.system, ("true",)), Call(Record, (5,)), Call(object.__new__, (Record,)), Record(5)],
    ids=["a function", "the class called", "an object by hand", "a wrong state"],
)
def test_what_is_not_listed_is_refused(value):
    with pytest.raises(pickle.UnpicklingError):
        pickles.loads(pickles.dumps(value, NAMES), CLASSES)


def test_what_was_not_listed_at_all_is_refused():
    with pytest.raises(pickle.UnpicklingError, match=r"elsewhere.package.Record"):
        pickles.loads(pickles.dumps(Record(weft.Size([1])), NAMES), {})


def test_a_tensor_has_no_place():
    with pytest.raises(ValueError, match="no place for a tensor's memory"):
        pickles.dumps(weft.ones(2), {})
