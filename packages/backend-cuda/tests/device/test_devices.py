"""Devices: where tensors are, how they come there, and what may meet there."""

import pytest

import weft


def test_tensors_compute_and_differentiate_on_their_device():
    x = weft.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    y = (x * x + 1).exp().sum()
    y.backward()
    assert [str(each.device) for each in (x, y, x.grad)] == ["cuda:0"] * 3
    expected = weft.tensor([2.0, 4.0]) * weft.tensor([2.0, 5.0]).exp()
    assert weft.allclose(x.grad.cpu(), expected, rtol=1e-6)


@pytest.mark.skipif("weft.cuda.device_count() < 2", reason="needs two CUDA devices")
def test_copies_go_both_ways_and_gradients_come_back():
    x = weft.ones(3, requires_grad=True)
    y = x.to("cuda:1") * 2
    assert str(y.device) == "cuda:1"
    y.cpu().sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    assert x.grad.device.type == "cpu"


@pytest.mark.skipif("weft.cuda.device_count() < 2", reason="needs two CUDA devices")
def test_the_current_device_is_what_cuda_means():
    assert weft.cuda.current_device() == 0
    with weft.cuda.device(1):
        assert str(weft.zeros(1, device="cuda").device) == "cuda:1"
    weft.cuda.synchronize(1)
    assert weft.cuda.current_device() == 0
    assert weft.cuda.get_device_name(1)


@pytest.mark.skipif("weft.cuda.device_count() < 2", reason="needs two CUDA devices")
def test_kernels_run_on_the_device_of_their_tensors():
    x = weft.arange(4.0, device="cuda:1")
    assert weft.cuda.current_device() == 0
    y = (x.reshape(2, 2) @ x.reshape(2, 2)).softmax(0)
    assert str(y.device) == "cuda:1"
    assert y.cpu().sum().item() == pytest.approx(2)


def test_tensors_of_two_devices_do_not_mix():
    with pytest.raises(RuntimeError, match=r"same device.*(cuda:0.*cpu|cpu.*cuda:0)"):
        weft.ones(2, device="cuda:0") + weft.ones(2)


def test_numpy_takes_no_tensor_of_a_gpu():
    with pytest.raises(TypeError, match=r"cpu\(\)"):
        weft.ones(2, device="cuda").numpy()
