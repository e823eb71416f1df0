"""Observers, rounding and fused layers against PyTorch's."""

import numpy as np
import pytest
import torch
import torch.ao.quantization as theirs
import torch.ao.quantization.fx._decomposed  # noqa: F401: declares torch.ops.quantized_decomposed

import weft
import weft.ao.quantization as ours
from weft.ao import decomposed

pytestmark = pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated", "ignore::UserWarning")

RANDOM = np.random.default_rng(0)
DATA = {
    "around zero": [RANDOM.standard_normal((6, 4)).astype(np.float32) for _ in range(3)],
    "positive": [RANDOM.random((6, 4)).astype(np.float32) + 1 for _ in range(2)],
    "negative": [-RANDOM.random((6, 4)).astype(np.float32) - 1],
    "growing": [RANDOM.standard_normal((6, 4)).astype(np.float32) * 3.0**power for power in range(4)],
    "constant": [np.full((6, 4), 2.0, np.float32)],
    "tiny": [RANDOM.standard_normal((6, 4)).astype(np.float32) * 1e-9],
    "zeros": [np.zeros((6, 4), np.float32)],
}
PER_TENSOR = "MinMaxObserver MovingAverageMinMaxObserver".split()
PER_CHANNEL = "PerChannelMinMaxObserver MovingAveragePerChannelMinMaxObserver".split()
OPTIONS = [
    {"dtype": "quint8"},
    {"dtype": "quint8", "reduce_range": True},
    {"dtype": "qint8"},
    {"dtype": "qint8", "reduce_range": True},
    {"dtype": "quint8", "quant_min": 0, "quant_max": 127},
    {"dtype": "qint8", "quant_min": -127, "quant_max": 127, "eps": 2**-12},
    {"dtype": "qint32"},
]
CASES = [
    (name, {**options, "qscheme": f"per_{kind}_{scheme}"})
    for kind, names in (("tensor", PER_TENSOR), ("channel", PER_CHANNEL))
    for name in names
    for options in OPTIONS
    for scheme in ("affine", "symmetric")
    if not (scheme == "symmetric" and options == OPTIONS[1])
]


def observer(library, module, name, options):
    named = {key: getattr(library, value) if isinstance(value, str) else value for key, value in options.items()}
    return getattr(module, name)(**named)


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_scales_and_zero_points_are_pytorchs(name, options):
    for title, arrays in DATA.items():
        one, two = observer(weft, ours, name, options), observer(torch, theirs, name, options)
        for array in arrays:
            one(weft.from_numpy(array.copy()))
            two(torch.from_numpy(array.copy()))
        found, expected = one.calculate_qparams(), two.calculate_qparams()
        assert found[0].shape == tuple(expected[0].shape), title
        assert np.allclose(found[0].numpy(), expected[0].numpy(), rtol=1e-6), title
        assert found[1].tolist() == expected[1].tolist(), title
        assert str(found[1].dtype).split(".")[-1] == str(expected[1].dtype).split(".")[-1], title
        for bound in ("min_val", "max_val"):
            assert np.allclose(getattr(one, bound).numpy(), getattr(two, bound).numpy(), rtol=1e-6), title
        assert list(one.state_dict()) == list(two.state_dict())


def test_what_pytorch_refuses_is_refused():
    for library, module in ((weft, ours), (torch, theirs)):
        with pytest.raises(NotImplementedError, match="Cannot reduce range"):
            observer(library, module, "MinMaxObserver", {**OPTIONS[1], "qscheme": "per_tensor_symmetric"})


@pytest.mark.parametrize("options", OPTIONS[:4], ids=str)
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_a_histograms_range_is_as_good_as_pytorchs(options, scale):
    numbers = RANDOM.standard_normal(20_000).astype(np.float32) ** 3 * scale
    errors = []
    for library, module, make in ((weft, ours, weft.from_numpy), (torch, theirs, torch.from_numpy)):
        found = observer(library, module, "HistogramObserver", options)
        for part in np.split(numbers, 4):
            found(make(part.copy()))
        step, zero = (each.item() for each in found.calculate_qparams())
        rounded = np.clip(np.rint(numbers / step) + zero, found.quant_min, found.quant_max)
        errors.append(((rounded - zero) * step - numbers).astype(float).__pow__(2).mean())
    assert errors[0] <= 1.1 * errors[1]


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("limits", ["whole", "less"])
def test_rounding_is_pytorchs(dtype, limits):
    info = weft.iinfo(getattr(weft, dtype))
    low, high = (info.min, info.max) if limits == "whole" else (info.min // 2, info.max // 2)
    x = (RANDOM.standard_normal((5, 7)) * 4).astype(np.float32)
    scales, zeros = np.array([0.25, 0.5, 0.03125, 1.0, 2.0], np.float32), np.array([0, 3, 1, 0, 7])
    for channel in (False, True):
        suffix = "per_channel" if channel else "per_tensor"
        results = []
        for library, module, make in (
            (weft, decomposed, weft.from_numpy),
            (torch, torch.ops.quantized_decomposed, torch.from_numpy),
        ):
            parameters = (make(scales), make(zeros), 0) if channel else (0.25, 3)
            rest = (*parameters, low, high, getattr(library, dtype))
            rounded = getattr(module, f"quantize_{suffix}")(make(x), *rest)
            results.append((rounded.numpy(), getattr(module, f"dequantize_{suffix}")(rounded, *rest).numpy()))
        for one, two in zip(*results):
            assert one.dtype == two.dtype
            assert np.array_equal(one, two)


def test_fused_layers_have_pytorchs_names_and_numbers():
    def fused(library, module):
        nn = library.nn
        library.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4), nn.ReLU()
        )
        model(library.rand(8, 2, 4, 4))
        return module.fuse_modules(model.eval(), [["0", "1", "2"], ["4", "5"]])

    one, two = fused(weft, ours), fused(torch, theirs)
    assert [type(each).__name__ for each in one] == [type(each).__name__ for each in two]
    assert list(one.state_dict()) == list(two.state_dict())
    x = RANDOM.random((2, 2, 4, 4)).astype(np.float32)
    with torch.no_grad(), weft.no_grad():
        assert np.allclose(one(weft.from_numpy(x)).numpy(), two(torch.from_numpy(x)).numpy(), atol=1e-5)


def test_a_quantized_model_is_as_near_to_the_model_as_pytorchs():
    def errors(library, module):
        nn = library.nn
        library.manual_seed(0)
        model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
        x = library.randn(400, 16)
        wrapped = module.QuantWrapper(module.fuse_modules(model, ["0", "1"])).eval()
        wrapped.qconfig = module.get_default_qconfig("x86")
        prepared = module.prepare(wrapped)
        with library.no_grad():
            prepared(x[:300])
            quantized = module.convert(prepared)
            return (quantized(x[300:]) - model(x[300:])).square().mean().item()

    torch.backends.quantized.engine = "x86"
    assert errors(weft, ours) <= 1.2 * errors(torch, theirs)


FAKES = [
    f"default_{name}fake_quant"
    for name in (
        "",
        "weight_",
        "per_channel_weight_",
        "fused_act_",
    )  # its fused weights have scales of their own kernel
]


@pytest.mark.parametrize("name", FAKES)
@pytest.mark.parametrize("data", [name for name in DATA if name != "tiny"])
def test_fake_quantization_is_pytorchs(name, data):
    fakes = getattr(ours, name)(), getattr(theirs, name)()
    for each in DATA[data]:
        x, y = weft.tensor(each, requires_grad=True), torch.tensor(each, requires_grad=True)
        found, expected = fakes[0](x), fakes[1](y)
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), 1e-5, 1e-6)
        (found * found.detach()).sum().backward()
        (expected * expected.detach()).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), 1e-5, 1e-6)
    scales = [np.asarray(each.calculate_qparams()[0]) for each in fakes]
    np.testing.assert_allclose(scales[0], scales[1], 1e-5)
