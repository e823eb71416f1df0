"""Models of weft.vision agree with torchvision's.

For each model: for one seed both begin with the same parameters, under the same keys; with the oracle's state both give
the same output. What is known of the published weights is compared for all models.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import selection
import torch
from oracle import torchvision
from torchvision.models import feature_extraction as theirs_features

import weft
from weft.vision import models
from weft.vision.models import feature_extraction

SETTING = os.environ.get("WEFT_CONFORMANCE", "changed")
NAMES = models.list_models()
DETECTORS = models.list_models(models.detection)  # in test_vision_models_dense.py
UNTRACED = [*DETECTORS, *(name for name in NAMES if name.startswith("raft"))]
LARGE = 90_000_000  # parameters: too large in double precision, twice
SMALL = 13_000_000  # parameters: what a run takes that does not take all

# What models are built with, by their module or name: small inputs, and no weights of the backbone.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "vision_transformer": {"image_size": 64},
    "vit_h_14": {"image_size": 56},
    "googlenet": {"init_weights": True},
    "inception": {"init_weights": True},
    "fcn": {"weights_backbone": None, "aux_loss": True},
    "deeplabv3": {"weights_backbone": None, "aux_loss": True},
    "lraspp": {"weights_backbone": None},
}
SHAPES = {  # of 64 x 64 deep networks leave four places, whose statistics amplify either library's rounding
    "efficientnet": (2, 3, 128, 128),
    "regnet": (2, 3, 128, 128),
    "inception": (2, 3, 299, 299),
    "maxvit": (2, 3, 224, 224),
    "vit_h_14": (2, 3, 56, 56),
    **dict.fromkeys(["r3d_18", "mc3_18", "r2plus1d_18", "swin3d_t", "swin3d_s", "swin3d_b"], (1, 3, 5, 32, 48)),
    **dict.fromkeys(["s3d", "mvit"], (1, 3, 16, 224, 224)),
    "raft": (2, 1, 3, 128, 128),  # two images for each flow
}
GRADIENTS = """
alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet mnasnet0_5 mobilenet_v2 mobilenet_v3_small
regnet_y_400mf resnet18 resnext50_32x4d shufflenet_v2_x0_5 squeezenet1_0 swin_v2_t vit_b_32
fcn_resnet50 lraspp_mobilenet_v3_large r3d_18 raft_small swin3d_t
""".split()

pytestmark = pytest.mark.filterwarnings("ignore")  # of either library: not the claim here


def module_of(name: str) -> str:
    """The last part of the name of the module that has a model."""
    return models.get_model_builder(name).__module__.rpartition(".")[2]


def is_small(name: str) -> bool:
    return models.get_model_weights(name).DEFAULT.meta["num_params"] < SMALL


def taken(names: list[str]) -> list[str]:
    """The models that this run takes; large ones only where all are taken."""
    names = [name for name in names if SETTING != "changed" or is_small(name)]
    return selection.chosen(names, SETTING, lambda name: {models.get_model_builder(name).__module__})


def built(name: str) -> tuple[torch.nn.Module, weft.nn.Module]:
    """The model of either library, for one seed."""
    arguments = {**ARGUMENTS.get(module_of(name), {}), **ARGUMENTS.get(name, {})}
    torch.manual_seed(0)
    weft.manual_seed(0)
    return torchvision.models.get_model(name, **arguments), models.get_model(name, **arguments)


def inputs_of(name: str) -> list[torch.Tensor]:
    torch.manual_seed(1)
    inputs = torch.randn(SHAPES.get(name, SHAPES.get(module_of(name), (2, 3, 64, 64))))
    return list(inputs) if module_of(name) == "raft" else [inputs]


def ours_of(inputs: list[torch.Tensor]) -> list[weft.Tensor]:
    return [weft.from_numpy(each.numpy()) for each in inputs]


def translated(state: dict[str, torch.Tensor]) -> dict[str, weft.Tensor]:
    return {name: weft.from_numpy(value.numpy()) for name, value in state.items()}


def fit(model: torch.nn.Module, inputs: list[torch.Tensor]) -> None:
    """Give normalizations the statistics of these inputs, and layers that begin with 0 other values."""

    def measure(module: torch.nn.Module, args: tuple[torch.Tensor]) -> None:
        dims = [dim for dim in range(args[0].ndim) if dim != 1]
        module.running_mean = args[0].mean(dims)
        module.running_var = args[0].var(dims, correction=0)

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1 and not parameter.any():
                parameter.normal_(0, 0.1)
        norms = [each for each in model.modules() if isinstance(each, torch.nn.modules.batchnorm._BatchNorm)]
        hooks = [each.register_forward_pre_hook(measure) for each in norms]
        model.eval()(*inputs)
    for hook in hooks:
        hook.remove()


def tensors(value: Any) -> Iterator[Any]:
    """The tensors of an output, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors(each)
    elif value is not None:
        yield value


def assert_close(ours: Any, theirs: Any, tolerance: float) -> None:
    """Each tensor differs by less than the tolerance, times the largest element where that is above 1."""
    pairs = list(zip(tensors(ours), tensors(theirs), strict=True))
    assert pairs
    for our, their in pairs:
        expected = their.detach().numpy()
        assert tuple(our.shape) == expected.shape
        limit = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
        np.testing.assert_allclose(our.detach().numpy(), expected, rtol=0, atol=limit)


def assert_output_close(ours: Any, theirs: Any, exact: Callable[[], Any]) -> None:
    """To 1e-4, or at most twice as far from the output in double precision as the oracle's is.

    Statistics of few places amplify either library's rounding, by more on some processors than on others.
    """
    try:
        assert_close(ours, theirs, 1e-4)
    except AssertionError:
        for our, their, true in zip(tensors(ours), tensors(theirs), tensors(exact()), strict=True):
            errors = [np.abs(each.detach().numpy() - true.numpy()).max() for each in (our, their)]
            assert errors[0] <= 2 * errors[1]


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    """The names, kinds and defaults of a function's parameters."""

    def plain(default: Any) -> Any:
        if isinstance(default, partial):
            return default.func.__name__, {key: plain(value) for key, value in default.keywords.items()}
        if isinstance(default, Enum):  # of weights: each library has its own
            return str(default)
        return getattr(default, "__name__", default)

    found = inspect.signature(function).parameters
    if list(found) == ["args", "kwargs"]:  # those of Module, which refuses them
        return []
    return [(each.name, each.kind, plain(each.default)) for each in found.values()]


@pytest.mark.parametrize("name", taken([name for name in NAMES if name not in DETECTORS]))
def test_state_and_output(name):
    """Keys, shapes, dtypes and first values are the oracle's; with its state, so is the output in eval mode."""
    theirs, ours = built(name)
    expected, state = theirs.state_dict(), ours.state_dict()
    assert list(state) == list(expected)
    assert repr(ours) == repr(theirs)
    for key, value in expected.items():
        assert state[key].shape == value.shape
        np.testing.assert_allclose(state[key].numpy(), value.numpy(), rtol=1e-6, atol=1e-6, err_msg=key)
    inputs = inputs_of(name)
    fit(theirs, inputs)
    ours.load_state_dict(translated(theirs.state_dict()))
    with torch.no_grad(), weft.no_grad():
        found, expected = ours.eval()(*ours_of(inputs)), theirs.eval()(*inputs)
        assert_output_close(found, expected, lambda: theirs.double()(*[each.double() for each in inputs]))


@pytest.mark.parametrize("name", taken(GRADIENTS))
def test_gradients(name):
    """In double precision: in single, rectifiers near 0 alter either library's gradients by a hundredth."""
    theirs, ours = built(name)
    inputs = inputs_of(name)
    fit(theirs, inputs)
    ours.load_state_dict(translated(theirs.state_dict()))
    in_double = module_of(name) != "raft"  # optical flow computes its coordinates in single precision
    if in_double:
        theirs, ours, inputs = theirs.double(), ours.double(), [each.double() for each in inputs]
    for model, each in ((theirs.eval(), inputs), (ours.eval(), ours_of(inputs))):
        sum((output * output).mean() for output in tensors(model(*each))).backward()
    expected = [each.grad for each in theirs.parameters() if each.grad is not None]
    scale = max(float(each.abs().max()) for each in expected)
    found = [each.grad / scale for each in ours.parameters() if each.grad is not None]
    assert_close(found, [each / scale for each in expected], 1e-6 if in_double else 1e-4)


@pytest.mark.parametrize("name", taken([name for name in NAMES if name not in UNTRACED]))
def test_features(name):
    """The nodes of a model have the oracle's names, and a feature extractor gives the same for some of them."""
    theirs, ours = built(name)
    train, evaluation = theirs_features.get_graph_node_names(theirs)
    assert feature_extraction.get_graph_node_names(ours) == (train, evaluation)
    inputs = inputs_of(name)
    fit(theirs, inputs)
    ours.load_state_dict(translated(theirs.state_dict()))
    if module_of(name) == "regnet":  # so deep that in single precision either library is 2e-4 from double
        theirs, ours, inputs = theirs.double(), ours.double(), [each.double() for each in inputs]
    nodes = [some_modules(theirs, each) for each in (train, evaluation)]
    options = {"train_return_nodes": nodes[0], "eval_return_nodes": nodes[1]}
    extractor = feature_extraction.create_feature_extractor(ours.eval(), **options)
    # The oracle's extractors leave out writes in place whose result nobody uses: of MViT its modules are asked.
    oracle = theirs if module_of(name) == "mvit" else theirs_features.create_feature_extractor(theirs.eval(), **options)
    with torch.no_grad(), weft.no_grad():
        found, expected = extractor(*ours_of(inputs)), features_of(oracle.eval(), nodes[1], inputs)
        assert list(found) == list(expected)
        in_double = [each.double() for each in inputs]
        assert_output_close(found, expected, lambda: features_of(oracle.double(), nodes[1], in_double))
        if sum(each.numel() for each in theirs.parameters()) > LARGE:
            return
        torch.manual_seed(2)
        weft.manual_seed(2)
        found = extractor.double().train()(*ours_of(in_double))
        expected = features_of(oracle.double().train(), nodes[0], in_double)
    assert list(found) == list(expected)
    assert_close(found, expected, 1e-6)


def some_modules(model: torch.nn.Module, nodes: list[str]) -> dict[str, str]:
    """Some modules of a model among the nodes, and other names for them."""
    modules = [name for name, module in model.named_modules() if name in nodes]
    return {node: str(number) for number, node in enumerate(modules[:: max(1, len(modules) // 6)])}


def features_of(model: torch.nn.Module, nodes: dict[str, str], inputs: list[torch.Tensor]) -> dict[str, Any]:
    """What an extractor returns; of a model that is none, what its modules return when they are first called."""
    if isinstance(model, torch.fx.GraphModule):
        return model(*inputs)
    outputs: dict[str, Any] = {}

    def keep(name: str) -> Callable[..., None]:
        def hook(module: torch.nn.Module, args: Any, output: Any) -> None:
            outputs.setdefault(name, output)

        return hook

    hooks = [model.get_submodule(node).register_forward_hook(keep(name)) for node, name in nodes.items()]
    model(*inputs)
    for hook in hooks:
        hook.remove()
    return outputs


@pytest.mark.parametrize("name", taken(UNTRACED))
def test_models_without_features(name):
    """What these models do depends on the values of their inputs: no library records a graph."""
    model = models.get_model(name, weights_backbone=None) if name in DETECTORS else models.get_model(name)
    with pytest.raises(weft.fx.proxy.TraceError):
        feature_extraction.get_graph_node_names(model)


@pytest.mark.parametrize("name", ["googlenet", "inception_v3"])
def test_outputs_in_training(name):
    """The logits of the classifiers in the middle come with the others, under the same names."""
    if name == "inception_v3" and SETTING != "all":
        pytest.skip("takes 10 s")
    theirs, ours = built(name)
    inputs = inputs_of(name)
    fit(theirs, inputs)
    ours.load_state_dict(translated(theirs.state_dict()))
    torch.manual_seed(2)
    weft.manual_seed(2)
    with torch.no_grad(), weft.no_grad():
        expected, found = theirs.train()(*inputs), ours.train()(*ours_of(inputs))
    assert type(found).__name__ == type(expected).__name__
    assert found._fields == expected._fields
    assert_close(found, expected, 1e-4)


def test_names():
    """Each package has the public names of torchvision's, and no model that torchvision does not have."""
    assert set(NAMES) <= set(torchvision.models.list_models())
    for package in {models.get_model_builder(name).__module__.rpartition(".")[0] for name in NAMES}:
        theirs = vars(sys.modules[package.replace("weft.vision", "torchvision")])
        public = {name for name, value in theirs.items() if name[0] != "_" and not inspect.ismodule(value)}
        assert public <= set(sys.modules[package].__all__)


def described(weights: Any) -> dict[str, Any]:
    """What is known of weights, in the order of the keys; the sentence about them is each library's own."""
    return {key: value for key, value in sorted(weights.meta.items()) if key != "_docs"}


@pytest.mark.parametrize("name", NAMES)
def test_weights(name):
    """Signature and published weights of the function that builds a model: address, transforms and figures."""
    ours, theirs = models.get_model_builder(name), torchvision.models.get_model_builder(name)
    assert parameters(ours) == parameters(theirs)
    weights, expected = models.get_model_weights(name), torchvision.models.get_model_weights(name)
    assert weights.__name__ == expected.__name__
    assert {key: each.name for key, each in weights.__members__.items()} == {
        key: each.name for key, each in expected.__members__.items()
    }
    for each in weights:
        other = expected[each.name]
        assert each.url == other.url
        assert repr(each.transforms()) == repr(other.transforms())
        assert str(described(each)) == str(described(other))
        assert each.meta["_docs"]
        assert models.get_weight(str(each)) is each


@pytest.mark.parametrize("name", sorted({models.get_model_builder(name).__module__ for name in NAMES}))
def test_classes(name):
    """Each class of a family has the parameters of torchvision's."""
    theirs, ours = sys.modules[name.replace("weft.vision", "torchvision")], sys.modules[name]
    for key, value in vars(theirs).items():
        if inspect.isclass(value) and value.__module__ == theirs.__name__ and not key.endswith("_Weights"):
            assert parameters(getattr(ours, key)) == parameters(value), key
