"""What scripts/check_docstrings.py finds, and that it finds nothing."""

import importlib.util
from pathlib import Path

import pytest

import weft

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "check_docstrings.py"


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_docstrings", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documented(a, b, *size, _private=None):
    """Sum.

    Parameters
    ----------
    a, b : int
        Numbers.
    *size : int

    Examples
    --------
    >>> 1 + 1
    2
    """


def without_b(a, b):
    """Sum.

    Parameters
    ----------
    a : int
        With b it is the sum.
    """


class Layer(weft.nn.Module):
    """A layer.

    Parameters
    ----------
    size : int

    Shapes
    ------
    input : (N, C)

    Examples
    --------
    >>> 1 + 1
    2
    """

    def __init__(self, size):
        super().__init__()

    def forward(self, input):
        return input


def test_names_in_one_line_and_stars_count_and_private_ones_do_not(check):
    assert check.arguments(documented) == ["a", "b", "size"]
    assert check.lacks(documented, ["a", "b", "size"]) == []


def test_what_is_missing_is_named(check):
    assert check.lacks(without_b, check.arguments(without_b)) == ["b", "Examples"]


def test_a_layer_says_the_shape_of_its_output(check):
    assert check.lacks(Layer, ["size"]) == ["Shapes"]


def test_the_check_sees_every_kind_of_public_name(check):
    names = {name for name, _, _ in check.documented()}
    assert {
        "weft.topk",
        "Tensor.backward",
        "weft.nn.functional.conv2d",
        "weft.nn.Conv2d",
        "Module.load_state_dict",
        "weft.optim.Adam",
        "weft.linalg.solve",
        "weft.fft.rfft",
        "weft.distributions.Normal",
        "weft.vision.ops.nms",
    } <= names


def test_nothing_lacks_documentation(check, capsys):
    assert check.main() == 0, capsys.readouterr().err
