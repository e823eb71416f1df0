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


def test_a_replica_has_the_entries_of_lists_and_dictionaries_but_no_parameters_of_its_own():
    parts = [weft.nn.Parameter(weft.ones(2)), weft.nn.Parameter(weft.zeros(2))]
    for module in (weft.nn.ParameterList(parts), weft.nn.ParameterDict({"a": parts[0], "b": parts[1]})):
        replica = module._replicate_for_data_parallel()
        for name, parameter in module.named_parameters():
            setattr(replica, name, parameter.view_as(parameter))
        found = list(replica.values() if isinstance(replica, weft.nn.ParameterDict) else replica)
        assert all(each._base is part and each.grad_fn is not None for each, part in zip(found, parts))
        assert not list(replica.parameters())
        assert len(list(module.parameters())) == 2


def test_broadcast_is_for_one_device_that_is_not_the_cpu():
    from weft.nn.parallel._functions import Broadcast

    with pytest.raises(NotImplementedError, match="one device"):
        Broadcast.apply((0, 1), weft.ones(2))
    with pytest.raises(AssertionError, match="not implemented for CPU tensors"):
        Broadcast.apply((0,), weft.ones(2))
    moved = Broadcast.apply(("meta",), weft.ones(2, device="meta", requires_grad=True), weft.ones(3, device="meta"))
    assert [each.requires_grad for each in moved] == [True, False]
