"""__torch_function__: subclasses and modes see the calls of public functions."""

import operator
import os
import pickle
import subprocess
import sys

import pytest

import weft
from weft.overrides import (
    BaseTorchFunctionMode,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    get_overridable_functions,
    get_testing_overrides,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    is_tensor_method_or_property,
    resolve_name,
    wrap_torch_function,
)


class Logged(weft.Tensor):
    log: list[str]

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Logged.log.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.fixture
def logged():
    Logged.log = []
    return weft.tensor([1.0, 2.0]).as_subclass(Logged)


class Recorder(TorchFunctionMode):
    def __init__(self):
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((func.__name__, kwargs))
        return func(*args, **(kwargs or {}))


def test_subclasses_see_functions_methods_and_operators(logged):
    weft.mean(logged, dim=0)
    logged.norm()
    1 - logged
    weft.stack([logged, logged])
    assert Logged.log == ["mean", "norm", "sub", "stack"]


def test_subclasses_stay_subclasses(logged):
    assert type(logged + 1) is Logged
    assert type(logged.sum()) is Logged
    assert all(type(each) is Logged for each in logged.split(1))
    assert type(logged.max(0).values) is Logged


def test_a_subclass_without_an_override_stays_one():
    class Named(weft.Tensor):
        pass

    assert type(weft.ones(2).as_subclass(Named) * 2) is Named


def test_histories_go_through_subclasses(logged):
    leaf = logged.detach().as_subclass(Logged).requires_grad_()
    (leaf * leaf).sum().backward()
    assert weft.equal(leaf.grad, weft.tensor([2.0, 4.0]))


def test_writes_in_place_return_the_same_object(logged):
    assert logged.add_(1) is logged
    assert logged.tolist() == [2.0, 3.0]


def test_the_most_derived_class_is_asked_first(logged):
    class Derived(Logged):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "derived"

    assert weft.add(logged, weft.ones(2).as_subclass(Derived)) == "derived"


def test_subclasses_can_be_left_out(logged):
    with DisableTorchFunctionSubclass():
        assert type(logged + 1) is weft.Tensor
    assert Logged.log == []


class Scalar:
    """Not a tensor, but like one."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return 42 if func is weft.mean else NotImplemented


def test_types_that_are_no_tensors_may_implement_functions():
    assert weft.mean(Scalar()) == 42
    assert is_tensor_like(Scalar())
    assert not is_tensor_like(1.0)
    with pytest.raises(TypeError, match="no implementation found for 'sum'"):
        weft.sum(Scalar())


class Unwilling(weft.Tensor):
    """Takes no other class."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        return super().__torch_function__(func, types, args, kwargs)


@pytest.mark.parametrize("name", "add sub mul truediv floordiv mod pow matmul lt and_ iadd imul imatmul ior".split())
def test_operators_that_no_override_takes_are_pythons_to_refuse(name):
    one, other = (weft.ones(2, 2).as_subclass(type(each, (Unwilling,), {})) for each in ("One", "Other"))
    with pytest.raises(TypeError, match="'One' and 'Other'"):
        getattr(operator, name)(one, other)


def test_modes_see_calls_as_they_were_made():
    with Recorder() as recorder:
        weft.ones(2).sum(dim=0)
    weft.ones(2)
    assert recorder.calls == [("ones", {}), ("sum", {"dim": 0})]


def test_modes_nest_from_the_inside_out():
    order = []

    class Mode(TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    with Mode("outer"), BaseTorchFunctionMode(), Mode("inner"):
        weft.ones(2)
    assert order == ["inner", "outer"]


def test_a_mode_may_answer_itself():
    class Seven(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 7

    x = weft.ones(2)
    with Seven():
        assert x + x == 7
    assert weft.equal(x + x, weft.full((2,), 2.0))


def test_libraries_take_part():
    @wrap_torch_function(lambda x: (x,))
    def twice(x):
        return x + x

    class Answer:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func is twice

    def thrice(x):
        return handle_torch_function(thrice, (x,), x) if has_torch_function((x,)) else x * 3

    assert twice(Answer()) is True
    assert thrice(Answer()) is False
    assert weft.equal(twice(weft.ones(2)), thrice(weft.ones(2)) - 1)


def test_functions_that_can_be_overridden_are_listed():
    functions = get_overridable_functions()
    assert weft.add in functions[weft]
    assert resolve_name(weft.add) == "weft.add"
    assert is_tensor_method_or_property(weft.Tensor.add)
    assert get_testing_overrides()[weft.add](1, 2) == -1


def test_neither_subclasses_nor_modes_are_asked_where_both_are_disabled():
    seen = []

    class Watching(weft.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append("subclass")
            return super().__torch_function__(func, types, args, kwargs)

    class Mode(weft.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append("mode")
            return func(*args, **(kwargs or {}))

    x = weft.ones(2).as_subclass(Watching)
    with Mode():
        with weft.DisableTorchFunction():
            weft.sin(x)
        assert seen == []
        with weft.DisableTorchFunctionSubclass():
            weft.sin(x)
        assert seen == ["mode"]
        weft.sin(x)
    assert seen == ["mode", "mode", "subclass"]


def run_alone(program):
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100)


def test_a_function_stays_one_object_when_the_first_subclass_is_made():
    run_alone(
        "import inspect, pickle, weft, weft.nn\n"
        "kept = weft.exp, weft.mean, weft.Tensor.add_, weft.nn.functional.relu\n"
        "signature = inspect.signature(weft.mean)\n"
        "class Unit(weft.Tensor):\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, function, types, args=(), kwargs=None):\n"
        "        return super().__torch_function__(function, types, args, kwargs)\n"
        "assert kept == (weft.exp, weft.mean, weft.Tensor.add_, weft.nn.functional.relu)\n"
        "assert inspect.signature(weft.mean) == signature\n"
        "assert all(pickle.loads(pickle.dumps(each, 2)) is each for each in kept[:2])\n"
        "assert type(weft.exp(weft.ones(2).as_subclass(Unit))) is Unit\n"
    )


# The first of each line is called before anybody asks, in a process of its own.
CALLS = """
weft.mean(o)|weft.zeros_like(o)|weft.einsum('ij,jk', x, o)|weft.equal(x, o)|weft.split(o, 1)|weft.linalg.svd(o)
weft.add(x, other=o)|weft.add(o, x)|weft.exp(o)|weft.special.erf(o)|weft.Tensor.add(o, x)|weft.Tensor.exp(o)
weft.cat([x, o])|weft.stack(tensors=(o,))|weft.fft.fft(o)
x + o|x - o|x // o|x % o|x ** o|x == o|x < o|(x > 0) & o
o + x|o / x|x @ o
x.__iadd__(o)|x.__isub__(o)|x.__iand__(o)
x.add_(o)|x.copy_(o)|x.add(o)|x.view_as(o)
x[o]|x[0, o]
weft.add(x, x, out=o)|weft.mul(x, x, out=o)
weft.clamp(x, min=o)|weft.where(x > 0, x, o)
"""
NN_CALLS = """
weft.nn.functional.linear(o, x)|weft.nn.functional.relu(o)|weft.nn.Linear(2, 2)(o)
weft.nn.functional.cross_entropy(x, o)|weft.nn.functional.pad(o, (1, 1))
"""
ASKED = """
import os, weft{}
class Other:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        assert callable(function)
        return cls, types
x, o = weft.ones(2, 2), Other()
for line in {!r}.strip().splitlines():
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0, line
        continue
    for call in line.split("|"):
        if eval(call) != (Other, (Other,)):
            os._exit(1)
    x[o] = 1
    x[0] = o
    os._exit(x.tolist() != [[1, 1], [1, 1]])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each first call needs a process, and fork makes many quickly")
@pytest.mark.parametrize(("calls", "modules"), [(CALLS, ""), (NN_CALLS, ", weft.nn")])
def test_any_class_with_an_override_is_asked_from_its_first_call_on(calls, modules):
    if modules:
        pytest.importorskip("weft.nn")
    run_alone(ASKED.format(modules, calls))


def test_a_class_is_asked_about_the_functions_that_it_knew_before():
    run_alone(
        "import weft\n"
        "handled = {weft.mean: 1, weft.Tensor.add_: 2, weft.cat: 3}\n"
        "class Scalar:\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, function, types, args=(), kwargs=None):\n"
        "        return handled.get(function, NotImplemented)\n"
        "assert weft.mean(Scalar()) == 1\n"
        "assert weft.ones(2).add_(Scalar()) == 2\n"
        "assert weft.cat([weft.ones(2), Scalar()]) == 3\n"
    )


LISTS = {
    "_foreach_add([p], 1)": "_foreach_add", "_foreach_add_([x, p], [x, x])": "_foreach_add_",
    "_foreach_sqrt([p])": "_foreach_sqrt", "_foreach_norm([p], 2)": "_foreach_norm",
    "_foreach_addcmul([p], [x], [x])": "_foreach_addcmul", "_foreach_pow(2, [p])": "_foreach_pow",
    "linalg.svd(p)": "linalg_svd", "fft.fft(p)": "fft_fft", "special.zeta(p, p)": "special_zeta",
}  # fmt: skip


@pytest.mark.parametrize("call", LISTS)
def test_functions_of_lists_and_of_modules_are_seen_by_pytorchs_names(call):
    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    assert eval(f"weft.{call}", {"weft": weft, "p": Other(), "x": weft.ones(2)}) == LISTS[call]


def test_functions_of_modules_are_pickled_by_their_own_names():
    class Other:
        __torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: func)

    found = weft.linalg.eigh(Other())
    assert found is weft.linalg.eigh
    assert pickle.loads(pickle.dumps(found)) is found
    assert weft.overrides.resolve_name(found) == "weft.linalg.eigh"


class Plain(weft.Tensor):
    pass


def test_gradients_and_writes_go_through_a_tensor_taken_as_a_subclass():
    x = weft.ones(2, requires_grad=True)
    y = x.as_subclass(Plain)
    assert type(y) is Plain and y._base is x and not y.is_leaf
    (y * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    x, w = weft.ones(2), weft.tensor(3.0, requires_grad=True)
    x.as_subclass(Plain).mul_(w)
    x.sum().backward()
    assert x.tolist() == [3, 3] and w.grad == 2


def test_a_leaf_that_a_function_of_subclasses_returns_keeps_its_gradient():
    x, other = weft.ones(2, requires_grad=True), weft.ones(2).as_subclass(Plain)
    for y in (weft.atleast_1d(x, other)[0], weft.broadcast_tensors(x, other)[0]):
        assert type(y) is Plain
        x.grad = None
        y.sum().backward()
        assert x.grad.tolist() == [1, 1]


def test_functions_of_modules_that_are_imported_later_have_names_too():
    program = """
import weft
assert weft.overrides.resolve_name(weft.add) == "weft.add"
import weft.linalg, weft.fft
assert weft.overrides.resolve_name(weft.fft.fft) == "weft.fft.fft", weft.overrides.resolve_name(weft.fft.fft)
assert weft.overrides.resolve_name(weft.linalg.eigh) == "weft.linalg.eigh"
assert weft.overrides.resolve_name(weft.Tensor.shape.__get__) == "weft.Tensor.shape.__get__"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tensors_of_pytorch_and_ours_refuse_each_other():
    program = """
import sys, types
import pytest

class Tensor:  # as PyTorch's: the default calls the function, which asks again
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

def add(first, second):
    kinds = [type(each) for each in (first, second) if hasattr(type(each), "__torch_function__")]
    for kind in kinds:
        found = kind.__torch_function__(add, tuple(kinds), (first, second))
        if found is not NotImplemented:
            return found
    raise TypeError("no implementation")

add.__module__ = "torch.functional"
sys.modules["torch"] = types.SimpleNamespace(Tensor=Tensor, add=add)
import weft

ours, theirs = weft.ones(2), Tensor()
for call in (
    lambda: add(ours, 1),
    lambda: weft.add(theirs, 1),
    lambda: weft.cat([ours, theirs]),
    lambda: ours + theirs,
    lambda: weft.nn.functional.relu(theirs),
):
    with pytest.raises(TypeError):
        call()

class Subclass(weft.Tensor):
    pass

with pytest.raises(TypeError):
    add(ours.as_subclass(Subclass), 1)
assert type(weft.add(ours.as_subclass(Subclass), 1)) is Subclass
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_override_is_asked_for_the_method_of_an_in_place_operator():
    """Peft's SHiRA adds a sparse tensor to a weight so."""
    asked = []

    class Named(weft.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    other = weft.ones(2).as_subclass(Named)
    x = y = weft.full((2,), 5.0)
    x += other
    x /= other
    assert (asked, type(x), y.tolist()) == (["add_", "div_"], Named, [6.0, 6.0])


def test_functions_pay_nothing_for_a_class_of_which_there_is_no_tensor():
    code = (
        "import weft; before = weft.exp.__code__; Logged = type('Logged', (weft.Tensor,), {}); "
        "assert weft.exp.__code__ is before; x = weft.ones(2).as_subclass(Logged); "
        "assert weft.exp.__code__ is not before and type(weft.exp(x)) is Logged"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_modes_that_are_active_are_known():
    first, second = weft.overrides.BaseTorchFunctionMode(), weft.overrides.BaseTorchFunctionMode()
    assert weft.overrides._get_current_function_mode() is None
    with first, second:
        assert weft.overrides._get_current_function_mode() is second
        assert weft.overrides._get_current_function_mode_stack() == [first, second]
    assert weft.overrides._get_current_function_mode_stack() == []
