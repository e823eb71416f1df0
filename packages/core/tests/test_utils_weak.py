"""Dictionaries with weak keys that are known by identity; tensordict keeps what it knows of tensors in them."""

import copy

import pytest

import weft
from weft.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakTensorKeyDictionary


def test_keys_are_known_by_identity():
    x, y = weft.ones(2), weft.ones(2)
    found = WeakIdKeyDictionary({x: "x"})
    assert x in found and y not in found
    found[y] = "y"
    assert {id(key) for key in found} == {id(x), id(y)}
    assert (found[x], found.get(y), found.pop(x), len(found)) == ("x", "y", "x", 1)
    with pytest.raises(KeyError):
        found[x]
    assert 3 not in found


def test_an_entry_goes_with_its_key():
    x = weft.ones(2)
    found = WeakTensorKeyDictionary()
    found[x] = "x"
    copied, joined, reference = copy.copy(found), found | {}, TensorWeakRef(x)
    assert reference() is x
    assert len(found.keyrefs()) == len(copied) == len(joined) == 1
    del x
    assert len(found) == len(copied) == len(joined) == 0
    assert reference() is None
