"""What `weft.jit` makes of modules and functions: the same Python, which can be saved as a program."""

import copy
import gc
import io
import pickle
import weakref
from collections import OrderedDict

import pytest

import weft
from weft import nn
from weft.export import Dim, UserError, export


class Head(nn.Module):
    """Several inputs of one batch, a keyword, a container, a buffer, a method."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("shift", weft.tensor([1.0, 2.0]))

    def forward(self, x, others, factor=1.0):
        return {"sum": self.shifted(self.layer(x) + self.layer(others[0])) * factor, "x": (x, others[1])}

    def shifted(self, x):
        return x + self.shift


def network():
    weft.manual_seed(0)
    return nn.Sequential(
        OrderedDict(
            conv=nn.Conv2d(3, 4, 3), norm=nn.BatchNorm2d(4), relu=nn.ReLU(), pool=nn.AdaptiveAvgPool2d(1),
            flat=nn.Flatten(), head=nn.Linear(4, 2)
        )
    ).eval()  # fmt: skip


def loaded(obj, **options):
    file = io.BytesIO()
    weft.jit.save(obj, file)
    file.seek(0)
    return weft.jit.load(file, **options)


def test_a_traced_module_is_the_module_and_a_script_module():
    model = network()
    x = weft.randn(1, 3, 8, 8)
    traced = weft.jit.trace(model, x)
    assert isinstance(traced, weft.jit.ScriptModule) and isinstance(traced, nn.Sequential)
    assert isinstance(traced, weft.jit.TopLevelTracedModule) and not isinstance(model, weft.jit.ScriptModule)
    assert traced.original_name == "Sequential" and repr(traced) == repr(model)
    assert weft.equal(traced(x), model(x)) and weft.equal(traced[5].weight, model.head.weight)
    assert all(mine is yours for mine, yours in zip(traced.parameters(), model.parameters()))
    assert traced.state_dict().keys() == model.state_dict().keys()
    assert weft.jit.script(traced) is traced and weft.jit.trace(model.forward, x).original_name == "Sequential"


@pytest.mark.parametrize("make", [lambda model, x: weft.jit.trace(model, x), lambda model, x: weft.jit.script(model)])
def test_a_saved_program_runs_without_its_source_at_other_sizes(make, tmp_path):
    model = network()
    x = weft.randn(1, 3, 8, 8)
    obj = make(model, x)
    obj(x)
    obj.save(tmp_path / "model.pt")
    program = weft.jit.load(str(tmp_path / "model.pt"))
    assert isinstance(program, weft.jit.ScriptModule)
    assert program.state_dict().keys() == model.state_dict().keys()
    for shape in ((1, 3, 8, 8), (5, 3, 8, 8), (2, 3, 12, 9)):
        x = weft.randn(shape)
        assert weft.equal(program(x), model(x))
    with pytest.raises(RuntimeError, match=r"shape\[1\] must be 3, got 4"):
        program(weft.randn(1, 4, 8, 8))
    program.save(tmp_path / "again.pt")
    assert (tmp_path / "again.pt").read_bytes() == (tmp_path / "model.pt").read_bytes()


def test_arguments_are_trees_and_keywords():
    model = Head()
    args = weft.randn(4, 3), [weft.randn(4, 3), weft.ones(2)]
    for obj in (
        weft.jit.trace(model, args),
        weft.jit.trace(model, args[:1], example_kwarg_inputs={"others": args[1]}),
        weft.jit.script(model, example_inputs=[args]),
    ):
        kept = {} if len(obj._example.args) == 2 else {"others": args[1]}
        given = args[: len(obj._example.args)]
        result, expected = loaded(obj)(*given, **kept), model(*args)
        assert weft.equal(result["sum"], expected["sum"]) and weft.equal(result["x"][1], expected["x"][1])
    assert weft.equal(weft.jit.trace(model, args).shifted(weft.zeros(2)), model.shift)
    longer = weft.randn(7, 3), [weft.randn(7, 3), weft.ones(5)]
    assert weft.equal(loaded(weft.jit.trace(model, args))(*longer)["sum"], model(*longer)["sum"])


def test_a_traced_function_is_saved():
    def attended(query, key):
        """Scores."""
        return (query @ key.mT).softmax(-1)

    traced = weft.jit.trace(attended, (weft.randn(2, 3), weft.randn(4, 3)))
    assert isinstance(traced, weft.jit.ScriptFunction) and (traced.__name__, traced.__doc__) == ("attended", "Scores.")
    query, key = weft.randn(5, 6), weft.randn(7, 6)
    assert weft.equal(traced(query, key), attended(query, key))
    assert weft.equal(loaded(traced)(query, key), attended(query, key))
    assert "softmax" in traced.code and "softmax" in str(traced.graph) and traced.inlined_graph is not None


def test_control_flow_stays_in_the_process_and_is_an_error_in_what_is_saved():
    def positive(x):
        return x if x.sum() > 0 else -x

    traced = weft.jit.trace(positive, weft.ones(2))
    assert traced(-weft.ones(2)).tolist() == [1, 1]
    with pytest.raises(UserError, match=r"test_scripted\.py"):
        loaded(traced)


def test_a_scripted_module_without_a_call_says_what_to_do():
    scripted = weft.jit.script(nn.Linear(3, 2))
    for use in (lambda: loaded(scripted), lambda: scripted.graph, lambda: scripted.code):
        with pytest.raises(RuntimeError, match="example inputs"):
            use()
    assert not hasattr(scripted, "grph")
    scripted(weft.ones(1, 3))
    assert loaded(scripted)(weft.ones(4, 3)).shape == (4, 2)


def test_examples_are_kept_as_shapes():
    x = weft.randn(2, 3)
    known = [weakref.ref(x)]
    kept = [
        weft.jit.trace(nn.Linear(3, 2), x),
        weft.jit.trace(lambda y: y + 1, x),
        weft.jit.script(nn.Linear(3, 2), example_inputs=[(x,)]),
    ]
    del x
    gc.collect()
    assert known[0]() is None
    for each in kept:
        assert loaded(each)(weft.ones(4, 3)).shape[0] == 4


def test_classes_of_scripted_modules_are_one_and_go_with_the_last():
    class Own(nn.Linear):
        pass

    first, second = weft.jit.script(Own(3, 2)), weft.jit.trace(Own(3, 2), weft.ones(1, 3))
    assert type(first) is type(second)
    known = weakref.ref(type(first)), weakref.ref(Own)
    del first, second, Own
    gc.collect()
    assert [each() for each in known] == [None, None]


def test_a_program_is_shown_without_another_export_until_the_module_changes():
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    traced = weft.jit.trace(model, weft.ones(4, 3))
    graph = traced.graph
    assert traced.graph is graph and "dropout" in traced.code and traced.inlined_graph is graph
    traced.eval()
    assert traced.graph is not graph and "dropout" not in traced.code
    function = weft.jit.trace(lambda x: traced(x), weft.ones(4, 3))
    graph = function.graph
    assert function.graph is graph and "dropout" not in function.code
    traced.train()
    assert "dropout" in function.code
    assert "_shown" not in vars(copy.deepcopy(traced))


def test_calls_with_other_arguments_leave_no_program_to_save():
    class Masked(nn.Module):
        def forward(self, x, mask=None, factor=1.0):
            return x * factor if mask is None else x * mask

    for args in ((weft.ones(2, 3), weft.ones(2, 3)), (weft.ones(2, 3, 4),), (weft.ones(2, 3, dtype=weft.float64),)):
        scripted = weft.jit.script(Masked())
        scripted(weft.ones(2, 3))
        scripted(weft.ones(5, 4))
        assert loaded(scripted)(weft.ones(7, 3)).shape == (7, 3)
        scripted(*args)
        with pytest.raises(RuntimeError, match=r"called with others than the first time.*example_inputs"):
            loaded(scripted)
    scripted = weft.jit.script(Masked(), example_inputs=[(weft.ones(2, 3), weft.ones(2, 3))])
    scripted(weft.ones(2, 3))
    assert weft.equal(loaded(scripted)(weft.ones(2, 3), 3 * weft.ones(2, 3)), 3 * weft.ones(2, 3))


def test_save_is_that_of_programs_whatever_the_module_has(tmp_path):
    """As in PyTorch, where a module's own method of the name is hidden."""

    class Own(nn.Linear):
        def save(self, path):
            raise AssertionError("not called")

    weft.jit.trace(Own(3, 2), weft.ones(1, 3)).save(tmp_path / "model.pt")
    assert weft.jit.load(tmp_path / "model.pt")(weft.ones(4, 3)).shape == (4, 2)


def test_a_class_of_script_modules():
    class Old(weft.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        @weft.jit.script_method
        def forward(self, x):
            return self.layer(x).relu()

    model = Old()
    x = weft.randn(2, 3)
    result = model(x)
    assert model.original_name == "Old" and weft.equal(loaded(model)(x), result)


def test_a_twin_has_attributes_of_its_own_and_the_submodules_of_the_module():
    model = network().train()
    traced = weft.jit.trace(model, weft.randn(2, 3, 8, 8))
    traced.eval()
    assert model.training and not traced.training and not model.norm.training
    traced.note = 3
    assert not hasattr(model, "note")


def test_scripted_modules_are_copied_and_pickled():
    for obj in (weft.jit.trace(network(), weft.randn(1, 3, 8, 8)), weft.jit.script(network())):
        x = weft.randn(2, 3, 8, 8)
        for made in (copy.deepcopy(obj), pickle.loads(pickle.dumps(obj))):
            assert type(made) is type(obj) and weft.equal(made(x), obj(x))
            assert made.conv.weight is not obj.conv.weight


def test_a_loaded_program_trains_moves_and_has_other_files():
    scripted = weft.jit.script(nn.Linear(3, 2))
    scripted(weft.ones(1, 3))
    file = io.BytesIO()
    scripted.save(file, _extra_files={"labels": "a\nb"})
    file.seek(0)
    extra = {"labels": ""}
    program = weft.jit.load(file, map_location="cpu", _extra_files=extra)
    assert extra == {"labels": "a\nb"}
    optimizer = weft.optim.SGD(program.parameters(), 0.1)
    before = program.weight.detach().clone()
    program(weft.ones(4, 3)).sum().backward()
    optimizer.step()
    assert not weft.equal(program.weight, before)
    assert weft.equal(loaded(program)(weft.ones(1, 3)), program(weft.ones(1, 3)))
    assert program.to(weft.float64).weight.dtype is weft.float64


def test_files_of_others_are_refused(tmp_path):
    weft.save({"a": weft.ones(2)}, tmp_path / "state.pt")
    (tmp_path / "text.pt").write_text("no program")
    for name in ("state.pt", "text.pt"):
        with pytest.raises(RuntimeError, match="does not run TorchScript"):
            weft.jit.load(tmp_path / name)
    with pytest.raises(NotImplementedError, match="other"):
        weft.jit.trace_module(nn.ReLU(), {"forward": weft.ones(1), "other": weft.ones(1)})
    assert weft.jit.trace_module(nn.ReLU(), {"forward": weft.ones(1)}).original_name == "ReLU"


class Product(nn.Module):
    def forward(self, a, b):
        return a @ b


class Sum(nn.Module):
    def forward(self, a, b):
        return a * 2 + b


class Rows(nn.Module):
    def forward(self, a):
        return a.reshape(4, 3).sum(0)


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(12, 2)

    def forward(self, a):
        return self.layer(a.flatten(1))


@pytest.mark.parametrize(
    ("module", "shapes", "others"),
    [
        (Sum(), [(4, 3), (4, 3)], [(7, 2), (7, 2)]),
        (Product(), [(2, 3), (3, 2)], [(5, 4), (4, 6)]),
        (Product(), [(2, 2), (2, 2)], [(3, 5), (5, 7)]),
        (Flat(), [(1, 3, 4)], [(6, 3, 4)]),
        (Rows(), [(4, 3)], [(4, 3)]),
        (nn.Linear(3, 2), [(4, 3)], [(9, 3)]),
        (nn.Linear(3, 2), [(4, 5, 3)], [(2, 7, 3)]),
        (nn.Conv1d(2, 3, 3), [(1, 2, 8)], [(4, 2, 11)]),
    ],
)
def test_automatic_dimensions_change_where_the_program_lets_them(module, shapes, others):
    args = tuple(weft.randn(shape) for shape in shapes)
    program = export(module, args, dynamic_shapes=[(Dim.AUTO,) * len(shape) for shape in shapes])
    for sizes in (shapes, others):
        args = tuple(weft.randn(shape) for shape in sizes)
        assert weft.equal(program.module()(*args), module(*args))


def test_a_dimension_that_must_change_is_refused_where_it_cannot():
    with pytest.raises(UserError):
        export(Rows(), (weft.randn(4, 3),), dynamic_shapes=({0: Dim.DYNAMIC, 1: Dim.AUTO},))
    program = export(Rows(), (weft.randn(4, 3),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.STATIC},))
    assert program.range_constraints == {}


def test_sizes_of_different_inputs_are_told_apart_whatever_divides_them():
    """Trials with multiples of 32 once gave several symbols the same sizes, so that one stood for another."""
    args = weft.randn(2, 3), weft.randn(3, 2)
    with pytest.raises(UserError):  # nothing says that the inner sizes are one
        export(Product(), args, dynamic_shapes=[(Dim("a"), Dim("b")), (Dim("c"), Dim("d"))])
