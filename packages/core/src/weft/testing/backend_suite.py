"""What a backend owes to weft's users, as checks that anybody can run on a device of their own.

With pytest, this is a whole test file::

    from weft.testing import BackendSuite

    class TestMetal(BackendSuite):
        device = "metal"

Without, `checks` gives the same checks as callables. The reference is the CPU backend, which must be installed: each
op runs on its declared samples on both devices, and values, dtypes, shapes and gradients must agree.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import weft
from weft._plugins.kernel_checks import checking
from weft._plugins.name_checks import check_names
from weft.backend import NoEquivalentError
from weft.plugins import backend
from weft.testing import _core_samples as _core_samples
from weft.testing._comparison import assert_close
from weft.testing._samples import function_of, naming_sample, sample_inputs, sample_names

DTYPES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
).split()
TRIED = ("float32", "int64", "bool", "complex64", "bfloat16")  # by each op; a device's other dtypes in few checks


@dataclass(frozen=True)
class Check:
    """One claim about a backend; calling it raises AssertionError if it does not hold."""

    name: str
    function: Callable[..., None]
    arguments: tuple[Any, ...]

    def __call__(self) -> None:
        """Try the claim; every kernel's results are compared with what its op declares."""
        with checking():
            self.function(*self.arguments)

    def __str__(self) -> str:
        return self.name


class BackendSuite:
    """Base of a test class: name it ``Test...`` and set ``device``; pytest makes a test of each check.

    Attributes
    ----------
    device : str
        The device to try, as ``weft.tensor(..., device=device)`` takes it.
    dtypes : tuple of str
        The names of the dtypes that the device has; the checks keep to them. Not every device has float64.
    skip : frozenset of str
        Names of checks that do not apply, ``op_agrees[sort]``; their reason belongs beside them.
    """

    device: str = "cpu"
    dtypes: tuple[str, ...] = tuple(DTYPES)
    skip: frozenset[str] = frozenset()

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a test of each check; pytest calls this while it collects."""
        if "check" in metafunc.fixturenames:
            chosen = [check for check in checks(self.device, self.dtypes) if check.name not in self.skip]
            metafunc.parametrize("check", chosen, ids=str)

    def test_backend(self, check: Check) -> None:
        """The claim that the check is named for."""
        check()


def checks(device: str, dtypes: tuple[str, ...] = tuple(DTYPES)) -> list[Check]:
    """List the checks for a device, those of the functions of installed portions among them.

    Examples
    --------
    >>> for check in checks("cpu"):
    ...     if check.name.startswith("copy"):
    ...         check()
    """
    found = [Check(function.__name__, function, (device,)) for function in GENERAL]
    for name in dtypes:
        dtype = getattr(weft, name)
        found += [Check(f"{function.__name__}[{name}]", function, (device, dtype)) for function in BY_DTYPE]
    tried = [getattr(weft, name) for name in TRIED if name in dtypes]
    for name in sample_names():
        found.append(Check(f"op_agrees[{name}]", op_agrees, (device, name, tried)))
        found.append(Check(f"gradient_agrees[{name}]", gradient_agrees, (device, name, weft.float32)))
    return found


def backend_is_registered_under_its_device(device: str) -> None:
    """The registry knows the backend by the name that its tensors bear."""
    kind = weft.device(device).type
    expect(backend(kind).device_type == kind, f"the backend of {kind!r} calls itself {backend(kind).device_type!r}")
    expect(weft.ones(1, device=device).device.type == kind, "a new tensor is on another device")


def kernels_are_for_ops_that_exist(device: str) -> None:
    """Each kernel in the backend's table has the name of an op."""
    owner = backend(weft.device(device).type)
    check_names(owner.kernels, f"the backend of {owner.device_type!r}")


def creation_fills(device: str) -> None:
    """Creation functions make the values that they make on the CPU."""
    makers: tuple[Callable[[str], Any], ...] = (
        lambda device: weft.zeros(2, 3, device=device),
        lambda device: weft.ones(0, 3, device=device),
        lambda device: weft.full((2,), 7, device=device),
        lambda device: weft.full((), 0.5, device=device),
        lambda device: weft.arange(2, 11, 3, device=device),
        lambda device: weft.linspace(0, 1, 5, device=device),
        lambda device: weft.eye(3, device=device),
        lambda device: weft.tensor([[1, 2], [3, 4]], device=device),
        lambda device: weft.tensor(True, device=device),
        lambda device: weft.zeros_like(weft.ones(2, device=device)),
    )
    for make in makers:
        same(make(device), make("cpu"), device)


def empty_has_shape_and_device(device: str) -> None:
    """Uninitialized tensors of any size, zero included."""
    for shape in ((), (0,), (2, 0, 3), (4, 5)):
        made = weft.empty(shape, device=device)
        expect(tuple(made.shape) == shape, f"empty({shape}) has shape {tuple(made.shape)}")
        expect(made.device.type == weft.device(device).type, f"empty({shape}) is on {made.device}")


def copies_go_there_and_back(device: str, dtype: Any) -> None:
    """To the device and back, bit for bit, in every layout."""
    for there in layouts(dtype):
        copied = there.to(device)
        expect(copied.dtype is dtype, f"copying made {dtype} into {copied.dtype}")
        expect(copied.device.type == weft.device(device).type, f"copied to {copied.device}")
        same(copied, there, device)
    expect(copied.to(device) is copied, "to() of the device that a tensor is on must return the tensor itself")


def copies_own_their_memory(device: str) -> None:
    """Writing to a copy leaves the original alone."""
    original = weft.zeros(3, device=device)
    for copied in (original.clone(), original.to(device, copy=True), copy.deepcopy(original)):
        copied.fill_(1)
    if weft.device(device).type != "cpu":
        original.cpu().fill_(1)
        original.to("cpu").to(device).fill_(1)
    same(original, weft.zeros(3), device)


def copy_into_another_device(device: str) -> None:
    """``copy_`` crosses devices and converts dtypes, both ways."""
    there = weft.zeros(2, 3, device=device)
    there.copy_(weft.arange(6).reshape(2, 3))
    same(there, weft.arange(6.0).reshape(2, 3), device)
    here = weft.zeros(2, 3, dtype=weft.int64)
    here.copy_(there)
    same(here, weft.arange(6).reshape(2, 3), "cpu")


def dtypes_convert_as_on_the_cpu(device: str, dtype: Any) -> None:
    """To every other dtype that holds the values."""
    source = weft.tensor([0, 1, 2, 100]).to(dtype)
    for name in ("bool", "uint8", "int64", "float32", "complex64"):
        target = getattr(weft, name)
        if not (dtype.is_complex and not target.is_complex):
            same(source.to(device).to(target), source.to(target), device)


def arithmetic_keeps_the_dtype(device: str, dtype: Any) -> None:
    """Sum and product of tensors of one dtype, and with a Python number."""
    here = weft.tensor([1, 2, 3]).to(dtype)
    there = here.to(device)
    same(there + there, here + here, device)
    same(there * there, here * here, device)
    same(there + 1, here + 1, device)
    same(there == there, here == here, device)


def promotion_follows_the_cpu(device: str) -> None:
    """Two dtypes make the dtype that they make on the CPU."""
    mixed = [weft.tensor([1, 0], dtype=getattr(weft, name)) for name in ("bool", "uint8", "int64", "float32")]
    for a in mixed:
        for b in mixed:
            same(a.to(device) + b.to(device), a + b, device)
        same(a.to(device) * 2.5, a * 2.5, device)


def views_share_memory(device: str) -> None:
    """A write through a view is seen in its base."""
    base = weft.zeros(4, 3, device=device)
    base[1].fill_(1)
    base.T[0].add_(5)
    base.view(12)[11] = 9
    base[::2, 1:].mul_(2)
    expected = weft.zeros(4, 3)
    expected[1].fill_(1)
    expected.T[0].add_(5)
    expected.view(12)[11] = 9
    expected[::2, 1:].mul_(2)
    same(base, expected, device)
    same(base.view(weft.int32), expected.view(weft.int32), device)  # the same bytes


def indexing_reads_and_writes(device: str) -> None:
    """By slices, by index tensors, by masks."""
    results = []
    for where in (device, "cpu"):
        x = weft.arange(12.0, device=where).reshape(3, 4)
        index = weft.tensor([2, 0], device=where)
        x[index, 1] = 50
        x[x > 40] = -1
        x[:, index] += 1
        results.append((x, x[index], x[:, 1:3], x[x > 5], x[index, index], x[..., None]))
    for there, here in zip(*results):
        same(there, here, device)


def devices_do_not_mix(device: str) -> None:
    """Tensors of two devices in one op are an error, except for a number in a 0-d tensor of the CPU."""
    there = weft.ones(2, device=device)
    same(there + weft.tensor(1.0), weft.ones(2) + 1, device)
    if weft.device(device).type != "cpu":
        raises(RuntimeError, lambda: there + weft.ones(2), device)
        raises(RuntimeError, lambda: weft.ones(2, 2) @ there, device)


def wrong_calls_raise_as_on_the_cpu(device: str) -> None:
    """Shapes, indices and dtypes are refused before anything is written."""
    x = weft.ones(2, 3, device=device)
    raises(RuntimeError, lambda: x + weft.ones(4, device=device), device)
    raises(RuntimeError, lambda: x @ x, device)
    raises(RuntimeError, lambda: x.reshape(5), device)
    raises(IndexError, lambda: x[2], device)
    raises(IndexError, lambda: x[weft.tensor([7], device=device)], device)
    raises(IndexError, lambda: x.sum(dim=5), device)
    raises(RuntimeError, lambda: weft.ones(2, dtype=weft.int64, device=device).add_(0.5), device)
    same(x, weft.ones(2, 3), device)


def gradients_flow_on_the_device(device: str) -> None:
    """A gradient is on the device of its tensor, crosses copies, and is itself differentiable."""
    results = []
    for where in (device, "cpu"):
        x = weft.tensor([0.5, -1.5, 2.0], requires_grad=True)
        written = x.to(where) * 1
        written[:2].mul_(x.to(where)[1])
        (through_view,) = weft.autograd.grad(written.sum(), x)
        y = (x.to(where) * 3).sin()
        (first,) = weft.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = weft.autograd.grad((first * first).sum(), x)
        leaf = weft.ones(2, 2, device=where, requires_grad=True)
        (leaf @ leaf).sum().backward()
        grad: Any = leaf.grad
        expect(grad.device == leaf.device, f"the gradient of a tensor on {leaf.device} is on {grad.device}")
        results.append((y, first, second, grad, through_view))
    for there, here in zip(*results):
        same(there, here, there.device)


def random_numbers_repeat(device: str) -> None:
    """One seed, one stream; a state that is put back continues it."""
    generator = weft.Generator(device=device)
    first = drawn(generator.manual_seed(7), device)
    expect(all_equal(first, drawn(generator.manual_seed(7), device)), "the same seed gave other numbers")
    expect(not all_equal(first, drawn(generator.manual_seed(8), device)), "another seed gave the same numbers")
    state = generator.get_state()
    after = drawn(generator, device)
    generator.set_state(state)
    expect(all_equal(after, drawn(generator, device)), "set_state() did not put the state back")


def manual_seed_reaches_the_device(device: str) -> None:
    """``weft.manual_seed`` seeds the default generator of every device."""
    draws = []
    for _ in range(2):
        weft.manual_seed(3)
        draws.append([weft.rand(8, device=device), weft.randn(8, device=device), weft.randperm(8, device=device)])
    expect(all_equal(*draws), "weft.manual_seed did not reseed the device")


def random_numbers_have_their_distribution(device: str) -> None:
    """Bounds hold exactly; means and deviations within five standard errors of 10,000 draws."""
    weft.manual_seed(0)
    uniform, normal, integers, coins = drawn(weft.Generator(device=device).manual_seed(0), device, 10_000)
    expect(bool((uniform >= 0).all() and (uniform < 1).all()), "rand() left [0, 1)")
    expect(abs(float(uniform.mean()) - 0.5) < 0.015, f"rand() has mean {float(uniform.mean())}")
    expect(abs(float(normal.mean())) < 0.05, f"randn() has mean {float(normal.mean())}")
    expect(abs(float(normal.std()) - 1) < 0.04, f"randn() has standard deviation {float(normal.std())}")
    expect(sorted(set(integers.tolist())) == [3, 4, 5, 6], "randint(3, 7) must give 3, 4, 5 and 6")
    expect(abs(float(coins.mean()) - 0.25) < 0.022, f"bernoulli_(0.25) has mean {float(coins.mean())}")


def distributions_are_drawn_on_the_device(device: str) -> None:
    """Every sampler fills a tensor of the device, and repeats for the same seed."""
    draws: list[list[Any]] = []
    for _ in range(2):
        generator = weft.Generator(device=device).manual_seed(5)
        draws.append([draw(weft.full((3, 4), 0.5, device=device), generator) for draw in SAMPLERS])
    for first, again, draw in zip(*draws, SAMPLERS):
        expect(first.device.type == weft.device(device).type, f"a sample is on {first.device} and not on {device}")
        expect(bool(weft.equal(first, again)), f"sampler {SAMPLERS.index(draw)} of SAMPLERS does not repeat")


SAMPLERS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, generator: x.uniform_(-1, 1, generator=generator),
    lambda x, generator: x.normal_(1, 2, generator=generator),
    lambda x, generator: x.exponential_(2, generator=generator),
    lambda x, generator: x.log_normal_(generator=generator),
    lambda x, generator: x.cauchy_(generator=generator),
    lambda x, generator: x.geometric_(0.5, generator=generator),
    lambda x, generator: x.random_(0, 10, generator=generator),
    lambda x, generator: weft.bernoulli(x, generator=generator),
    lambda x, generator: weft.normal(x, x, generator=generator),
    lambda x, generator: weft.poisson(x, generator=generator),
    lambda x, generator: weft.multinomial(x, 2, generator=generator),
)


def synchronization_waits(device: str) -> None:
    """After ``synchronize`` the results are there; it may be called at any time."""
    served = backend(weft.device(device).type)
    served.synchronize()
    x = weft.ones(64, 64, device=device)
    for _ in range(3):
        x = x @ x / 64
    served.synchronize()
    same(x, weft.ones(64, 64), device)


def tensors_print_and_pickle(device: str) -> None:
    """``repr`` names a device that is not the CPU; a pickle comes back on the device."""
    x = weft.tensor([1.0, 2.0], device=device)
    if x.device.type != "cpu":
        expect(f"device='{x.device}'" in repr(x), f"repr() does not name the device: {x!r}")
    same(pickle.loads(pickle.dumps(x)), weft.tensor([1.0, 2.0]), device)


def training_reduces_the_loss(device: str) -> None:
    """Gradient descent fits a line, step by step as on the CPU."""
    losses = {}
    for where in (device, "cpu"):
        x = weft.linspace(-1, 1, 32, device=where).reshape(32, 1)
        weight = weft.zeros(1, 1, device=where, requires_grad=True)
        bias = weft.zeros(1, device=where, requires_grad=True)
        losses[where] = [descend(x, 3 * x - 1, weight, bias) for _ in range(20)]
    expect(losses[device][-1] < losses[device][0] / 10, f"the loss did not fall: {losses[device]}")
    expect(all(abs(a - b) <= 1e-4 for a, b in zip(losses[device], losses["cpu"])), "other losses than on the CPU")


def descend(x: Any, y: Any, weight: Any, bias: Any) -> float:
    """One step of gradient descent on the mean squared error."""
    loss = ((x @ weight + bias - y) ** 2).mean()
    loss.backward()
    with weft.no_grad():
        for parameter in (weight, bias):
            parameter -= 0.3 * parameter.grad
            parameter.grad = None
    return float(loss.detach())


def op_agrees(device: str, name: str, dtypes: list[Any]) -> None:
    """An op gives the CPU's values, dtypes and shapes on all its samples, and refuses what the CPU refuses."""
    for dtype in dtypes:
        for args, kwargs in sample_inputs(name, dtype):
            with naming_sample(name, dtype, args, kwargs):
                if not result_agrees(device, function_of(name), args, kwargs):
                    break


def result_agrees(device: str, function: Any, args: Any, kwargs: Any) -> bool:
    """Whether other samples are worth trying, after one that gives what it gives on the CPU."""
    there_args, there_kwargs = moved(args, device), moved(kwargs, device)  # before the call, which may write to them
    try:
        here = function(*args, **kwargs)
    except ImportError:
        return False  # no SciPy to compare with
    except Exception as error:
        if "an integer was divided by 0" not in str(error):  # a device need not be waited for to see this
            raises(type(error), lambda: function(*there_args, **there_kwargs), device)
        return False  # no kernel for this dtype
    try:
        there = function(*there_args, **there_kwargs)
    except NoEquivalentError:
        return False  # it needs more than an array library
    same(there, here, device)
    return True


def gradient_agrees(device: str, name: str, dtype: Any) -> None:
    """The gradients of an op are the CPU's on all its samples."""
    for args, kwargs in sample_inputs(name, dtype):
        with naming_sample(name, dtype, args, kwargs):
            if not sample_gradient_agrees(device, function_of(name), args, kwargs):
                break


def sample_gradient_agrees(device: str, function: Any, args: Any, kwargs: Any) -> bool:
    """Whether other samples are worth trying, after one whose gradients are those of the CPU."""
    try:
        function(*args, **kwargs)
    except Exception:
        return False  # not for this dtype, as `op_agrees` has seen
    try:
        here = gradients(function, *moved((args, kwargs), "cpu", requires_grad=True))
    except RuntimeError as error:  # it has none, or writes to a leaf
        raises(type(error), lambda: gradients(function, *moved((args, kwargs), device, requires_grad=True)), device)
        return True
    try:
        there = gradients(function, *moved((args, kwargs), device, requires_grad=True))
    except NoEquivalentError:
        return False  # as `op_agrees` has seen
    same(there, here, device)
    return True


def gradients(function: Any, args: Any, kwargs: Any) -> list[Any]:
    """The gradients of the sum of all outputs with respect to all inputs; None where one has no influence."""
    outputs = [each for each in tensors(function(*args, **kwargs)) if each.requires_grad]
    leaves = [each for each in tensors((args, kwargs)) if each.requires_grad]
    if not outputs:
        return []
    sums = [(each.abs() if each.is_complex() else each).sum() for each in outputs]
    return list(weft.autograd.grad(sums, leaves, allow_unused=True))


def moved(value: Any, device: str, requires_grad: bool = False) -> Any:
    """Copy a sample to a device, container by container; ``requires_grad`` makes floating-point tensors leaves."""
    if isinstance(value, weft.Tensor):
        detached = value.detach()
        copied = detached.to(device)
        copied = copied.clone() if copied is detached else copied  # calls may write to what they are given
        return copied.requires_grad_(requires_grad and copied.is_floating_point())
    if isinstance(value, dict):
        return {key: moved(each, device, requires_grad) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(moved(each, device, requires_grad) for each in value)
    return value


def tensors(value: Any) -> Iterator[Any]:
    """All tensors in a value, container by container."""
    if isinstance(value, weft.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors(each)


def layouts(dtype: Any) -> Iterator[Any]:
    """Tensors of a dtype on the CPU: contiguous, transposed, with gaps, reversed by a flip, 0-d, empty, expanded."""
    x = weft.arange(12).reshape(3, 4).to(dtype)
    yield from (x, x.T, x[:, ::2], x.flip(0), x[1, 1], x[:0], x[:1].expand(5, 4), x[1:, 1:])


def drawn(generator: Any, device: str, count: int = 50) -> list[Any]:
    """Draw from each basic distribution."""
    return [
        weft.rand(count, generator=generator, device=device),
        weft.randn(count, generator=generator, device=device),
        weft.randint(3, 7, (count,), generator=generator, device=device),
        weft.empty(count, device=device).bernoulli_(0.25, generator=generator),
    ]


def all_equal(a: list[Any], b: list[Any]) -> bool:
    """Whether two lists of tensors are equal, bit for bit."""
    return all(weft.equal(x, y) for x, y in zip(a, b))


def same(there: Any, here: Any, device: Any) -> None:
    """A result on the device must be on that device, and have the CPU's dtype, shape and values.

    Libraries add up in different orders and have an exponential function of their own: a few more last places are
    allowed than for one library.
    """
    for each in tensors(there):
        on = each.device.type
        expect(on == weft.device(device).type, f"a result is on {each.device} and not on {device}")
    dtypes = {each.dtype.name for each in tensors(here)}
    rtol, atol = max(map(TOLERANCES.__getitem__, dtypes & TOLERANCES.keys()), default=(0.0, 0.0))
    assert_close(there, here, rtol=rtol, atol=atol, equal_nan=True, check_device=False)


TOLERANCES = {
    "float16": (5e-3, 1e-3),
    "bfloat16": (4e-2, 1e-2),
    "float32": (1e-5, 1e-5),
    "float64": (1e-9, 1e-9),
    "complex64": (1e-5, 1e-5),
    "complex128": (1e-9, 1e-9),
}


def expect(claim: bool, message: str) -> None:
    """Raise AssertionError with a message unless the claim holds; unlike assert, also under ``python -O``."""
    if not claim:
        raise AssertionError(message)


def raises(kind: type[Exception], call: Callable[[], Any], device: Any) -> None:
    """The call must raise an exception of this type, or the device what it asserted, when it is waited for."""
    try:
        call()
    except kind:
        return
    try:
        where = weft.device(device)
        backend(where.type).synchronize(where.index)
    except weft.AcceleratorError:
        return
    raise AssertionError(f"expected {kind.__name__}, and nothing was raised")


GENERAL = (
    backend_is_registered_under_its_device,
    kernels_are_for_ops_that_exist,
    creation_fills,
    empty_has_shape_and_device,
    copies_own_their_memory,
    copy_into_another_device,
    promotion_follows_the_cpu,
    views_share_memory,
    indexing_reads_and_writes,
    devices_do_not_mix,
    wrong_calls_raise_as_on_the_cpu,
    gradients_flow_on_the_device,
    random_numbers_repeat,
    manual_seed_reaches_the_device,
    random_numbers_have_their_distribution,
    distributions_are_drawn_on_the_device,
    synchronization_waits,
    tensors_print_and_pickle,
    training_reduces_the_loss,
)
BY_DTYPE = (copies_go_there_and_back, dtypes_convert_as_on_the_cpu, arithmetic_keeps_the_dtype)
