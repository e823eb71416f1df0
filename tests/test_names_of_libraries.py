"""Names of PyTorch's that named libraries import or call, where nothing else in the tests would miss them."""

import importlib
import math
import time
from typing import NamedTuple

import numpy as np
import pytest

import weft
from weft.testing._internal import common_utils
from weft.utils import _pytree
from weft.utils.checkpoint import get_device_states

NAMES = {  # from a library to what it takes
    "fvcore": ["weft.jit._overload_method"],
    "torchdata": ["weft._utils.ExceptionWrapper", "weft.utils.data._utils.pin_memory.pin_memory"],
    "MONAI": ["weft.serialization.DEFAULT_PROTOCOL"],
    "onnx2torch": ["weft.onnx.symbolic_helper.GLOBALS", "weft.vision.ops.roi_align"],
    "open_clip": ["weft.TensorType"],
    "PyTorch Geometric": ["weft.jit._overload", "weft.ops.aten._pin_memory", "weft.ops.aten._sparse_addmm"],
    "timm": ["weft.hub._get_torch_home"],
    "torchio": ["weft.hub.tqdm"],
    "transformers": ["weft.onnx.symbolic_helper.cast_pytorch_to_onnx"],
}


DYNAMO = weft._dynamo
HOLDS = {  # from a library to what it relies on
    "accelerate, kornia and transformers": lambda: DYNAMO.config.capture_scalar_outputs is False,
    "diffusers": lambda: weft.compiler.cudagraph_mark_step_begin() is None,
    "kornia": lambda: (
        DYNAMO.mark_dynamic(weft.ones(2), 0) is None
        and DYNAMO.config.recompile_limit > 0
        and DYNAMO.config.capture_dynamic_output_shape_ops is False
    ),
    "kornia's attention": lambda: weft.backends.cuda.enable_flash_sdp(weft.backends.cuda.flash_sdp_enabled()) is None,
    "lightning": lambda: [weft._utils._element_size(each) for each in (weft.bfloat16, weft.complex128)] == [2, 16],
    "pyro, kornia and keras": lambda: issubclass(weft.jit.TracerWarning, Warning),
    "sentence-transformers": lambda: weft.utils.checkpoint.set_device_states(*get_device_states(weft.ones(2))) is None,
    "tensordict": lambda: _pytree.is_structseq_instance(time.gmtime(0)) and not _pytree.is_structseq_instance((1, 2)),
    "timm": lambda: DYNAMO.config.cache_size_limit > 0 and weft.compiler.is_exporting() is False,
    "torchvision": lambda: DYNAMO.utils.is_compile_supported("cpu") and not DYNAMO.utils.is_compile_supported("cuda"),
    "transformers": lambda: DYNAMO.mark_static_address(weft.ones(2)) is None,
    "ultralytics and open_clip": lambda: DYNAMO.config.optimize_ddp is True,
}


BASES = "ConvNd MaxPoolNd MaxUnpoolNd AvgPoolNd LPPoolNd AdaptiveMaxPoolNd AdaptiveAvgPoolNd DropoutNd ConstantPadNd"
BASES += " ReflectionPadNd ReplicationPadNd CircularPadNd"


@pytest.mark.parametrize("base", BASES.split())
def test_layers_of_all_dimensions_have_the_base_by_which_thop_counts_them(base):
    from weft.nn import modules

    homes = [getattr(modules, home) for home in ("conv", "pooling", "dropout", "padding")]
    (found,) = [vars(home)[f"_{base}"] for home in homes if hasattr(home, f"_{base}")]
    for dimensions in (1, 2, 3):
        assert issubclass(getattr(weft.nn, base.replace("Nd", f"{dimensions}d")), found)


@pytest.mark.parametrize(("library", "name"), [(library, name) for library, names in NAMES.items() for name in names])
def test_a_name_is_there_for_a_library(library, name):
    home, _, last = name.rpartition(".")
    try:
        found = importlib.import_module(home)
    except ModuleNotFoundError:
        found = weft
        for part in home.split(".")[1:]:
            found = getattr(found, part)
    assert getattr(found, last) is not None, library


@pytest.mark.parametrize("library", HOLDS)
def test_what_a_library_asks_is_answered(library):
    assert HOLDS[library]()


def test_operations_of_a_module_are_no_empty_list():
    with pytest.raises(NotImplementedError, match=r"weft\.export\.export"):
        weft.jit.export_opnames(weft.nn.ReLU())


def test_trl_knows_which_backward_pass_runs_and_where_it_is():
    """Its offloading of activations asks in the hooks of saved tensors."""
    seen = []

    def unpack(packed):
        seen.append((weft._C._current_graph_task_id(), weft._C._current_autograd_node().name()))
        return packed

    with weft.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        y = weft.ones(2, requires_grad=True).exp().sin().sum()
    assert weft._C._current_graph_task_id() == -1 and weft._C._current_autograd_node() is None
    y.backward()
    assert [name for _, name in seen] == ["SinBackward0", "ExpBackward0"]
    assert len({number for number, _ in seen}) == 1 and seen[0][0] >= 0


def test_flags_of_backends_are_set_in_monais_block():
    before = weft.backends.cudnn.benchmark
    with getattr(weft.backends, "__allow_nonbracketed_mutation")():
        weft.backends.cudnn.benchmark = not before
    weft.backends.cudnn.benchmark = before


def test_overrides_see_the_operands_of_einsum_one_by_one():
    """e3nn optimizes what `weft.fx` records of it."""
    seen = []

    class Watched(weft.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, len(args), args[0]))
            return func(*args, **(kwargs or {}))

    x = weft.ones(2, 2)
    with Watched():
        results = (
            weft.einsum("ij,jk->ik", x, x),
            weft.einsum("ij,jk->ik", (x, x)),
            weft.einsum(x, [0, 1], x, [1, 2], [0, 2]),
        )
    assert [each[0] for each in seen] == [weft.einsum] * 3
    assert [each[1] for each in seen] == [3] * 3
    assert all((each == 2).all() for each in results)


def test_an_assertion_about_a_recorded_value_is_recorded():
    """e3nn's modules assert the shapes of what they are called with while they are traced."""
    fx = pytest.importorskip("weft.fx")

    class Checked(weft.nn.Module):
        def forward(self, x):
            weft._assert(x.shape[-1] == 3, "three columns")
            return x * 2

    traced = fx.symbolic_trace(Checked())
    assert weft._assert in [node.target for node in traced.graph.nodes]
    with pytest.raises(AssertionError, match="three columns"):
        traced(weft.ones(2, 2))


@pytest.mark.parametrize("option", ["stride", "padding", "dilation"])
@pytest.mark.parametrize("kind", ["Conv2d", "Conv3d", "ConvTranspose2d"])
def test_one_value_in_a_list_holds_for_all_axes_of_a_convolution(kind, option):
    """efficientnet-pytorch reads strides from a list of its own."""
    nn = pytest.importorskip("weft.nn")
    axes = int(kind[-2])
    x = weft.ones(1, 2, *[6] * axes)
    for value in (1, 2):
        weft.manual_seed(0)
        listed = getattr(nn, kind)(2, 3, 2, **{option: [value]})
        weft.manual_seed(0)
        plain = getattr(nn, kind)(2, 3, 2, **{option: value})
        assert (listed(x) == plain(x)).all()
    with pytest.raises(RuntimeError, match="expected stride to be a single integer value or a list of"):
        getattr(nn, kind)(2, 3, 2, stride=[1] * (axes + 1))


def test_a_module_is_run_with_tensors_that_zuko_drew():
    nn = pytest.importorskip("weft.nn")
    from weft.nn.utils import stateless

    layer = nn.Linear(2, 1)
    own = layer.weight
    drawn = weft.ones(1, 2, requires_grad=True)
    with stateless._reparametrize_module(layer, {"weight": drawn, "bias": weft.zeros(1)}):
        assert layer.weight is drawn
        layer(weft.ones(1, 2)).backward()
    assert layer.weight is own
    assert own.grad is None
    assert (drawn.grad == 1).all()
    with (
        pytest.raises(RuntimeError, match=r"Missing key\(s\): 'bias', 'weight'"),
        stateless._reparametrize_module(layer, {}, strict=True),
    ):
        pass


class Unusual(Exception):
    """One that is not made from a message."""

    def __init__(self, first, second):
        super().__init__(first, second)


@pytest.mark.parametrize(
    ("kind", "arguments", "raised"),
    [(ValueError, ("no",), ValueError), (KeyError, ("k",), KeyError), (Unusual, (1, 2), RuntimeError)],
)
def test_an_exception_of_torchdatas_threads_is_raised_again_with_where_it_was_caught(kind, arguments, raised):
    from weft._utils import ExceptionWrapper

    try:
        raise kind(*arguments)
    except kind as error:
        caught = ExceptionWrapper(where="in a thread")
        given = ExceptionWrapper((kind, error, error.__traceback__))
    assert (caught.exc_type, caught.where, given.where) == (kind, "in a thread", "in background")
    with pytest.raises(raised, match=rf"Caught {kind.__name__} in a thread\.\nOriginal Traceback[^$]*test_names"):
        caught.reraise()
    with pytest.raises(raised, match=f"Caught {kind.__name__} in background"):
        given.reraise()


def test_what_torchdatas_nodes_pin_is_found_however_nested():
    pytest.importorskip("weft.utils.data")
    from weft.utils.data._utils.pin_memory import pin_memory

    class Pair(NamedTuple):
        first: object
        second: object

    class Batch:
        def pin_memory(self):
            return "pinned"

    nested = [1, "text", {"key": Batch()}, Pair(Batch(), b"x"), (Batch(),)]
    assert pin_memory(nested) == [1, "text", {"key": "pinned"}, Pair("pinned", b"x"), ("pinned",)]


def test_fvcore_knows_observers_by_their_classes():
    pytest.importorskip("weft.nn")
    from weft.ao.quantization import FakeQuantizeBase, ObserverBase

    class Observer(ObserverBase):
        def forward(self, x):
            return x

        def calculate_qparams(self):
            return 1.0, 0

    class Rounding(FakeQuantizeBase):
        def forward(self, x):
            return x

        def calculate_qparams(self):
            return 1.0, 0

    prepared = Observer.with_args(dtype=weft.int8).with_args(is_dynamic=True)
    computed = Observer.with_callable_args(dtype=lambda: weft.uint8)
    assert (prepared().dtype, prepared().is_dynamic, prepared(dtype=weft.uint8).dtype) == (weft.int8, True, weft.uint8)
    assert (computed().dtype, computed(dtype=weft.int8).dtype) == (weft.uint8, weft.int8)
    rounding = Rounding.with_args()()
    rounding.disable_observer()
    assert {name: value.tolist() for name, value in rounding.state_dict().items()} == {
        "fake_quant_enabled": [1],
        "observer_enabled": [0],
    }
    rounding.disable_fake_quant()
    rounding.enable_observer()
    assert (rounding.fake_quant_enabled.item(), rounding.observer_enabled.item()) == (0, 1)
    for base in (ObserverBase, FakeQuantizeBase):
        with pytest.raises(TypeError, match="abstract"):
            base()


def test_graphs_in_which_fvcore_counts_are_refused():
    with pytest.raises(RuntimeError, match="FlopCounterMode"):
        weft.jit._get_trace_graph(None, ())


EQUAL = {
    "close": lambda: (weft.ones(2), weft.ones(2) + 1e-7, {}),
    "another dtype": lambda: (weft.ones(2), weft.ones(2).double(), {"exact_dtype": False}),
    "one number": lambda: (weft.ones(2, 2), 1.0, {}),
    "a list": lambda: (weft.ones(2), [1.0, 1.0], {}),
    "an array": lambda: (weft.ones(2), np.ones(2, np.float32), {}),
    "nan": lambda: (weft.tensor([math.nan]), weft.tensor([math.nan]), {}),
    "numbers": lambda: ([1, 1.0, math.nan, True], (1.0, 1.0 + 1e-9, math.nan, 1), {}),
    "tolerances": lambda: (weft.ones(2), weft.ones(2) * 1.2, {"atol": 1, "rtol": 0}),
    "nested": lambda: ({"a": [weft.ones(2), None, "x"]}, {"a": (weft.ones(2), None, "x")}, {}),
}
UNEQUAL = {
    "far": lambda: (weft.ones(2), weft.ones(2) + 1e-4, "not close.*\nof it"),
    "dtypes": lambda: (weft.ones(2), weft.ones(2).double(), "dtype"),
    "shapes": lambda: (weft.ones(2), weft.ones(3), "shape"),
    "keys": lambda: ({"a": 1}, {"b": 1}, "of it"),
    "lengths": lambda: ([1], [1, 2], "of it"),
    "strings": lambda: ("a", "b", "of it"),
    "nan": lambda: (1.0, math.nan, "not close"),
}


@pytest.mark.parametrize("case", EQUAL)
def test_the_test_case_of_timms_tests_compares_tensors_wherever_they_are(case):
    first, second, options = EQUAL[case]()
    common_utils.TestCase().assertEqual(first, second, **options)


@pytest.mark.parametrize("case", UNEQUAL)
def test_the_test_case_of_timms_tests_says_what_differs(case):
    first, second, message = UNEQUAL[case]()
    with pytest.raises(AssertionError, match=f"(?s){message}"):
        common_utils.TestCase().assertEqual(first, second, "of it")
