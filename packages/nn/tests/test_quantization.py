"""Quantization to 8 bits: ops that round, observers that choose by what, and layers that keep weights of int8."""

import copy
import math
import subprocess
import sys

import numpy as np
import pytest

import weft
from weft import nn
from weft.ao.decomposed import (
    dequantize_per_channel,
    dequantize_per_tensor,
    quantize_per_channel,
    quantize_per_tensor,
)
from weft.ao.nn import qat, quantized
from weft.ao.quantization import (
    DeQuantStub,
    FakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
    QConfig,
    QuantStub,
    QuantWrapper,
    convert,
    default_dynamic_qconfig,
    default_per_channel_weight_fake_quant,
    default_per_channel_weight_observer,
    default_qconfig,
    default_weight_observer,
    fuse_modules,
    get_default_qat_qconfig,
    get_default_qconfig,
    per_channel_dynamic_qconfig,
    prepare,
    prepare_qat,
    quantize,
    quantize_dynamic,
)

BYTE = (0, 255, weft.uint8)

# Rounding


def test_rounding_is_to_the_nearest_and_to_even_at_a_half():
    x = weft.tensor([-0.5, 0.5, 1.5, 2.5, 2.4, 2.6])
    assert quantize_per_tensor(x, 1.0, 10, *BYTE).tolist() == [10, 10, 12, 12, 12, 13]


def test_numbers_outside_become_the_limits():
    x = weft.tensor([-1e30, -200.0, 200.0, 1e30])
    assert quantize_per_tensor(x, 1.0, 100, *BYTE).tolist() == [0, 0, 255, 255]
    assert quantize_per_tensor(x, 1.0, 100, 0, 127, weft.uint8).tolist() == [0, 0, 127, 127]
    assert quantize_per_tensor(x, 1.0, 0, -128, 127, weft.int8).tolist() == [-128, -128, 127, 127]


def test_there_and_back_is_at_most_half_a_step_away_and_zero_stays():
    x = weft.cat([weft.linspace(-1, 3, 1001), weft.zeros(1)])
    scale, zero_point = observed(MinMaxObserver(), x).calculate_qparams()
    back = dequantize_per_tensor(quantize_per_tensor(x, scale, zero_point, *BYTE), scale, zero_point, *BYTE)
    assert (back - x).abs().max() <= scale.item() / 2 + 1e-6
    assert back[-1] == 0


def test_each_channel_is_rounded_by_its_own_scale():
    x = weft.randn(2, 3, 4)
    scales, zeros = weft.tensor([0.1, 0.01, 0.5]), weft.tensor([3, 0, -3])
    limits = (-128, 127, weft.int8)
    rounded = quantize_per_channel(x, scales, zeros, 1, *limits)
    back = dequantize_per_channel(rounded, scales, zeros, -2, *limits)
    for channel, (scale, zero) in enumerate(zip(scales.tolist(), zeros.tolist())):
        one = quantize_per_tensor(x[:, channel], scale, zero, *limits)
        assert weft.equal(rounded[:, channel], one)
        assert weft.equal(back[:, channel], dequantize_per_tensor(one, scale, zero, *limits))
    with pytest.raises(RuntimeError, match="3 channels"):
        quantize_per_channel(x, scales[:2], zeros[:2], 1, *limits)


# Observers


def observed(observer, *tensors):
    for tensor in tensors:
        observer(tensor)
    return observer


@pytest.mark.parametrize(
    ("observer", "data", "scale", "zero_point"),
    [
        (MinMaxObserver(), [-1.0, 4.1], 5.1 / 255, 50),
        (MinMaxObserver(), [1.0, 2.55], 0.01, 0),
        (MinMaxObserver(), [-2.55, -1.0], 0.01, 255),
        (MinMaxObserver(reduce_range=True), [0.0, 1.27], 0.01, 0),
        (MinMaxObserver(quant_min=0, quant_max=15), [0.0, 1.5], 0.1, 0),
        (MinMaxObserver(weft.qint8, weft.per_tensor_symmetric), [-2.55, 1.0], 0.02, 0),
        (MinMaxObserver(weft.quint8, weft.per_tensor_symmetric), [-2.55, 1.0], 0.02, 128),
        (MinMaxObserver(), [0.0], 2.0**-23, 0),
    ],
)
def test_a_scale_divides_the_range_that_was_seen(observer, data, scale, zero_point):
    found = observed(observer, weft.tensor(data), weft.tensor([])).calculate_qparams()
    assert found[0].tolist() == pytest.approx([scale], rel=1e-6)
    assert found[1].tolist() == [zero_point]


def test_observers_return_their_tensor_and_can_forget():
    for observer in (MinMaxObserver(), MovingAverageMinMaxObserver(), PerChannelMinMaxObserver()):
        x = weft.randn(2, 3)
        assert observer(x) is x
        observer.reset_min_max_vals()
        with pytest.warns(UserWarning, match="must run observer"):
            assert observer.calculate_qparams()[0].tolist() == [1.0]


def test_older_ranges_fade():
    observer = observed(MovingAverageMinMaxObserver(averaging_constant=0.25), *weft.tensor([[0.0, 4.0], [-4.0, 8.0]]))
    assert (observer.min_val.item(), observer.max_val.item()) == (-1, 5)


def test_ranges_of_channels_are_saved_and_loaded():
    observer = observed(PerChannelMinMaxObserver(ch_axis=1), weft.arange(6.0).reshape(2, 3))
    assert observer.min_val.tolist() == [0, 1, 2]
    other = PerChannelMinMaxObserver(ch_axis=1)
    other.load_state_dict(observer.state_dict())
    assert other.max_val.tolist() == [3, 4, 5]


def test_a_histogram_counts_everything_however_the_range_grows():
    observer = HistogramObserver(bins=64)
    for scale in (0.5, 1.0, 30.0, 2.0):
        observer(weft.randn(1000) * scale)
    assert observer.histogram.sum().item() == pytest.approx(4000, abs=1)
    observed(observer, weft.full((10,), 3.0))
    assert observer.histogram.sum().item() == pytest.approx(4010, abs=1)


def test_a_histogram_gives_up_rare_large_numbers():
    x = weft.cat([weft.rand(100_000), weft.tensor([3.0])])

    def error(observer):
        scale, zero_point = observed(observer, x).calculate_qparams()
        back = dequantize_per_tensor(quantize_per_tensor(x, scale, zero_point, *BYTE), scale, zero_point, *BYTE)
        return (back - x).square().mean().item()

    assert error(HistogramObserver()) < error(MinMaxObserver())


def test_wrong_settings_of_observers_are_refused():
    with pytest.raises(ValueError, match="dtype must be one of"):
        MinMaxObserver(weft.float32)
    with pytest.raises(ValueError, match="hold 0 between them"):
        MinMaxObserver(quant_min=1, quant_max=3)
    with pytest.raises(NotImplementedError, match="qscheme must be"):
        MinMaxObserver(qscheme=weft.per_channel_affine)
    with pytest.raises(ValueError, match="expected one of"):
        get_default_qconfig("abacus")


# Layers


def calibrated(model, *data, qconfig=None):
    model = model.eval()
    model.qconfig = qconfig or get_default_qconfig()
    prepared = prepare(model)
    for each in data:
        prepared(each)
    return prepared


def test_a_layer_computes_what_integers_would():
    layer, data = nn.Linear(5, 3), weft.randn(40, 5)
    quantized = convert(calibrated(layer, data, qconfig=QConfig(MinMaxObserver, default_per_channel_weight_observer)))
    x = weft.randn(7, 5)
    zero_point = int(quantized.input_zero_point)
    rounded = quantize_per_tensor(x, quantized.input_scale, zero_point, *BYTE).numpy().astype(int)
    sums = (rounded - zero_point) @ quantized.weight.numpy().astype(int).T + quantized.bias.numpy().astype(int)
    exact = sums * quantized.bias_scale.numpy().astype(float)
    expected = np.rint(exact / float(quantized.scale)) + int(quantized.zero_point)
    expected = (expected.clip(0, 255) - int(quantized.zero_point)) * float(quantized.scale)
    assert np.allclose(quantized(x).numpy(), expected, atol=1e-6)


LAYERS = {
    "Linear": (nn.Linear(6, 4), (9, 6)),
    "Linear without bias, of sequences": (nn.Linear(6, 4, bias=False), (2, 5, 6)),
    "Conv1d": (nn.Conv1d(3, 4, 3, padding=1), (2, 3, 9)),
    "Conv2d": (nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2, bias=False), (2, 4, 8, 7)),
    "Conv2d same": (nn.Conv2d(2, 3, 3, padding="same"), (2, 2, 6, 6)),
    "Conv2d reflect": (nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (2, 2, 6, 6)),
    "Conv3d": (nn.Conv3d(1, 2, 2), (2, 1, 4, 4, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("weight_observer", [default_per_channel_weight_observer, default_weight_observer])
def test_a_quantized_layer_is_near_to_the_layer(name, weight_observer):
    layer, shape = LAYERS[name]
    x = weft.randn(shape)
    quantized = convert(calibrated(layer, x, qconfig=QConfig(HistogramObserver, weight_observer)))
    with weft.no_grad():
        expected = layer.eval()(x)
    assert quantized.weight.dtype is weft.int8
    assert (quantized(x) - expected).abs().max() < 0.05 * expected.abs().max()


def test_fused_layers_have_the_numbers_of_their_parts():
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4), nn.BatchNorm1d(4), nn.ReLU()
    )
    for _ in range(3):
        model(weft.randn(8, 1, 4, 4))
    model.eval()
    fused = fuse_modules(model, [["0", "1", "2"], ["4", "5", "6"]])
    assert [type(each).__name__ for each in fused] == [
        *("ConvReLU2d", "Identity", "Identity", "Flatten", "LinearReLU", "Identity", "Identity")
    ]
    x = weft.randn(2, 1, 4, 4)
    assert weft.allclose(fused(x), model(x), atol=1e-6)
    assert isinstance(model[1], nn.BatchNorm2d)
    with pytest.raises(ValueError, match="call model"):
        fuse_modules(model.train(), ["0", "1"])
    with pytest.raises(NotImplementedError, match="Cannot fuse"):
        fuse_modules(model.eval(), ["0", "3"])


def test_the_observers_of_a_fused_layer_see_its_input_and_its_output():
    model = fuse_modules(nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval(), ["0", "1"])
    x = weft.randn(50, 2)
    layer = calibrated(model, x, qconfig=default_qconfig)[0]
    assert layer.activation_pre_process.min_val == x.min()
    assert layer.activation_post_process.max_val == model(x).max()
    assert layer.activation_post_process.min_val >= 0
    assert convert(nn.Sequential(layer))[0].relu


def test_what_has_no_qconfig_stays_as_it_is():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Dropout()).eval()
    model.qconfig, model[1].qconfig = default_qconfig, None
    prepared = prepare(model)
    prepared(weft.randn(9, 2))
    quantized = convert(prepared)
    assert [type(each) is nn.Linear for each in quantized] == [False, True, False]
    assert not any(hasattr(each, "qconfig") for each in quantized.modules())
    assert type(model[0]) is nn.Linear
    assert not model[0]._forward_hooks


def test_a_layer_in_two_places_stays_one():
    layer = nn.Linear(3, 3)
    data = weft.randn(50, 3)
    twice = convert(calibrated(nn.Sequential(layer, nn.ReLU(), layer), data))
    assert twice[0] is twice[2]
    assert twice[0].weight.dtype is weft.int8


def test_the_state_of_a_quantized_model_is_loaded_into_another():
    data = weft.randn(20, 4)
    first, second = (convert(calibrated(nn.Sequential(nn.Linear(4, 3)), data * scale)) for scale in (1, 2))
    assert not weft.equal(first(data), second(data))
    second.load_state_dict(first.state_dict())
    assert weft.equal(first(data), second(data))


def test_quantize_does_it_all_and_wrappers_do_not_matter():
    model = QuantWrapper(nn.Linear(3, 2))
    model.qconfig = default_qconfig
    quantized = quantize(model, lambda model, data: [model(each) for each in data], [weft.randn(4, 5, 3)])
    assert quantized.module.weight.dtype is weft.int8
    assert quantized(weft.randn(2, 3)).shape == (2, 2)


def test_mistakes_are_told():
    model = nn.Sequential(nn.Linear(2, 2)).eval()
    with pytest.raises(ValueError, match="qconfig"):
        prepare(model)
    model.qconfig = default_qconfig
    with pytest.raises(ValueError, match="call model"):
        prepare(model.train())
    prepared = prepare(model.eval())
    with pytest.raises(ValueError, match="already"):
        prepare(prepared)
    with pytest.raises(ValueError, match="0 has seen no data"):
        convert(prepared)
    prepared(weft.tensor([[math.inf, 0.0]]))
    with pytest.raises(ValueError, match="not finite"):
        convert(prepared)


# Files


def sessions(model, x, folder):
    """What onnxruntime makes of a model's file: as the file says, and with its integer kernels; and those."""
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    path = str(folder / "model.onnx")
    weft.onnx.export(model, (x[:2],), path, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    found = []
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = str(folder / "optimized.onnx")
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        found.append(session.run(None, {"x": x.numpy()})[0])
    return *found, {node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node}


@pytest.mark.parametrize("name", [each for each in LAYERS if "reflect" not in each])
def test_onnxruntime_has_the_same_numbers_by_integer_kernels(name, tmp_path):
    layer, shape = LAYERS[name]
    x = weft.randn(4 * shape[0], *shape[1:])
    quantized = convert(calibrated(layer, x))
    expected, step = quantized(x).numpy(), float(quantized.scale)
    as_written, by_integers, kernels = sessions(quantized, x, tmp_path)
    for found in (as_written, by_integers):  # where floats are summed in another order, a half may fall to either side
        assert np.abs(found - expected).max() <= step * 1.01
        assert (np.abs(found - expected) > step / 2).mean() < 0.01
    assert kernels & {"QGemm", "QLinearConv", "QLinearMatMul", "MatMulIntegerToFloat"}, kernels


def test_a_quantized_model_needs_a_quarter_of_the_bytes(tmp_path):
    pytest.importorskip("onnx")
    x = weft.randn(20, 64)
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 64))
    sizes = []
    for number, each in enumerate((model.eval(), convert(calibrated(model, x)))):
        path = tmp_path / f"{number}.onnx"
        weft.onnx.export(each, (x,), str(path))
        sizes.append(path.stat().st_size)
    assert sizes[1] < 0.3 * sizes[0]


def test_a_quantized_model_runs_in_numpy_alone(tmp_path):
    import runpy

    x = weft.randn(20, 1, 4, 4)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    quantized = convert(calibrated(model, x))
    written = weft.export.export(quantized, (x,)).to_python(tmp_path / "model")
    assert np.allclose(runpy.run_path(written)["Model"]()(x.numpy()), quantized(x).numpy(), atol=1e-6)


def test_a_quantized_program_is_loaded_where_nothing_of_quantization_is_imported(tmp_path):
    quantized = convert(calibrated(nn.Sequential(nn.Linear(4, 3)), weft.randn(20, 4)))
    weft.export.save(weft.export.export(quantized, (weft.ones(2, 4),)), tmp_path / "model.pt2")
    program = "import weft, weft.export; print(weft.export.load('model.pt2').module()(weft.ones(2, 4)).tolist())"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(quantized(weft.ones(2, 4)).tolist()), done.stderr


# What programs name


def test_stubs_return_their_tensor_and_have_no_state():
    x = weft.ones(2)
    for stub in (QuantStub(), DeQuantStub()):
        assert stub(x) is x
        assert not stub.state_dict()
    assert QuantStub("how").qconfig == "how"


def test_arithmetic_of_a_module_is_that_of_the_functions_and_may_be_watched():
    module = nn.quantized.FloatFunctional()
    seen = []
    module.activation_post_process.register_forward_hook(lambda _, inputs, result: seen.append(result))
    x, y = weft.tensor([1.0, -3.0]), weft.ones(2)
    assert module.add(x, y).tolist() == [2, -2]
    assert module.mul(x, y).tolist() == [1, -3]
    assert module.add_relu(x, y).tolist() == [2, 0]
    assert module.matmul(x, y).item() == -2
    assert module.cat([x, y]).tolist() == [1, -3, 1, 1]
    assert len(seen) == 5
    assert module.add_scalar(x, 2).tolist() == [3, -1] and module.mul_scalar(x, 2).tolist() == [2, -6]
    assert len(seen) == 5
    with pytest.raises(RuntimeError, match="not intended to use the 'forward'"):
        module(x)


# Training with rounding


def test_fake_quantization_rounds_and_lets_gradients_through_inside_of_the_range():
    fake = FakeQuantize(MinMaxObserver, quant_min=0, quant_max=10)
    fake(weft.tensor([0.0, 10.0]))
    fake.disable_observer()
    x = weft.tensor([-3.0, 0.4, 0.6, 9.7, 30.0], requires_grad=True)
    y = fake(x)
    y.sum().backward()
    assert y.tolist() == [0, 0, 1, 10, 10] and x.grad.tolist() == [0, 1, 1, 1, 0]
    fake.disable_fake_quant()
    assert fake(x) is x


def test_what_rounds_is_saved_with_its_scales():
    fake, other = default_per_channel_weight_fake_quant(), default_per_channel_weight_fake_quant()
    x = weft.randn(5, 3)
    expected = fake(x)
    other.load_state_dict(fake.state_dict())
    other.disable_observer()
    assert weft.equal(other(x), expected) and other.scale.shape == (5,)


def rings(count):
    """Points on two rings, and on which each is."""
    angle, ring = 6.3 * weft.rand(count), weft.arange(count) % 2
    return weft.stack([angle.cos(), angle.sin()], 1) * (1 + ring[:, None]), ring


def trained(model, x, y, steps):
    optimizer = weft.optim.Adam(model.parameters(), 0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


def test_training_with_rounding_gives_back_what_few_bits_cost():
    weft.manual_seed(0)
    x, y = rings(64)
    model = trained(nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2)), x, y, 30)
    two_bits = {"quant_min": -2, "quant_max": 1, "dtype": weft.qint8, "qscheme": weft.per_channel_symmetric}
    weight = FakeQuantize.with_args(observer=MovingAveragePerChannelMinMaxObserver, averaging_constant=1.0, **two_bits)
    model.qconfig = QConfig(get_default_qat_qconfig().activation, weight)
    prepared = prepare_qat(model)
    rounded = convert(copy.deepcopy(run(prepared, x)).eval())
    again = convert(trained(prepared, x, y, 30).eval())
    assert accuracy(model, x, y) == 1 and accuracy(again, x, y) > 0.98
    assert loss(again, x, y) < 0.7 * loss(rounded, x, y)


def run(model, x):
    model(x)
    return model


def loss(model, x, y):
    return nn.functional.cross_entropy(model(x), y).item()


def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


def test_prepared_layers_keep_their_parameters_and_are_converted():
    model = fuse_modules(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval(), ["0", "1", "2"])
    model.train().qconfig = get_default_qat_qconfig()
    weight = model[0][0].weight
    prepared = prepare_qat(model, inplace=True)
    assert prepared[0][0].weight is weight and type(prepared[0][0]) is qat.Conv2d
    prepared(weft.randn(2, 1, 5, 5)).sum().backward()
    assert weight.grad is not None
    assert convert(prepared.eval())[0].weight.dtype is weft.int8
    single = nn.Linear(2, 3)
    single.qconfig = get_default_qat_qconfig("qnnpack")
    assert type(convert(run(prepare_qat(single), weft.randn(4, 2)).eval())) is quantized.Linear
    with pytest.raises(ValueError, match="eval mode"):
        prepare_qat(model.eval())
    with pytest.raises(ValueError, match="get_default_qat_qconfig"):
        prepare_qat(nn.Linear(2, 2))


# By the range of each input

DYNAMIC = {
    "Linear": (lambda: nn.Linear(6, 5), (3, 6)),
    "LSTM": (lambda: nn.LSTM(6, 5, 2, bidirectional=True), (7, 3, 6)),
    "LSTM with projections": (lambda: nn.LSTM(6, 5, proj_size=3), (7, 3, 6)),
    "GRU": (lambda: nn.GRU(6, 5, batch_first=True), (3, 7, 6)),
    "LSTMCell": (lambda: nn.LSTMCell(6, 5), (3, 6)),
    "GRUCell": (lambda: nn.GRUCell(6, 5, bias=False), (3, 6)),
    "RNNCell": (lambda: nn.RNNCell(6, 5), (3, 6)),
    "Conv2d": (lambda: nn.Conv2d(6, 5, 3, padding=1, padding_mode="reflect"), (3, 6, 7, 7)),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_layers_with_dynamic_rounding_give_nearly_the_same(name):
    weft.manual_seed(0)
    make, shape = DYNAMIC[name]
    model = nn.Sequential(make())
    layer = quantize_dynamic(model, {type(model[0])})
    x = weft.randn(shape)
    found, expected = (each[0] if isinstance(each, tuple) else each for each in (layer(x), model(x)))
    apart = (found - expected).abs().max() / expected.abs().max()
    assert 0 < apart < 0.02
    assert {each.dtype for each_name, each in layer.named_buffers() if "int8" in each_name} == {weft.int8}
    assert all("weight" not in each_name for each_name, _ in layer.named_parameters())
    other = quantize_dynamic(nn.Sequential(make()), {type(model[0])})
    other.load_state_dict(layer.state_dict())
    result = other(x)
    assert weft.equal(result[0] if isinstance(result, tuple) else result, found)


def test_dynamic_rounding_is_chosen_by_type_or_name_and_of_a_packed_sequence_too():
    model = nn.ModuleDict({"first": nn.Linear(2, 2), "second": nn.Linear(2, 2), "last": nn.LSTM(2, 3)})
    found = quantize_dynamic(model, {"second": per_channel_dynamic_qconfig, nn.LSTM: default_dynamic_qconfig})
    assert type(found["first"]) is nn.Linear and found["second"].weight_scale.shape == (2,)
    packed = nn.utils.rnn.pack_sequence([weft.randn(4, 2), weft.randn(3, 2)])
    assert (found["last"](packed)[0].data - model["last"](packed)[0].data).abs().max() < 0.02
    assert found["second"](weft.zeros(1, 2)).isfinite().all() and found["second"](weft.zeros(0, 2)).shape == (0, 2)
    with pytest.raises(ValueError, match=r"qint8, not weft.float16"):
        quantize_dynamic(model, dtype=weft.float16)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.bfloat16])
def test_fake_quantization_rounds_limits_and_passes_gradients_inside(dtype):
    numbers = [-3.0, -0.25, -0.24, 0.0, 0.26, 0.5, 10.0, math.nan, math.inf, -math.inf]
    x = weft.tensor(numbers, dtype=dtype, requires_grad=True)
    expected = weft.tensor([-3.0, 0.0, 0.0, 0.0, 0.5, 0.5, 1.5, -3.0, 1.5, -3.0], dtype=dtype)
    for scale, zero_point in ((0.5, 2), (weft.tensor(0.5), weft.tensor(2)), (weft.tensor([0.5]), weft.tensor([2.0]))):
        y = weft.fake_quantize_per_tensor_affine(x, scale, zero_point, -4, 5)
        assert weft.equal(y, expected) and y.dtype is dtype
        (grad,) = weft.autograd.grad(y.sum(), x)
        assert grad.tolist() == [1.0] * 6 + [0.0] * 4
    assert weft.fake_quantize_per_tensor_affine(weft.empty(0, 2, dtype=dtype), 0.5, 0, 0, 1).shape == (0, 2)
    rows = weft.tensor([[0.3, 0.8, 9.0], [0.3, 0.8, 9.0]], dtype=dtype)
    points = weft.tensor([0, 1], dtype=weft.int32)
    for axis, given in ((0, rows), (-1, rows.mT)):
        y = weft.fake_quantize_per_channel_affine(given, weft.tensor([0.5, 0.25]), points, axis, -4, 5)
        assert weft.equal(y if axis == 0 else y.mT, weft.tensor([[0.5, 1.0, 2.5], [0.25, 0.75, 1.0]], dtype=dtype))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f, g, x: f(x, 0.5, 2, 5, 4), "`quant_min` should be less than or equal to `quant_max`"),
        (lambda f, g, x: f(x, 0.5, 9, -4, 5), "`zero_point` must be between"),
        (lambda f, g, x: f(x, weft.ones(2), 0, -4, 5), "2 elements cannot be converted"),
        (lambda f, g, x: g(x, weft.ones(3), weft.zeros(3, dtype=weft.int32), 0, -4, 5), "not consistent"),
        (lambda f, g, x: g(x, weft.ones(2), weft.zeros(2, dtype=weft.int64), 0, -4, 5), "found Long"),
        (lambda f, g, x: g(x, weft.ones(2).double(), weft.zeros(2, dtype=weft.int32), 0, -4, 5), "found Double"),
        (lambda f, g, x: g(x, weft.ones(1), weft.zeros(2, dtype=weft.int32), 0, -4, 5), "same dimensions"),
        (lambda f, g, x: g(x, weft.ones(1, 2), weft.zeros(2, dtype=weft.int32), 0, -4, 5), "1-D"),
        (lambda f, g, x: g(x, weft.ones(2), weft.zeros(2, dtype=weft.int32) + 9, 0, -4, 5), "`zero_point` must be"),
    ],
)
def test_fake_quantization_refuses_what_does_not_fit(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(weft.fake_quantize_per_tensor_affine, weft.fake_quantize_per_channel_affine, weft.ones(2, 4))
    with pytest.raises(NotImplementedError, match="Int"):
        weft.fake_quantize_per_tensor_affine(weft.ones(2, dtype=weft.int32), 0.5, 0, 0, 1)
