"""`weft.onnx`: modules as files."""

import math

import pytest

import weft
import weft.onnx
from weft import nn

onnx = pytest.importorskip("onnx")


def test_a_module_is_written_with_its_names(tmp_path):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    path = tmp_path / "model.onnx"
    weft.onnx.export(model, weft.ones(2, 4), path, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
    made = onnx.load(path)
    onnx.checker.check_model(made, full_check=True)
    assert [each.name for each in made.graph.input] == ["x"]
    assert [each.name for each in made.graph.output] == ["y"]
    assert {each.name for each in made.graph.initializer} == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"


def test_ops_without_a_converter_are_listed_at_once():
    class Model(nn.Module):
        def forward(self, x):
            return weft.lgamma(x) + weft.digamma(x)

    with pytest.raises(weft.onnx.OnnxExporterError, match=r"core::lgamma \(test_onnx.py:\d+\), core::digamma"):
        weft.onnx.export(Model(), weft.ones(2))


def test_a_module_knows_that_it_is_exported():
    """onnx2torch's modules ask."""
    seen = []

    class Model(nn.Module):
        def forward(self, x):
            seen.append(weft.onnx.is_in_onnx_export())
            return x * 2

    weft.onnx.export(Model(), weft.ones(2))
    Model()(weft.ones(2))
    assert all(seen[:-1]) and not seen[-1]


def test_a_shape_is_a_tensor_and_a_tensor_a_shape():
    from weft.onnx import operators

    shape = operators.shape_as_tensor(weft.ones(2, 3))
    assert shape.tolist() == [2, 3] and shape.dtype is weft.int64
    assert operators.reshape_from_tensor_shape(weft.arange(6), shape).shape == (2, 3)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x, scale=None):
        x = self.second(nn.functional.relu_(self.first(x)))
        return {"logits": x if scale is None else x * scale, "same": x}


def written(*args, **options):
    return weft.onnx.export(*args, **options).model_proto.SerializeToString(deterministic=True)


def test_a_file_is_the_same_for_the_same_model():
    model, x = Model(), weft.ones(2, 4)
    assert written(model, x) == written(model, x)


@pytest.mark.parametrize("opset", [18, 19, 20, 21])
def test_a_file_is_of_the_opset_that_was_asked_for(opset):
    made = weft.onnx.export(Model(), weft.ones(2, 4), opset_version=opset).model_proto
    onnx.checker.check_model(made, full_check=True)
    assert [(each.domain, each.version) for each in made.opset_import] == [("", opset)]


def test_what_cannot_be_written_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    monkeypatch.setattr("os.replace", lambda *args: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="the disk is full"):
        weft.onnx.export(Model(), weft.ones(2, 4), path)
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


def test_inputs_and_outputs_have_the_names_that_were_given():
    x, scale = weft.ones(2, 4), weft.ones(1, 3)
    with pytest.raises(weft.export.UserError, match="with inputs of other sizes Model fails"):  # two sizes that are one
        weft.onnx.export(Model(), (x, scale), input_names=["a", "b"], dynamic_axes={"a": [0], "b": [1]})
    made = weft.onnx.export(
        Model(), (x,), kwargs={"scale": scale}, input_names=["a"], output_names=["y"], dynamic_axes={"a": {0: "n"}}
    )
    graph = made.model_proto.graph
    assert [each.name for each in graph.input] == ["a", "scale"] and graph.output[0].name == "y"
    assert graph.output[1].name != "y" and len(graph.output) == 2
    with pytest.raises(ValueError, match="3 input_names for 1 inputs"):
        weft.onnx.export(Model(), x, input_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="opset_version must be 18 to 21, got 11"):
        weft.onnx.export(Model(), x, opset_version=11)


def test_a_module_is_written_in_eval_mode_and_keeps_its_own():
    model = nn.Sequential(nn.Dropout(), nn.BatchNorm1d(3))
    made = weft.onnx.export(model, weft.ones(2, 3)).model_proto
    assert "Dropout" not in {node.op_type for node in made.graph.node}
    assert model.training and model[0].training and model[1].num_batches_tracked == 0


def test_a_program_is_written_as_well():
    program = weft.export.export(Model(), (weft.ones(2, 4),), dynamic_shapes={"x": {0: weft.export.Dim("rows")}})
    made = weft.onnx.export(program).model_proto
    assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "rows"


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def session(content):
    """An onnxruntime session of a file's bytes, as a function of one array."""
    onnxruntime = pytest.importorskip("onnxruntime")
    onnxruntime.set_default_logger_severity(4)
    made = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return lambda x: made.run(None, {made.get_inputs()[0].name: x.numpy()})


COMPARISONS = {
    "a range": lambda rows, columns: rows < 20,
    "a remainder": lambda rows, columns: rows % 47 != 0,
    "two sizes": lambda rows, columns: 9 * columns > rows * 2 + 1,
    "a quotient": lambda rows, columns: rows / 3 < 7.5,
    "a quotient rounded": lambda rows, columns: math.ceil(rows / 5) != 4 and round(rows / 2.5) != 10,
    "a whole quotient": lambda rows, columns: -(-rows // 4) <= 5,
    "powers": lambda rows, columns: (columns - rows) ** 2 != 25 * columns**2 and 4.5 // rows**-1 < 100,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_file_fails_at_sizes_at_which_the_program_branches(name):
    holds = COMPARISONS[name]
    model = Function(lambda x: (x.sin(), x.sum() > 0) if holds(*x.shape) else (x.cos(), x.sum() < 0))
    dims = {0: weft.export.Dim("rows", min=2), 1: weft.export.Dim("columns", min=3)}
    content = written(model, weft.ones(4, 6), dynamic_shapes=(dims,))
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    outcomes = set()
    for run in (session(content), weft.onnx.load(content)):
        for rows, columns in ((4, 6), (19, 6), (20, 6), (22, 4), (23, 7), (47, 40), (24, 4), (94, 60), (25, 6)):
            x = weft.randn(rows, columns)
            outcomes.add(holds(rows, columns))
            if holds(rows, columns):
                assert weft.allclose(weft.as_tensor(run(x)[0]), x.sin(), atol=1e-6)
            else:
                with pytest.raises(Exception, match=r"exported for .* as test_onnx.py:\d+ compares|out of bounds"):
                    run(x)
    assert outcomes == {True, False}


class Remembers(nn.Module):
    """Subtracts what it got in the call before."""

    def __init__(self, reads):
        super().__init__()
        self.reads = reads
        self.register_buffer("last", weft.zeros(3))

    def forward(self, x):
        before = self.last.clone()
        self.last.copy_(x[-1])
        return x - before if self.reads else x - self.last


def test_results_that_depend_on_the_call_before_are_refused():
    with pytest.raises(weft.onnx.OnnxExporterError, match=r"writes to its buffer 'last' \(.* at test_onnx.py:\d+\)"):
        weft.onnx.export(Remembers(True), weft.ones(2, 3))
    run = session(written(Remembers(False), weft.ones(2, 3)))
    for x in (weft.randn(2, 3), weft.randn(2, 3)):
        assert weft.allclose(weft.as_tensor(run(x)[0]), x - x[-1])


def test_an_argument_that_an_op_cannot_have_is_refused_with_its_line():
    with pytest.raises(weft.onnx.OnnxExporterError, match=r"nn::resample at test_onnx.py:\d+: weights that depend"):
        weft.onnx.export(nn.AdaptiveAvgPool2d((5, 2)), weft.ones(1, 1, 7, 7), dynamic_axes={"input": {2: "height"}})


class Narrow(nn.Module):
    def forward(self, x):
        last = x.cummax(1)
        return (
            *(-x, x**2, x << 1, x >> 1, x.amax(1), x.min(0), x.max(), x @ x.t(), x.maximum(x.flip(1)), x.clamp(1, 5)),
            *(x.all(), x.any(1), last.values, last.indices, x.sum(0), x.sort(1).values, x == 3, x // 2, x.float()),
        )


@pytest.mark.parametrize("dtype", [weft.int8, weft.uint8, weft.int16, weft.int32])
def test_narrow_integers_are_valid_in_every_operator(dtype):
    """ONNX's operators take few of them: they run in wider ones."""
    x = weft.randint(0, 10, (3, 4)).to(dtype)
    expected = flat(Narrow()(x))
    made = weft.onnx.export(Narrow(), x).model_proto
    onnx.checker.check_model(made, full_check=True)
    if dtype is not weft.int16:  # onnxruntime has no Max of it
        for found, wanted in zip(results(made, x), expected, strict=True):
            assert found.dtype == wanted.dtype and (found == wanted).all()


def test_an_operator_that_takes_no_integers_at_all_is_refused():
    with pytest.raises(weft.onnx.OnnxExporterError, match=r"nn::unfold at .*: ONNX's Conv takes no weft.int64"):
        weft.onnx.export(nn.Unfold(2), weft.ones(1, 1, 4, 4, dtype=weft.int64))


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x):
        parts = x.split(1, 1)[0], x[1:], x.flip(0), x.roll(1, 0), x.cumsum(0), x.softmax(1), x.diagonal(0, 1, 2)
        return *parts, (x > 0).any(), (x > 0).all(), (x > 0).any(0), x.sum(0), self.norm(x), x.reshape(-1, 4), x @ x.mT


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_a_batch_may_be_empty(rows):
    dims = {0: weft.export.Dim("rows")}
    made = weft.onnx.export(Rows(), weft.randn(2, 4, 4), dynamic_shapes=(dims,)).model_proto
    x = weft.randn(rows, 4, 4)
    for found, wanted in zip(results(made, x), flat(Rows()(x)), strict=True):
        assert found.shape == wanted.shape and weft.allclose(weft.from_numpy(found), weft.from_numpy(wanted), atol=1e-5)


def flat(values):
    return [each.detach().numpy() for each in weft.utils._pytree.tree_leaves(values)]


def results(made, x):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x.numpy()})


def test_weights_may_stand_in_a_file_of_their_own(tmp_path):
    model, x = nn.Sequential(nn.Linear(30, 40), nn.Linear(40, 3)), weft.randn(2, 30)
    path = tmp_path / "model.onnx"
    made = weft.onnx.export(model, x, path, external_data=True)
    whole = made.model_proto.SerializeToString(deterministic=True)
    assert path.stat().st_size < 2500 and written(model, x) == whole
    (data,) = tmp_path.glob("model.onnx-*.data")
    onnx.checker.check_model(path, full_check=True)
    onnxruntime = pytest.importorskip("onnxruntime")
    (found,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"input": x.numpy()})
    assert weft.allclose(weft.from_numpy(found), model(x), atol=1e-5)
    assert weft.allclose(weft.onnx.load(path)(x), model(x), atol=1e-5)
    before = data.read_bytes()
    made.save(path, external_data=True)
    assert data.read_bytes() == before
    weft.onnx.export(nn.Linear(30, 40), x, path, external_data=True)
    assert len(list(tmp_path.glob("*.data"))) == 1 and not data.exists()


def test_models_over_the_limit_get_a_file_for_their_weights(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.onnx._export.MOST_INSIDE", 1000)
    weft.onnx.export(nn.Linear(30, 40), weft.ones(1, 30), tmp_path / "model.onnx")
    assert len(list(tmp_path.glob("model.onnx-*.data"))) == 1


class Complex(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def test_spectrograms_are_written_with_pairs_in_the_place_of_complex_numbers():
    window = weft.hann_window(8)
    model = Complex(lambda x: weft.stft(x, 8, 4, window=window, return_complex=True).abs())
    made = weft.onnx.export(model, weft.randn(2, 32), dynamic_shapes=({0: weft.export.Dim("batch")},)).model_proto
    onnx.checker.check_model(made, full_check=True)
    x = weft.randn(3, 32)
    assert weft.allclose(weft.from_numpy(results(made, x)[0]), model(x), atol=1e-5)


def test_complex_numbers_that_onnx_has_not_are_refused():
    for function, x, message in [
        (weft.fft.rfft, weft.ones(4), "is a complex result.*view_as_real"),
        (lambda x: x.abs(), weft.ones(4, dtype=weft.complex64), "is complex, which ONNX's operators do not take"),
        (lambda x: weft.fft.rfft(x).exp().abs(), weft.ones(4), r"core::exp at test_onnx.py:\d+: it is of complex"),
        (lambda x: weft.fft.rfft(x).sum().abs(), weft.ones(4), r"core::sum at test_onnx.py:\d+: it is of complex"),
    ]:
        with pytest.raises(weft.onnx.OnnxExporterError, match=message):
            weft.onnx.export(Complex(function), x)
