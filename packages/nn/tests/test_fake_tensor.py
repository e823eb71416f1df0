"""Modules of fake tensors (`torch._subclasses.fake_tensor`), as tools that look at models make them."""

import weft
from weft import nn
from weft._subclasses import FakeTensor, FakeTensorMode


def test_a_model_is_built_and_called():
    with FakeTensorMode():
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4))
        out = model(weft.rand(2, 3))
    assert (type(out), out.shape, out.device.type) == (FakeTensor, (2, 4), "cpu")
    assert all(isinstance(each, FakeTensor) for each in model.parameters())


def test_a_loss_is_differentiated():
    with FakeTensorMode():
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 10))
        nn.functional.cross_entropy(model(weft.randn(2, 3, 8, 8)), weft.randint(0, 10, (2,))).backward()
    assert all(isinstance(each.grad, FakeTensor) for each in model.parameters())
    assert [each.grad.shape for each in model.parameters()] == [each.shape for each in model.parameters()]
