"""`weft._functorch` and `weft.func.functorch`: modules of function transforms under PyTorch's private names."""

import pytest

import weft
from weft._functorch import vmap as steps
from weft.func import functorch


def test_transforms_have_functorchs_names():
    assert functorch.vmap is weft.func.vmap
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        functorch.nonsense


def test_vmap_takes_its_steps_by_name(monkeypatch):
    """tensordict replaces them, so that its containers are mapped over as tensors are."""

    class Box:
        def __init__(self, value):
            self.value = value

    def process(in_dims, args, func):
        return args[0].value.shape[0], [0], list(args), None

    def create(dims, leaves, level, spec):
        return (Box(steps._add_batch_dim(leaves[0].value, dims[0], level)),)

    def unwrap(result, out_dims, level, size, func):
        return Box(steps._maybe_remove_batch_dim("a name", result.value, level, size, out_dims))

    monkeypatch.setattr(steps, "_process_batched_inputs", process)
    monkeypatch.setattr(steps, "_create_batched_inputs", create)
    monkeypatch.setattr(steps, "_unwrap_batched", unwrap)
    found = weft.func.vmap(lambda box: Box(box.value.sum()))(Box(weft.ones(3, 2)))
    assert found.value.tolist() == [2.0, 2.0, 2.0]


def test_a_result_of_all_examples_gets_the_dimension_of_examples():
    def function(x):
        both = steps._remove_batch_dim(x * 2, 1, 3, 0), steps._remove_batch_dim(weft.ones(2), 1, 3, 1)
        found.extend(both)
        return x

    found = []
    weft.func.vmap(function)(weft.ones(3, 2))
    assert [each.shape for each in found] == [(3, 2), (2, 3)]
    with pytest.raises(ValueError, match=r"can not return a BatchedTensor when out_dim is None"):
        weft.func.vmap(lambda x: x, out_dims=None)(weft.ones(3))


def test_the_mode_of_fake_tensors_that_is_active_is_told():
    """tensordict asks before it maps a file."""
    from weft._subclasses import FakeTensorMode

    assert weft._guards.active_fake_mode() is None
    with FakeTensorMode() as outer:
        with FakeTensorMode() as inner:
            assert weft._guards.active_fake_mode() is inner
        assert weft._guards.active_fake_mode() is outer
    assert weft._guards.active_fake_mode() is None


def test_a_base_class_of_context_managers_decorates():
    """tensordict derives set_interaction_type from it."""
    from weft.utils._contextlib import _DecoratorContextManager

    class Entering(_DecoratorContextManager):
        def __init__(self, name):
            self.name = name

        def clone(self):
            return Entering(self.name)

        def __enter__(self):
            seen.append(self.name)

        def __exit__(self, *exc):
            seen.append("left")

    @Entering("a")
    def function():
        seen.append("in")

    seen = []
    function()
    with Entering("b"):
        pass
    assert seen == ["a", "in", "left", "b", "left"]


def test_names_of_devices_and_storages_that_tensordict_asks():
    from weft import _utils

    assert _utils._get_available_device_type() in (None, "cuda")
    assert _utils._get_device_module("cpu") is weft.cpu
    assert isinstance(weft.ones(2).untyped_storage(), weft.StorageBase)


def test_vmap_has_its_first_name_too():
    x = weft.arange(6.0).view(2, 3)
    with pytest.warns(FutureWarning, match=r"Please use `weft\.vmap` instead"):
        mapped = weft._vmap_internals.vmap(weft.sum)
    assert mapped(x).tolist() == weft.vmap(weft.sum)(x).tolist()
    assert weft._vmap_internals._vmap(weft.sum, 1)(x).tolist() == x.sum(0).tolist()
