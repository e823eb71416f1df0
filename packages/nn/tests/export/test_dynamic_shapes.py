"""Sizes that may change."""

import copy
import math
import operator
import pickle

import numpy
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
    "a branch on a float": (
        lambda x: x.sin() if 0.5 * x.shape[0] > 2 else x.cos(),
        r"core::cos at .*, then core::sin",
    ),
    "one size alone": (lambda x: x.sin() if x.shape[0] == 3 else x.cos(), "rows cannot change: rows == 3 at"),
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


convolution = nn.Conv2d(1, 1, 3, stride=2)
BRANCHES = {
    "within the sizes that are tried": (lambda x: x.shape[0] > 8, (0, 8), []),
    "beyond them": (lambda x: x.shape[0] >= 100, (0, 99), []),
    "size": (lambda x: x.size(0) > 100, (0, 100), []),
    "size of the last": (lambda x: x.size(-1) * x.size(0) > 100, (0, 50), []),
    "number of elements": (lambda x: x.numel() > 501, (0, 250), []),
    "of one row": (lambda x: x.shape[0] == 1, (2, None), []),
    "of none": (lambda x: not x.shape[0], (1, None), []),
    "a shape": (lambda x: x.shape == (50, 2), (0, None), ["rows != 50"]),
    "a remainder": (lambda x: x.shape[0] % 47 == 0, (0, None), ["rows % 47 != 0"]),
    "one of several": (lambda x: x.size()[0] in (50, 60), (0, None), ["rows != 50", "rows != 60"]),
    "a quotient": (lambda x: x.shape[0] / 2 > 30.5, (0, 61), []),
    "a whole quotient": (lambda x: divmod(x.shape[0] + 1, 4)[0] > 10, (0, 42), []),
    "rounded": (lambda x: math.ceil(x.shape[0] / 3) >= 21, (0, 60), []),
    "a square": (lambda x: x.shape[0] ** 2 > 700, (0, None), ["rows ** 2 <= 700"]),
    "a result's size": (lambda x: weft.cat([x, x[1:]]).shape[0] > 100, (0, 50), []),
    "a convolution's": (lambda x: convolution(x[None, None, :, :1].expand(-1, -1, -1, 5)).shape[2] > 40, (0, 82), []),
    "an integer of it": (lambda x: int(x.shape[0]) > 100, (0, 100), []),
    "an integer of a product": (lambda x: int(x.shape[0] * 0.5) > 40, (0, 81), []),
    "integers of a shape": (lambda x: next(map(int, x.shape)) > 100, (0, 100), []),
    "a float of it": (lambda x: float(x.size(0)) > 60.5, (0, 60), []),
    "the length": (lambda x: len(x) > 100, (0, 100), []),
    "half the length": (lambda x: len(x) // 2 > 40, (0, 81), []),
    "the larger length": (lambda x: max(60, len(x)) > 60, (0, 60), []),
    "a shifted size": (lambda x: x.shape[0] >> 5 > 1, (0, 63), []),
    "its last bits": (lambda x: x.shape[0] & 63 == 50, (0, None), ["rows % 64 != 50"]),
    "bytes": (lambda x: x.nbytes > 400, (0, 50), []),
    "a slice's size": (lambda x: x[:60].shape[0] < x.shape[0], (0, 60), []),
    "the smaller size": (lambda x: min(x.shape[0], 40) == 40, (0, 39), ["min(rows, 40) != 40"]),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_comparison_of_sizes_limits_them(name, tmp_path):
    branches, (least, most), guards = BRANCHES[name]
    model = Function(lambda x: x.sin() if branches(x) else x.cos())
    program = export(model, (weft.randn(6, 2),), dynamic_shapes=({0: Dim("rows")},))
    weft.export.save(program, tmp_path / "file.pt2")
    program = weft.export.load(tmp_path / "file.pt2")
    assert program.range_constraints == {"rows": (least, 2**31 - 1 if most is None else most)}
    assert [str(each) for each in program.guards] == guards
    found = program.module()
    for rows in (*range(3, 64), 81, 82, 83, 94, 99, 100, 101, 250, 251):
        x = weft.randn(rows, 2)
        try:
            result = found(x)
        except RuntimeError as error:
            assert "rows" in str(error) and branches(x)
        else:
            assert weft.equal(result, model(x))


class Settings:
    limit = 100
    scale = 0.5


BY_SIZE = {50: True, 99: True}
UNSEEN = {  # what Python makes plain numbers of
    "a float to the left": lambda x: 0.5 * x.shape[0] > 50,
    "an attribute to the left": lambda x: Settings.scale * x.shape[0] > Settings.limit,
    "a reciprocal": lambda x: 1.0 / x.shape[0] < 0.01,
    "a root": lambda x: math.sqrt(x.shape[0]) > 9,
    "a whole root": lambda x: math.isqrt(x.shape[0]) > 9,
    "a logarithm": lambda x: math.log2(x.shape[0]) >= 6,
    "a common divisor": lambda x: math.gcd(x.shape[0], 64) > 32,
    "a key": lambda x: BY_SIZE.get(x.shape[0], False),
    "an element": lambda x: x.shape[0] in {99, 100},
    "its digits": lambda x: str(x.shape[0]) == "99",
    "formatted digits": lambda x: f"{x.shape[0]:d}" == "99",
    "an index": lambda x: operator.index(x.shape[0]) > 80,
    "a range": lambda x: 81 in range(x.shape[0]),
    "a list's length": lambda x: len([0] * x.shape[0]) > 80,
    "its bits": lambda x: x.shape[0].bit_length() > 6,
    "an array's size": lambda x: numpy.prod(x.shape) > 161,
    "a hash": lambda x: hash(x.shape[0]) > 80,
    "rounded decimals": lambda x: round(x.shape[0] / 3, 1) > 27.4,
    "a power": lambda x: 2.0 ** x.shape[0] > 2.0**80,
    "strides": lambda x: x.T.contiguous().stride(0) > 80,
    "memory": lambda x: x.untyped_storage().nbytes() > 650,
    "another function's": lambda x: is_long(0.5 * x.shape[0]),
    "a function's that is given the size": lambda x: is_large(x.shape[0]),
}


def is_long(number):
    return number > 40


def is_large(size):
    return 0.5 * size > 40


@pytest.mark.parametrize("name", UNSEEN)
def test_a_comparison_that_is_not_seen_is_found_by_trying(name):
    model = Function(lambda x: x.sin() if UNSEEN[name](x) else x.cos())
    with pytest.raises(
        UserError, match=r"core::cos .* core::sin at test_dynamic.*rows is \d+.*Say Dim\('rows', max=\d+\)"
    ):
        export(model, (weft.randn(6, 2),), dynamic_shapes=({0: Dim("rows", max=1000)},))


def test_the_refusal_says_from_which_size_the_program_differs():
    model = Function(lambda x: x.sin() if 0.37 * x.shape[0] > 29 else x.cos())
    with pytest.raises(UserError, match=r"where rows is 79, .* Say Dim\('rows', max=78\)"):
        export(model, (weft.randn(6, 2),), dynamic_shapes=({0: Dim("rows")},))
    found = export(model, (weft.randn(6, 2),), dynamic_shapes=({0: Dim("rows", max=78)},)).module()
    assert weft.equal(found(weft.ones(78, 2)), weft.ones(78, 2).cos())
    with pytest.raises(UserError, match=r"where rows is 78, .* Say Dim\('rows', min=79\)"):
        export(model, (weft.randn(200, 2),), dynamic_shapes=({0: Dim("rows")},))


SLICES = {
    "the first": lambda x: x[:40].sum(0) / x[:40].shape[0],
    "the last": lambda x: x[-40:].sum(0) * len(x[-40:]),
    "all but the first": lambda x: x[40:].sum(0) + x[40:].shape[0],
    "all but the last": lambda x: x[:-40].sum(0) + x[:-40].shape[0],
    "between": lambda x: x[3:40].sum(0) * x[3:40].shape[0],
    "of columns": lambda x: x.T[:, :40].sum(1) * x.T[:, :40].shape[1],
    "with a step": lambda x: x[:40:3].sum(0) * x[:40:3].numel(),
    "of a result": lambda x: weft.cat([x, x])[:40].sum(0) * weft.cat([x, x])[:40].size(0),
    "repeated": lambda x: weft.ones(x[:40].shape[0], 2).sum(0) + x.sum(0),
}


@pytest.mark.parametrize("name", SLICES)
@pytest.mark.parametrize("rows", [6, 60])
def test_slices_end_where_the_tensor_does(name, rows):
    model = Function(SLICES[name])
    found = export(model, (weft.randn(rows, 2),), dynamic_shapes=({0: Dim("rows", min=2)},)).module()
    for size in (2, 3, 19, 20, 21, 39, 40, 41, 42, 79, 80, 81, 200):
        x = weft.randn(size, 2)
        assert weft.allclose(found(x), model(x), atol=1e-5)


def test_modules_that_convert_sizes_find_pythons_functions_afterwards():
    names = dict(globals())
    export(
        Function(lambda x: x.sin() if int(x.shape[0]) + float(len(x)) > 8 and isinstance(len(x), int) else x.cos()),
        (weft.randn(6, 2),),
        dynamic_shapes=({0: Dim("rows", min=5)},),
    )
    assert globals() == names and len(weft.ones(3)) == 3 and int(weft.ones(3).shape[0]) == 3


def test_numbers_of_two_branches_are_no_quotient_of_sizes():
    model = Function(lambda x: x * (2 if abs(x.shape[0] - 8) // 4 == 1 else 3))
    with pytest.raises(UserError, match=r"core::mul at test_dynamic_shapes.py:\d+: its argument other is 2, then 3"):
        export(model, (weft.randn(4, 6),), dynamic_shapes=({0: Dim("rows", min=2), 1: Dim("columns", min=3)},))


def test_comparisons_of_two_sizes_are_looked_at_in_each_run():
    model = Function(lambda x: x.sin() if x.shape[0] > 50 * x.shape[1] else x.cos())
    program = export(model, (weft.randn(6, 2),), dynamic_shapes=({0: Dim("rows"), 1: Dim("columns")},))
    assert [str(each) for each in program.guards] == ["50 * columns >= rows"]
    assert weft.equal(program.module()(weft.ones(100, 2)), weft.ones(100, 2).cos())
    with pytest.raises(RuntimeError, match=r"exported for .* as test_dynamic_shapes.py:\d+ compares; got .*rows = 101"):
        program.module()(weft.ones(101, 2))
    assert program.run_decompositions({}).guards == program.guards


def test_a_program_that_is_exported_again_keeps_what_it_compared():
    model = Function(lambda x: x.sin() if x.shape[0] < 100 and x.shape[0] != 50 else x.cos())
    first = export(model, (weft.randn(6, 2),), dynamic_shapes=({0: Dim("rows")},))
    again = export(first.module(), (weft.randn(6, 2),), dynamic_shapes=(({0: Dim("rows")},),))
    assert again.range_constraints == first.range_constraints == {"rows": (0, 99)}
    assert weft.equal(again.module()(weft.ones(9, 2)), weft.ones(9, 2).sin())
    for rows in (50, 100):
        with pytest.raises(RuntimeError, match="rows"):
            again.module()(weft.ones(rows, 2))


def test_limits_that_a_comparison_contradicts_are_refused():
    model = Function(lambda x: x.sin() if x.shape[0] > 4 else x.cos())
    with pytest.raises(UserError, match=r"n may be 1 to 10, but n > 4 at .*\.py:\d+, .* Dim\('n', min=5, max=10\)"):
        export(model, (weft.randn(6, 2),), dynamic_shapes=({0: Dim("n", min=1, max=10)},))
    program = export(model, (weft.randn(6, 2),), dynamic_shapes=({0: Dim.AUTO},))
    assert list(program.range_constraints.values()) == [(5, 2**31 - 1)]


def test_sizes_that_a_program_keeps_are_integers_of_any_use():
    kept = []

    def forward(x):
        kept.append(x.shape[0])
        return x.view(x.shape[0] // 2, -1) * x.shape[1] + x.shape[1] / 4, {"rows": x.shape[1]}

    program = export(Function(forward), (weft.ones(6, 2),), dynamic_shapes=({0: 2 * Dim("half")},))
    assert program.module()(weft.ones(8, 2))[1] == {"rows": 2}
    assert kept[0] == 6 and hash(kept[0]) == 6 and repr(kept[0]) == "6" and {6: 1}[kept[0]] == 1
    assert type(copy.deepcopy(kept[0])) is int and type(pickle.loads(pickle.dumps(kept[0]))) is int
    assert type(weft.ones(3).shape[0]) is int and not program.guards


@pytest.mark.parametrize("most", [1, 2, 3, 4, 16])
def test_few_sizes_are_enough(most):
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    program = export(model, (weft.randn(most, 4),), dynamic_shapes=({0: Dim("batch", max=most)},))
    for size in range(most + 1):
        x = weft.randn(size, 4)
        assert weft.equal(program.module()(x), model(x))
    with pytest.raises(RuntimeError, match=rf"batch in \[0, {most}\], got {most + 1}"):
        program.module()(weft.randn(most + 1, 4))


def test_a_dimension_of_one_size_is_fixed():
    program = export(nn.Linear(4, 3), (weft.randn(5, 4),), dynamic_shapes=({0: Dim("batch", min=5, max=5)},))
    with pytest.raises(RuntimeError, match=r"shape\[0\] must be 5, got 6"):
        program.module()(weft.randn(6, 4))
