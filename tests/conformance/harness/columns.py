"""What is claimed of an operator: one class of claim per column.

A column is a function of a `Case` and one sample. It returns when the claim holds, raises `Unjudged` when PyTorch
itself does not do it, and raises anything else when the library under test fails.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_map

from harness import entries, resolve
from harness.compare import Comparison, Mismatch, compare_errors, sharing, tensors
from harness.translate import Library, Translator, Untranslatable, array_of

SEED = 20
# Decompositions whose vectors are unique only up to a sign or phase: what their own gradient tests compare is compared.
UP_TO_SIGN = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "svd_lowrank", "pca_lowrank", "lobpcg"}

# Which of several equal elements is meant is not defined; the place of ``dim`` among the arguments after the input.
UP_TO_TIES = {"sort": 0, "argsort": 0, "topk": 1, "kthvalue": 1, "mode": 0}


# PyTorch's own gradcheck fails: it passes a gradient on to elements that were overwritten.
MISDIFFERENTIATED = {"as_strided_scatter"}


class Unjudged(Exception):
    """PyTorch itself does not do this, so nothing is claimed of the library."""


@dataclass
class Case:
    """One entry of the database with one dtype, for one library."""

    library: Library
    entry: Any
    dtype: str

    @property
    def is_floating(self) -> bool:
        """Whether the dtype has gradients."""
        return self.dtype.startswith(("float", "bfloat", "complex"))

    def comparison(self, loosen: float = 1.0) -> Comparison:
        """What compares two results of this entry."""
        return Comparison(self.library, self.entry, loosen)

    def judged(self, call: Callable[[], Any]) -> Any:
        """PyTorch's result, under the common seed."""
        self.library.seed(SEED)
        try:
            result = call()
        except Exception as error:
            raise Unjudged(str(error)) from error
        if any(t.dtype is torch.complex32 for t in tensors(result)):
            raise Unjudged("complex32 has no NumPy counterpart")
        return result

    def tried(self, call: Callable[[], Any]) -> Any:
        """The library's result, under the common seed."""
        self.library.seed(SEED)
        return call()

    def both(
        self, reference: Callable[[], Any], call: Callable[[], Any], exact: Callable[[], Any] | None = None
    ) -> None:
        """Compare outcomes where an error of PyTorch's is part of the claim."""
        self.library.seed(SEED)
        try:
            expected = reference()
        except Exception as error:
            self.compare_refusals(error, call)
        else:
            if any(t.dtype is torch.complex32 for t in tensors(expected)):
                raise Unjudged("complex32 has no NumPy counterpart")
            self.comparison()(expected, self.tried(call), exact)

    def error_of(self, call: Callable[[], Any]) -> Exception | None:
        """What the library raises, or None."""
        try:
            self.tried(call)
        except Exception as error:
            return error
        return None

    def compare_refusals(self, expected: Exception, call: Callable[[], Any]) -> None:
        """Compare an error of PyTorch's with the library's; that something is missing is no refusal."""
        got = self.error_of(call)
        missing = isinstance(got, AttributeError) and "has no attribute" in str(got)
        if missing and not isinstance(expected, AttributeError):
            raise got
        compare_errors(expected, got)


@dataclass(frozen=True)
class Column:
    """A claim: its check, whether it applies to an entry, and the dtypes it is tested with."""

    name: str
    check: Callable[[Case, Any], None]
    applies: Callable[[Any], bool]
    dtypes: Callable[[Any], set[str]]
    requires_grad: bool = False
    samples: Callable[[Any, str, bool, int], Iterator[Any]] = entries.samples


COLUMNS: dict[str, Column] = {}


def _main(entry: Any) -> set[str]:
    return entries.dtypes(entry) & set(entries.MAIN_DTYPES)


def _rest(entry: Any) -> set[str]:
    return entries.dtypes(entry) - set(entries.MAIN_DTYPES)


def _real(entry: Any) -> set[str]:
    return entries.dtypes(entry) & {"float32", "float64"}


def _double(entry: Any) -> set[str]:
    return entries.dtypes(entry) & {"float64"}


def column(name: str, applies: Callable[[Any], bool], dtypes: Any = _main, **options: Any) -> Callable[[Any], Any]:
    """Register a check as the column ``name``."""

    def register(check: Callable[[Case, Any], None]) -> Callable[[Case, Any], None]:
        COLUMNS[name] = Column(name, check, applies, dtypes, **options)
        return check

    return register


def arguments(sample: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of a sample."""
    return (sample.input, *sample.args), dict(sample.kwargs)


def translated(case: Case, sample: Any) -> tuple[Translator, tuple[Any, ...], dict[str, Any]]:
    """The sample's arguments for the library."""
    translator = Translator(case.library)
    args, kwargs = arguments(sample)
    try:
        return translator, translator(args), translator(kwargs)
    except Untranslatable as error:
        raise Unjudged(str(error)) from error


ROUNDED = ("float32", "complex64", "float16", "bfloat16")  # dtypes whose results double precision can judge


def in_double(sample: Any) -> Any:
    """The same sample in double precision."""
    wide = {torch.complex64: torch.complex128}

    def widen(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
            return value.detach().to(wide.get(value.dtype, torch.float64)).requires_grad_(value.requires_grad)
        return value

    return sample.transform(widen)


DRAWS = 16  # of errors in the last digit: enough that a sign which rests on one changes


def in_last_digit(sample: Any, seed: int) -> Any:
    """The same sample with an error in the last digit of every number, or none."""
    generator = torch.Generator().manual_seed(seed)

    def change(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
            signs = torch.randint(-1, 2, value.shape, generator=generator)
            return (value.detach() * (1 + signs * torch.finfo(value.dtype).eps)).to(value.dtype)
        return value

    return sample.transform(change)


def always(entry: Any) -> bool:
    return True


def _forward(case: Case, sample: Any) -> None:
    translator, args, kwargs = translated(case, sample)
    theirs, their_options = arguments(sample)
    finish, my_finish = _outputs_to_compare(case, sample, translator)
    double = in_double(sample) if case.dtype in ROUNDED else None

    def exact() -> Any:
        wide, options = arguments(double)
        case.library.seed(SEED)
        return finish(case.entry.op(*wide, **options))

    expected = case.judged(lambda: finish(case.entry.op(*theirs, **their_options)))
    got = case.tried(lambda: my_finish(resolve.function(case.entry, translator)(*args, **kwargs)))
    one = sharing(expected, (theirs, their_options), torch)
    other = sharing(got, (args, kwargs), case.library.module)
    if len(one) == len(other) and one != other:
        raise Mismatch("memory of other arguments", f"{other} instead of {one}")
    if double is not None:
        case.comparison()(expected, got, exact)
        return
    try:
        case.comparison()(expected, got)
    except Mismatch as mismatch:
        if mismatch.cause != "values differ" or not isinstance(expected, torch.Tensor):
            raise
        changed = [arguments(in_last_digit(sample, seed)) for seed in range(DRAWS)]
        others = [case.judged(partial(case.entry.op, *a, **k)) for a, k in changed]
        case.comparison().where_settled(expected, got, [finish(each) for each in others])


def _outputs_to_compare(case: Case, sample: Any, translator: Translator) -> tuple[Any, Any]:
    """What is done to PyTorch's and to the library's result before they are compared."""
    if case.entry.name in UP_TO_SIGN:
        return sample.output_process_fn_grad, translator.function(sample.output_process_fn_grad)
    if case.entry.name in UP_TO_TIES and not sample.kwargs.get("stable"):
        values = array_of(sample.input)
        return partial(_selected, case, sample, values, array_of), partial(
            _selected, case, sample, values, case.library.to_array
        )
    return _itself, _itself


def _selected(case: Case, sample: Any, values: np.ndarray, to_array: Any, result: Any) -> list[Any]:
    """A result with indices, which are replaced by the values that they select."""
    parts = list(result) if isinstance(result, tuple) else [result]
    indices, place = parts[-1], UP_TO_TIES[case.entry.name]
    if not str(indices.dtype).endswith("int64"):
        raise Mismatch(f"indices of dtype {indices.dtype}")
    dim = sample.kwargs.get("dim", sample.args[place] if len(sample.args) > place else -1)
    picked = to_array(indices)
    if values.ndim:
        at = np.expand_dims(picked, dim) if picked.ndim < values.ndim else picked
        picked = np.take_along_axis(values, at, dim).reshape(picked.shape)
    return [*parts[:-1], picked.tolist()]


def _itself(value: Any) -> Any:
    return value


@column("forward", always)
def forward(case: Case, sample: Any) -> None:
    """Values, dtypes, shapes and structure of the result."""
    _forward(case, sample)


@column("forward_other", always, _rest)
def forward_other(case: Case, sample: Any) -> None:
    """The same with all other dtypes that PyTorch supports."""
    _forward(case, sample)


def _reference_samples(entry: Any, dtype: str, requires_grad: bool, seed: int) -> Iterator[Any]:
    entries.seed_everything(seed)
    drawn = entry.reference_inputs("cpu", getattr(torch, dtype), requires_grad=requires_grad, set_seed=False)
    yield from list(drawn)


@column("reference", lambda entry: entry.reference_inputs_func is not None, samples=_reference_samples)
def reference(case: Case, sample: Any) -> None:
    """The same with the wider set of inputs that some entries have: extremal values, strides, broadcasting."""
    _forward(case, sample)


@column("noncontiguous", always)
def noncontiguous(case: Case, sample: Any) -> None:
    """The same with strided inputs."""
    _forward(case, sample.noncontiguous())


def _cotangent(tensor: torch.Tensor, position: int) -> torch.Tensor:
    """A random tensor that a gradient may be pulled back from, the same in each run."""
    drawn = np.random.default_rng(SEED + position).standard_normal((2, *tensor.shape))
    values = drawn[0] + 1j * drawn[1] if tensor.is_complex() else drawn[0]
    return torch.from_numpy(np.asarray(values)).to(tensor.dtype)


def _pulled_back(module: Any, outputs: list[Any], inputs: list[Any], cotangents: list[Any], **options: Any) -> Any:
    """``autograd.grad`` with None (unused) as zeros."""
    found = module.autograd.grad(outputs, inputs, cotangents, allow_unused=True, **options)
    return [module.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


@dataclass
class Differentiation:
    """The gradients of one sample, for PyTorch or the library: built alike, so that they can be compared."""

    module: Any
    call: Callable[[], Any]
    inputs: list[Any]
    tensor: Callable[[torch.Tensor], Any]

    def outputs(self) -> list[Any]:
        """The results that depend on an input."""
        found = list(tensors(self.call(), self.module.Tensor))
        return [t for t in found if t.requires_grad]

    def first(self, reference: list[torch.Tensor], create_graph: bool = False) -> list[Any]:
        """Gradients with respect to the inputs, for cotangents of the shapes of ``reference``."""
        outputs = self.outputs()
        if len(outputs) != len(reference):
            raise Mismatch("another number of differentiable results", f"{len(outputs)} instead of {len(reference)}")
        cotangents = [self.tensor(_cotangent(t, i)) for i, t in enumerate(reference)]
        return _pulled_back(self.module, outputs, self.inputs, cotangents, create_graph=create_graph)

    def second(self, reference: list[torch.Tensor], firsts: list[torch.Tensor]) -> list[Any]:
        """Gradients of a random combination of the first gradients (and of the cotangents' influence on them)."""
        outputs = self.outputs()
        cotangents = [self.tensor(_cotangent(t, i)).requires_grad_() for i, t in enumerate(reference)]
        inputs = self.inputs + cotangents
        grads = _pulled_back(self.module, outputs, self.inputs, cotangents, create_graph=True)
        pulls = [self.tensor(_cotangent(g, 100 + i)) for i, g in enumerate(firsts)]
        pairs = [(g, pull) for g, pull in zip(grads, pulls, strict=True) if g.requires_grad]
        if not pairs:
            return []
        return _pulled_back(self.module, [g for g, _ in pairs], inputs, [pull for _, pull in pairs])


def _differentiations(case: Case, sample: Any) -> tuple[Differentiation, Differentiation]:
    """The same differentiation for PyTorch and for the library."""
    if case.entry.name in MISDIFFERENTIATED:
        raise Unjudged("PyTorch's own gradient is wrong")
    translator, args, kwargs = translated(case, sample)
    theirs, options = arguments(sample)
    inputs = list(dict.fromkeys(t for t in tensors([theirs, options]) if t.requires_grad))
    if not inputs:
        raise Unjudged("no input requires a gradient")
    around, my_around = case.entry.gradcheck_wrapper, resolve.wrapper(case.entry, translator)
    finish = sample.output_process_fn_grad

    def reference() -> Any:
        case.library.seed(SEED)
        if my_around is None:
            return finish(case.entry.op(*theirs, **options))
        return finish(around(case.entry.op, *theirs, **options))

    def call() -> Any:
        case.library.seed(SEED)
        op = resolve.function(case.entry, translator)
        result = op(*args, **kwargs) if my_around is None else my_around(op, *args, **kwargs)
        return translator.function(finish)(result)

    return (
        Differentiation(torch, reference, inputs, _itself),
        Differentiation(case.library.module, call, [translator.tensor(t) for t in inputs], Translator(case.library)),
    )


def differentiable(entry: Any) -> bool:
    return bool(entry.supports_autograd)


def _twicedifferentiable(entry: Any) -> bool:
    return bool(entry.supports_autograd and entry.supports_gradgrad)


def _gradient(case: Case, sample: Any) -> None:
    double = in_double(sample) if case.dtype == "float32" else None
    reference, tried = _differentiations(case, sample)
    outputs = case.judged(reference.outputs)
    if not outputs:
        raise Unjudged("no result requires a gradient")
    expected = case.judged(lambda: reference.first(outputs))
    got = tried.first(outputs)

    def exact() -> Any:
        return _differentiations(case, double)[0].first(outputs)

    case.comparison(loosen=10)(expected, got, exact if double is not None else None)


@column("gradient", differentiable, _real, requires_grad=True)
def gradient(case: Case, sample: Any) -> None:
    """Gradients with respect to all inputs, and which results have one."""
    _gradient(case, sample)


@column("gradient_complex", differentiable, lambda entry: entries.dtypes(entry) & {"complex128"}, requires_grad=True)
def gradient_complex(case: Case, sample: Any) -> None:
    """The same with complex inputs: PyTorch's convention of the conjugate."""
    _gradient(case, sample)


@column("second_gradient", _twicedifferentiable, _double, requires_grad=True)
def second_gradient(case: Case, sample: Any) -> None:
    """Gradients of the gradients."""
    reference, tried = _differentiations(case, sample)
    outputs = case.judged(reference.outputs)
    if not outputs:
        raise Unjudged("no result requires a gradient")
    firsts = case.judged(lambda: reference.first(outputs))
    expected = case.judged(lambda: reference.second(outputs, firsts))
    if not expected:
        raise Unjudged("no second gradient")
    case.comparison(loosen=10)(expected, tried.second(outputs, firsts))


def _substituted(value: Any, twins: dict[int, Any]) -> Any:
    """A nested value in which some tensors, found by identity, have others in their place."""
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(_substituted(item, twins) for item in value)
    if isinstance(value, dict):
        return {key: _substituted(item, twins) for key, item in value.items()}
    return twins.get(id(value), value)


PLACES = [(side, place) for side in ("result", "operand") for place in range(3)]


def _after_write(module: Any, op: Any, args: Any, kwargs: Any, side: str, place: int, tensor: Any) -> Any:
    """Gradients of the leaves behind the operands, after a write to one operand or result; None where none is."""
    inputs = list(tensors((args, kwargs), module.Tensor))
    twins = {id(x): x * 1 if x.requires_grad else x.clone() for x in inputs}
    results = list(tensors(op(*_substituted(args, twins), **_substituted(kwargs, twins)), module.Tensor))
    outputs = [each for each in results if each.requires_grad and not each.is_leaf]
    there = results if side == "result" else list(twins.values())
    if not outputs or place >= len(there) or there[place].layout != module.strided:
        return None
    with module.no_grad():
        there[place].zero_()
    kinds = [torch.complex128 if each.is_complex() else torch.float64 for each in outputs]
    likes = [torch.empty(tuple(each.shape), dtype=kind) for each, kind in zip(outputs, kinds, strict=True)]
    cotangents = [tensor(_cotangent(like, i)).to(each.dtype) for i, (like, each) in enumerate(zip(likes, outputs))]
    return _pulled_back(module, outputs, [x for x in inputs if x.requires_grad], cotangents)


def _settled(entry: Any) -> bool:
    return differentiable(entry) and entry.name not in UP_TO_SIGN | MISDIFFERENTIATED


@column("written", _settled, _double, requires_grad=True)
def written(case: Case, sample: Any) -> None:
    """Backward goes through, with the same gradients, after writes to results or operands with which PyTorch's does."""
    translator, args, kwargs = translated(case, sample)
    theirs, their_options = arguments(sample)
    judged = False
    for side, place in PLACES:
        run = partial(_after_write, torch, case.entry.op, theirs, their_options, side, place, _itself)
        try:
            expected = case.judged(run)
        except Unjudged:  # PyTorch refuses such a write, or backward after it
            continue
        if expected is not None:
            judged = True
            op = resolve.function(case.entry, translator)
            call = partial(_after_write, case.library.module, op, args, kwargs, side, place, Translator(case.library))
            case.comparison(loosen=10)(expected, case.tried(call))
    if not judged:
        raise Unjudged("nothing may be written to")


def _pushed_forward(module: Any, op: Any, args: Any, kwargs: Any, inputs: list[Any], tangents: list[Any]) -> list[Any]:
    """Results and their directional derivatives for the tangents of the inputs; zeros where there is none."""
    forward_ad = module.autograd.forward_ad
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x.detach(), tangent) for x, tangent in zip(inputs, tangents, strict=True)]
        twins = {id(x): dual for x, dual in zip(inputs, duals, strict=True)}
        result = op(*_substituted(args, twins), **_substituted(kwargs, twins))
        pairs = [forward_ad.unpack_dual(t) for t in tensors(result, module.Tensor)]
        return [[p, module.zeros_like(p) if t is None else t] for p, t in pairs if p.is_floating_point()]


@column("forward_mode", lambda entry: bool(entry.supports_forward_ad), _double, requires_grad=True)
def forward_mode(case: Case, sample: Any) -> None:
    """Directional derivatives for random tangents of all inputs."""
    translator, args, kwargs = translated(case, sample)
    theirs, options = arguments(sample)
    inputs = list(dict.fromkeys(t for t in tensors([theirs, options]) if t.requires_grad))
    if not inputs:
        raise Unjudged("no input requires a gradient")
    mine = [translator.tensor(t) for t in inputs]
    tangents = [_cotangent(t, i) for i, t in enumerate(inputs)]
    my_tangents = [translator.tensor(t) for t in tangents]
    around, my_around = case.entry.gradcheck_wrapper, resolve.wrapper(case.entry, translator)
    finish, my_finish = sample.output_process_fn_grad, translator.function(sample.output_process_fn_grad)

    def reference(*args: Any, **kwargs: Any) -> Any:
        if my_around is None:
            return finish(case.entry.op(*args, **kwargs))
        return finish(around(case.entry.op, *args, **kwargs))

    def tried(*args: Any, **kwargs: Any) -> Any:
        op = resolve.function(case.entry, translator)
        return my_finish(op(*args, **kwargs) if my_around is None else my_around(op, *args, **kwargs))

    def exact() -> Any:
        wide, wide_options = arguments(in_double(sample))  # an input may be float32 beside those of float64
        wide_inputs = list(dict.fromkeys(t for t in tensors([wide, wide_options]) if t.requires_grad))
        return _pushed_forward(torch, reference, wide, wide_options, wide_inputs, tangents)

    expected = case.judged(lambda: _pushed_forward(torch, reference, theirs, options, inputs, tangents))
    got = case.tried(lambda: _pushed_forward(case.library.module, tried, args, kwargs, mine, my_tangents))
    case.comparison(loosen=10)(expected, got, exact)


def _mapped(module: Any, op: Any, args: Any, kwargs: Any, inputs: list[Any]) -> Any:
    """The operator by ``vmap`` over two copies of each tensor."""

    def call(*unbatched: Any) -> Any:
        twins = {id(x): twin for x, twin in zip(inputs, unbatched, strict=True)}
        return op(*_substituted(args, twins), **_substituted(kwargs, twins))

    return module.func.vmap(call)(*[module.stack([x, x]) for x in inputs])


def _one(entry: Any) -> set[str]:
    """One dtype: how an operator runs on a batch does not depend on it."""
    found = entries.dtypes(entry)
    return set([name for name in (*entries.MAIN_DTYPES, *sorted(found)) if name in found][:1])


@column("vmap", always, _one)
def vmap(case: Case, sample: Any) -> None:
    """``func.vmap`` over a batch of two."""
    translator, args, kwargs = translated(case, sample)
    theirs, options = arguments(sample)
    inputs = list(dict.fromkeys(tensors([theirs, options])))
    if not inputs:
        raise Unjudged("no tensor to map over")
    mine = [translator.tensor(t) for t in inputs]
    finish, my_finish = _outputs_to_compare(case, sample, translator)
    expected = case.judged(lambda: finish(_mapped(torch, case.entry.op, theirs, options, inputs)))
    op = resolve.function(case.entry, translator)
    got = case.tried(lambda: my_finish(_mapped(case.library.module, op, args, kwargs, mine)))
    case.comparison(loosen=10)(expected, got)


def _has(attribute: str) -> Callable[[Any], bool]:
    return lambda entry: getattr(entry, attribute) is not None


def _compare_variant(case: Case, sample: Any, theirs: Any, path: str = "") -> None:
    """Compare a variant of PyTorch's with the library's, which is at ``path`` or is found by the variant's name."""
    translator, args, kwargs = translated(case, sample)
    their_args, options = arguments(sample)
    mine = case.library.attribute(path) if path else resolve.variant(theirs, translator)
    finish, my_finish = _outputs_to_compare(case, sample, translator)
    double = in_double(sample) if case.dtype in ROUNDED else None

    def exact() -> Any:
        wide, wide_options = arguments(double)
        case.library.seed(SEED)
        return finish(theirs(*wide, **wide_options))

    case.both(
        lambda: finish(theirs(*their_args, **options)),
        lambda: my_finish(mine(*args, **kwargs)),
        exact if double is not None else None,
    )


def _main_or_one(entry: Any) -> set[str]:
    """The main dtypes; of an operator that has none of them, one."""
    return _main(entry) or _one(entry)


@column("method", _has("method_variant"), _main_or_one)
def method(case: Case, sample: Any) -> None:
    """The method of a tensor."""
    _compare_variant(case, sample, case.entry.method_variant)


@column("operator", _has("operator_variant"))
def operator(case: Case, sample: Any) -> None:
    """Python's operator."""
    if sample.kwargs or len(sample.args) > 1:
        raise Unjudged("an operator has no options")
    _compare_variant(case, sample, case.entry.operator_variant)


@column("alias", lambda entry: bool(entry.aliases))
def alias(case: Case, sample: Any) -> None:
    """The other names of a function."""
    for each in case.entry.aliases:
        if each.op is not None:
            _compare_variant(case, sample, each.op, each.name.removeprefix("torch."))


@column("inplace", lambda entry: entry.inplace_variant is not None and entry.name not in UP_TO_SIGN)
def inplace(case: Case, sample: Any) -> None:
    """The in-place method: its result, that it returns its tensor, and when it refuses."""
    for theirs in filter(None, (case.entry.inplace_variant, case.entry.inplace_operator_variant)):
        fresh = sample.transform(lambda value: value.clone() if isinstance(value, torch.Tensor) else value)
        translator, args, kwargs = translated(case, fresh)
        their_args, options = arguments(fresh)
        mine = resolve.variant(theirs, translator)

        def call(mine: Any = mine, args: Any = args, kwargs: Any = kwargs) -> Any:
            result = mine(*args, **kwargs)
            if result is not args[0]:
                raise Mismatch("the in-place method does not return its tensor")
            return result

        case.both(lambda: theirs(*their_args, **options), call)  # noqa: B023 (called at once)


# PyTorch 2.13 writes past the memory of a strided out= here, and ends its process.
CORRUPTED_BY_STRIDED_OUT = {"tril", "triu", "linalg.lu", "lu_unpack"}
OUT_FORMS = ("of the right shape", "strided", "empty", "of another dtype")


def _out(module: Any, result: torch.Tensor, form: str) -> Any:
    """A tensor that ``out=`` may be given for a result, made by PyTorch or by the library."""
    shape, dtype = tuple(result.shape), str(result.dtype).removeprefix("torch.")
    if form == "of another dtype":
        dtype = "int64" if result.dtype.is_floating_point or result.dtype.is_complex else "float64"
    if form == "empty":
        return module.empty(0, dtype=getattr(module, dtype))
    if form == "strided":
        return module.zeros(shape[::-1], dtype=getattr(module, dtype)).permute(tuple(reversed(range(len(shape)))))
    return module.zeros(shape, dtype=getattr(module, dtype))


def _same(one: Any, other: Any) -> bool:
    """Whether two results of PyTorch's have the same shapes and nearly the same values."""
    pairs = list(zip(tensors(one), tensors(other), strict=True))
    return all(a.shape == b.shape and torch.allclose(a, b, equal_nan=True) for a, b in pairs)


@column("out", lambda entry: bool(entry.supports_out))
def out(case: Case, sample: Any) -> None:
    """``out=``: what is written, what is returned, strides, resizing, and dtypes that are refused.

    What has to be written is what PyTorch writes, or else its result without ``out=``: some of its functions write
    something else into a strided one, or nothing.
    """
    theirs, options = arguments(sample)
    results = case.judged(lambda: case.entry.op(*theirs, **options))
    parts = results if isinstance(results, tuple | list) else [results]
    if not all(isinstance(part, torch.Tensor) for part in parts):
        raise Unjudged("a result that is no tensor")
    finish, my_finish = _outputs_to_compare(case, sample, Translator(case.library))

    def in_full() -> Any:
        wide, wide_options = arguments(in_double(sample))
        case.library.seed(SEED)
        return finish(case.entry.op(*wide, **wide_options))

    exact = in_full if case.dtype in ROUNDED else None
    for form in OUT_FORMS:
        if form == "strided" and case.entry.name in CORRUPTED_BY_STRIDED_OUT:
            continue
        translator, args, kwargs = translated(case, sample)
        outs = [_out(torch, result, form) for result in tensors(results)]
        my_outs = [_out(case.library.module, result, form) for result in tensors(results)]

        def pack(given: list[Any]) -> Any:
            return given[0] if isinstance(results, torch.Tensor) else tuple(given)

        def reference(outs: Any = outs) -> Any:
            case.entry.op(*theirs, **options, out=pack(outs))
            return [finish(pack(outs)), [list(t.stride()) for t in outs if t.numel()]]

        def call(args: Any = args, kwargs: Any = kwargs, my_outs: Any = my_outs, translator: Any = translator) -> Any:
            result = resolve.function(case.entry, translator)(*args, **kwargs, out=pack(my_outs))
            returned = [result] if case.library.is_tensor(result) else list(result or my_outs)  # None: some return none
            if any(a is not b for a, b in zip(returned, my_outs, strict=True)):
                raise Mismatch("out= is not what is returned")
            return [my_finish(pack(my_outs)), [list(t.stride()) for t in my_outs if t.numel()]]

        try:
            if form == "of another dtype" and case.is_floating:  # what would be lost has to be refused
                case.both(reference, call)
                continue
            theirs_written, mine_written = case.judged(reference), case.tried(call)
            try:
                case.comparison()(theirs_written, mine_written, exact)
            except Mismatch:
                plain = finish(pack(list(tensors(results))))
                if _same(plain, theirs_written[0]):
                    raise
                case.comparison()(plain, mine_written[0], exact)
        except Unjudged:
            continue
        except Mismatch as mismatch:
            raise Mismatch(f"out= {form}: {mismatch.cause}", str(mismatch)) from mismatch


def _error_samples(entry: Any, dtype: str, requires_grad: bool, seed: int) -> Iterator[Any]:
    entries.seed_everything(seed)
    yield from (error.sample_input for error in entry.error_inputs("cpu", set_seed=False))


@column("errors", _has("error_inputs_func"), lambda entry: {"any"}, samples=_error_samples)
def errors(case: Case, sample: Any) -> None:
    """PyTorch's exception type for each of its wrong calls."""
    theirs, options = arguments(sample)
    translator, args, kwargs = translated(case, sample)
    case.library.seed(SEED)
    try:
        case.entry.op(*theirs, **options)
    except Exception as error:
        case.compare_refusals(error, lambda: resolve.function(case.entry, translator)(*args, **kwargs))
    else:
        raise Unjudged("PyTorch does not raise")


@dataclass
class Tally:
    """What a column found for one name; ``dtypes`` has the numbers of samples that passed and failed for each."""

    passed: int = 0
    failed: int = 0
    unjudged: int = 0
    causes: dict[str, str] = field(default_factory=dict)
    dtypes: dict[str, list[int]] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """'pass', 'fail', or 'none' where nothing could be judged."""
        return "fail" if self.failed else "pass" if self.passed else "none"


def describe(case: Case, sample: Any) -> str:
    """The call of a sample, in one line."""
    label = f"{case.entry.name}{'.' + case.entry.variant_test_name if case.entry.variant_test_name else ''}"
    return f"{label} {case.dtype}: {tree_map(_short, list(arguments(sample)))}"[:400]


def _short(value: Any) -> Any:
    """A tensor as its dtype and shape, small ones with their values."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.ndim > 64:
        return f"{value.ndim}-d"
    if value.layout is torch.strided and value.device.type == "cpu" and value.numel() <= 4:
        return f"{str(value.dtype)[6:]}{array_of(value).tolist()}"
    return f"{str(value.dtype)[6:]}{list(value.shape)}"


def cause_of(error: BaseException) -> str:
    """What failures have in common: the exception's type and first line, without numbers and names of tensors."""
    if isinstance(error, Mismatch):
        return error.cause
    first = (str(error).splitlines() or [""])[0]
    if isinstance(error, AttributeError) and "has no attribute" in first:
        return f"missing: {first}"
    first = re.sub(r"^[\w.]+(\(\))?(?=[: ])", "op", first)
    first = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "N", first)
    first = re.sub(r"\((N, )*N?,?\)|\[(N, )*N?\]", "SHAPE", first)
    return f"{type(error).__name__}: {first[:140]}"


def run(column: Column, name: str, library: Library, dtypes: set[str] | None, seeds: int) -> Tally:
    """All entries of ``name``, all dtypes and samples of one column."""
    tally = Tally()
    for entry in entries.by_name()[name]:
        if not column.applies(entry):
            continue
        for dtype in sorted(column.dtypes(entry)):
            if dtypes is not None and dtype not in dtypes | {"any"}:
                continue
            case = Case(library, entry, dtype)
            for seed in range(seeds):
                _run_samples(column, case, seed, tally)
    return tally


def _run_samples(column: Column, case: Case, seed: int, tally: Tally) -> None:
    """Count the samples of one case into ``tally``; the first of each cause is kept."""
    counted = tally.dtypes.setdefault(case.dtype, [0, 0])
    try:
        drawn = list(column.samples(case.entry, case.dtype, column.requires_grad, seed))
    except Exception:
        tally.unjudged += 1
        return
    for sample in drawn:
        shown = describe(case, sample)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                column.check(case, sample)
            tally.passed += 1
            counted[0] += 1
        except Unjudged:
            tally.unjudged += 1
        except Exception as error:
            tally.failed += 1
            counted[1] += 1
            line = " ".join(str(error).split())[:300]
            tally.causes.setdefault(cause_of(error), f"{shown} -> {type(error).__name__}: {line}")
