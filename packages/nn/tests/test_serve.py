"""What servers take from weft: requests as tensors, models that are ready when they are warm, batches, paths."""

import asyncio
import json
import pickle

import pytest

import weft
from weft import nn
from weft.export import Dim, export
from weft.serve import Batcher, Endpoints, InferenceError, InferenceModel, TensorSpec
from weft.serve.protocol import decode, encode, parse

X = TensorSpec("x", "FP32", (-1, 3))


def entry(spec=X, **changed):
    return {"name": spec.name, "datatype": spec.datatype, "shape": [1, 3], "data": [1, 2.5, 3]} | changed


def request(*entries, **more):
    return {"inputs": list(entries or [entry()]), **more}


class Recorder(nn.Module):
    """Doubles its input, and remembers the sizes of the batches."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def forward(self, x):
        self.sizes.append(len(x))
        if (x == 13).any():
            raise IndexError("13 is in no vocabulary")
        if (x == 14).any():
            raise OSError("the disk is gone")
        return 2 * x


def recorder(**options):
    model = InferenceModel(Recorder(), inputs=[X], max_batch_size=8, **options)
    model.load()
    return model


# The protocol


@pytest.mark.parametrize(
    ("datatype", "data"),
    [
        ("FP32", [0.1, -2, 3]),
        ("FP64", [0.1, 2, 1e300]),
        ("FP16", [0.1, 2, 65504]),
        ("BF16", [0.1, 2, 1e38]),
        ("INT8", [-128, 0, 127]),
        ("UINT8", [0, 1, 255]),
        ("INT64", [-(2**63), 0, 2**63 - 1]),
        ("UINT64", [0, 1, 2**64 - 1]),
        ("BOOL", [True, False, True]),
    ],
)
def test_elements_of_each_datatype_arrive(datatype, data):
    spec = TensorSpec("x", datatype, (3,))
    (tensor,) = decode(request(entry(spec, shape=[3], data=data)), [spec])
    assert tensor.dtype == spec.dtype
    assert weft.equal(tensor, weft.tensor(data, dtype=spec.dtype))
    (output,) = encode({}, [tensor], [spec], "model", None)["outputs"]
    assert (output["datatype"], output["shape"]) == (datatype, [3])
    assert json.loads(json.dumps(output["data"])) == tensor.tolist()


def test_nested_and_flat_data_are_the_same():
    expected = [[0, 1, 2], [3, 4, 5]]
    for data in (expected, [*range(6)]):
        assert decode(request(entry(shape=[2, 3], data=data)), [X])[0].tolist() == expected


WRONG = {
    "no object": [],
    "no inputs": {},
    "inputs no list": {"inputs": {"x": 1}},
    "input no object": request("x"),
    "input without name": request({"shape": [1, 3]}),
    "another name": request(entry(name="y")),
    "a name too many": request(entry(), entry(name="y")),
    "twice": request(entry(), entry()),
    "another datatype": request(entry(datatype="FP64")),
    "no datatype": request(entry(datatype=None)),
    "another size": request(entry(shape=[1, 4], data=[0] * 4)),
    "a dimension less": request(entry(shape=[3])),
    "a negative size": request(entry(shape=[-1, 3])),
    "a size that is no integer": request(entry(shape=[1.0, 3])),
    "a size that is a bool": request(entry(shape=[True, 3])),
    "shape no list": request(entry(shape="1x3")),
    "too little data": request(entry(data=[1, 2])),
    "as much data in another shape": request(entry(data=[[1], [2], [3]])),
    "a huge shape": request(entry(shape=[2**60, 3])),
    "no data": request(entry(data=None)),
    "ragged data": request(entry(data=[[1, 2], [3]])),
    "a string among data": request(entry(data=[1, "2", 3])),
    "null among data": request(entry(data=[1, None, 3])),
    "bools for numbers": request(entry(data=[True, False, True])),
    "beyond float32": request(entry(data=[1e39, 0, 0])),
    "NaN": request(entry(data=[float("nan"), 0, 0])),
    "infinity": request(entry(data=[float("inf"), 0, 0])),
    "beyond 64 bits": request(entry(data=[10**400, 0, 0])),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_a_wrong_request_is_refused_with_400(content):
    with pytest.raises(InferenceError) as raised:
        decode(content, [X])
    assert raised.value.status == 400


@pytest.mark.parametrize(
    ("datatype", "data"),
    [("INT8", [128, 0, 0]), ("INT64", [2**63, 0, 0]), ("INT32", [0.5, 1, 2]), ("UINT64", [2**64, 0, 0])],
)
def test_a_number_that_the_datatype_does_not_hold_is_refused(datatype, data):
    spec = TensorSpec("x", datatype, (-1, 3))
    with pytest.raises(InferenceError, match="input 'x'"):
        decode(request(entry(spec, data=data)), [spec])


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[NaN]", b"[Infinity]", b"[" * 100_000], ids=repr)
def test_a_body_that_is_no_json_is_refused_with_400(body):
    with pytest.raises(InferenceError, match="not JSON") as raised:
        parse(body)
    assert raised.value.status == 400


def test_a_spec_of_no_datatype_of_ours_is_refused():
    with pytest.raises(ValueError, match="BYTES"):
        TensorSpec("x", "BYTES", (1,))
    with pytest.raises(ValueError, match="-1 for any size"):
        TensorSpec("x", "FP32", (-2,))


# Models


def test_a_model_is_ready_after_it_ran_the_least_and_the_largest_batch():
    module = Recorder()
    model = InferenceModel(module, inputs=[X], max_batch_size=8)
    with pytest.raises(InferenceError) as raised:
        model.infer(request())
    assert raised.value.status == 503
    assert not model.ready
    model.load()
    assert model.ready
    assert module.sizes == [1, 8]
    assert model.outputs == [TensorSpec("output", "FP32", (-1, 3))]


def test_a_model_that_cannot_run_does_not_get_ready():
    model = InferenceModel(nn.Linear(4, 2), inputs=[X])
    with pytest.raises(RuntimeError):
        model.load()
    assert not model.ready


def test_outputs_other_than_declared_are_found_by_warming():
    with pytest.raises(ValueError, match="declares the outputs"):
        InferenceModel(nn.Linear(3, 2), inputs=[X], outputs=[TensorSpec("y", "FP32", (-1, 5))]).load()


def test_a_state_dict_is_loaded_into_what_build_makes(tmp_path):
    linear = nn.Linear(3, 2)
    weft.save(linear.state_dict(), tmp_path / "line.pt")
    model = InferenceModel(tmp_path / "line.pt", build=lambda: nn.Linear(3, 2), inputs=[X.describe()])
    model.load()
    expected = linear(weft.tensor([[1, 2.5, 3]])).flatten().tolist()
    assert model.infer(request())["outputs"][0]["data"] == pytest.approx(expected)
    with pytest.raises(ValueError, match="build="):
        InferenceModel(tmp_path / "line.pt", inputs=[X]).load()
    with pytest.raises(ValueError, match="inputs="):
        InferenceModel(tmp_path / "line.pt", build=lambda: nn.Linear(3, 2)).load()
    with pytest.raises(RuntimeError, match="size mismatch"):
        InferenceModel(tmp_path / "line.pt", build=lambda: nn.Linear(3, 5), inputs=[X]).load()


def test_a_program_says_itself_what_its_inputs_are():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    program = export(module, (weft.ones(2, 3),), dynamic_shapes=({0: Dim("batch", max=40)},))
    model = InferenceModel(program, max_batch_size=64)
    assert [spec.shape for spec in (*model.inputs, *model.outputs)] == [(-1, 3), (-1, 4)]
    assert model.max_batch_size == 40
    model.load()
    x = weft.randn(5, 3)
    name = model.inputs[0].name
    response = model.infer(request(entry(name=name, shape=[5, 3], data=x.tolist())))
    assert response["outputs"][0]["data"] == pytest.approx(module(x).flatten().tolist())
    with pytest.raises(InferenceError) as raised:
        model.infer(request(entry(name=name, shape=[41, 3], data=[0] * 123)))
    assert raised.value.status == 400


def test_a_model_travels_to_another_process_by_its_file(tmp_path):
    module = nn.Linear(3, 2)
    program = export(module, (weft.ones(2, 3),), dynamic_shapes=({0: Dim("batch")},))
    weft.export.save(program, tmp_path / "line.pt2")
    model = InferenceModel(tmp_path / "line.pt2")
    model.load()
    other = pickle.loads(pickle.dumps(model))
    assert not other.ready
    other.load()
    content = request(entry(name=model.inputs[0].name))
    assert other.infer(content) == model.infer(content)


def test_a_program_of_fixed_sizes_is_not_batched():
    model = InferenceModel(export(nn.Linear(3, 2), (weft.ones(2, 3),)))
    model.load()
    assert not model.can_batch


def test_what_a_model_refuses_is_the_requests_fault_and_what_it_breaks_by_is_not():
    model = recorder()
    for number, status in ((13, 400), (14, 500)):
        with pytest.raises(InferenceError) as raised:
            model.infer(request(entry(data=[number, 0, 0])))
        assert raised.value.status == status


def test_outputs_that_json_cannot_express_are_refused():
    class Logarithm(nn.Module):
        def forward(self, x):
            return x.log()

    model = InferenceModel(Logarithm(), inputs=[X], examples=[weft.ones(1, 3)])
    model.load()
    with pytest.raises(InferenceError, match="NaN or an infinity"):
        model.infer(request(entry(data=[0, 1, 1])))


def test_a_request_may_name_its_outputs():
    class Two(nn.Module):
        def forward(self, x):
            return x + 1, {"more": x - 1}

    model = InferenceModel(Two(), inputs=[X])
    model.load()
    both = model.infer(request(id="seven"))
    assert [each["name"] for each in both["outputs"]] == ["output_0", "output_1"]
    assert both["id"] == "seven"
    one = model.infer(request(outputs=[{"name": "output_1"}]))
    assert [each["data"] for each in one["outputs"]] == [[0, 1.5, 2]]
    with pytest.raises(InferenceError, match="output_2"):
        model.infer(request(outputs=[{"name": "output_2"}]))


# Batches


def answers(batcher, *contents):
    async def ask():
        return await asyncio.gather(*[batcher.infer(each) for each in contents], return_exceptions=True)

    return asyncio.run(ask())


def test_requests_that_come_together_run_together():
    model = recorder()
    sizes = model.source.sizes
    contents = [request(entry(shape=[rows, 3], data=[rows] * 3 * rows)) for rows in (1, 2, 3, 1, 4, 2)]
    found = answers(Batcher(model), *contents)
    for rows, response in zip((1, 2, 3, 1, 4, 2), found):
        assert response["outputs"][0] == {
            "name": "output",
            "datatype": "FP32",
            "shape": [rows, 3],
            "data": [2 * rows] * 3 * rows,
        }
    assert sizes[2:] == [7, 6]  # 1 + 2 + 3 + 1, then 4 + 2: at most 8 rows


def test_a_request_that_fails_does_not_fail_its_batch():
    model = recorder()
    contents = [request(entry(data=[number] * 3)) for number in (1, 13, 2, 14)]
    contents.append(request(entry(shape=[1, 4], data=[0] * 4)))
    one, unknown, two, broken, wrong = answers(Batcher(model), *contents)
    assert [each["outputs"][0]["data"][0] for each in (one, two)] == [2, 4]
    assert [each.status for each in (unknown, broken, wrong)] == [400, 500, 400]


def test_requests_of_other_lengths_run_apart():
    module = Recorder()
    spec = TensorSpec("x", "FP32", (-1, -1))
    model = InferenceModel(module, inputs=[spec], max_batch_size=8, examples=[weft.ones(1, 2)])
    model.load()
    contents = [request(entry(spec, shape=[1, n], data=[n] * n)) for n in (2, 3, 2)]
    found = answers(Batcher(model), *contents)
    assert [each["outputs"][0]["data"] for each in found] == [[4, 4], [6, 6, 6], [4, 4]]
    assert module.sizes[2:] == [2, 1]


# Paths


def test_the_paths_of_the_protocol():
    model = InferenceModel(Recorder(), inputs=[X], name="twice", version="2")
    endpoints = Endpoints(model)
    body = json.dumps(request()).encode()

    def ask(method, path, body=b""):
        return asyncio.run(endpoints.respond(method, path, body))

    assert ask("GET", "/v2/health/live")[0] == 200
    for path in ("/v2/health/ready", "/v2/models/twice/ready"):
        assert ask("GET", path) == (503, {"ready": False})
    assert ask("POST", "/v2/models/twice/infer", body)[0] == 503
    model.load()
    for path in ("/v2/health/ready", "/v2/models/twice/ready", "/v2/models/twice/versions/2/ready"):
        assert ask("GET", path) == (200, {"ready": True})
    assert ask("GET", "/v2")[1]["name"] == "weft"
    assert ask("GET", "/v2/models/twice/versions/2")[1] == model.metadata()
    status, response = ask("POST", "/v2/models/twice/versions/2/infer", body)
    assert (status, response["model_version"], response["outputs"][0]["data"]) == (200, "2", [2, 5, 6])
    for method, path, expected in (
        ("POST", "/v2/models/other/infer", 404),
        ("POST", "/v2/models/twice/versions/3/infer", 404),
        ("GET", "/v2/models/twice/other", 404),
        ("GET", "/v1/models", 404),
        ("GET", "/v2/models/twice/infer", 405),
        ("POST", "/v2/models/twice", 405),
        ("POST", "/v2/models/twice/infer", 400),
    ):
        status, content = ask(method, path, b"{}")
        assert (status, list(content)) == (expected, ["error"]), path
    endpoints.close()
