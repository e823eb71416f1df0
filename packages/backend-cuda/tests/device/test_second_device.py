"""The suite of every backend on the second device, while the first is the current one."""

import pytest

import weft
from weft.testing import BackendSuite

two_devices = pytest.mark.skipif("weft.cuda.device_count() < 2", reason="needs two CUDA devices")


@two_devices
class TestSecondDevice(BackendSuite):
    device = "cuda:1"


def test_the_first_device_is_the_current_one():
    assert weft.cuda.current_device() == 0


def written(x):
    x[()] = 1.0
    return x


def swapped(x):
    x.untyped_storage().byteswap(weft.float32)
    return x


OUTSIDE_OF_KERNELS = {
    "inv": weft.linalg.inv,
    "solve": lambda x: weft.linalg.solve(x, x),
    "cholesky": weft.linalg.cholesky,
    "lu_factor": lambda x: weft.linalg.lu_factor(x)[0],
    "resize_": lambda x: x.resize_(5, 2)[:3].clone(),
    "setitem": written,
    "byteswap": swapped,
    "bincount": lambda x: x.reshape(-1).long().bincount(),
    "sparse": lambda x: weft.sparse.mm(x.to_sparse(), x),
    "compiled": weft.compile(lambda x: (x * 2).relu_().add_(x)),
}


@two_devices
@pytest.mark.parametrize("name", OUTSIDE_OF_KERNELS)
def test_what_is_done_outside_of_kernels_is_done_on_the_tensors_device(name):
    call = OUTSIDE_OF_KERNELS[name]
    x = weft.eye(3) + weft.ones(3, 3)
    found = call(x.to("cuda:1"))
    assert found.device.index == 1
    weft.testing.assert_close(found.cpu(), call(x))
