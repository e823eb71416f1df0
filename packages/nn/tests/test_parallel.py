"""DataParallel, as programs wrap models in it."""

import pytest

import weft
from weft import nn


def test_a_wrapped_model_computes_what_it_computes_alone():
    model = nn.Linear(2, 3)
    wrapped = nn.DataParallel(model, device_ids=[0]).eval()
    x = weft.ones(4, 2)
    assert weft.equal(wrapped(x), model(x))
    assert weft.equal(nn.parallel.data_parallel(model, x), model(x))
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert wrapped.module is model
    assert not model.training


def test_several_devices_are_refused():
    with pytest.raises(NotImplementedError, match="DataParallel: device_ids has 2 devices"):
        nn.DataParallel(nn.Linear(2, 3), device_ids=[0, 1])


def test_a_module_for_one_process_passes_on():
    model = nn.parallel.DistributedDataParallel(nn.Linear(2, 3), device_ids=None, find_unused_parameters=True)
    with model.no_sync():
        assert not model.require_backward_grad_sync
        model(weft.ones(1, 2)).sum().backward()
    assert model.require_backward_grad_sync
    assert model.module.bias.grad.tolist() == [1.0, 1.0, 1.0]
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
