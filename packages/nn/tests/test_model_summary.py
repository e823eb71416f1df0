"""The table of a model's modules."""

import pytest

import weft
from weft import nn
from weft.nn.utils import summary


class Shared(nn.Module):
    """Two modules with one weight, one input by name, and two outputs."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3, bias=False)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.drop = nn.Dropout(0.5)

    def forward(self, x, scale=1):
        return self.second(self.drop(self.first(x))) * scale, {"x": x}


def test_rows_have_shapes_and_parameters():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()), nn.Flatten())
    found = summary(model, input_size=(2, 1, 8, 8))
    assert [(row.name, row.depth, row.output_shape, row.parameters) for row in found.rows] == [
        ("", 0, [2, 144], 48),
        ("0", 1, [2, 4, 6, 6], 40),
        ("1", 1, [2, 4, 6, 6], 8),
        ("1.0", 2, [2, 4, 6, 6], 8),
        ("1.1", 2, [2, 4, 6, 6], 0),
        ("2", 1, [2, 144], 0),
    ]
    assert found.output_bytes == 4 * 4 * 288


def test_shared_parameters_count_once_and_frozen_ones_apart():
    model = Shared()
    model.second.bias.requires_grad_(False)
    found = summary(model)
    assert (found.total_parameters, found.trainable_parameters, found.parameter_bytes) == (12, 9, 48)
    assert [row.own_parameters for row in found.rows] == [0, 9, 3, 0]
    assert found.rows[0].output_shape is None


def test_modes_and_random_numbers_stay_as_they_are():
    model = Shared()
    model.drop.eval()
    before = weft.get_rng_state()
    found = summary(model, input_data={"x": weft.ones(2, 3)}, scale=2)
    assert found.rows[0].output_shape == [[2, 3], {"x": [2, 3]}]
    assert (model.training, model.drop.training) == (True, False)
    assert weft.equal(before, weft.get_rng_state())


def test_inputs_may_be_several_and_of_integers():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(5, 4)

        def forward(self, index, x):
            return self.embed(index) + x

    found = summary(Two(), input_size=[(2, 3), (2, 3, 4)], dtypes=[weft.int64, weft.float32])
    assert found.rows[1].output_shape == [2, 3, 4]
    with pytest.raises(ValueError, match="dtypes must be as many as the inputs of input_size, 2; got 1"):
        summary(Two(), input_size=[(2, 3), (2, 3, 4)], dtypes=[weft.int64])


def test_depth_limits_the_table():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)))
    assert [row.name for row in summary(model, depth=1).rows] == ["", "0"]
    lines = str(summary(model, depth=1)).splitlines()
    assert [line.split() for line in lines[2:4]] == [["Sequential", "-", "6"], ["0", "(Sequential)", "-", "6"]]
