"""Sizes that may change."""

import pytest

import weft
from weft import nn
from weft.export import Dim, UserError, export
from weft.export._sizes import Solver
from weft.nn import functional as F


class Gpt(nn.Module):
    def __init__(self, vocabulary=50, width=16, heads=4, block=64):
        super().__init__()
        self.heads = heads
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(block, width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("causal", weft.ones(block, block).tril()[None, None])

    def forward(self, ids):
        batch, time = ids.size()
        x = self.tokens(ids) + self.positions(weft.arange(0, time))
        width = x.shape[-1]
        q, k, v = self.qkv(self.norm(x)).split(width, dim=2)
        q, k, v = (each.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for each in (q, k, v))
        scores = (q @ k.mT).masked_fill(self.causal[:, :, :time, :time] == 0, float("-inf"))
        y = scores.softmax(-1) @ v + F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).contiguous().view(batch, time, width))
        return self.head(x), x.reshape(batch * time, width)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.second = nn.Conv2d(4, 4, 3)
        self.down = nn.MaxPool2d(3, 2, ceil_mode=True)

    def forward(self, x):
        y = self.down(self.second(self.first(x).relu_()))
        return F.interpolate(y, size=x.shape[-2:]) + x[:, :1], y.flatten(2).mean(2), y.flatten(1).sum(1)


def same(found, expected):
    return all(map(weft.equal, found, expected))


def test_gpt_at_lengths_that_were_never_seen():
    model = Gpt().eval()
    dims = {0: Dim("batch"), 1: Dim("time", max=64)}
    program = export(model, (weft.randint(0, 50, (2, 8)),), dynamic_shapes=(dims,))
    for shape in ((1, 1), (3, 64), (5, 13)):
        ids = weft.randint(0, 50, shape)
        assert same(program.module()(ids), model(ids))
    output = next(node for node in program.graph.nodes if node.op == "output")
    assert [str(each.meta["val"].shape) for each in output.args[0]] == ["(batch, time, 50)", "(batch*time, 16)"]


def test_images_of_other_sizes():
    model = Cnn().eval()
    dims = {0: Dim("batch"), 2: Dim("height"), 3: Dim("width")}
    program = export(model, (weft.randn(2, 3, 32, 40),), dynamic_shapes=(dims,))
    for shape in ((1, 3, 33, 47), (4, 3, 64, 31), (2, 3, 18, 19)):
        x = weft.randn(shape)
        assert same(program.module()(x), model(x))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_at_other_lengths(kind):
    model = kind(5, 6, 2, batch_first=True, bidirectional=True).eval()
    program = export(model, (weft.randn(2, 3, 5),), dynamic_shapes=({0: Dim("batch"), 1: Dim("time")}, None)[:1])
    x = weft.randn(4, 9, 5)
    assert weft.equal(program.module()(x)[0], model(x)[0])


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


REFUSED = {
    "a loop over a size": (lambda x: sum((x[i] for i in range(x.shape[0])), x[0]), "a loop over a size"),
    "a branch on a size": (lambda x: x.sin() if x.shape[0] > 4 else x.cos(), r"core::cos at .*, then core::sin"),
    "a number of Python's": (lambda x: x * x.shape[0] ** 0.5, r"core::mul at .*: its argument other is"),
    "a tensor of numbers": (lambda x: x + weft.tensor([x.shape[0] / 3]), r"core::tensor at .*: a tensor of numbers"),
    "a tensor from nowhere": (lambda x: x + weft.from_numpy(x.shape[0] * weft.ones(1).numpy()), "from_numpy|numpy"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_sizes_otherwise_is_refused_with_its_line(name):
    function, message = REFUSED[name]
    with pytest.raises(UserError, match=message) as refused:
        export(Function(function), (weft.randn(3, 2),), dynamic_shapes=({0: Dim("rows")},))
    assert "test_dynamic_shapes.py:" in str(refused.value)


def test_inputs_are_compared_with_what_the_program_takes():
    square = export(Function(lambda x: x @ x), (weft.ones(4, 4),), dynamic_shapes=({0: Dim("n", max=9), 1: Dim("n")},))
    with pytest.raises(RuntimeError, match=r"x.shape\[1\] is 3, but n is 2 elsewhere"):
        square.module()(weft.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"n in \[0, 9\], got 10"):
        square.module()(weft.ones(10, 10))
    with pytest.raises(RuntimeError, match=r"x must have dtype weft\.float32, got weft\.float64"):
        square.module()(weft.ones(2, 2, dtype=weft.float64))
    fixed = export(Function(lambda x: x), (weft.ones(4),))
    with pytest.raises(RuntimeError, match=r"x.shape\[0\] must be 4, got 5"):
        fixed.module()(weft.ones(5))


def test_multiples_of_a_size_are_multiples():
    program = export(
        Function(lambda x: x.view(-1, 4).sum(1)), (weft.ones(8),), dynamic_shapes={"x": {0: 4 * Dim("quarters")}}
    )
    assert program.module()(weft.ones(20)).shape == (5,)
    with pytest.raises(RuntimeError, match=r"x.shape\[0\] must be 4\*quarters"):
        program.module()(weft.ones(21))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((5, 5, 5, 5), "5"),
        ((7, 8, 9, 12), "n"),
        ((15, 17, 19, 25), "2*n + 1"),
        ((21, 40, 27, 48), "m*n"),
        ((10, 13, 12, 16), "m + n"),
        ((63, 120, 81, 144), "3*m*n"),
    ],
)
def test_sizes_are_polynomials(values, text):
    assert str(Solver({"n": (7, 8, 9, 12), "m": (3, 5, 3, 4)}).of_inputs(values)) == text


def test_dynamic_shapes_that_fit_no_argument_are_refused():
    model, x = Function(lambda x: x), weft.ones(2)
    for shapes, message in [
        ({"y": {0: Dim("n")}}, "names y; the arguments are x"),
        (({0: Dim("n")}, None), "2 entries for 1 arguments"),
        (({3: Dim("n")},), "names dimension 3"),
        (({0: Dim("n", min=5)},), "n is 2 in the example"),
    ]:
        with pytest.raises(UserError, match=message):
            export(model, (x,), dynamic_shapes=shapes)
