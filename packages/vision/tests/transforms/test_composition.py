"""Transforms made of transforms."""

import random

import pytest

import weft
from weft.vision import transforms as T


def add(number):
    return T.Lambda(lambda value: value + number)


def times(number):
    return T.Lambda(lambda value: value * number)


def test_compose_applies_in_order():
    assert T.Compose([add(1), times(10)])(2) == 30


def test_randomapply_draws_as_pytorch_does():
    weft.manual_seed(0)
    maybe = T.RandomApply([add(1)], p=0.3)
    assert [maybe(0) for _ in range(10)] == [0, 0, 1, 1, 0, 0, 0, 0, 0, 0]


def test_randomchoice_and_randomorder_draw_from_pythons_random():
    random.seed(0)
    choice = T.RandomChoice([times(0), times(1), times(2)])
    assert [choice(1) for _ in range(8)] == [2, 2, 1, 0, 1, 1, 2, 0]
    assert {T.RandomOrder([add(1), times(10)])(2) for _ in range(50)} == {30, 21}
    assert T.RandomChoice([times(0), times(3)], p=[0, 1])(1) == 3


def test_reprs_are_those_of_torchvision():
    listing = "    Grayscale(num_output_channels=1)\n    Pad(padding=1, fill=0, padding_mode=constant)\n)"
    members = [T.Grayscale(), T.Pad(1)]
    assert repr(T.Compose(members)) == "Compose(\n" + listing
    assert repr(T.RandomApply(members)) == "RandomApply(\n    p=0.5\n" + listing
    assert repr(T.RandomChoice(members)) == "RandomChoice(\n" + listing + "(p=None)"
    assert repr(T.RandomOrder(members)) == "RandomOrder(\n" + listing
    assert repr(times(1)) == "Lambda()"


def test_wrong_members_are_refused_at_once():
    with pytest.raises(TypeError, match="lambd should be callable"):
        T.Lambda(3)
    with pytest.raises(TypeError, match="should be a sequence"):
        T.RandomChoice(3)
    with pytest.raises(TypeError, match="should be a sequence"):
        T.RandomOrder(add(1))
