"""state_dict and load_state_dict: names, sharing, the report of what does not fit, hooks."""

from collections import OrderedDict

import pytest

import weft
from weft import nn


def model():
    return nn.Sequential(OrderedDict(a=nn.Linear(2, 2), b=nn.BatchNorm1d(2), c=nn.Sequential(nn.Linear(2, 1))))


KEYS = [
    "a.weight",
    "a.bias",
    "b.weight",
    "b.bias",
    "b.running_mean",
    "b.running_var",
    "b.num_batches_tracked",
    "c.0.weight",
    "c.0.bias",
]


class WithExtra(nn.Module):
    def __init__(self, extra=1):
        super().__init__()
        self.extra = extra

    def get_extra_state(self):
        return {"extra": self.extra}

    def set_extra_state(self, state):
        self.extra = state["extra"]


def test_keys_are_paths_in_order():
    assert list(model().state_dict()) == KEYS
    assert list(model().state_dict(prefix="x.")) == ["x." + key for key in KEYS]


def test_metadata_has_the_version_of_each_module():
    metadata = model().state_dict()._metadata
    assert metadata == {"": {"version": 1}, "a": {"version": 1}, "b": {"version": 2}, "c": {"version": 1}} | {
        "c.0": {"version": 1}
    }


def test_values_share_memory_and_are_detached():
    module = nn.Linear(1, 1)
    weight = module.state_dict()["weight"]
    assert not weight.requires_grad
    weight.fill_(7)
    assert module.weight.item() == 7.0
    assert module.state_dict(keep_vars=True)["weight"] is module.weight


def test_loading_what_was_saved_gives_the_same_values():
    first, second = model(), model()
    report = second.load_state_dict(first.state_dict())
    assert repr(report) == "<All keys matched successfully>"
    assert report == ([], [])
    for key, value in first.state_dict().items():
        assert second.state_dict()[key].tolist() == value.tolist()


def test_everything_that_does_not_fit_is_reported_at_once():
    state = dict(model().state_dict())
    del state["a.bias"]
    state |= {"zz": 1, "c.0.q": weft.ones(1), "d.e": weft.ones(1), "b.weight": weft.ones(5), "b.bias": 3}
    with pytest.raises(RuntimeError) as caught:
        model().load_state_dict(state)
    lines = str(caught.value).split("\n\t")
    assert lines[0] == "Error(s) in loading state_dict for Sequential:"
    assert lines[1] == 'Missing key(s) in state_dict: "a.bias". '
    assert lines[2] == 'Unexpected key(s) in state_dict: "zz", "d.e", "c.0.q". '
    assert lines[3].startswith("size mismatch for b.weight: copying a param with shape")
    assert 'parameter named "b.bias"' in lines[4]


def test_strict_false_reports_keys_but_not_as_errors():
    state = dict(model().state_dict())
    del state["a.bias"]
    state["zz"] = weft.ones(1)
    missing, unexpected = model().load_state_dict(state, strict=False)
    assert (missing, unexpected) == (["a.bias"], ["zz"])
    state["a.weight"] = weft.ones(5)
    with pytest.raises(RuntimeError, match="size mismatch"):
        model().load_state_dict(state, strict=False)


def test_assign_takes_the_tensors_over():
    module = nn.Linear(2, 1)
    state = {"weight": weft.ones(1, 2, dtype=weft.float64), "bias": weft.zeros(1)}
    module.load_state_dict(state, assign=True)
    assert module.weight.dtype is weft.float64
    assert isinstance(module.weight, nn.Parameter)
    assert module.weight.requires_grad


def test_loading_converts_to_the_dtype_of_the_model():
    module = nn.Linear(1, 1, bias=False)
    module.load_state_dict({"weight": weft.full((1, 1), 0.5, dtype=weft.float64)})
    assert module.weight.dtype is weft.float32
    assert module.weight.item() == 0.5


def test_one_element_loads_into_a_number():
    module = nn.Module()
    module.register_buffer("count", weft.tensor(0.0))
    module.load_state_dict({"count": weft.ones(1)})
    assert module.count.item() == 1.0


def test_a_batch_norm_saved_without_its_count_loads():
    state = dict(nn.BatchNorm1d(2).state_dict())
    del state["num_batches_tracked"]
    assert nn.BatchNorm1d(2).load_state_dict(state) == ([], [])


def test_what_is_not_a_mapping_is_refused():
    with pytest.raises(TypeError, match="dict-like"):
        model().load_state_dict(3)


def test_the_given_dict_is_not_changed():
    state = dict(model().state_dict())
    module = model()

    def drop_bias(module, state, prefix, *rest):
        state.pop(prefix + "bias")

    module.a.register_load_state_dict_pre_hook(drop_bias)
    with pytest.raises(RuntimeError, match="Missing"):
        module.load_state_dict(state)
    assert list(state) == KEYS


def test_extra_state_is_saved_and_loaded():
    saved = nn.Sequential(WithExtra(5), nn.ReLU())
    state = saved.state_dict()
    assert state == {"0._extra_state": {"extra": 5}}
    loaded = nn.Sequential(WithExtra(), nn.ReLU())
    loaded.load_state_dict(state)
    assert loaded[0].extra == 5
    with pytest.raises(RuntimeError, match="Missing"):
        loaded.load_state_dict({})
    with pytest.raises(RuntimeError, match="Unexpected"):
        nn.Sequential(nn.ReLU()).load_state_dict(state)


def test_state_dict_hooks_see_prefix_and_dict():
    seen = []
    module = nn.Sequential(nn.Linear(1, 1))
    module.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append((prefix, keep_vars)))
    module[0].register_state_dict_post_hook(
        lambda module, state, prefix, metadata: seen.append((list(state), prefix, metadata))
    )
    module.state_dict()
    assert seen == [("", False), (["0.weight", "0.bias"], "0.", {"version": 1})]


def test_a_post_hook_that_returns_is_an_error():
    module = nn.Linear(1, 1)
    module.register_state_dict_post_hook(lambda *args: {})
    with pytest.raises(RuntimeError, match="must return None"):
        module.state_dict()


def test_load_hooks_may_rename_keys_and_forgive_missing_ones():
    state = nn.Sequential(nn.Linear(1, 1)).state_dict()
    module = nn.Sequential(nn.Linear(1, 1))

    def drop_bias(module, state, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        state.pop(prefix + "bias")

    module[0].register_load_state_dict_pre_hook(drop_bias)
    module.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    assert repr(module.load_state_dict(state)) == "<All keys matched successfully>"


def test_a_load_post_hook_that_returns_is_an_error():
    module = nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda module, keys: keys)
    with pytest.raises(AssertionError, match="not expected to return new values"):
        module.load_state_dict(module.state_dict())


def test_positional_arguments_are_deprecated():
    with pytest.warns(FutureWarning, match="positional"):
        state = nn.Linear(1, 1).state_dict({}, "p.")
    assert list(state) == ["p.weight", "p.bias"]
