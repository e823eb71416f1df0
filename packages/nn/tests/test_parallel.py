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
