"""Module: attributes, traversal, conversion, printing, copying."""

import copy
import pickle

import pytest

import weft
from weft import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.norm = nn.BatchNorm1d(3)
        self.last = nn.Sequential(nn.ReLU(), nn.Linear(3, 1, bias=False))

    def forward(self, input):
        return self.last(self.norm(self.first(input)))


# -- attributes ------------------------------------------------------------------------------------------------------


def test_attributes_go_to_the_table_of_their_kind():
    module = nn.Module()
    module.weight = nn.Parameter(weft.ones(1))
    module.child = nn.ReLU()
    module.state = nn.Buffer(weft.ones(2))
    module.scratch = nn.Buffer(weft.ones(2), persistent=False)
    module.number = 3
    assert list(module._parameters) == ["weight"]
    assert list(module._modules) == ["child"]
    assert list(module._buffers) == ["state", "scratch"]
    assert list(module.state_dict()) == ["weight", "state"]
    assert module.__dict__["number"] == 3


def test_a_parameter_assigned_over_another_kind_takes_its_place():
    module = nn.Module()
    module.x = 3
    module.x = nn.Parameter(weft.ones(1))
    assert "x" not in module.__dict__
    module.y = nn.ReLU()
    module.y = nn.Parameter(weft.ones(1))
    assert list(module._modules) == []
    assert list(module._parameters) == ["x", "y"]


def test_none_keeps_the_place_of_a_parameter_and_leaves_it_out_of_the_state():
    module = nn.Linear(2, 2)
    module.bias = None
    assert list(module._parameters) == ["weight", "bias"]
    assert list(module.state_dict()) == ["weight"]
    assert [name for name, _ in module.named_parameters()] == ["weight"]


@pytest.mark.parametrize("value", [3, "tensor", "module"])
def test_only_a_parameter_may_replace_a_parameter(value):
    module = nn.Linear(1, 1)
    value = {"tensor": weft.ones(1), "module": nn.ReLU()}.get(value, value)
    with pytest.raises(TypeError, match="parameter 'weight'"):
        module.weight = value


def test_only_a_module_may_replace_a_module():
    module = nn.Sequential(nn.ReLU())
    module.extra = nn.Tanh()
    with pytest.raises(TypeError, match="child module 'extra'"):
        module.extra = 3


def test_only_a_tensor_may_replace_a_buffer():
    module = nn.BatchNorm1d(1)
    with pytest.raises(TypeError, match="buffer 'running_mean'"):
        module.running_mean = 3
    module.running_mean = weft.ones(1)
    assert module.state_dict()["running_mean"].tolist() == [1.0]


def test_deleting_removes_from_every_table():
    module = Net()
    del module.first.weight
    del module.norm.running_mean
    del module.last
    assert list(module.state_dict()) == [
        "first.bias",
        "norm.weight",
        "norm.bias",
        "norm.running_var",
        "norm.num_batches_tracked",
    ]
    with pytest.raises(AttributeError):
        del module.last


def test_a_missing_attribute_is_named():
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wieght'"):
        nn.Linear(1, 1).wieght


def test_an_attribute_error_inside_a_property_is_not_hidden():
    class Broken(nn.Module):
        @property
        def size(self):
            return self.nothing

    with pytest.raises(AttributeError, match="its property 'size' raised"):
        Broken().size


@pytest.mark.parametrize("value", ["parameter", "module", "buffer"])
def test_assignment_before_init_says_what_to_call(value):
    class Early(nn.Module):
        def __init__(self):
            made = {"parameter": nn.Parameter(weft.ones(1)), "module": nn.ReLU(), "buffer": nn.Buffer(weft.ones(1))}
            self.value = made[value]

    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\)"):
        Early()


def test_a_forgotten_init_is_explained_at_the_first_call():
    class Early(nn.Module):
        def __init__(self):
            self.number = 3

    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\)"):
        Early()(1)


@pytest.mark.parametrize("method", ["register_parameter", "register_buffer", "add_module", "register_module"])
@pytest.mark.parametrize(
    ("name", "error"), [("a.b", KeyError), ("", KeyError), ("forward", KeyError), (3, TypeError)], ids=str
)
def test_names_are_checked(method, name, error):
    with pytest.raises(error):
        getattr(nn.Linear(1, 1), method)(name, None)


@pytest.mark.parametrize("method", ["register_parameter", "register_buffer", "add_module"])
def test_values_are_checked(method):
    with pytest.raises(TypeError):
        getattr(nn.Linear(1, 1), method)("x", 3)


def test_a_computed_tensor_is_no_parameter():
    with pytest.raises(TypeError, match="Parameter or None required"):
        nn.Module().register_parameter("x", nn.Parameter(weft.ones(1)) * 2)


def test_arguments_to_the_base_class_are_refused():
    with pytest.raises(TypeError, match="takes no arguments"):
        nn.Module(3)
    with pytest.raises(TypeError, match="a=3"):
        nn.Module(a=3)


def test_call_super_init_passes_arguments_on():
    class Mixin:
        def __init__(self, value):
            self.value = value

    class Both(nn.Module, Mixin):
        call_super_init = True

    assert Both(5).value == 5


def test_dir_completes_members_but_not_numbers():
    names = dir(nn.Sequential(nn.Linear(1, 1)))
    assert "add_module" in names
    assert "0" not in names
    assert "weight" in dir(nn.Linear(1, 1))


# -- traversal -------------------------------------------------------------------------------------------------------


def shared_modules():
    linear, norm = nn.Linear(1, 1), nn.BatchNorm1d(1)
    return nn.Sequential(linear, nn.Sequential(linear, norm), norm), linear, norm


def test_what_is_shared_is_listed_once():
    model, _, _ = shared_modules()
    assert [name for name, _ in model.named_parameters()] == ["0.weight", "0.bias", "1.1.weight", "1.1.bias"]
    assert [name for name, _ in model.named_modules()] == ["", "0", "1", "1.1"]
    assert [name for name, _ in model.named_buffers("p")] == [
        "p.1.1.running_mean",
        "p.1.1.running_var",
        "p.1.1.num_batches_tracked",
    ]
    assert len(list(model.parameters())) == 4


def test_what_is_shared_is_listed_everywhere_on_request():
    model, _, _ = shared_modules()
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    assert names == ["0.weight", "0.bias", "1.0.weight", "1.0.bias", "1.1.weight", "1.1.bias", "2.weight", "2.bias"]
    assert [name for name, _ in model.named_modules(remove_duplicate=False)] == ["", "0", "1", "1.0", "1.1", "2"]


def test_recurse_false_lists_own_members_only():
    model, linear, _ = shared_modules()
    assert list(model.parameters(recurse=False)) == []
    assert [name for name, _ in linear.named_parameters(recurse=False)] == ["weight", "bias"]


def test_paths_lead_to_modules_parameters_and_buffers():
    model, linear, norm = shared_modules()
    assert model.get_submodule("") is model
    assert model.get_submodule("1.1") is norm
    assert model.get_parameter("1.0.weight") is linear.weight
    assert model.get_buffer("2.running_mean") is norm.running_mean


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get_submodule", "weight"),
        ("get_submodule", "absent"),
        ("get_parameter", "absent"),
        ("get_parameter", "training"),
        ("get_buffer", "weight"),
        ("get_buffer", "absent.b"),
    ],
)
def test_a_wrong_path_names_the_step(method, path):
    with pytest.raises(AttributeError, match=path.split(".")[0]):
        getattr(nn.Linear(1, 1), method)(path)


def test_set_submodule_replaces_and_adds():
    model, _, _ = shared_modules()
    model.set_submodule("1.0", nn.ReLU())
    model.set_submodule("head", nn.Tanh())
    assert isinstance(model[1][0], nn.ReLU)
    assert isinstance(model.head, nn.Tanh)


@pytest.mark.parametrize(
    ("target", "module", "strict", "error"),
    [
        ("", nn.ReLU(), False, ValueError),
        ("a", nn.ReLU(), True, AttributeError),
        ("a.b", nn.ReLU(), False, AttributeError),
        ("weight", nn.ReLU(), False, AttributeError),
        ("a", 3, False, ValueError),
    ],
)
def test_set_submodule_checks_target_and_module(target, module, strict, error):
    with pytest.raises(error):
        nn.Linear(1, 1).set_submodule(target, module, strict=strict)


def test_apply_visits_children_first():
    seen = []
    model = Net()
    assert model.apply(lambda module: seen.append(type(module).__name__)) is model
    assert seen == ["Linear", "BatchNorm1d", "ReLU", "Linear", "Sequential", "Net"]


def test_train_and_eval_reach_all_modules():
    model = Net()
    assert model.eval() is model
    assert [module.training for module in model.modules()] == [False] * 6
    assert model.train().norm.training
    with pytest.raises(ValueError, match="boolean"):
        model.train(3)


def test_requires_grad_freezes():
    model = Net().requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_zero_grad_drops_or_fills():
    module = nn.Linear(1, 1)
    module(weft.ones(1)).backward()
    gradient = module.weight.grad
    module.zero_grad(set_to_none=False)
    assert module.weight.grad is gradient
    assert gradient.tolist() == [[0.0]]
    module.zero_grad()
    assert module.weight.grad is None


# -- conversion ------------------------------------------------------------------------------------------------------


def dtypes(module):
    return [str(tensor.dtype).split(".")[-1] for tensor in [*module.parameters(), *module.buffers()]]


@pytest.mark.parametrize(
    ("method", "name"), [("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("float", "float32")]
)
def test_casts_change_floating_tensors_and_gradients_in_place(method, name):
    module = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    weight = module[0].weight
    module[0](weft.ones(1, 1)).sum().backward()
    assert getattr(module, method)() is module
    assert dtypes(module) == [name] * 6 + ["int64"]
    assert module[0].weight is weight
    assert str(weight.grad.dtype).endswith(name)


def test_to_takes_dtype_device_or_tensor():
    module = nn.BatchNorm1d(1)
    assert dtypes(module.to(weft.float64)) == ["float64"] * 4 + ["int64"]
    assert dtypes(module.to("cpu", weft.float32)) == ["float32"] * 4 + ["int64"]
    assert dtypes(module.to(weft.ones(1, dtype=weft.float16))) == ["float16"] * 4 + ["int64"]
    assert dtypes(module.to(device="cpu", dtype=weft.float32, non_blocking=True)) == ["float32"] * 4 + ["int64"]
    assert module.to() is module


@pytest.mark.parametrize(
    ("args", "kwargs"), [((3, 4, 5), {}), (("cpu",), {"a": 3}), ((1.5,), {}), ((weft.float32, weft.float64), {})]
)
def test_to_refuses_other_forms(args, kwargs):
    if len(args) == 2:
        kwargs = {"dtype": weft.float32}
    with pytest.raises(TypeError, match="invalid combination"):
        nn.Linear(1, 1).to(*args, **kwargs)


def test_to_refuses_integer_dtypes():
    with pytest.raises(TypeError, match="floating point or complex"):
        nn.Linear(1, 1).to(weft.int32)


def test_type_casts_integers_too():
    assert dtypes(nn.BatchNorm1d(1).type(weft.float64)) == ["float64"] * 5


def test_to_empty_keeps_the_parameter_object():
    module = nn.Linear(3, 2)
    weight = module.weight
    assert module.to_empty(device="cpu").weight is weight
    assert weight.shape == (2, 3)


# -- printing --------------------------------------------------------------------------------------------------------


def test_repr_shows_the_tree():
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (norm): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)\n"
        "  (last): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=3, out_features=1, bias=False)\n"
        "  )\n"
        ")"
    )


def test_extra_repr_of_several_lines_is_indented():
    class Described(nn.Module):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(Described()) == "Described(\n  one\n  two\n)"
    module = Described()
    module.child = nn.ReLU()
    assert repr(module) == "Described(\n  one\n  two\n  (child): ReLU()\n)"
    assert repr(nn.Module()) == "Module()"


# -- calling and copying ---------------------------------------------------------------------------------------------


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match='missing the required "forward"'):
        nn.Module()(3)


def test_keyword_arguments_reach_forward():
    class Power(nn.Module):
        def forward(self, input, *, exponent=1):
            return input**exponent

    assert Power()(weft.tensor(3.0), exponent=2).item() == 9.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_a_copy_computes_the_same_and_shares_nothing(copied):
    model = Net().eval()
    other = copied(model)
    input = weft.ones(3, 2)
    assert other(input).tolist() == model(input).tolist()
    assert list(other.state_dict()) == list(model.state_dict())
    assert isinstance(other.first.weight, nn.Parameter)
    with weft.no_grad():
        other.first.weight.zero_()
    assert model.first.weight.abs().sum().item() > 0


def test_deepcopy_keeps_what_is_shared_shared():
    linear = nn.Linear(1, 1)
    first, second = copy.deepcopy(nn.Sequential(linear, linear))
    assert first is second


def test_a_shallow_copy_shares_modules():
    model = nn.Sequential(nn.Linear(1, 1))
    assert copy.copy(model)[0] is model[0]


def overriding(register_buffer):
    """A module of a class with its own `register_buffer`, and a buffer ``b``."""
    cls = type("Overriding", (nn.Module,), {"register_buffer": register_buffer})
    module = cls()
    module.register_buffer("b", weft.ones(1))
    return module


def test_an_override_of_register_buffer_sees_each_assignment():
    seen = []

    def with_persistent(self, name, tensor, persistent=True):
        seen.append((name, persistent))
        nn.Module.register_buffer(self, name, tensor, persistent)

    module = overriding(with_persistent)
    module.b = weft.zeros(1)
    module.b = nn.Buffer(weft.zeros(1), persistent=False)
    module.b = weft.zeros(1)  # stays what it was
    module.b = None
    assert seen == [("b", True), ("b", True), ("b", False), ("b", False), ("b", False)]


def test_an_override_of_register_buffer_may_lack_the_argument_persistent():
    seen = []

    def without(self, name, tensor):
        seen.append(name)
        nn.Module.register_buffer(self, name, tensor)

    module = overriding(without)
    module.b = nn.Buffer(weft.zeros(1))
    module.c = nn.Buffer(weft.zeros(1))
    assert seen == ["b", "b", "c"]
    with pytest.raises(RuntimeError, match="without the persistent argument"):
        module.d = nn.Buffer(weft.zeros(1), persistent=False)
    assert not hasattr(module, "d")


def test_a_buffer_does_not_take_the_name_of_an_attribute():
    layer = nn.Linear(1, 1)
    for name in ("in_features", "training"):
        with pytest.raises(KeyError, match="already exists"):
            setattr(layer, name, nn.Buffer(weft.ones(1)))
    assert list(layer.state_dict()) == ["weight", "bias"]
    assert layer.training is True


def test_conversions_overwrite_parameters_where_that_is_chosen():
    layer = nn.Linear(2, 1)
    layer.weight.grad = weft.ones(1, 2)
    weight = layer.weight
    assert weft.__future__.get_overwrite_module_params_on_conversion() is False
    weft.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        layer.double()
        assert layer.weight is not weight
        assert weight.dtype is weight.grad.dtype is weft.float32
        assert layer.weight.dtype is layer.weight.grad.dtype is weft.float64
        weft.__future__.set_swap_module_params_on_conversion(True)
        weight = layer.weight
        layer.float()
        assert layer.weight is weight and weight.dtype is weft.float32
    finally:
        weft.__future__.set_overwrite_module_params_on_conversion(False)
        weft.__future__.set_swap_module_params_on_conversion(False)


def test_a_conversion_to_another_layout_makes_new_parameters():
    layer = nn.Linear(3, 2)
    layer.weight.requires_grad_(False)
    weight = layer.weight
    layer._apply(lambda tensor: tensor.to_sparse())
    assert weight.layout is weft.strided
    assert layer.weight.is_sparse and isinstance(layer.weight, nn.Parameter)
    assert not layer.weight.requires_grad and layer.bias.requires_grad


def test_a_module_takes_no_copy_argument_and_warns_of_complex_numbers():
    layer = nn.Linear(1, 1)
    for call in (lambda: layer.to("cpu", copy=True), lambda: layer.to(weft.float64, False, True)):
        with pytest.raises(RuntimeError, match="does not accept copy argument"):
            call()
    with pytest.warns(UserWarning, match="Complex modules"):
        layer.to(weft.complex64)
    assert layer.weight.dtype is weft.complex64


def test_a_class_may_keep_a_module_out_of_its_tables():
    # sentence-transformers and pyro go past Module to object's own methods
    class Model(nn.Module):
        def __setattr__(self, name, value):
            if name == "activation":
                return super(nn.Module, self).__setattr__(name, value)
            return super().__setattr__(name, value)

    model = Model()
    model.activation, model.layer = nn.Tanh(), nn.Linear(2, 2)
    assert [name for name, _ in model.named_children()] == ["layer"]
    assert isinstance(model.activation, nn.Tanh)
    assert super(nn.Module, model).__hash__() == hash(model)
