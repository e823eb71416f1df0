"""The suite of every backend on the second device, while the first is the current one."""

import pytest

import weft
from weft.testing import BackendSuite


@pytest.mark.skipif("weft.cuda.device_count() < 2", reason="needs two CUDA devices")
class TestSecondDevice(BackendSuite):
    device = "cuda:1"


def test_the_first_device_is_the_current_one():
    assert weft.cuda.current_device() == 0
