"""`weft.onnx.load`: files of ONNX as modules."""

import copy
import io
import pickle
import random

import numpy as np
import pytest

import weft
import weft.onnx
from weft import nn

onnx = pytest.importorskip("onnx")
helper, numpy_helper, TensorProto = onnx.helper, onnx.numpy_helper, onnx.TensorProto
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, shape=None, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def tensor(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model_of(nodes, inputs, outputs, tensors=(), opset=21, functions=(), **imports):
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs), list(tensors))
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, 1) for name in imports)]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions))


def linear_model(weight, bias):
    node = helper.make_node("Gemm", ["x", "fc.weight", "fc.bias"], ["y"], transB=1)
    return model_of(
        [node], [value("x", ["n", 3])], [value("y")], [tensor("fc.weight", weight), tensor("fc.bias", bias)]
    )


@pytest.fixture
def linear():
    return linear_model(np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(2, np.float32))


def test_weights_are_parameters_by_the_names_of_the_file(linear):
    module = weft.onnx.load(linear)
    assert [name for name, _ in module.named_parameters()] == ["fc.weight", "fc.bias"]
    assert module(weft.ones(1, 3)).tolist() == [[4.0, 13.0]]
    assert module(x=weft.ones(1, 3)).tolist() == [[4.0, 13.0]]


def test_a_file_is_read_from_a_path_a_file_object_and_bytes(linear, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(linear, path)
    data = path.read_bytes()
    for source in (path, str(path), io.BytesIO(data), data):
        assert weft.onnx.load(source)(weft.ones(1, 3)).tolist() == [[4.0, 13.0]]


def test_what_is_exported_is_loaded(tmp_path):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    weft.onnx.export(
        model, weft.ones(2, 4), tmp_path / "m.onnx", dynamic_axes={"input": {0: "n"}}, input_names=["input"]
    )
    loaded, x = weft.onnx.load(tmp_path / "m.onnx"), weft.randn(5, 4)
    assert set(loaded.state_dict()) == set(model.state_dict())
    assert weft.allclose(loaded(x), model(x), rtol=1e-5)


def test_a_loaded_model_trains(linear):
    module, target = weft.onnx.load(linear), weft.zeros(4, 2)
    x = weft.randn(4, 3, generator=weft.Generator().manual_seed(0))
    optimizer, losses = weft.optim.SGD(module.parameters(), 0.01), []
    for _ in range(20):
        loss = (module(x) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_copies_and_pickles_compute_the_same(linear):
    module, x = weft.onnx.load(linear), weft.ones(1, 3)
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert made(x).tolist() == module(x).tolist()
        made.fc.bias.data.zero_()
        assert made(x).tolist() != module(x).tolist()


def batch_norm():
    names = ["scale", "bias", "mean", "var"]
    node = helper.make_node("BatchNormalization", ["x", *names], ["y"], momentum=0.5)
    tensors = [tensor(name, np.full(2, name in ("scale", "var"), np.float32)) for name in names]
    return model_of([node], [value("x")], [value("y")], tensors)


def test_batch_normalization_follows_the_modes_of_the_module():
    module = weft.onnx.load(batch_norm())
    assert not module.training  # as the file describes it
    assert [name for name, _ in module.named_buffers()] == ["mean", "var"]
    x = weft.tensor([[1.0, 2.0], [3.0, 6.0]])
    assert weft.allclose(module(x), x, rtol=1e-4)
    module.train()
    assert weft.allclose(module(x), weft.tensor([[-1.0, -1.0], [1.0, 1.0]]), rtol=1e-4)
    assert module.mean.tolist() == [1.0, 2.0]


def test_dropout_drops_in_training_mode_alone():
    module = weft.onnx.load(model_of([helper.make_node("Dropout", ["x"], ["y"])], [value("x")], [value("y")]))
    x = weft.ones(100)
    assert module(x).tolist() == x.tolist()
    assert set(module.train()(x).tolist()) == {0.0, 2.0}


def test_a_mask_of_infinities_is_no_parameter():
    mask = np.triu(np.full((3, 3), -np.inf, np.float32), 1)
    module = weft.onnx.load(
        model_of([helper.make_node("Add", ["x", "mask"], ["y"])], [value("x")], [value("y")], [tensor("mask", mask)])
    )
    assert not list(module.parameters())
    assert [name for name, _ in module.named_buffers()] == ["mask"]


def test_names_that_a_module_has_for_something_else_get_others():
    names = ["forward", "training.weight", "a", "a.b", "__class__", "x..y", "state_dict"]
    nodes, last = [], "x"
    for place, name in enumerate(names):
        nodes.append(helper.make_node("Add", [last, name], [f"v{place}"]))
        last = f"v{place}"
    tensors = [tensor(name, np.ones(1, np.float32)) for name in names]
    module = weft.onnx.load(model_of(nodes, [value("x")], [value(last)], tensors))
    assert module(weft.zeros(1)).tolist() == [7.0]
    assert len(list(module.parameters())) == 7
    assert module.training is False


def reshape_by_computed_sizes():
    """The shape of a Reshape comes from Shape, Gather and Concat."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["rows"], axis=0),
        helper.make_node("Concat", ["rows", "rest"], ["wanted"], axis=0),
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("Reshape", ["square", "wanted"], ["y"]),
    ]
    tensors = [tensor("zero", np.array([0])), tensor("rest", np.array([-1]))]
    return model_of(nodes, [value("x")], [value("y")], tensors)


def test_sizes_are_computed_on_the_host_whatever_the_device():
    module = weft.onnx.load(reshape_by_computed_sizes())
    assert [step.runs_on_host for step in module.program.steps] == [True, True, True, False, False]
    assert not list(module.buffers())
    assert module.to("meta")(weft.ones(2, 3, 4, device="meta")).shape == (2, 12)


def test_a_loaded_model_is_exported_again_with_its_sizes_free(tmp_path):
    module, path = weft.onnx.load(reshape_by_computed_sizes()), tmp_path / "again.onnx"
    weft.onnx.export(module, weft.ones(2, 3, 4), path, input_names=["x"], dynamic_axes={"x": {0: "n", 1: "t"}})
    x = weft.arange(30.0).reshape(3, 5, 2)[..., :1].expand(3, 5, 4)
    assert weft.onnx.load(path)(x).tolist() == module(x).tolist()


def test_values_are_released_after_their_last_use():
    nodes = [helper.make_node("Relu", [f"v{k}"], [f"v{k + 1}"]) for k in range(3)]
    module = weft.onnx.load(model_of(nodes, [value("v0")], [value("v3")]))
    assert [step.released for step in module.program.steps] == [["v0"], ["v1"], ["v2"]]


def test_a_branch_and_a_loop_see_the_values_around_them():
    then = helper.make_graph([helper.make_node("Add", ["x", "w"], ["t"])], "then", [], [value("t")])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [value("e")])
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["still"]), helper.make_node("Add", ["total", "b"], ["next"])],
        "body",
        [value("step", [], INT64), value("going", [], TensorProto.BOOL), value("total")],
        [value("still", [], TensorProto.BOOL), value("next")],
    )
    nodes = [
        helper.make_node("If", ["flag"], ["b"], then_branch=then, else_branch=other),
        helper.make_node("Loop", ["count", "", "zero"], ["y"], body=body),
    ]
    tensors = [
        tensor("w", np.ones(2, np.float32)),
        tensor("count", np.array(3)),
        tensor("zero", np.zeros(2, np.float32)),
    ]
    inputs = [value("x"), value("flag", [], TensorProto.BOOL)]
    module = weft.onnx.load(model_of(nodes, inputs, [value("y")], tensors))
    x = weft.tensor([1.0, 2.0])
    assert module(x, weft.tensor(True)).tolist() == [6.0, 9.0]
    assert module(x, weft.tensor(False)).tolist() == [-3.0, -6.0]


def function(name, nodes, inputs=("a",), outputs=("z",), attributes=()):
    return helper.make_function(
        "own", name, list(inputs), list(outputs), nodes, [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)],
        list(attributes),
    )  # fmt: skip


def test_functions_of_the_file_are_inlined_with_their_attributes():
    leaky = helper.make_node("LeakyRelu", ["a"], ["z"])
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    outer = function("Outer", [helper.make_node("Leaky", ["a"], ["z"], domain="own", slope=0.5)])
    inner = function("Leaky", [leaky], attributes=["slope"])
    node = helper.make_node("Outer", ["x"], ["y"], domain="own")
    module = weft.onnx.load(model_of([node], [value("x")], [value("y")], functions=[outer, inner], own=1))
    assert module(weft.tensor([-2.0, 2.0])).tolist() == [-1.0, 2.0]


def test_wrong_inputs_are_refused(linear):
    module = weft.onnx.load(linear)
    with pytest.raises(TypeError, match=r"float32; got weft.float64"):
        module(weft.ones(1, 3).double())
    with pytest.raises(ValueError, match=r"has the shape \['any', 3\]; got \[1, 4\]"):
        module(weft.ones(1, 4))
    with pytest.raises(TypeError, match=r"\['x'\] are missing"):
        module()
    with pytest.raises(TypeError, match="'z' is given twice or is none of them"):
        module(weft.ones(1, 3), z=1)


def test_an_error_names_the_node():
    node = helper.make_node("Reshape", ["x", "shape"], ["y"], name="flatten")
    module = weft.onnx.load(model_of([node], [value("x")], [value("y")], [tensor("shape", np.array([7, -1]))]))
    with pytest.raises(RuntimeError) as caught:
        module(weft.ones(4))
    assert caught.value.__notes__ == ["in node 'flatten' (Reshape) of the ONNX graph"]


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("StringSplit", ["x"], ["y"]),
        helper.make_node("ScatterElements", ["x", "x", "x"], ["y"], reduction="none of them"),
        helper.make_node("LpPool", ["x"], ["y"], kernel_shape=[1], p=0),
        helper.make_node("Split", ["x"], ["y"], num_outputs=0),
    ],
    ids=lambda node: node.op_type,
)
def test_values_and_attributes_that_an_operator_does_not_take_are_value_errors(node):
    with pytest.raises(ValueError, match=node.op_type):
        weft.onnx.load(chain([node]))(weft.zeros(1, 1, 1))


def test_numbers_of_4_bits_are_no_parameters():
    weight = helper.make_tensor("weight", onnx.TensorProto.INT4, [2, 2], [1, -8, 7, 0])
    nodes = [helper.make_node("Identity", ["weight"], ["w"]), helper.make_node("Mul", ["x", "weight"], ["z"])]
    with pytest.raises(TypeError, match="must be Tensor"):
        weft.onnx.load(model_of(nodes, [value("x")], [value("z")], [weight]))(weft.ones(2, 2))
    nodes[1:] = [helper.make_node("Cast", ["w"], ["v"], to=1), helper.make_node("Mul", ["x", "v"], ["y"])]
    module = weft.onnx.load(model_of(nodes, [value("x")], [value("y")], [weight]))
    assert module(weft.ones(2, 2)).tolist() == [[1, -8], [7, 0]] and not list(module.parameters())


def test_names_that_are_no_text_are_refused():
    data = chain([helper.make_node("Relu", ["x"], ["y"], name="name-of-the-node")]).SerializeToString()
    with pytest.raises(ValueError, match="is no text in UTF-8"):
        weft.onnx.load(data.replace(b"name-of", b"\xff\xfeme-of"))


def chain(nodes, **options):
    return model_of(nodes, [value("x")], [value("y")], **options)


def doubling_functions(count):
    """Each calls the one before twice: 2 ** count nodes."""
    made = [function("F0", [helper.make_node("Neg", ["a"], ["z"])])]
    for number in range(1, count):
        calls = [
            helper.make_node(f"F{number - 1}", ["a"], ["b"], domain="own"),
            helper.make_node(f"F{number - 1}", ["b"], ["z"], domain="own"),
        ]
        made.append(function(f"F{number}", calls))
    return made


HOSTILE = {
    "a cycle": (
        chain([helper.make_node("Add", ["x", "y"], ["b"]), helper.make_node("Relu", ["b"], ["y"])]),
        ValueError, "'y', which no earlier node makes",
    ),
    "no such value": (chain([helper.make_node("Relu", ["z"], ["y"])]), ValueError, "want the value 'z'"),
    "no output": (chain([helper.make_node("Relu", ["x"], ["z"])]), ValueError, "outputs want the value 'y'"),
    "a name twice": (
        chain([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])]),
        ValueError, "'y' is given to two values",
    ),
    "too many inputs": (chain([helper.make_node("Relu", ["x", "x"], ["y"])]), ValueError, "2 inputs where 1"),
    "a missing input": (chain([helper.make_node("Add", ["x"], ["y"])]), ValueError, "1 inputs where 2 are wanted"),
    "no such attribute": (chain([helper.make_node("Relu", ["x"], ["y"], a=1)]), ValueError, "'a', which is not known"),
    "a missing attribute": (chain([helper.make_node("Cast", ["x"], ["y"])]), ValueError, "lacks the attributes"),
    "unknown operators": (
        chain([helper.make_node("Foo", ["x"], ["z"], name="first"), helper.make_node("Bar", ["z"], ["y"])]),
        NotImplementedError, r"Bar \(first in a Bar node\), Foo \(first in node 'first' \(Foo\)\)",
    ),
    "no such domain": (chain([helper.make_node("Foo", ["x"], ["y"], domain="d")]), ValueError, "does not import"),
    "an opset to come": (chain([helper.make_node("Relu", ["x"], ["y"])], opset=99), ValueError, "of opset 99"),
    "a function of itself": (
        chain([helper.make_node("F", ["x"], ["y"], domain="own")],
              functions=[function("F", [helper.make_node("F", ["a"], ["z"], domain="own")])], own=1),
        ValueError, "calls itself",
    ),
    "functions without end": (
        chain([helper.make_node("F29", ["x"], ["y"], domain="own")], functions=doubling_functions(30), own=1),
        ValueError, "more than",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_model_is_refused(name, monkeypatch):
    monkeypatch.setattr("weft.onnx._importer.building.MOST_NODES", 500)
    model, error, message = HOSTILE[name]
    with pytest.raises(error, match=message):
        weft.onnx.load(model)


def external(location, **entries):
    made = TensorProto(name="w", data_type=FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, entry in {"location": location, **entries}.items():
        made.external_data.add(key=key, value=entry)
    return model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x")], [value("y")], [made])


def test_data_in_a_file_beside_the_model_are_read(tmp_path):
    (tmp_path / "data").write_bytes(np.array([9, 1, 2], np.float32).tobytes())
    onnx.save(external("data", offset="4", length="8"), tmp_path / "model.onnx")
    assert weft.onnx.load(tmp_path / "model.onnx")(weft.zeros(2)).tolist() == [1.0, 2.0]


def test_data_outside_the_folder_are_not_opened(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret").write_bytes(bytes(8))
    (home / "link").symlink_to(tmp_path / "secret")
    for location in ("../secret", str(tmp_path / "secret"), "link", "", ".", "none"):
        onnx.save(external(location), home / "model.onnx")
        with pytest.raises(ValueError, match="no file inside the model's folder"):
            weft.onnx.load(home / "model.onnx")
    (home / "data").write_bytes(bytes(8))
    for entries in ({"offset": "4", "length": "8"}, {"offset": "-1"}, {"length": "x"}, {"length": "4"}):
        onnx.save(external("data", **entries), home / "model.onnx")
        with pytest.raises(ValueError, match="tensor 'w'"):
            weft.onnx.load(home / "model.onnx")
    with pytest.raises(ValueError, match="give load the model's path"):
        weft.onnx.load(external("data"))


def test_sizes_that_are_not_those_of_the_data_take_no_memory():
    made = TensorProto(name="w", data_type=FLOAT, dims=[2**31, 2**31], raw_data=bytes(8))
    with pytest.raises(ValueError, match="not those of the shape"):
        weft.onnx.load(chain([helper.make_node("Add", ["x", "w"], ["y"])], tensors=[made]))
    node = helper.make_node("ConstantOfShape", ["shape"], ["y"])
    module = weft.onnx.load(chain([node], tensors=[tensor("shape", np.array([2**40, 2**20]))]))
    with pytest.raises((RuntimeError, ValueError, MemoryError)):
        module(weft.ones(1))


def test_changed_bytes_end_in_an_error_or_in_numbers(linear):
    """A model with some bytes changed loads and runs, or raises what users can catch."""
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["t"])], "then", [], [value("t")])
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[1, 1], pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2]),
        helper.make_node("Shape", ["p"], ["s"], end=1),
        helper.make_node("Concat", ["s", "m"], ["shape"], axis=0),
        helper.make_node("Reshape", ["p", "shape"], ["r"]),
        helper.make_node("If", ["f"], ["y"], then_branch=body, else_branch=body),
    ]
    tensors = [tensor("w", np.ones((2, 1, 3, 3), np.float32)), tensor("m", np.array([-1])), tensor("f", np.array(True))]
    data = model_of(nodes, [value("x", [1, 1, 4, 4])], [value("y"), value("r")], tensors).SerializeToString()
    draw = random.Random(0)
    outcomes = {"numbers": 0, "error": 0}
    for _ in range(400):
        changed = bytearray(data)
        for _ in range(draw.choice([1, 1, 2, 5])):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        if draw.random() < 0.1:
            del changed[draw.randrange(len(changed)) :]
        try:
            weft.onnx.load(bytes(changed))(weft.ones(1, 1, 4, 4))
            outcomes["numbers"] += 1
        except (ValueError, NotImplementedError, TypeError, RuntimeError, IndexError, KeyError):
            outcomes["error"] += 1
    assert min(outcomes.values()) > 20


def test_the_backend_of_onnx_runs_arrays(linear):
    from weft.onnx import backend

    x = np.ones((1, 3), np.float32)
    assert backend.run_model(linear, [x])[0].tolist() == [[4.0, 13.0]]
    assert backend.supports_device("CPU")
    assert backend.is_compatible(linear)
    assert not backend.is_compatible(chain([helper.make_node("Foo", ["x"], ["y"])]))
