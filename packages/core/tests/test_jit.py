"""Where nothing is captured, programs are told so, and what they decorate stays what it is."""

from typing import get_args

import pytest

import weft


def twice(x):
    return 2 * x


def test_nothing_is_compiled_or_traced():
    assert not weft.jit.is_scripting() and not weft.jit.is_tracing()
    assert not weft.compiler.is_compiling() and not weft.compiler.is_dynamo_compiling()
    assert weft.compiler.list_backends() == []


@pytest.mark.parametrize(
    "decorator",
    [
        weft.jit.script,
        weft.jit.ignore,
        weft.jit.ignore(drop=True),
        weft.jit.unused,
        weft.jit.export,
        weft.jit.interface,
        weft.jit.script_if_tracing,
        weft.jit.script_method,
        weft.jit._overload,  # torch_geometric
        weft.jit._overload_method,
        weft.compiler.allow_in_graph,
        weft.compiler.assume_constant_result,
    ],
)
def test_a_decorated_function_is_the_function(decorator):
    assert decorator(twice) is twice


@pytest.mark.parametrize(
    "decorator",
    [
        weft.compile,
        weft.compile(mode="max-autotune", fullgraph=True),
        weft.compiler.disable,
        weft.compiler.disable(recursive=False, reason="it prints"),
        lambda function: weft.compiler.set_stance("force_eager")(function),
        weft._dynamo.disable,
        weft._dynamo.optimize("inductor"),
    ],
)
def test_a_decorated_function_computes_what_the_function_does(decorator):
    decorated = decorator(twice)
    assert [decorated(weft.ones(2)).tolist() for _ in range(6)] == [[2, 2]] * 6
    assert decorated.__name__ == "twice"
    assert weft.compiler.disable(weft.Tensor) is weft.Tensor


def test_a_trace_is_the_function_also_where_the_program_branches():
    def positive(x):
        return x if x.sum() > 0 else -x

    traced = weft.jit.trace(positive, (weft.ones(2),))
    assert traced(-weft.ones(2)).tolist() == [1, 1]


def test_types_are_checked_as_python_does():
    assert weft.jit.isinstance([1], list[int]) and not weft.jit.isinstance([1], (int, dict[str, int]))
    assert weft.jit.annotate(list[int], []) == []
    assert weft.jit.Attribute(3, int).value == 3
    assert not isinstance(twice, weft.jit.ScriptFunction)


def test_tasks_are_done_at_once():
    assert weft.jit.wait(weft.jit.fork(twice, 4)) == 8


def test_what_is_no_program_is_not_saved():
    with pytest.raises(TypeError, match="state_dict"):
        weft.jit.save(twice, "twice.pt")
    with pytest.raises(RuntimeError, match="example_kwarg_inputs"):
        weft.jit.trace(twice)


def test_compile_refuses_what_contradicts_itself():
    with pytest.raises(RuntimeError, match="Either mode or options"):
        weft.compile(twice, mode="default", options={})
    with pytest.raises(TypeError, match="Module or a function"):
        weft.compile(3)


def test_settings_of_the_compiler_are_kept():
    weft._dynamo.reset()
    weft._dynamo.config.suppress_errors = True
    try:
        assert weft._dynamo.config.suppress_errors
    finally:
        weft._dynamo.config.suppress_errors = False
    weft.compiler.set_default_backend("eager")
    assert weft.compiler.get_default_backend() == "eager"
    weft.compiler.set_default_backend("inductor")
    assert [weft.compiler.set_enable_guard_collectives(each) for each in (True, False)] == [False, True]


@pytest.mark.parametrize(("module", "name"), [("jit", "ScriptModule"), ("_dynamo", "OptimizedModule")])
def test_classes_of_modules_come_with_neural_networks(monkeypatch, module, name):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    home = getattr(weft, module)
    monkeypatch.setattr("weft._lazy.importlib.import_module", missing)
    with pytest.raises(AttributeError, match="pip install weft-nn"):
        getattr(home, name)


def test_numbers_for_each_dimension_are_annotated():
    """torchvision's RoI operators take one number or two."""
    from weft.jit.annotations import BroadcastingList2

    @weft.jit._script_if_tracing
    def pool(size: BroadcastingList2[int]) -> int:
        return size

    assert pool(3) == 3
    assert set(get_args(pool.__annotations__["size"])) == {int, list[int]}
