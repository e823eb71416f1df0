"""What a program does is recorded as PyTorch records it; the texts are those that PyTorch prints, by weft's names."""

import math
import textwrap

import pytest

import weft
import weft.nn.functional as F
from weft import fx, nn
from weft.fx.proxy import GraphAppendingTracer, TraceError


def code(root, **options):
    return fx.symbolic_trace(root, **options).code.strip()


def text(expected):
    return textwrap.dedent(expected).strip()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(2)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn(self.conv(x))
        out += identity
        return self.relu(out)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(Block(), Block())
        self.scale = nn.Parameter(weft.ones(2))
        self.register_buffer("shift", weft.zeros(2))

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        x = weft.flatten(self.layer1(x).mean((2, 3)), 1)
        return F.dropout(x * self.scale + self.shift, 0.5, training=self.training)


def test_a_residual_network():
    assert code(Net().eval()) == text(
        """
        def forward(self, x : weft.Tensor) -> weft.Tensor:
            layer1_0_conv = getattr(self.layer1, "0").conv(x)
            layer1_0_bn = getattr(self.layer1, "0").bn(layer1_0_conv);  layer1_0_conv = None
            add = layer1_0_bn + x;  layer1_0_bn = x = None
            layer1_0_relu = getattr(self.layer1, "0").relu(add);  add = None
            layer1_1_conv = getattr(self.layer1, "1").conv(layer1_0_relu)
            layer1_1_bn = getattr(self.layer1, "1").bn(layer1_1_conv);  layer1_1_conv = None
            add_1 = layer1_1_bn + layer1_0_relu;  layer1_1_bn = layer1_0_relu = None
            layer1_1_relu = getattr(self.layer1, "1").relu(add_1);  add_1 = None
            mean = layer1_1_relu.mean((2, 3));  layer1_1_relu = None
            flatten = weft.flatten(mean, 1);  mean = None
            scale = self.scale
            mul = flatten * scale;  flatten = scale = None
            shift = self.shift
            add_2 = mul + shift;  mul = shift = None
            dropout = weft.nn.functional.dropout(add_2, p = 0.5, training = False, inplace = False);  add_2 = None
            return dropout
        """
    )


def test_operators_methods_attributes_and_constants():
    def f(a, b=2):
        first, second = a.split(1)
        c = 3**a % 2 // 1 - (-first @ second.T)
        return {"c": c[1:, None], "size": (a.shape[0], a.size(0))}, ~(c > 0), weft.add(a, b, alpha=2).to(weft.float16)

    assert code(f) == text(
        """
        def forward(self, a, b = 2):
            split = a.split(1)
            getitem = split[0]
            getitem_1 = split[1];  split = None
            pow_1 = 3 ** a
            mod = pow_1 % 2;  pow_1 = None
            floordiv = mod // 1;  mod = None
            neg = -getitem;  getitem = None
            getattr_1 = getitem_1.T;  getitem_1 = None
            matmul = neg @ getattr_1;  neg = getattr_1 = None
            sub = floordiv - matmul;  floordiv = matmul = None
            getitem_2 = sub[(slice(1, None, None), None)]
            getattr_2 = a.shape
            getitem_3 = getattr_2[0];  getattr_2 = None
            size = a.size(0)
            gt = sub > 0;  sub = None
            invert = ~gt;  gt = None
            add = weft.add(a, b, alpha = 2);  a = b = None
            to = add.to(weft.float16);  add = None
            return ({'c': getitem_2, 'size': (getitem_3, size)}, invert, to)
        """
    )


def test_the_printed_graph():
    graph = fx.symbolic_trace(lambda x, y=1.0: weft.cat([x, x], dim=1) + y).graph
    assert str(graph) == text(
        """
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %y : [num_users=1] = placeholder[target=y](default=1.0)
            %cat : [num_users=1] = call_function[target=weft.cat](args = ([%x, %x],), kwargs = {dim: 1})
            %add : [num_users=1] = call_function[target=operator.add](args = (%cat, %y), kwargs = {})
            return add
        """
    )


def test_functions_of_every_namespace_are_recorded():
    def f(x):
        return weft.linalg.norm(x), weft.fft.fft(x), weft.special.entr(x), F.gelu(x), weft.conv2d(x, x), math.sqrt(x)

    targets = [node.target for node in fx.symbolic_trace(f).graph.nodes if node.op == "call_function"]
    assert targets == [weft.linalg.norm, weft.fft.fft, weft.special.entr, F.gelu, weft.conv2d, math.sqrt]


def test_arguments_in_stars_are_placeholders():
    def f(x, *args, scale=2, **kwargs):
        return x * scale + args[0] + kwargs["bias"]

    traced = fx.symbolic_trace(f)
    assert [node.target for node in traced.graph.nodes if node.op == "placeholder"] == [
        "x",
        "scale",
        "*args",
        "**kwargs",
    ]
    assert traced(weft.ones(1), 3, 4, bias=5).tolist() == [12]


def test_a_tensor_that_the_program_makes_is_kept():
    traced = fx.symbolic_trace(lambda x: x + weft.arange(3))
    assert traced._tensor_constant0.tolist() == [0, 1, 2]
    assert traced(weft.ones(3)).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (lambda x: x if x.sum() > 0 else -x, TraceError, "control flow"),
        (lambda x: [each for each in x], TraceError, "cannot be iterated"),  # noqa: C416
        (lambda x: x.__len__(), RuntimeError, "'len' is not supported"),
        (lambda x: {**x}, TraceError, "cannot be iterated"),
        (lambda x: int(x), TypeError, "int"),
        (lambda x: weft.add(x, {1, 2}), NotImplementedError, "argument of type: <class 'set'>"),
    ],
)
def test_what_depends_on_values_cannot_be_recorded(program, error, message):
    with pytest.raises(error, match=message):
        fx.symbolic_trace(program)


def test_constants_decide_which_way_the_program_goes():
    def f(x, flag=True, y=None):
        return x + 1 if flag else x

    traced = fx.symbolic_trace(f, concrete_args={"flag": False, "y": None})
    assert "x + 1" not in traced.code
    assert traced(weft.ones(1), False).tolist() == [1]
    with pytest.raises(AssertionError, match="flag has been specialized to have value False"):
        traced(weft.ones(1), True)


def test_modules_and_their_attributes_are_as_before_afterwards():
    before = nn.Module.__call__, nn.Module.__getattr__
    with pytest.raises(TraceError):
        fx.symbolic_trace(lambda x: bool(x))
    assert (nn.Module.__call__, nn.Module.__getattr__) == before


def test_a_tracer_says_which_modules_are_steps():
    class Blocks(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, Block)

    net = Net()
    graph = Blocks().trace(net)
    assert [node.target for node in graph.nodes if node.op == "call_module"] == ["layer1.0", "layer1.1"]
    assert getattr(fx.GraphModule(net, graph).layer1, "0") is net.layer1[0]


def test_nodes_know_the_modules_around_them():
    node = fx.symbolic_trace(Net()).graph.find_nodes(op="call_module", target="layer1.1.bn")[0]
    stack = node.meta["nn_module_stack"]
    assert list(stack) == ["layer1", "layer1.1", "layer1.1.bn"] and stack["layer1.1"][1] is Block


def test_a_module_that_is_no_submodule_is_named():
    stranger = nn.Linear(1, 1)
    with pytest.raises(NameError, match="module is not installed as a submodule: Linear"):
        fx.symbolic_trace(lambda x: stranger(x))


def branching(x):
    return x if x.sum() > 0 else -x


fx.wrap("len")
fx.wrap("branching")


def test_wrapped_functions_are_steps():
    traced = fx.symbolic_trace(lambda x: branching(x) * len(x))
    targets = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert targets[:2] == [branching, len]
    assert traced(-weft.ones(2)).tolist() == [2, 2]
    assert fx.symbolic_trace(traced).code == traced.code


def test_wrap_belongs_to_the_top_of_a_module():
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("len")
    with pytest.raises(RuntimeError, match="callable or string"):
        fx.wrap(3)


def test_a_proxy_adds_to_the_graph_of_its_node():
    graph = fx.Graph()
    x = graph.placeholder("x")
    tracer = GraphAppendingTracer(graph)
    y = (fx.Proxy(x, tracer) > 0) * fx.Proxy(x, tracer)
    graph.output(y.node)
    assert [node.name for node in graph.nodes] == ["x", "gt", "mul", "output"]


def test_proxies_of_two_graphs_do_not_meet():
    a, b = (fx.Proxy(fx.Graph().placeholder("x")) for _ in range(2))
    with pytest.raises(RuntimeError, match="multiple different tracers"):
        weft.add(a, b)


def test_annotations_that_only_a_checker_understands_are_left_out():
    def f(x: "Nobody") -> "weft.Tensor":  # noqa: F821
        return x

    assert code(f).startswith("def forward(self, x):")


def test_a_proxy_is_no_tensor():
    assert code(lambda x: x if weft.is_tensor(x) or isinstance(x, weft.Tensor) else x + 1).count("x + 1") == 1
