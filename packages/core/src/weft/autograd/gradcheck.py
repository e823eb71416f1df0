"""Compare gradients with differences: gradcheck and gradgradcheck.

For a function f of real inputs the analytical Jacobian comes from backward passes with unit vectors, the
numerical one from ``(f(x + eps) - f(x - eps)) / (2 eps)``. A complex input counts as two real ones, its
real and its imaginary part; so does a complex output. With PyTorch's convention the gradient of a real loss
with respect to a complex z is dL/dRe + i dL/dIm.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy

import weft
from weft._devices.devices import backend_of
from weft._dtypes.dtypes import float64
from weft._engine.tensor import TensorBase
from weft._tensor.base import Tensor
from weft._tensor.interop import tensor
from weft.autograd._backward import grad
from weft.autograd.function import Function
from weft.autograd.grad_mode import enable_grad, no_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient disagrees with differences."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of a function agree with differences.

    Parameters
    ----------
    func : callable
        Of tensors, returning a tensor or a tuple of them.
    inputs : Tensor or tuple
        At least one of them requires grad; use float64.
    eps : float
        The step of the differences.
    atol, rtol : float
        ``|analytical - numerical| <= atol + rtol * |numerical|``.
    raise_exception : bool
        Raise instead of returning False.
    nondet_tol : float
        By how much two backward passes may differ.
    check_batched_grad : bool
        Compare also a `vmap` over backward passes with the passes one by one.
    check_batched_forward_grad : bool
        The same for forward mode.
    check_undefined_grad : bool
        Check that outputs, or tangents, that are not there count as zeros.
    check_forward_ad, check_backward_ad : bool
        Compare forward mode, and backward passes.
    fast_mode : bool
        Compare one random projection of the Jacobian instead of all of it.
    masked : bool, optional
        Accepted and not used: of sparse tensors the elements that they keep are compared, and no others.

    Raises
    ------
    GradcheckError
        Naming the input and the output, with both Jacobians.
    ValueError
        If no input requires grad.

    Examples
    --------
    >>> x = weft.rand(3, dtype=weft.float64, requires_grad=True)
    >>> weft.autograd.gradcheck(weft.sin, x)
    True
    """
    if not check_forward_ad and not check_backward_ad:
        raise AssertionError("gradcheck: Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("gradcheck: Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("gradcheck: Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    args = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    refuse_sparse(func(*args))
    func, args = of_values(func, args)
    try:
        check_inputs(args, eps)
        outputs = differentiable(func(*args))
        watched = [n for n, each in enumerate(args) if isinstance(each, TensorBase) and each._requires_grad]
        if not outputs and check_backward_ad:
            check_constant(func, args, watched, eps, atol)
            return True
        compare = compare_projection if fast_mode else compare_jacobians
        if check_backward_ad:
            for number, output in enumerate(outputs):
                compare(func, args, watched, number, output, eps, atol, rtol, nondet_tol)
        if check_forward_ad:
            compare_forward(func, args, watched, eps, atol, rtol)
            if check_undefined_grad:
                check_undefined_tangents(func, args, watched)
        if check_batched_forward_grad:
            compare_batched_forward(func, args, watched, atol, rtol)
        if not check_backward_ad:
            return True
        for number, output in enumerate(outputs):
            if check_batched_grad:
                compare_batched(args, watched, number, output, atol, rtol)
        check_scales(args, watched, outputs)
        if check_undefined_grad:
            check_undefined(func, args, watched)
    except GradcheckError as error:
        if not raise_exception:
            return False
        error.add_note(f"The function is {getattr(func, '__qualname__', func)}, called with {described(args)}")
        raise
    return True


def of_values(func: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the values of sparse and nested tensors, returning such values, and the values."""

    @functools.wraps(func)
    def inner(*given: Any) -> Any:
        wrapped = [each.with_values(part) if is_wrapper(each) else part for each, part in zip(args, given)]
        result = func(*wrapped)
        if isinstance(result, (tuple, list)):
            return tuple(each._inner_values if is_wrapper(each) else each for each in result)
        return result._inner_values if is_wrapper(result) else result

    return inner, tuple(each._inner_values if is_wrapper(each) else each for each in args)


def refuse_sparse(result: Any) -> None:
    """Outputs are dense: a difference of sparse ones depends on which elements they keep.

    Raises
    ------
    ValueError
        If one is not.
    """
    tensors = [each for each in as_tuple(result) if isinstance(each, Tensor)]
    if any(each.requires_grad and each.layout not in (weft.strided, weft.jagged) for each in tensors):
        raise ValueError(
            "gradcheck: Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the "
            "output of fn for gradcheck."
        )


def is_wrapper(value: Any) -> bool:
    return isinstance(value, TensorBase) and hasattr(value, "_inner_values")


def described(value: Any) -> str:
    """An argument, or a list of them, as errors show it: tensors by dtype and shape, ``float64[3, 4]``."""
    if isinstance(value, TensorBase):
        return f"{value._key.dtype.name}{list(value._array.shape)}"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(described, value))
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    return repr(value)


def check_inputs(args: tuple[Any, ...], eps: float) -> None:
    found = False
    for number, each in enumerate(args):
        if isinstance(each, TensorBase) and each._requires_grad:
            found = True
            if each._key.dtype.name not in ("float64", "complex128"):
                warnings.warn(
                    f"gradcheck: Input #{number} requires gradient and is not a double precision floating point or "
                    "complex. This check will likely fail if all the inputs are not of double precision.",
                    UserWarning,
                    stacklevel=3,
                )
            array = each._array
            if array.size and any(n > 1 and s == 0 for n, s in zip(array.shape, array.strides)):
                raise RuntimeError(
                    f"gradcheck: The {number}th input has a dimension with stride 0. gradcheck only supports inputs "
                    "that "
                    "are non-overlapping to be able to compute the numerical gradients correctly. Call .contiguous()."
                )
    if not found:
        raise ValueError(
            "gradcheck: gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )


def differentiable(result: Any) -> list[Any]:
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [each for each in results if isinstance(each, TensorBase) and each._requires_grad]


def as_tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def parts(array: Any) -> numpy.ndarray[Any, Any]:
    """The elements as real numbers: a complex one gives two."""
    flat = numpy.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def evaluate(func: Callable[..., Any], args: tuple[Any, ...], number: int) -> numpy.ndarray[Any, Any]:
    """The elements of one differentiable output, as float64."""
    with enable_grad():
        return real_parts(differentiable(func(*args))[number])


def real_parts(tensor: Any) -> numpy.ndarray[Any, Any]:
    """The elements of a tensor as float64, a complex one as two."""
    return parts(tensor.detach().to_dense().numpy(force=True)).astype(numpy.float64)


def values_of(tensor: Any) -> numpy.ndarray[Any, Any]:
    """The values of a tensor; those of the CPU in its own memory."""
    array: numpy.ndarray[Any, Any] = tensor.detach().numpy(force=True)
    return array


def set_values(tensor: Any, array: numpy.ndarray[Any, Any]) -> None:
    """Write values into a tensor, behind autograd's back."""
    if tensor.device.type == "cpu":
        values_of(tensor)[...] = array
    else:
        where = tensor.device
        with backend_of(where).guard(where.index):
            tensor._array[...] = backend_of(where).from_numpy(numpy.asarray(array), where.index)


def difference(
    func: Callable[..., Any], args: tuple[Any, ...], number: int, source: Any, step: Any, eps: float, like: Any
) -> numpy.ndarray[Any, Any]:
    """How an output, that was ``like`` this, changes along a step of the values of an input, which are put back.

    Raises
    ------
    AssertionError
        If its shape or dtype changes.
    """
    original = values_of(source).copy()
    found = []
    for sign in (1, -1):
        set_values(source, original + sign * eps * step)
        with enable_grad():
            found.append(differentiable(func(*args))[number].detach().clone())
        set_values(source, original)
    for each in found:
        for what, before, now in (("shape", like.shape, each.shape), ("dtype", like.dtype, each.dtype)):
            if before != now:
                raise AssertionError(
                    f"gradcheck: Expected `func` to return outputs with the same {what} when inputs are perturbed "
                    f"along a given dimension, but got: {before} and {now}."
                )
    return (real_parts(found[0]) - real_parts(found[1])) / (2 * eps)


def numerical_jacobian(
    func: Callable[..., Any], args: tuple[Any, ...], source: Any, number: int, eps: float, like: Any
) -> numpy.ndarray[Any, Any]:
    """Differences of an output for each real part of a tensor that it depends on: (its parts, output parts)."""
    values = values_of(source)
    rows = []
    for place in numpy.ndindex(values.shape):
        for unit in (1, 1j) if values.dtype.kind == "c" else (1,):
            step = numpy.zeros_like(values)
            step[place] = unit
            rows.append(difference(func, args, number, source, step, eps, like))
    return numpy.array(rows)


def analytical_jacobians(output: Any, args: tuple[Any, ...], watched: Sequence[int]) -> list[numpy.ndarray[Any, Any]]:
    """The same from backward passes."""
    inputs = [args[n] for n in watched]
    columns: list[list[Any]] = [[] for _ in watched]
    shape = output._array.shape
    for place in numpy.ndindex(shape):
        for unit in (1, 1j) if output._key.is_complex else (1,):
            seed = output.detach().new_zeros(shape)
            seed[place] = unit
            grads = grad(output, inputs, seed, retain_graph=True, allow_unused=True)
            for column, given, source in zip(columns, grads, inputs):
                if given is None:
                    given = source.detach().new_zeros(source._array.shape)
                if given._array.shape != source._array.shape:
                    raise GradcheckError(
                        f"Analytical gradient has incorrect size: {list(given.shape)} for input {list(source.shape)}"
                    )
                column.append(real_parts(given))
    return [
        numpy.array(column).T if column else numpy.zeros((parts(values_of(source)).size, 0))
        for column, source in zip(columns, inputs)
    ]


def compare_jacobians(
    func: Any,
    args: Any,
    watched: Any,
    number: int,
    output: Any,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> None:
    analytical = analytical_jacobians(output, args, watched)
    again = analytical_jacobians(output, args, watched)
    for position, ours, twice in zip(watched, analytical, again):
        if not numpy.allclose(ours, twice, rtol=0, atol=nondet_tol, equal_nan=True):
            raise not_reentrant(position, number, nondet_tol)
        theirs = numerical_jacobian(func, args, args[position], number, eps, output).reshape(ours.shape)
        if not numpy.allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=False):
            raise mismatch(position, number, theirs, ours, which_part(output, theirs, ours, rtol, atol))


def which_part(output: Any, numerical: Any, analytical: Any, rtol: float, atol: float) -> str:
    """Which part of a complex output is wrong, as an error begins."""
    if not output._key.is_complex:
        return ""
    right = numpy.allclose(analytical[:, 1::2], numerical[:, 1::2], rtol=rtol, atol=atol, equal_nan=False)
    return f"While considering the {'real' if right else 'imaginary'} part of complex outputs only, "


def mismatch(
    position: int, number: int, numerical: Any, analytical: Any, part: str = "", mode: str = ""
) -> GradcheckError:
    """The error for a Jacobian that is wrong."""
    difference = numpy.nan_to_num(numpy.abs(numerical - analytical), nan=numpy.inf, posinf=numpy.inf)
    worst = numpy.unravel_index(numpy.argmax(difference), numerical.shape)
    return GradcheckError(
        f"{part}Jacobian {mode}mismatch for output {number} with respect to input {position},\n"
        f"numerical:\n{numerical}\nanalytical:\n{analytical}\n"
        f"The largest difference is at {tuple(map(int, worst))} (rows are elements of the input, columns of the "
        "output)."
    )


def compare_projection(
    func: Any,
    args: Any,
    watched: Any,
    number: int,
    output: Any,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> None:
    """``v^T J u`` for random vectors u of the input and v of the output."""
    chance = numpy.random.default_rng(0)
    shape, inputs = output._array.shape, [args[n] for n in watched]
    direction = chance.standard_normal(parts(output.detach().numpy(force=True)).size)
    seed = output.detach().new_zeros(shape)
    parts_into(seed, direction)
    grads = grad(output, inputs, seed, retain_graph=True, allow_unused=True)
    again = grad(output, inputs, seed, retain_graph=True, allow_unused=True)
    for position, source, given, twice in zip(watched, inputs, grads, again):
        if given is not None and not numpy.allclose(real_parts(given), real_parts(twice), rtol=0, atol=nondet_tol):
            raise not_reentrant(position, number, nondet_tol)
        values = values_of(source)
        move = chance.standard_normal(parts(values).size)
        move /= numpy.linalg.norm(move) or 1.0
        step = (move.view(complex) if values.dtype.kind == "c" else move).reshape(values.shape)
        numerical = float(direction @ difference(func, args, number, source, step, eps, output))
        analytical = 0.0 if given is None else float(real_parts(given) @ move)
        if not numpy.isclose(analytical, numerical, rtol=rtol, atol=atol * max(1.0, numpy.abs(direction).sum())):
            raise mismatch(position, number, numpy.array([[numerical]]), numpy.array([[analytical]]))


def not_reentrant(position: int, number: int, nondet_tol: float) -> GradcheckError:
    """The error for a backward pass that gives one gradient and then another."""
    return GradcheckError(
        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
        "different values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism "
        f"was {nondet_tol}. Input {position}, output {number}."
    )


def floating(result: Any) -> list[Any]:
    """The outputs that have tangents."""
    return [each for each in as_tuple(result) if isinstance(each, TensorBase) and each._key.is_differentiable]


def pushed(func: Any, args: Any, position: int, tangent: Any, others: Any = None) -> list[Any]:
    """The tangents of the outputs for a tangent of one input; ``others``: tangents of the others, by their place."""
    with weft.autograd.forward_ad.dual_level():
        given = [each.detach() if isinstance(each, Tensor) and each._requires_grad else each for each in args]
        for place, each in {position: tangent, **(others or {})}.items():
            if each is not None:
                given[place] = weft.autograd.forward_ad.make_dual(given[place], each)
        outputs = [
            each for each in as_tuple(func(*given)) if isinstance(each, TensorBase) and each._key.is_differentiable
        ]
        unpacked = [weft.autograd.forward_ad.unpack_dual(each) for each in outputs]
        return [primal.detach().new_zeros(primal.shape) if tangent is None else tangent for primal, tangent in unpacked]


def compare_forward(func: Any, args: Any, watched: Any, eps: float, atol: float, rtol: float) -> None:
    """Forward mode along each element of each input, against a difference along it."""

    def outputs_of(*given: Any) -> list[Any]:
        found = [
            each for each in as_tuple(func(*given)) if isinstance(each, TensorBase) and each._key.is_differentiable
        ]
        return [each.detach().requires_grad_() for each in found]  # type: ignore[attr-defined]

    for position in watched:
        values = values_of(args[position])
        zeros = {n: args[n].detach().new_zeros(args[n].shape) for n in watched if n != position}
        for place in numpy.ndindex(values.shape):
            for unit in (1, 1j) if values.dtype.kind == "c" else (1,):
                step = numpy.zeros_like(values)
                step[place] = unit
                tangent = args[position].detach().new_zeros(values.shape)
                tangent[place] = unit
                for number, found in enumerate(pushed(func, args, position, tangent, zeros)):
                    analytical = real_parts(found)
                    numerical = difference(outputs_of, args, number, args[position], step, eps, found)
                    if not numpy.allclose(analytical, numerical, rtol=rtol, atol=atol, equal_nan=False):
                        raise mismatch(
                            position, number, numerical[None], analytical[None], mode="computed with forward mode "
                        )


def check_undefined_tangents(func: Any, args: Any, watched: Any) -> None:
    """An input without tangent counts as one whose tangent is zero, however that is stored."""
    chance = numpy.random.default_rng(4)
    for position in watched:
        tangent = args[position].detach().new_zeros(args[position].shape)
        parts_into(tangent, chance.standard_normal(parts(values_of(tangent)).size))
        zeros = {n: args[n].detach().new_zeros(args[n].shape) for n in watched if n != position}
        found = pushed(func, args, position, tangent, zeros)
        if not zeros:
            continue
        expanded = {n: each.new_zeros(()).expand(each.shape) for n, each in zeros.items()}
        for one, other in zip(found, pushed(func, args, position, tangent, expanded)):
            if not numpy.allclose(real_parts(one), real_parts(other)):
                raise GradcheckError("Expected forward mode to handle tangents that are zeros of any layout")


def compare_batched_forward(func: Any, args: Any, watched: Any, atol: float, rtol: float) -> None:
    """Two tangents in one `vmap`, against the same two one by one."""
    chance = numpy.random.default_rng(5)
    for position in watched:
        tangents = args[position].detach().new_zeros((2, *args[position].shape))
        parts_into(tangents, chance.standard_normal(parts(values_of(tangents)).size))
        try:
            together = weft.vmap(lambda each, position=position: tuple(pushed(func, args, position, each)))(tangents)
        except RuntimeError as error:
            raise GradcheckError(f"{FAILED_BATCHED_FORWARD}\n\nGot:\n{error}") from error
        rows = zip(pushed(func, args, position, tangents[0]), pushed(func, args, position, tangents[1]))
        for number, (batch, row) in enumerate(zip(together, rows)):
            for ours, theirs in zip(batch, row):
                if not numpy.allclose(real_parts(ours), real_parts(theirs), rtol=rtol, atol=atol):
                    raise GradcheckError(
                        f"{FAILED_BATCHED_FORWARD}\n\nGot: for output {number} and input {position} other tangents in "
                        "vmap than one by one"
                    )


FAILED_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation. It runs backward passes under vmap: "
    "does a custom Function lack a rule for vmap? Where batches are not wanted, pass check_batched_grad=False."
)
FAILED_BATCHED_FORWARD = (
    "gradcheck failed while testing batched forward gradient computation. It runs forward mode under vmap: does a "
    "custom Function lack a rule for vmap? Where batches are not wanted, pass check_batched_forward_grad=False."
)


def compare_batched(args: Any, watched: Any, number: int, output: Any, atol: float, rtol: float) -> None:
    """Two backward passes in one `vmap`, against the same two one by one."""
    chance = numpy.random.default_rng(3)
    inputs = [args[n] for n in watched]
    seeds = output.detach().new_zeros((2, *output._array.shape))
    parts_into(seeds, chance.standard_normal(parts(values_of(seeds)).size))

    def pulled(seed: Any) -> tuple[Any, ...]:
        found = grad(output, inputs, seed, retain_graph=True, allow_unused=True)
        return tuple(each.detach().new_zeros(each.shape) if g is None else g for each, g in zip(inputs, found))

    try:
        together = weft.vmap(pulled)(seeds)
    except RuntimeError as error:
        raise GradcheckError(f"{FAILED_BATCHED}\n\nGot:\n{error}") from error
    for position, batch, rows in zip(watched, together, zip(pulled(seeds[0]), pulled(seeds[1]))):
        for ours, theirs in zip(batch, rows):
            if not numpy.allclose(
                ours.detach().numpy(force=True), theirs.detach().numpy(force=True), rtol=rtol, atol=atol
            ):
                raise GradcheckError(
                    f"{FAILED_BATCHED}\n\nGot: for output {number} and input {position} other gradients in vmap than "
                    "one by one"
                )


def parts_into(tensor: Any, values: numpy.ndarray[Any, Any]) -> None:
    """Write real parts into a (complex or real) tensor."""
    array = values_of(tensor)
    written = values.view(complex) if array.dtype.kind == "c" else values
    set_values(tensor, written.reshape(array.shape).astype(array.dtype))


def check_constant(func: Any, args: Any, watched: Any, eps: float, atol: float) -> None:
    """A function whose results do not require grad must not depend on its inputs."""
    with no_grad():
        results = func(*args)
    # Copies, since a result may be a view of an input.
    befores = [each.numpy(force=True).copy() if isinstance(each, Tensor) else None for each in as_tuple(results)]
    for position in watched:
        original = values_of(args[position]).copy()
        set_values(args[position], original + eps)
        with no_grad():
            moved = as_tuple(func(*args))
            afters = [each.numpy(force=True).copy() if isinstance(each, Tensor) else None for each in moved]
        set_values(args[position], original)
        for before, after in zip(befores, afters):
            if before is not None and before.dtype.kind in "fc":
                change = numpy.abs(before - after).max(initial=0) / eps
                if change > atol:
                    raise GradcheckError("Numerical gradient for function expected to be zero: no output requires grad")


def check_scales(args: Any, watched: Any, outputs: list[Any]) -> None:
    """The gradients are of the inputs' layout and dtype, and are zeros where those of the outputs are.

    Raises
    ------
    GradcheckError
        If not.
    """
    inputs = [args[n] for n in watched]
    zeros = [output.detach().new_zeros(output._array.shape) for output in outputs]
    for position, source, given in zip(watched, inputs, grad(outputs, inputs, zeros, True, allow_unused=True)):
        if given is None:
            continue
        if given.layout is not source.layout:
            raise GradcheckError(
                f"grad is incorrect layout ({given.layout} is not {source.layout}), of input {position}"
            )
        if bool((given.to_dense() != 0).any()):
            raise GradcheckError(f"backward not multiplied by grad_output, for input {position}")
        if given.dtype is not source.dtype:
            raise GradcheckError(f"grad is incorrect type ({given.dtype} is not {source.dtype}), of input {position}")


UNDEFINED = (
    "Expected backward function to handle undefined output grads: a hook, or a backward that asked for no zeros "
    "(set_materialize_grads(False)), gets None for an output without gradient"
)


class _Undefined(Function):
    """The identity, with no gradient, not even zeros."""

    _is_one_op = False

    @staticmethod
    def forward(ctx: Any, input: Any) -> Any:
        """The tensor itself."""
        return input.detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> None:
        """Nothing."""


def check_undefined(func: Any, args: Any, watched: Any) -> None:
    """Outputs whose gradient is undefined, all at once and each by itself, must give no gradient, or zeros.

    Raises
    ------
    GradcheckError
        If backward fails, or gives anything else.
    """
    inputs = [args[n] for n in watched]
    count = len(differentiable(func(*args)))
    undefined = [{*range(count)}, *({number} for number in range(count) if count > 1)]
    for numbers in undefined:
        outputs = differentiable(func(*args))
        cut = [_Undefined.apply(output) if number in numbers else output for number, output in enumerate(outputs)]
        seeds = [output.detach().new_zeros(output._array.shape) for output in outputs]
        try:
            found = grad(cut, inputs, seeds, allow_unused=True)
        except RuntimeError as error:
            warnings.warn(
                "gradcheck: Backwards compatibility: New undefined gradient support checking feature is enabled by "
                "default, but it may break existing callers of this function. If this is true for you, you can call "
                "this function with check_undefined_grad=False",
                UserWarning,
                stacklevel=3,
            )
            raise GradcheckError(UNDEFINED) from error
        if any(given is not None and bool((given != 0).any()) for given in found):
            raise GradcheckError(UNDEFINED)


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Any]:
    """The Jacobians of the first output of a function of a tuple of inputs, by differences; deprecated."""
    private("get_numerical_jacobian", grad_out)
    targets = [target] if isinstance(target, TensorBase) else list(inputs if target is None else target)
    first = as_tuple(fn(inputs))[0]
    found = [numerical_jacobian(lambda *given: fn(given), tuple(inputs), each, 0, eps, first) for each in targets]
    return [as_tensor(each) for each in found]


def _get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, outputs: Any = None, target: Any = None, eps: float = 1e-3
) -> list[tuple[Any, ...]]:
    """The Jacobians of each output by each target (the inputs), which PyTorch's tests of modules compare."""
    args = as_tuple(inputs)
    with enable_grad():
        known = differentiable(fn(*args) if outputs is None else outputs)
    targets = _iter_tensors(args if target is None else target, only_requiring_grad=True)
    return [
        tuple(as_tensor(numerical_jacobian(fn, args, each, n, eps, output)) for n, output in enumerate(known))
        for each in targets
    ]


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Any]:
    """The tensors in nested lists and tuples, one after the other; of PyTorch's tests of modules."""
    if isinstance(x, TensorBase):
        if x._requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, Iterable) and not isinstance(x, str):
        for each in x:
            yield from _iter_tensors(each, only_requiring_grad)


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Any, ...], bool, bool, bool]:
    """The Jacobians of an output, whether a second pass gives the same, and sizes and types are right; deprecated."""
    private("get_analytical_jacobian", grad_out)
    watched = range(len(inputs))
    found, again = (analytical_jacobians(output, tuple(inputs), watched) for _ in range(2))
    same = all(numpy.allclose(a, b, rtol=0, atol=nondet_tol) for a, b in zip(found, again))
    return tuple(as_tensor(each) for each in found), same, True, True


def as_tensor(array: Any) -> Any:
    """A Jacobian as a tensor."""
    return tensor(array.tolist(), dtype=float64)


def private(name: str, grad_out: float) -> None:
    """Warn of a function that PyTorch has once shown.

    Raises
    ------
    ValueError
        For a gradient that is not 1.
    """
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
        "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be "
        "a stable API, please file us an issue",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"{name}: Expected grad_out to be 1.0; for another scale, multiply the Jacobian")


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the second derivatives of a function agree with differences of the first.

    Parameters
    ----------
    grad_outputs : Tensor or tuple of Tensor, optional
        The vectors of the first derivative; random ones by default.

    See Also
    --------
    gradcheck : with the other parameters.
    """
    args = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    func, args = of_values(func, args)
    outputs = differentiable(func(*args))
    if grad_outputs is None:
        chance = numpy.random.default_rng(1)
        seeds = []
        for output in outputs:
            seed = output.detach().new_zeros(output._array.shape)
            parts_into(seed, chance.standard_normal(parts(output.detach().numpy(force=True)).size))
            seeds.append(seed.requires_grad_())
    else:
        seeds = [grad_outputs] if isinstance(grad_outputs, TensorBase) else list(grad_outputs)
    count = len(args)

    def first_derivative(*values: Any) -> tuple[Any, ...]:
        given, vectors = values[:count], values[count:]
        results = differentiable(func(*given))
        watched = [each for each in given if isinstance(each, TensorBase) and each._requires_grad]
        if not results:
            return ()
        found = grad(results, watched, vectors, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None)

    return gradcheck(
        first_derivative,
        (*args, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )
