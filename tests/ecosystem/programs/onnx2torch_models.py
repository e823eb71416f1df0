"""onnx2torch: an ONNX graph becomes a module, which runs and trains."""

# /// script
# dependencies = ["onnx2torch==1.5.15", "onnx==1.16.1"]
# ///

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx2torch import convert

rng = numpy.random.default_rng(0)
weights = {
    "kernel": rng.normal(size=(4, 1, 3, 3)).astype("float32"),
    "offset": rng.normal(size=(4,)).astype("float32"),
    "matrix": rng.normal(size=(4, 5)).astype("float32"),
    "shape": numpy.array([0, -1], dtype="int64"),
}
nodes = [
    helper.make_node("Conv", ["image", "kernel", "offset"], ["conv"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["conv"], ["relu"]),
    helper.make_node("GlobalAveragePool", ["relu"], ["pool"]),
    helper.make_node("Reshape", ["pool", "shape"], ["flat"]),
    helper.make_node("MatMul", ["flat", "matrix"], ["logits"]),
    helper.make_node("Softmax", ["logits"], ["out"], axis=1),
]
graph = helper.make_graph(
    nodes,
    "cnn",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 8, 8])],
    [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", 5])],
    [numpy_helper.from_array(value, name) for name, value in weights.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
onnx.checker.check_model(model)
module = convert(model)
torch.manual_seed(0)
image = torch.randn(3, 1, 8, 8)
out = module(image)
print("out", *out.flatten().tolist())
out.log().sum().backward()
print("gradients", *[p.grad.norm().item() for p in module.parameters() if p.grad is not None])
print(len(module.graph.nodes), [name for name, _ in module.named_children()])
