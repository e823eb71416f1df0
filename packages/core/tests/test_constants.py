"""Constants and branches, on a namespace whose arrays must not be read."""

import math
from types import SimpleNamespace

import numpy
import pytest

from weft.ops import _numerics
from weft.ops._numerics import array_of, constant, is_numpy, pieces


class Device:
    """NumPy's functions as a device's namespace: no value is read, and nothing comes from the host."""

    ndarray = type("DeviceArray", (), {})

    def __getattr__(self, name):
        if name in ("all", "any", "nonzero"):
            raise AssertionError(f"waits in {name}")
        if name in ("array", "asarray"):
            return self.from_array
        return getattr(numpy, name)

    def from_array(self, value, dtype=None):
        assert isinstance(value, numpy.ndarray), f"sends {value!r}"
        return value if dtype is None else value.astype(dtype)


@pytest.fixture
def device(monkeypatch):
    xp = Device()
    backend = SimpleNamespace(index=0, sent=[])
    backend.current_device = lambda: backend.index
    backend.constant = lambda array, index: backend.sent.append(index) or array
    monkeypatch.setattr(_numerics, "owners_of", lambda namespace: [backend])
    xp.backend = backend
    return xp


def branches(x):
    return (x < 0, lambda v: -v), (x >= 0, numpy.sqrt), (x == 4, lambda v: v * 0 + 7)


def test_pieces_on_a_device_agree_and_wait_for_nothing(device):
    x = numpy.array([-2.0, 0.0, 4.0, 9.0, math.nan])
    with numpy.errstate(invalid="ignore"):
        there = pieces(device, x, *branches(x))
    numpy.testing.assert_array_equal(there, pieces(numpy, x, *branches(x)))
    numpy.testing.assert_array_equal(there, [2, 0, 7, 3, math.nan])


@pytest.mark.parametrize("xp", [numpy, Device()], ids=["host", "device"])
def test_pieces_take_several_arrays(xp):
    x, y = numpy.array([1.0, 2.0]), numpy.array([10.0, 20.0])
    result = pieces(xp, (x, y), (x < 2, numpy.add), (x >= 2, numpy.multiply))
    assert result.tolist() == [11, 40]


def test_constants_are_sent_once_to_each_device(device):
    sent = device.backend.sent
    values = (1.5, 2.5)
    first = constant(device, values, numpy.float32)
    assert constant(device, (1.5, 2.5), numpy.float32) is first and sent == [0]
    assert first.dtype == numpy.float32 and first.tolist() == [1.5, 2.5]
    assert constant(device, values, numpy.float64).dtype == numpy.float64 and sent == [0, 0]
    device.backend.index = 1
    constant(device, values, numpy.float32)
    assert sent == [0, 0, 1]


def steps(count):
    return numpy.arange(count)


def test_tables_are_kept_by_their_function_and_its_arguments(device):
    assert constant(device, steps, None, 3) is constant(device, steps, None, 3)
    assert constant(device, steps, numpy.int8, 4).dtype == numpy.int8
    assert device.backend.sent == [0, 0]


def test_constants_on_the_host_cannot_be_written_to():
    table = constant(numpy, steps, None, 5)
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 1


def test_numbers_are_filled_in_on_a_device(device):
    assert array_of(device, 2, numpy.float32).dtype == numpy.float32
    assert not is_numpy(device) and is_numpy(numpy)
