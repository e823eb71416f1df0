"""`weft._C`: names of PyTorch's compiled module, each for the libraries that use it."""

import importlib
import pickle

import pytest

import weft
from weft import _C
from weft._C import _functorch


def test_a_name_that_no_library_uses_is_missing_as_of_any_module():
    with pytest.raises(AttributeError, match=r"module 'weft\._C' has no attribute '_cuda_clearCublasWorkspaces'"):
        _C._cuda_clearCublasWorkspaces  # Lightning, timm and diffusers probe for such names


def test_types_are_those_that_weft_has():
    """Lightning derives from _TensorMeta, Pyro catches _LinAlgError, Lightning's signatures name Generator."""
    assert isinstance(weft.Tensor, _C._TensorMeta)
    assert issubclass(weft.Tensor, _C.TensorBase)
    assert isinstance(weft.Generator(), _C.Generator)
    with pytest.raises(_C._LinAlgError):
        weft.linalg.cholesky(-weft.eye(2))


def test_nothing_is_traced_and_nothing_logged():
    """Pyro asks for the state of tracing, TorchMetrics logs each metric."""
    assert _C._get_tracing_state() is None
    assert _C._mps_is_available() == weft.backends.mps.is_available()  # pytorch-forecasting
    assert _C._get_accelerator() == (weft.accelerator.current_accelerator() or weft.device("cpu"))  # transformers
    assert _C._log_api_usage_once("a name") is None


def test_transforms_and_modes_are_seen():
    """tensordict and Kornia ask before they look at values."""

    def look(x):
        seen.append((_C._are_functorch_transforms_active(), _functorch.is_batchedtensor(x)))
        return x * 2

    seen = []
    look(weft.ones(2))
    weft.func.vmap(look)(weft.ones(2))
    weft.func.grad(lambda x: look(x).sum())(weft.ones(2))
    assert seen == [(False, False), (True, True), (True, False)]
    assert not _C._is_torch_function_mode_enabled()
    with weft.overrides.BaseTorchFunctionMode():
        assert _C._is_torch_function_mode_enabled()


def test_a_batch_is_unwrapped():
    """tensordict does so where it cannot map over a batch."""
    below = []
    weft.func.vmap(lambda x: below.append(_functorch.get_unwrapped(x)) or x)(weft.ones(3, 2))
    assert below[0].shape == (3, 2)
    with pytest.raises(RuntimeError, match="no transform has wrapped the tensor"):
        _functorch.get_unwrapped(weft.ones(2))


def test_a_type_that_overrides_nothing_makes_plain_tensors():
    """tensordict and PyTorch Geometric derive such types from Tensor."""

    class Plain(weft.Tensor):
        __torch_function__ = _C._disabled_torch_function_impl

    assert type(weft.ones(2).as_subclass(Plain) + 1) is weft.Tensor


def test_subclasses_are_not_asked_in_a_block():
    """tensordict does so to reach the tensor below."""

    class Loud(weft.Tensor):
        pass

    with _C.DisableTorchFunctionSubclass():
        assert type(weft.ones(2).as_subclass(Loud) + 1) is weft.Tensor


def test_memory_and_the_default_device_are_told():
    """tensordict asks whether tensors share memory, PyTorch Geometric for the default device."""
    x = weft.ones(4)
    assert _C._is_alias_of(x, x[1:])
    assert not _C._is_alias_of(x, x.clone())
    assert _C._get_default_device() == "cpu"
    assert not _C._cuda_isInBadFork()


def test_dtypes_that_no_tensor_has_are_named():
    """Keras and hummingbird list them in tables of names."""
    assert repr(weft.complex32) == "weft.complex32"
    assert weft.complex32.is_complex
    assert (weft.quint8.itemsize, weft.quint8.is_signed, weft.qint8.is_signed) == (1, False, True)
    assert pickle.loads(pickle.dumps(weft.qint8)) is weft.qint8
    with pytest.raises((NotImplementedError, TypeError)):
        weft.zeros(2, dtype=weft.complex32)
    with pytest.raises(NotImplementedError, match=r"weft has no arrays of this dtype; use weft\.complex64"):
        weft.tensor([1.0], dtype=weft.complex32)


def test_graphs_of_torchscript_are_names_alone():
    """Transformers' SEW-D has them in annotations."""
    for kind in (_C.Graph, _C.Value):
        with pytest.raises(NotImplementedError, match="graphs of TorchScript"):
            kind()


def test_sizes_are_never_symbols():
    """Keras and tensordict ask with isinstance."""
    assert not isinstance(weft.ones(2).shape[0], weft.SymInt | weft.SymFloat | weft.SymBool)
    with pytest.raises(NotImplementedError, match="SymInt: weft traces with the sizes that there are"):
        weft.SymInt(None)


def test_marks_for_a_profiler_are_refused_where_they_begin():
    """asdl decorates its methods with them, and calls those where there is a GPU."""
    from weft.cuda import nvtx

    @nvtx.range("a name")
    def marked():
        raise AssertionError("it begins before")

    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        marked()
    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        nvtx.mark("a name")


def test_the_type_of_the_type_of_devices_has_a_name():
    """It stands in an annotation of pytorch-forecasting."""
    assert isinstance(weft.device, weft.DeviceObjType)
    assert str | weft.DeviceObjType


def test_states_of_a_scaler_are_members():
    """fastai's mixed precision compares with them."""
    from weft.amp._grad_scaler import OptState

    assert [each.name for each in OptState] == ["READY", "UNSCALED", "STEPPED"]


def test_setting_requires_grad_calls_no_override():
    """fastai's tensors override requires_grad_ by way of the attribute."""

    class Named(weft.Tensor):
        def requires_grad_(self, requires_grad=True):
            self.requires_grad = requires_grad
            return self

    assert weft.ones(2).as_subclass(Named).requires_grad_().requires_grad


def test_a_backward_pass_tells_its_number_its_node_and_its_order():
    """PyTorch's own tests ask; so does its checkpointing."""
    seen = []

    def look(grad):
        node = _C._current_autograd_node()
        order = [each.name() for each in _C._current_graph_task_execution_order()]
        seen.append((_C._current_graph_task_id(), node.name(), order))

    x = weft.ones(2, requires_grad=True)
    y = x.exp().sin()
    y.register_hook(look)
    with weft.autograd.set_multithreading_enabled(False):
        y.sum().backward(retain_graph=True)
        y.sum().backward()
    (first, node, order), (second, *_) = seen
    assert (node, second - first) == ("SinBackward0", 1)
    assert order == ["SumBackward0", "SinBackward0", "ExpBackward0", "torch::autograd::AccumulateGrad"]
    assert (_C._current_graph_task_id(), _C._current_autograd_node()) == (-1, None)
    with pytest.raises(RuntimeError, match="only be called during the backward pass"):
        _C._current_graph_task_execution_order()


def test_a_backward_pass_tells_which_nodes_it_comes_to():
    x, y = weft.ones(2, requires_grad=True), weft.ones(2, requires_grad=True)
    product = x * y
    beside = product.exp()
    accumulates_x, accumulates_y = (node for node, _ in product.grad_fn.next_functions)
    asked = accumulates_x, accumulates_y, product.grad_fn, beside.grad_fn
    found = []
    product.register_hook(lambda grad: found.extend(map(_C._will_engine_execute_node, asked)))
    product.sum().backward(inputs=(x,))
    assert found == [True, False, True, False]
    with pytest.raises(RuntimeError, match=r"currently running autograd\.grad\(\)"):
        weft.autograd.grad(product.sum(), x)
    with pytest.raises(RuntimeError, match="expects an grad_fn, but got Tensor"):
        _C._will_engine_execute_node(x)


def test_the_node_is_known_where_a_mode_sees_what_backward_computes():
    class Log(weft.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            node = _C._current_autograd_node()
            seen.append((str(func), node and node.name()))
            return func(*args, **(kwargs or {}))

    seen = []
    y = weft.ones(2, requires_grad=True).mul(2).sum()
    with Log():
        y.backward()
    assert seen[:3] == [
        ("aten.ones_like.default", None),
        ("aten.expand.default", "SumBackward0"),
        ("aten.mul.Tensor", "MulBackward0"),
    ]


def test_functions_of_the_graph_stop_gradients_or_raise():
    x = weft.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Boom"):
        _C._functions.DelayedError("Boom", 1)(x).sum().backward()
    _C._functions.UndefinedGrad()(x * 2).sum().backward()
    assert x.grad is None
    assert isinstance((x * 2).grad_fn.next_functions[0][0], _C._functions.AccumulateGrad)


def test_versions_are_set_and_references_do_not_hold():
    x = weft.ones(2)
    x.add_(1)
    _C._autograd._unsafe_set_version_counter((x,), (0,))
    assert x._version == 0
    with pytest.raises(RuntimeError, match="below 0: -1"):
        _C._autograd._unsafe_set_version_counter((x,), (-1,))
    reference = _C._WeakTensorRef(x)
    assert not reference.expired()
    del x
    assert reference.expired()


def test_onednn_is_switched_by_the_name_of_pytorchs_tests(monkeypatch):
    monkeypatch.setattr(weft.backends.mkldnn, "enabled", True)
    _C._set_mkldnn_enabled(False)
    assert weft.backends.mkldnn.enabled is _C._get_mkldnn_enabled() is False


def test_the_compiled_module_reads_and_sets_whether_memory_is_filled() -> None:
    module = importlib.import_module("weft.utils.deterministic")
    for mode in (False, True):
        _C._set_deterministic_fill_uninitialized_memory(mode)
        assert module.fill_uninitialized_memory is _C._get_deterministic_fill_uninitialized_memory() is mode


def test_who_is_asked_about_calls_is_told_and_set_back():
    """PyTorch's test classes compare it before and after each test, and mend what a test left behind."""
    states = _C._TorchFunctionState
    assert _C._get_torch_function_state() is states.ENABLED
    with _C.DisableTorchFunctionSubclass():
        assert _C._get_torch_function_state() is states.SUBCLASSES_DISABLED
    mode = weft.overrides.BaseTorchFunctionMode()
    with mode, _C.DisableTorchFunction():
        assert _C._get_torch_function_state() is states.ALL_DISABLED
    try:
        for state in (states.ALL_DISABLED, states.SUBCLASSES_DISABLED, states.ALL_DISABLED, states.ENABLED):
            _C._set_torch_function_state(state)
            assert _C._get_torch_function_state() is state
    finally:
        _C._set_torch_function_state(states.ENABLED)
    mode.__enter__()
    assert _C._len_torch_function_stack() == 1
    assert _C._pop_torch_function_stack() is mode
    assert _C._len_torch_function_stack() == 0


def test_tracebacks_are_gathered_innermost_first():
    def inner():
        return _C._profiler.gather_traceback(python=True, script=False, cpp=False)

    (frames,) = _C._profiler.symbolize_tracebacks([inner()])
    assert [frame["name"] for frame in frames[:2]] == ["inner", "test_tracebacks_are_gathered_innermost_first"]
    assert frames[0]["filename"] == __file__
    assert _C._profiler.symbolize_tracebacks([_C._profiler.gather_traceback(python=False)]) == [[]]


@pytest.mark.parametrize("name", ["ScriptDict", "ScriptList", "ScriptMethod"])
def test_nothing_is_of_torchscripts_classes(name):
    with pytest.raises(NotImplementedError, match=name):
        getattr(_C, name)()


def test_devices_and_processors_are_told_by_pytorchs_private_names():
    assert not weft._utils._is_privateuse1_backend_available()
    assert _C._get_privateuse1_backend_name() == "privateuseone"
    assert _C._get_cpu_capability() == weft.backends.cpu.get_cpu_capability()
    assert _C.ScriptFunction is weft.jit.ScriptFunction
