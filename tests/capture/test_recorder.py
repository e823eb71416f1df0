"""Interceptors see all that a training step does: a recording of one, replayed on other tensors, gives its bits."""

import importlib.util
import io
import json
import threading
from pathlib import Path

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft import is_tensor, nn
from weft._interception.torch_function import flatten
from weft.testing._samples import function_of, sample_inputs, sample_names
from weft.utils._pytree import tree_map

from .models import GPT, LSTM, cnn

PATH = Path(__file__).resolve().parents[2] / "examples" / "recorder.py"


@pytest.fixture(scope="module")
def recorder():
    spec = importlib.util.spec_from_file_location("recorder", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def indices(classes, *shape):
    return lambda: weft.randint(0, classes, shape)


INDEX, ONE = weft.tensor([0, 1]), weft.ones(1)
PLAIN = (int, float, complex, str, type(None), np.ndarray)  # data of `tensor` is the user's
CASES = {
    "GPT": (GPT, indices(32, 2, 12), indices(32, 24)),
    "CNN": (cnn, lambda: weft.randn(4, 1, 8, 8), indices(10, 4)),
    "LSTM": (LSTM, indices(20, 4, 6), indices(10, 4)),
}


class Run:
    """A model, its optimizer, and data, after a first step; `step` does the next."""

    def __init__(self, case, seed):
        make, inputs, targets = CASES[case]
        weft.manual_seed(seed)
        self.model = make()
        self.optimizer = weft.optim.AdamW(self.model.parameters(), lr=0.01)
        self.step(inputs(), targets())
        self.data = inputs(), targets()
        weft.manual_seed(7)

    def step(self, inputs, targets):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()

    def tensors(self):
        """All that a step reads, in one order for each run: data, parameters, buffers, the optimizer's state."""
        states = [each for state in self.optimizer.state.values() for each in state.values()]
        return [*self.data, *self.model.parameters(), *self.model.buffers(), *states]


def bits(tensors):
    return [each.detach().clone() for each in tensors]


def equal(ours, others):
    return all(weft.equal(a, b) for a, b in zip(ours, others, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_a_recorded_step_gives_the_same_bits_on_new_data_and_parameters(recorder, case):
    first, second, expected = Run(case, 1), Run(case, 2), Run(case, 2)
    assert equal(second.tensors(), expected.tensors()) and not equal(first.tensors()[2:4], second.tensors()[2:4])
    record = recorder.Recorder()
    with record:
        loss = first.step(*first.data)
    given = {record.number(ours): others for ours, others in zip(first.tensors(), second.tensors(), strict=True)}
    calls = json.loads(json.dumps(record.calls))
    weft.manual_seed(7)
    found = recorder.replay(calls, {number: record.tensors[number] for number in record.inputs} | given)
    weft.manual_seed(7)
    assert weft.equal(found[record.number(loss)], expected.step(*expected.data))
    assert equal(second.tensors(), expected.tensors())
    weft.manual_seed(8)
    recorder.replay(calls, found)  # as often as one likes: the optimizer counts its steps
    weft.manual_seed(8)
    expected.step(*expected.data)
    assert equal(second.tensors(), expected.tensors())
    left = set(record.inputs) - given.keys()
    assert all(record.tensors[number].dtype is weft.int64 for number in left), [record.tensors[n] for n in left]


@pytest.mark.parametrize("case", CASES)
def test_watching_runs_no_other_kernels(recorder, case):
    run = Run(case, 1)
    with weft.profiler.profile() as profile:
        run.step(*run.data)
    plain = sum(each.count for each in profile.key_averages() if each.key.startswith(("aten::", "optim::")))
    record = recorder.Recorder()
    with weft.profiler.profile() as profile, record:
        run.step(*run.data)
    watched = sum(each.count for each in profile.key_averages() if each.key.startswith(("aten::", "optim::")))
    assert plain <= watched <= 1.05 * plain


@pytest.mark.parametrize("case", CASES)
def test_a_recorded_forward_pass_is_json(recorder, case):
    run = Run(case, 1)
    run.model.eval()
    record = recorder.Recorder()
    with weft.no_grad(), record:
        result = run.model(run.data[0])
    calls = json.loads(json.dumps(record.calls))
    found = recorder.replay(calls, {number: record.tensors[number] for number in record.inputs})
    assert weft.equal(found[record.number(result)], result)


class Names(weft.library.Interceptor):
    """The names of the ops that ran."""

    def __init__(self):
        self.names = []

    def after(self, op, args, result):
        self.names.append(op.name.partition("::")[2])


def seen(function, *args):
    with Names() as names:
        function(*args)
    return names.names


def saved():
    file = io.BytesIO()
    weft.save({"weights": [weft.ones(2)]}, file)
    file.seek(0)
    return file


def assign(x, index, value):
    x[index] = value


@pytest.mark.parametrize(
    ("names", "program"),
    [
        ("zeros", lambda x: weft.zeros(2, 2)),
        ("arange", lambda x: weft.arange(3)),
        ("tensor", lambda x: weft.tensor([1, 2])),
        ("from_numpy", lambda x: weft.from_numpy(np.ones(2))),
        ("new_full", lambda x: x.new_full((2,), 3)),
        ("rand", lambda x: weft.rand(2, generator=weft.Generator())),
        ("randn_like", lambda x: weft.randn_like(x)),
        ("randperm", lambda x: weft.randperm(4)),
        ("normal_", lambda x: x.normal_()),
        ("add_", lambda x: x.add_(1)),
        ("add_", lambda x: x.__iadd__(x)),
        ("addcmul_", lambda x: x.addcmul_(x, x, value=2)),
        ("clamp_", lambda x: x.clamp_(min=0)),
        ("mul copy_", lambda x: weft.mul(ONE, 2, out=weft.empty(1))),
        ("zeros", lambda x: weft.zeros(2, out=x[0, :2])),
        ("fill_", lambda x: x.fill_(1)),
        ("getitem fill_", lambda x: assign(x, 0, 1)),
        ("expand copy_", lambda x: x[0].copy_(ONE)),
        ("index_put_", lambda x: assign(x, INDEX, x[INDEX])),
        ("item", lambda x: ONE.item()),
        ("item", lambda x: bool(ONE)),
        ("item", lambda x: float(ONE)),
        ("tolist", lambda x: x.tolist()),
        ("numpy", lambda x: x.numpy()),
        ("numpy", lambda x: np.asarray(x)),
        ("mul_", lambda x: weft._foreach_mul_([x, x], 2)),
        ("frombuffer", lambda x: weft.frombuffer(bytearray(8), dtype=weft.int64)),
        ("from_dlpack", lambda x: weft.from_dlpack(np.ones(2))),
        ("from_file", lambda x: weft.from_file(PATH, size=2, dtype=weft.uint8)),
        ("load", lambda x: weft.load(saved())),
        ("apply_", lambda x: x.apply_(abs)),
        ("clone map_", lambda x: x.map_(x.clone(), max)),
        ("map2_", lambda x: x.map2_(x, x, max)),
        ("resize_", lambda x: x.resize_(4, 4)),
        ("clone add copy_ permute", lambda x: weft.func.vmap(lambda row: row.clone().add_(1))(x)),
    ],
)
def test_what_is_no_arithmetic_has_a_name_too(names, program):
    found = seen(program, weft.randn(2, 3))
    assert found[-len(names.split()) :] == names.split()


def leaves(noted):
    """What stands in a recording beside containers."""
    if isinstance(noted, (dict, list, tuple)):
        for each in noted.values() if isinstance(noted, dict) else noted:
            yield from leaves(each)
    else:
        yield noted


def replayed(recorder, function, tensors):
    """What a function returns and gradients of it, and the same by a replay of what it did on the tensors."""

    def run():
        results = [each for each in flatten(as_tuple(function())) if each.numel()]
        recorded = [each for each in results if each.requires_grad and not each.is_complex()]
        needed = [each for each in tensors if each.requires_grad]
        grads = weft.autograd.grad([each.sum() for each in recorded], needed, allow_unused=True) if recorded else ()
        return [*results, *[each for each in grads if each is not None]]

    record = recorder.Recorder()
    for each in tensors:
        record.number(each)
    before = [each.detach().clone() for each in tensors]
    known = len(record.inputs)
    weft.manual_seed(5)
    with record:
        results = run()
    expected = [each.detach().clone() for each in results]
    numbers = [record.number(each) for each in results]
    from_nowhere = [record.tensors[number] for number in record.inputs[known:] if record.tensors[number].numel()]
    assert not from_nowhere, from_nowhere
    assert all(isinstance(each, PLAIN) for each in leaves(record.calls)), record.calls
    with weft.no_grad():
        for tensor, value in zip(tensors, before):
            if not weft.equal(tensor, value):  # the running statistics of a module
                tensor.copy_(value)
    weft.manual_seed(5)
    found = recorder.replay(record.calls, {number: record.tensors[number] for number in record.inputs})
    return expected, [found[number] for number in numbers]


def as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def same(ours, others):
    return all(weft.allclose(a, b, rtol=0, atol=0, equal_nan=True) for a, b in zip(ours, others, strict=True))


@pytest.mark.parametrize("name", sample_names())
@pytest.mark.parametrize("dtype", [weft.float32, weft.int64, weft.complex64], ids=str)
def test_all_that_an_op_computes_is_seen(recorder, name, dtype):
    function = function_of(name)
    for args, kwargs in sample_inputs(name, dtype):
        args = tree_map(lambda x: x.detach().requires_grad_(x.is_floating_point()) if is_tensor(x) else x, args)
        try:
            function(*args, **kwargs)
        except (AssertionError, NotImplementedError, RuntimeError, TypeError, ValueError):  # not for this dtype
            continue
        tensors = flatten((args, tuple(kwargs.values())))
        try:
            expected, found = replayed(recorder, lambda: function(*args, **kwargs), tensors)  # noqa: B023
        except NotImplementedError as error:
            assert "derivative for" in str(error), error
        else:
            assert same(expected, found)


LAYERS = {
    "Conv1d": ((4, 6, 3), (2, 4, 9)),
    "Conv2d": ((4, 6, 3), (2, 4, 9, 9)),
    "Conv3d": ((4, 6, 3), (2, 4, 5, 6, 7)),
    "ConvTranspose2d": ((4, 6, 3), (2, 4, 5, 5)),
    "MaxPool2d": ((2,), (2, 4, 9, 9)),
    "AdaptiveMaxPool2d": ((2,), (2, 4, 9, 9)),
    "AvgPool3d": ((2,), (2, 4, 5, 6, 7)),
    "LPPool2d": ((2, 2), (2, 4, 9, 9)),
    "FractionalMaxPool2d": ((2, 3), (2, 4, 9, 9)),
    "BatchNorm2d": ((4,), (2, 4, 9, 9)),
    "InstanceNorm1d": ((4,), (2, 4, 9)),
    "GroupNorm": ((2, 4), (2, 4, 9)),
    "LayerNorm": ((9,), (2, 4, 9)),
    "RMSNorm": ((9,), (2, 4, 9)),
    "LocalResponseNorm": ((2,), (2, 4, 9)),
    "ReflectionPad2d": ((1,), (2, 4, 9, 9)),
    "CircularPad1d": ((1,), (2, 4, 9)),
    "Dropout2d": ((), (2, 4, 9, 9)),
    "AlphaDropout": ((), (2, 4)),
    "RReLU": ((), (2, 4)),
    "PReLU": ((), (2, 4)),
    "GLU": ((), (2, 4)),
    "Softplus": ((), (2, 4)),
    "LSTM": ((9, 5, 2), (2, 4, 9)),
    "GRU": ((9, 5), (2, 4, 9)),
    "RNNCell": ((9, 5), (2, 9)),
    "TransformerEncoderLayer": ((8, 2, 16), (3, 2, 8)),
    "PixelShuffle": ((2,), (2, 4, 9, 9)),
    "Upsample": ((None, 1.5, "bilinear"), (2, 4, 5, 6)),
    "AdaptiveAvgPool2d": ((3,), (2, 4, 5, 7)),
    "Dropout": ((), (2, 4)),
    "Fold": (((4, 4), (2, 2)), (2, 12, 9)),
    "Unfold": (((2, 2),), (2, 4, 9, 9)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_all_that_a_layer_computes_is_seen(recorder, name):
    arguments, shape = LAYERS[name]
    weft.manual_seed(0)
    layer, input = getattr(nn, name)(*arguments), weft.randn(shape, requires_grad=True)
    expected, found = replayed(recorder, lambda: layer(input), [input, *layer.parameters(), *layer.buffers()])
    assert same(expected, found)


def test_what_is_loaded_is_part_of_a_recording(recorder, tmp_path):
    weft.save({"weight": weft.ones(2), "rest": [weft.zeros(2)]}, tmp_path / "weights.pt")
    record = recorder.Recorder()
    with record:
        weights = weft.load(str(tmp_path / "weights.pt"))
        result = weights["weight"] * 2 + weights["rest"][0]
    assert not record.inputs
    weft.save({"weight": weft.full((2,), 3.0), "rest": [weft.ones(2)]}, tmp_path / "weights.pt")
    found = recorder.replay(json.loads(json.dumps(record.calls)), {})
    assert found[record.number(result)].tolist() == [7.0, 7.0]


OPTIMIZERS = "SGD Adam AdamW Adamax NAdam RAdam Adagrad Adadelta RMSprop Rprop ASGD Adafactor"
BY_NUMBERS = {"NAdam", "ASGD", "Adafactor"}  # these compute in Python with the count of steps


@pytest.mark.parametrize("name", OPTIMIZERS.split())
def test_a_recorded_step_of_an_optimizer_is_its_step_and_the_next_ones(recorder, name):
    def optimizer():
        weight = nn.Parameter(weft.arange(3.0))
        weight.grad = weft.tensor([0.5, -1.0, 2.0])
        made = getattr(weft.optim, name)([weight], lr=0.1)
        made.step()
        return weight, made

    (ours, watched), (others, expected) = optimizer(), optimizer()
    record = recorder.Recorder()
    with record:
        watched.step()
    expected.step()
    assert weft.equal(ours, others)
    found = {number: record.tensors[number] for number in record.inputs}
    for _ in range(3 if name not in BY_NUMBERS else 0):
        recorder.replay(json.loads(json.dumps(record.calls)), found)
        expected.step()
        assert weft.equal(ours, others)


class Waves(weft.autograd.Function):
    """Saves what is neither argument nor result, and keeps a number."""

    @staticmethod
    def forward(ctx, x, scale, *rest):
        sine = x.sin()
        ctx.save_for_backward(sine, None)
        ctx.scale = scale
        return x.cos() * scale, sine.square()

    @staticmethod
    def backward(ctx, grad, other):
        sine, _ = ctx.saved_tensors
        assert ctx.needs_input_grad[0]
        return -grad * sine * ctx.scale + other * 2 * sine * (1 - sine * sine).sqrt(), None, None


class Cubes(weft.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x


@weft.library.custom_op("recorder::double", mutates_args=())
def double(x: weft.Tensor) -> weft.Tensor:
    return weft.from_numpy(x.numpy() * 2)


double.register_autograd(lambda ctx, grad: grad * 2)


@pytest.mark.parametrize(
    ("names", "function"),
    [
        ("Waves WavesBackward", lambda x: Waves.apply(x, 3.0, "unused")),
        ("Cubes CubesBackward", Cubes.apply),
        ("double double_backward", double),
    ],
)
def test_a_custom_function_is_one_op_forward_and_backward(recorder, names, function):
    x = weft.rand(5, requires_grad=True)

    def whole():
        return [each.exp() for each in as_tuple(function(x))]

    expected, found = replayed(recorder, whole, [x])
    assert same(expected, found)
    with Names() as seen_names:
        weft.autograd.grad(as_tuple(function(x))[0].sum(), x)
    custom = [name for name in seen_names.names if name in names]
    assert custom == names.split() and not {"sin", "cos", "pow", "mul", "from_numpy"} & set(seen_names.names)


def test_second_derivatives_of_a_custom_function_are_seen_as_the_ops_in_its_backward():
    x = weft.rand(5, requires_grad=True)
    with Names() as names:
        (first,) = weft.autograd.grad(Cubes.apply(x).sum(), x, create_graph=True)
        (second,) = weft.autograd.grad(first.sum(), x)
    assert weft.allclose(second, 6 * x) and "CubesBackward" not in names.names and "Cubes" in names.names


def test_an_interceptor_may_answer_in_a_custom_functions_stead():
    class Zeros(weft.library.Interceptor):
        def instead(self, op, args):
            if op.name != "autograd::Cubes":
                return NotImplemented
            result, context = op(**args)
            return result * 0, context

    x = weft.ones(2, requires_grad=True)
    with Zeros():
        y = Cubes.apply(x)
    y.sum().backward()
    assert y.tolist() == [0.0, 0.0] and x.grad.tolist() == [3.0, 3.0]


def test_checkpoints_are_seen_as_the_ops_in_them():
    x = weft.ones(2, requires_grad=True)
    with Names() as names:
        weft.utils.checkpoint.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=True).sum().backward()
    assert names.names.count("exp") == names.names.count("sin") == 2


def test_an_interceptor_may_answer_in_an_ops_stead():
    class Doubles(weft.library.Interceptor):
        def instead(self, op, args):
            return op(**args) * 2 if op.name == "core::exp" else NotImplemented

    x = weft.zeros(2)
    with Doubles():
        assert (x.exp() + 1).tolist() == [3.0, 3.0]
    assert x.exp().tolist() == [1.0, 1.0]


def test_interceptors_inside_of_each_other_see_what_is_left_to_them():
    with Names() as outer, Names() as inner:
        weft.ones(2) + 1
    assert inner.names == outer.names == ["ones", "add"]
    with Names() as other:
        pass
    assert not other.names


def test_an_interceptor_that_is_entered_twice_stays_until_it_is_left_twice():
    names = Names()
    with names:
        with names:
            weft.ones(2)
        weft.zeros(2)
    assert names.names == ["ones", "ones", "zeros"]


def test_a_default_generator_is_no_argument():
    class Generators(weft.library.Interceptor):
        def before(self, op, args):
            found.append((op.name, args.get("generator")))

    found, own = [], weft.Generator()
    x = weft.full((3,), 0.5)
    with Generators():
        F.dropout(x)
        weft.bernoulli(x)
        weft.bernoulli(x, generator=own)
    assert found == [("nn::dropout", None), ("core::bernoulli", None), ("core::bernoulli", own)]
    weft.manual_seed(3)
    expected = weft.bernoulli(x)
    weft.manual_seed(3)
    assert weft.equal(weft.library.get_op("core::bernoulli")(input=x, p=None, generator=None), expected)


@pytest.mark.parametrize("name", ["normal_", "random_", "geometric_", "bernoulli_", "exponential_", "sqrt_", "clamp_"])
def test_an_op_has_the_same_arguments_before_it_ran_and_afterwards(name):
    class Arguments(weft.library.Interceptor):
        def before(self, op, args):
            found.append((op, *args))

    weft._interception.interceptors.operations.pop(f"core::{name}", None)
    found, op = [], weft.library.get_op(f"core::{name}")
    x = weft.full((3,), 0.5)
    with Arguments():
        getattr(x, name)(*([0.25] if name in ("geometric_", "clamp_") else []))
    (seen_op, *names), again = found[-1], weft.library.get_op(f"core::{name}")
    assert names[0] == "input" and seen_op is op is again


class Deep(weft.autograd.Function):
    """Calls backward within its backward, so often that passes go on in another thread."""

    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        if ctx.depth:
            with weft.enable_grad():
                inner = grad.detach().requires_grad_()
                Deep.apply(inner, ctx.depth - 1).sin().sum().backward()
        return grad, None


def test_a_backward_that_goes_on_in_another_thread_is_watched(monkeypatch):
    class Threads(weft.library.Interceptor):
        def before(self, op, args):
            threads.add(threading.current_thread().name)
            names.append(op.name)

    monkeypatch.setattr(Deep, "_is_one_op", False)
    threads, names = set(), []
    with Threads():
        Deep.apply(weft.ones(2, requires_grad=True), 30).sum().backward()
    assert len(threads) == 2 and names.count("core::cos") == 30


def test_other_threads_are_not_watched():
    def program():
        found.append((weft.ones(2) + 1).tolist())

    found = []
    with Names() as names:
        thread = threading.Thread(target=program)
        thread.start()
        thread.join()
    assert found == [[2.0, 2.0]] and not names.names


def test_an_exception_leaves_the_stack_as_it_was():
    with Names() as names:
        with pytest.raises(RuntimeError, match="must match"):
            weft.ones(2) + weft.ones(3)
        weft.ones(2).exp()
    assert names.names == ["ones", "ones", "ones", "exp"]


def test_an_unknown_op_is_named():
    with pytest.raises(KeyError, match="no op is called 'core::nosuch'"):
        weft.library.get_op("core::nosuch")
