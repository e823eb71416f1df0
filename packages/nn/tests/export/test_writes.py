"""Programs that write in place, exported: the graph makes new values."""

import copy
import runpy

import pytest

import weft
from weft import nn
from weft.export import Dim, export
from weft.nn import functional as F

WRITES = {}


def program(function):
    WRITES[function.__name__] = function
    return function


@program
def column(x):
    y = x * 1
    y[:, 0] = 1
    return y


@program
def mask(x):
    y = x.clone()
    y[y > 0] = 0
    return y


@program
def views_see_writes_to_their_base_and_it_theirs(x):
    y = x.clone()
    view = y[:, 1:]
    view.mul_(2)
    y.add_(1)
    return view + y[:, :3]


@program
def argument(x):
    F.relu_(x[0:1])
    return x * 2


@program
def steps_and_shapes(x):
    y = weft.zeros_like(x)
    y[:, ::2] = x[:, ::2]
    flat = y.view(-1)
    flat[0] = 5
    return y.t(), flat


@program
def parts(x):
    y = x.clone()
    y.t()[0] = 3
    first, second = y.chunk(2, 1)
    first.fill_(7)
    return y, second.squeeze().unsqueeze(0)


@program
def positions(x):
    y = x.clone()
    y[weft.tensor([0, 1]), weft.tensor([1, 2])] = 9
    y[:, weft.tensor([True, False, True, False])] = 1
    return y.masked_fill_(y > 8.5, -1).clamp_(min=-0.5).sub_(1).div_(2)


@program
def sums(x):
    y = x.clone()
    y.index_add_(0, weft.tensor([0, 0]), weft.ones(2, x.shape[1]))
    return y.scatter_(1, weft.zeros(x.shape[0], 1, dtype=weft.int64), 4.0)


@program
def accumulated(x):
    y = x.clone()
    y[:, weft.tensor([0, 2])] = 3
    y.index_put_((weft.tensor([0, 0]), weft.tensor([1, 1])), weft.tensor([1.0, 2.0]), accumulate=True)
    return y.index_put_((weft.tensor([1, 1]),), y[:1] * 2, accumulate=True)


@program
def copies(x):
    y = x.clone()
    y.copy_(weft.ones(1))
    y[0].zero_()
    y.select(1, 2).fill_(weft.tensor(3.0))
    y.diagonal().fill_(2)
    return y


@program
def condition(x):
    y = x.clone()
    y[x.mean() > -100] = 0
    return y


@program
def outputs(x):
    out = weft.empty(x.shape)
    weft.add(x, 1, out=out)
    return weft.mul(out, 2, out=out)


@program
def aliases(x):
    y = x.clone()
    other = y.detach()
    other.exp_()
    y.data.neg_()
    return y, other


@program
def geometry(x):
    y = x.clone()
    y.unsqueeze_(0)
    y.squeeze_(0)
    y.t_()
    y.transpose_(0, 1)
    y[..., None][:, 0] = 2
    y[-1] += y[0]
    return y


@program
def padding(x):
    y = x.new_zeros(x.shape[0], x.shape[1] + 2)
    y[:, 1:-1] = x
    y[:, -1:].copy_(x[:, :1])
    return y


@program
def dtypes(x):
    y = x.half()
    y.add_(x)
    z = weft.arange(x.shape[1])
    z *= 2
    return y, z + x.long()


class Program(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def close(found, expected):
    found, expected = (each if isinstance(each, tuple) else (each,) for each in (found, expected))
    return len(found) == len(expected) and all(map(weft.equal, found, expected))


@pytest.mark.parametrize("name", WRITES)
def test_a_program_that_writes_gives_the_same_without_writes(name):
    made = export(Program(WRITES[name]), (weft.randn(2, 4),), dynamic_shapes=({0: Dim("rows")},))
    assert not [node for node in made.graph.nodes if getattr(node.target, "name", "").endswith("_")]
    x = weft.randn(5, 4)
    assert close(made.module()(x.clone()), WRITES[name](x.clone()))


def test_a_write_to_an_argument_is_one():
    made = export(Program(argument), (weft.randn(2, 4),))
    x, expected = weft.ones(2, 4).neg(), weft.ones(2, 4).neg()
    argument(expected)
    made.module()(x)
    assert weft.equal(x, expected)


class Exchange(nn.Module):
    """Each of two arguments becomes what the other one was, and a view of one is a result."""

    def forward(self, x, y):
        before = x.clone()
        x.t().copy_(y.t())
        y.copy_(-before)
        return x, y, y[1:]


def test_what_is_written_is_of_the_values_before_all_writes(tmp_path):
    program = export(Exchange(), (weft.ones(2, 2), weft.ones(2, 2)))
    program.to_python(tmp_path)
    alone = runpy.run_path(str(tmp_path / "model.py"))["Model"]()
    x, y = weft.arange(4.0).view(2, 2), weft.full((2, 2), 7.0)
    given, arrays = (x.clone(), y.clone()), (x.numpy().copy(), y.numpy().copy())
    found, found_alone = program.module()(*given), alone(*arrays)
    expected = [y, -x, -x[1:]]
    for results in (found, (*given, found[2]), found_alone, (*arrays, found_alone[2])):
        assert [each.tolist() for each in results] == [each.tolist() for each in expected]


def test_a_buffer_that_is_assigned_is_not_the_memory_of_an_argument_or_result(tmp_path):
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("last", weft.zeros(2))

        def forward(self, x):
            before = self.last
            self.last = x[-1]
            return before, self.last

    program = export(Last(), (weft.ones(3, 2),))
    program.to_python(tmp_path)
    alone, module = runpy.run_path(str(tmp_path / "model.py"))["Model"](), program.module()
    for model, given in ((module, weft.ones(3, 2)), (alone, weft.ones(3, 2).numpy())):
        before, last = model(given)
        assert before.tolist() == [0, 0] and last.tolist() == [1, 1]
        last[0] = given[-1, 0] = 5
        assert model(given)[0].tolist() == [1, 1]


def test_buffers_are_written_to_and_an_export_leaves_them():
    model = nn.BatchNorm1d(3)
    made = export(model, (weft.randn(4, 3),))
    assert model.num_batches_tracked == 0 and weft.equal(model.running_mean, weft.zeros(3))
    assert set(made.graph_signature.buffers_to_mutate.values()) == {
        "running_mean",
        "running_var",
        "num_batches_tracked",
    }
    x, again, other = weft.randn(4, 3), made.module(), copy.deepcopy(model)
    assert weft.equal(again(x), other(x))
    assert weft.equal(again.running_mean, other.running_mean) and again.num_batches_tracked == 1


def test_elements_of_a_mask_are_written_by_what_is_computed_of_them():
    def scaled(x):
        y = x.clone()
        y[x > 0] *= 2
        return y

    found = export(Program(scaled), (weft.randn(2, 4),)).module()
    for x in (weft.randn(2, 4), -weft.ones(2, 4), weft.ones(2, 4)):
        assert weft.equal(found(x), scaled(x))


class Averages(nn.Module):
    """Keeps averages in buffers that it assigns, one of which it never reads."""

    def __init__(self):
        super().__init__()
        self.register_buffer("average", weft.zeros(3))
        self.register_buffer("last", weft.zeros(3), persistent=False)
        self.register_buffer("unused", None)

    def forward(self, x):
        self.average = 0.5 * self.average + x.mean(0)
        self.last = x.sum(0)
        return x - self.average


def test_buffers_that_are_assigned_are_written_each_time(tmp_path):
    model, expected = Averages(), Averages()
    average = model.average
    program = export(model, (weft.ones(2, 3),), dynamic_shapes=({0: weft.export.Dim("rows")},))
    assert model.average is average and not average.any()
    weft.export.save(program, tmp_path / "file.pt2")
    made = weft.export.load(tmp_path / "file.pt2").module()
    for rows in (4, 1, 3):
        x = weft.randn(rows, 3)
        assert weft.equal(made(x), expected(x))
    assert weft.equal(made.average, expected.average) and weft.equal(made.last, expected.last)


def test_buffers_that_change_their_shape_are_refused():
    class Growing(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", weft.zeros(0))

        def forward(self, x):
            self.seen = weft.cat([self.seen, x])
            return self.seen.sum()

    model = Growing()
    with pytest.raises(weft.export.UserError, match=r"a buffer of .*0,.* became one of"):
        export(model, (weft.ones(2),))
    assert model.seen.shape == (0,)
