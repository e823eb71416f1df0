"""weft.nn.modules: the paths by which PyTorch programs import layers."""

import importlib

import pytest

import weft
from weft import nn


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("activation", "MultiheadAttention"),
        ("batchnorm", "_BatchNorm"),
        ("container", "ModuleList"),
        ("conv", "_ConvNd"),
        ("loss", "_Loss"),
        ("module", "Module"),
        ("rnn", "RNNBase"),
    ],
)
def test_a_path_leads_to_the_same_class(path, name):
    found = getattr(importlib.import_module(f"weft.nn.modules.{path}"), name)
    assert found.__module__.startswith("weft.nn.")
    assert found.__name__ == name
    assert getattr(nn.modules, path) is importlib.import_module(f"weft.nn.modules.{path}")


def test_all_layers_are_reached_without_a_path():
    assert nn.modules.Linear is nn.Linear
    with pytest.raises(AttributeError, match="Linaer"):
        nn.modules.Linaer


def test_sizes_are_repeated():
    from weft.nn.modules.utils import _ntuple, _pair

    assert _pair(3) == (3, 3)
    assert _ntuple(3)([1, 2, 3]) == (1, 2, 3)


def test_the_namespace_lists_what_it_has():
    assert all(hasattr(weft.nn, name) for name in weft.nn.__all__)
