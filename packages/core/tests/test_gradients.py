"""Every op of the registry: its gradient and its second gradient agree with differences."""

import itertools

import pytest

import weft
from weft.autograd import grad, gradcheck, gradgradcheck
from weft.library import pointwise
from weft.ops._registry import registry
from weft.testing import backend_suite, call, checks, samples
from weft.testing._samples import function_of, naming_sample, sample_inputs, sample_names

# Ops whose gradients no sample reaches, and where they are tested instead.
ELSEWHERE = {
    "view_scatter": "test_inplace.py",
    "setitem": "test_inplace.py",
    "copy": "test_inplace.py",
    "fill": "test_inplace.py",
    "transfer": "the tests of the backends: it needs two devices",
}
# Functions with a gradient for one argument only, as in PyTorch: their own file tests it.
ONE_SIDED = {
    "core::igamma": "test_gamma_functions.py",
    "core::igammac": "test_gamma_functions.py",
    "core::scatter_product": "test_ops_indexing.py",
}
# Functions of chance: they write numbers over their input, whose gradient is zero.
RANDOM = {
    *("uniform", "normal_fill", "log_normal", "exponential", "cauchy", "geometric", "random"),
    *("bernoulli_fill", "bernoulli", "normal", "poisson", "binomial", "_standard_gamma"),
    "_sample_dirichlet",
}


@samples("core::angle")
def _(make):
    yield call(make(3, 4))


@samples("frexp")
def _(make):
    yield call(make(3, 4, low=1.1, high=1.9))


@samples("core::addcmul", "core::addcdiv")
def _(make):
    yield from (call(make(3, 4), make(4), make(3, 1, low=1)), call(make(2), make(2), make(2, low=1), value=0.5))


@samples("core::add_scaled")
def _(make):
    yield from (call(make(3, 4), make(4), 0.5), call(make(3, 1), make(3, 4), -2))


@samples("scatter_reduce")
def _(make):
    for reduce in ("sum", "mean", "amax", "amin", "prod"):
        yield call(make.distinct(4) + 0.5, 0, make.index(6, below=4), make.distinct(6) + 0.1, reduce)
        yield call(make.distinct(4), 0, make.index(3, below=4), make.distinct(3) + 0.1, reduce, include_self=False)


@samples("segment_reduce")
def _(make):
    for reduce in ("sum", "mean", "max", "min", "prod"):
        yield call(make.distinct(5) + 0.5, reduce, lengths=weft.tensor([2, 0, 3]))


CORE = [name for name in sample_names() if (name in registry or not {*name} & {*":."}) and name not in ONE_SIDED]


def tensors(value):
    if isinstance(value, weft.Tensor):
        return [value]
    return [each for item in value for each in tensors(item)] if isinstance(value, list | tuple) else []


def differentiable(value):
    return [each for each in tensors(value) if each.is_floating_point() or each.is_complex()]


def replaced(value, leaves):
    """The same arguments with the leaves, an iterator, in place of what can be differentiated."""
    if isinstance(value, weft.Tensor):
        return next(leaves) if value.is_floating_point() or value.is_complex() else value
    return type(value)(replaced(item, leaves) for item in value) if isinstance(value, list | tuple) else value


def cases(name, dtype):
    """Each sample that can be differentiated: leaves, a function of them, whether it is large, and its arguments."""
    function = function_of(name)
    for args, kwargs in sample_inputs(name, dtype):
        leaves = [each.detach().clone().contiguous().requires_grad_() for each in differentiable(args)]

        def run(*given, args=args, kwargs=kwargs):
            return function(*replaced(args, iter(given)), **kwargs)

        try:
            outputs = tensors(run(*leaves))
        except (NotImplementedError, RuntimeError, TypeError):
            continue  # not for this dtype: what the sample's own suite tests
        outputs = [each for each in outputs if each.requires_grad]
        if outputs and all(each.numel() and bool(weft.isfinite(each).all()) for each in outputs):
            large = sum(each.numel() for each in leaves) * sum(each.numel() for each in outputs) > 30
            yield leaves, run, large, (args, kwargs)


def refuses(name):
    return (name in registry and registry[name].gradient == "refused") or name in ("unique", "unique_consecutive")


@pytest.mark.parametrize("name", CORE)
def test_gradients_agree_with_differences_twice(name):
    for dtype in (weft.float64, weft.complex128):
        for leaves, run, large, sample in cases(name, dtype):
            with naming_sample(name, dtype, *sample):
                if refuses(name):
                    with pytest.raises(NotImplementedError, match="derivative"):
                        gradcheck(run, leaves)
                    continue
                assert gradcheck(run, leaves, fast_mode=large)
                assert gradgradcheck(run, leaves, fast_mode=large)


def test_samples_reach_every_gradient_of_core():
    for name in CORE:
        for dtype in (weft.float64, weft.complex128):
            for leaves, run, *_ in cases(name, dtype):
                outputs = [each for each in tensors(run(*leaves)) if each.requires_grad]
                if not refuses(name):  # recorded, for the ops that are used by gradients alone
                    grad(outputs, leaves, outputs, create_graph=True, allow_unused=True)
    unseen = {
        declaration.short
        for name, declaration in registry.items()
        if name.startswith("core::") and declaration.gradients and not declaration.op.plans
    }
    # Families with tests of their own, test_linalg.py, test_fft.py, test_sparse_compressed.py: they need special
    # matrices and lengths.
    unseen = {name for name in unseen if not name.startswith(("linalg_", "fft_", "csr_"))}
    assert unseen <= {*ELSEWHERE, *RANDOM, *(name.partition("::")[2] for name in ONE_SIDED)}


@pytest.mark.parametrize("name", list(registry))
def test_an_op_without_a_gradient_says_that_it_has_none(name):
    declaration = registry[name]
    if declaration.op.differentiable:
        assert declaration.gradients or declaration.gradient == "refused", (
            f"{name} takes floating-point tensors and declares no gradient: declare one with .gradient, "
            'or say gradient=None (its results have no history) or gradient="refused" (differentiating is an error)'
        )


def test_a_gradient_cannot_follow_where_it_was_declined():
    with pytest.raises(TypeError, match="gradient=None"):
        weft.detach.gradient("input")(lambda grad: grad)


def test_an_op_whose_gradient_is_refused_fails_in_backward_not_in_forward():
    x = weft.ones(3, requires_grad=True)
    y = weft.heaviside(x, x)
    assert y.requires_grad
    with pytest.raises(NotImplementedError, match=r"heaviside.*detach"):
        y.sum().backward()


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
@pytest.mark.parametrize("fast", [False, True])
def test_the_check_finds_a_wrong_gradient(check, fast):
    class Wrong(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (3.01 * x**2 if check is gradcheck else 3 * x.detach() ** 2)

    x = weft.tensor([0.5, -2.0], dtype=weft.float64, requires_grad=True)
    with pytest.raises(weft.autograd.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        check(Wrong.apply, x, fast_mode=fast)
    assert not check(Wrong.apply, x, fast_mode=fast, raise_exception=False)


def test_a_wrong_gradient_is_told_with_its_op_dtype_and_sample(monkeypatch):
    @pointwise(namespace="wrong", dtypes="float")
    def total(xp, input, other):
        return input + other

    @total.gradient("input other")
    def _(grad):
        return grad * 2, grad

    try:
        with pytest.raises(weft.autograd.GradcheckError) as error:
            test_gradients_agree_with_differences_twice("wrong::total")
        function, sample = error.value.__notes__
        assert function.endswith("called with (float64[3, 4], float64[3, 4])")
        assert sample == "wrong::total, float64: total(float64[3, 4], float64[3, 4])"
        check = next(each for each in checks("cpu") if each.name == "gradient_agrees[wrong::total]")
        monkeypatch.setattr(backend_suite, "gradients", lambda function, args, kwargs: [next(numbers)])
        numbers = itertools.count()
        with pytest.raises(AssertionError, match=r"wrong::total, float32: total\(float32\[3, 4\], float32\[3, 4\]\)"):
            check()
    finally:
        del registry["wrong::total"]


def test_the_check_finds_a_gradient_that_is_missing():
    x = weft.rand(3, dtype=weft.float64, requires_grad=True)
    assert not gradcheck(lambda a: a.detach(), x, raise_exception=False)
    assert not gradcheck(lambda a: a.detach() * a, x, raise_exception=False)


def test_the_check_wants_double_precision_inputs_that_require_grad():
    with pytest.raises(ValueError, match="requires_grad"):
        gradcheck(weft.sin, weft.rand(2))
    with pytest.warns(UserWarning, match="double precision"):
        gradcheck(weft.sin, weft.rand(2, requires_grad=True), raise_exception=False)


STEPS = {
    **{name: getattr(weft, name) for name in ("sign", "floor", "ceil", "round", "trunc", "sgn", "angle")},
    "round to decimals": lambda x: weft.round(x, decimals=1),
    "div floor": lambda x: weft.div(x, 2.0, rounding_mode="floor"),
    "div trunc": lambda x: weft.div(x, 2.0, rounding_mode="trunc"),
    "copysign": lambda x: weft.copysign(x.detach(), x),
    "nextafter": lambda x: weft.nextafter(x.detach(), x),
    "power 0": lambda x: x**0,
    "powers 0": lambda x: weft.pow(x, weft.zeros_like(x)),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("cotangent", [1.0, float("inf"), float("nan")])
def test_a_constant_function_has_the_gradient_0_whatever_comes(name, cotangent):
    x = weft.tensor([-1.0, 0.0, 0.5, 2.0], dtype=weft.float64, requires_grad=True)
    y = STEPS[name](x)
    (slope,) = grad(y, x, weft.full_like(y, cotangent))
    assert slope.tolist() == [0.0] * 4


@pytest.mark.parametrize(("function", "at"), [(weft.sinc, 0.0), (lambda x: weft.pow(x.detach(), x), 0.0)])
def test_a_slope_of_0_stays_0_under_an_infinite_gradient(function, at):
    x = weft.tensor([at], dtype=weft.float64, requires_grad=True)
    (slope,) = grad(function(x), x, weft.tensor([float("inf")], dtype=weft.float64))
    assert slope.tolist() == [0.0]


def double(*shape, dtype=weft.float64):
    return weft.rand(*shape, dtype=dtype, requires_grad=True)


def hooked(change):
    def function(x):
        y = x.clone()
        y.register_hook(change)
        return y

    return function


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (hooked(lambda grad: grad + 1e-2), RuntimeError, "Jacobian mismatch for output 0 with respect to input 0"),
        (hooked(lambda grad: grad * (1 + weft.rand_like(grad) * 1e-6)), RuntimeError, "Backward is not reentrant"),
        (lambda x: weft.cat([x, x]) if (x >= 1).all() else x, AssertionError, "same shape"),
        (lambda x: weft.tensor(x.tolist(), dtype=weft.float64), RuntimeError, "expected to be zero"),
    ],
)
def test_gradcheck_says_what_is_wrong(function, error, says, fast_mode):
    weft.manual_seed(0)
    with pytest.raises(error, match=says):
        weft.autograd.gradcheck(function, weft.ones(2, dtype=weft.float64, requires_grad=True), fast_mode=fast_mode)


def test_gradcheck_finds_a_backward_that_is_not_linear():
    with pytest.raises(RuntimeError, match="not multiplied by grad_output"):
        weft.autograd.gradcheck(hooked(lambda grad: grad + 1e-2), double(1), atol=0.1)


def test_gradcheck_tells_which_part_of_a_complex_output_is_wrong():
    with pytest.raises(RuntimeError, match="imaginary part of complex outputs only"):
        weft.autograd.gradcheck(hooked(lambda grad: grad.real + 2j * grad.imag), double(2, dtype=weft.complex128))
    with pytest.raises(RuntimeError, match="real part of complex outputs only"):
        weft.autograd.gradcheck(hooked(lambda grad: 2 * grad.real + 1j * grad.imag), double(2, dtype=weft.complex128))


def test_gradcheck_checks_forward_mode_alone_and_in_batches():
    class Twice(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2, y * 2

        @staticmethod
        def jvp(ctx, x, y):
            calls.append(1)
            return x * 2, y * wrong[0]

    calls, wrong = [], [2]
    options = {"check_forward_ad": True, "check_backward_ad": False}
    x, y = double(1), double(1)
    assert weft.autograd.gradcheck(Twice.apply, (x, y), check_undefined_grad=False, **options)
    assert len(calls) == 2
    assert weft.autograd.gradcheck(Twice.apply, (x, y), check_batched_forward_grad=True, **options)
    assert len(calls) == 2 + 12
    wrong[0] = 3
    with pytest.raises(RuntimeError, match="forward mode mismatch for output 1 with respect to input 1"):
        weft.autograd.gradcheck(Twice.apply, (x, y), **options)
    with pytest.raises(AssertionError, match="at least one of"):
        weft.autograd.gradcheck(Twice.apply, (x, y), check_backward_ad=False)
