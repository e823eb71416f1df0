"""Compare gradients with differences: gradcheck and gradgradcheck.

For a function f of real inputs the analytical Jacobian comes from backward passes with unit vectors, the
numerical one from ``(f(x + eps) - f(x - eps)) / (2 eps)``. A complex input counts as two real ones, its
real and its imaginary part; so does a complex output. With PyTorch's convention the gradient of a real loss
with respect to a complex z is dL/dRe + i dL/dIm.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from weft._engine.tensor import TensorBase
from weft.autograd._backward import grad
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
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
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
    check_forward_ad, check_backward_ad : bool
        Compare forward mode, and backward passes.
    fast_mode : bool
        Compare one random projection of the Jacobian instead of all of it.

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
    args = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    try:
        check_inputs(args, eps)
        outputs = differentiable(func(*args))
        watched = [n for n, each in enumerate(args) if isinstance(each, TensorBase) and each._requires_grad]
        compare = compare_projection if fast_mode else compare_jacobians
        for number, output in enumerate(outputs):
            if check_backward_ad:
                compare(func, args, watched, number, output, eps, atol, rtol, nondet_tol)
            if check_forward_ad:
                compare_forward(func, args, watched, number, eps, atol, rtol)
            if check_batched_grad:
                compare_batched(args, watched, number, output, atol, rtol)
        if not outputs:
            check_constant(func, args, watched, eps, atol)
        if check_undefined_grad and outputs:
            check_undefined(func, args, watched)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def check_inputs(args: tuple[Any, ...], eps: float) -> None:
    found = False
    for number, each in enumerate(args):
        if isinstance(each, TensorBase) and each._requires_grad:
            found = True
            if each.kind.dtype.name not in ("float64", "complex128"):
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
        outputs = differentiable(func(*args))
    found: numpy.ndarray[Any, Any] = parts(outputs[number].detach().numpy(force=True)).astype(numpy.float64)
    return found


def numerical_jacobian(
    func: Callable[..., Any], args: tuple[Any, ...], position: int, number: int, eps: float
) -> numpy.ndarray[Any, Any]:
    """Differences of an output for each real part of an input: (input parts, output parts)."""
    data = args[position].detach()
    values = data.numpy()
    rows = []
    for place in numpy.ndindex(values.shape):
        for step in (eps, 1j * eps) if values.dtype.kind == "c" else (eps,):
            before = values[place]
            values[place] = before + step
            above = evaluate(func, args, number)
            values[place] = before - step
            below = evaluate(func, args, number)
            values[place] = before
            rows.append((above - below) / (2 * eps))
    return numpy.array(rows)


def analytical_jacobians(output: Any, args: tuple[Any, ...], watched: Sequence[int]) -> list[numpy.ndarray[Any, Any]]:
    """The same from backward passes."""
    inputs = [args[n] for n in watched]
    columns: list[list[Any]] = [[] for _ in watched]
    shape = output._array.shape
    for place in numpy.ndindex(shape):
        for unit in (1, 1j) if output.kind.is_complex else (1,):
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
                column.append(parts(given.detach().numpy(force=True)).astype(numpy.float64))
    return [
        numpy.array(column).T if column else numpy.zeros((parts(source.detach().numpy()).size, 0))
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
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives "
                f"different values, although analytical gradient matches numerical gradient. The tolerance for "
                f"nondeterminism was {nondet_tol}. Input {position}, output {number}."
            )
        theirs = numerical_jacobian(func, args, position, number, eps).reshape(ours.shape)
        if not numpy.allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=False):
            raise mismatch(position, number, theirs, ours)


def mismatch(position: int, number: int, numerical: Any, analytical: Any) -> GradcheckError:
    difference = numpy.nan_to_num(numpy.abs(numerical - analytical), nan=numpy.inf, posinf=numpy.inf)
    worst = numpy.unravel_index(numpy.argmax(difference), numerical.shape)
    return GradcheckError(
        f"Jacobian mismatch for output {number} with respect to input {position},\n"
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
    for position, source, given in zip(watched, inputs, grads):
        values = source.detach().numpy()
        move = chance.standard_normal(parts(values).size)
        move /= numpy.linalg.norm(move) or 1.0
        original = values.copy()
        step = (move.view(complex) if values.dtype.kind == "c" else move).reshape(values.shape) * eps
        values[...] = original + step
        above = evaluate(func, args, number)
        values[...] = original - step
        below = evaluate(func, args, number)
        values[...] = original
        numerical = float(direction @ (above - below) / (2 * eps))
        analytical = 0.0 if given is None else float(parts(given.detach().numpy(force=True)) @ move)
        if not numpy.isclose(analytical, numerical, rtol=rtol, atol=atol * max(1.0, numpy.abs(direction).sum())):
            raise mismatch(position, number, numpy.array([[numerical]]), numpy.array([[analytical]]))


def compare_forward(func: Any, args: Any, watched: Any, number: int, eps: float, atol: float, rtol: float) -> None:
    """Forward mode along a random direction of each input, against a difference along it."""
    from weft.autograd import forward_ad

    chance = numpy.random.default_rng(2)
    for position in watched:
        source = args[position]
        tangent = source.detach().new_zeros(source._array.shape)
        parts_into(tangent, chance.standard_normal(parts(tangent.numpy()).size))
        with forward_ad.dual_level(), enable_grad():
            given = list(args)
            given[position] = forward_ad.make_dual(source, tangent)
            found = forward_ad.unpack_dual(differentiable(func(*given))[number]).tangent
            analytical = None if found is None else parts(found.detach().numpy(force=True)).astype(numpy.float64)
        values = source.detach().numpy()
        original = values.copy()
        values[...] = original + eps * tangent.numpy()
        above = evaluate(func, args, number)
        values[...] = original - eps * tangent.numpy()
        below = evaluate(func, args, number)
        values[...] = original
        numerical = (above - below) / (2 * eps)
        if analytical is None:
            analytical = numpy.zeros_like(numerical)
        if not numpy.allclose(analytical, numerical, rtol=rtol, atol=atol, equal_nan=False):
            raise mismatch(position, number, numerical[None], analytical[None])


def compare_batched(args: Any, watched: Any, number: int, output: Any, atol: float, rtol: float) -> None:
    """Two backward passes in one `vmap`, against the same two one by one."""
    from weft.func import vmap

    chance = numpy.random.default_rng(3)
    inputs = [args[n] for n in watched]
    seeds = output.detach().new_zeros((2, *output._array.shape))
    parts_into(seeds, chance.standard_normal(parts(seeds.numpy()).size))

    def pulled(seed: Any) -> tuple[Any, ...]:
        found = grad(output, inputs, seed, retain_graph=True, allow_unused=True)
        return tuple(each.detach().new_zeros(each.shape) if g is None else g for each, g in zip(inputs, found))

    together = vmap(pulled)(seeds)
    for position, batch, rows in zip(watched, together, zip(pulled(seeds[0]), pulled(seeds[1]))):
        for ours, theirs in zip(batch, rows):
            if not numpy.allclose(
                ours.detach().numpy(force=True), theirs.detach().numpy(force=True), rtol=rtol, atol=atol
            ):
                raise GradcheckError(
                    f"While considering output {number} and input {position}: a vmap over backward passes disagrees "
                    "with the passes one by one. Does a custom Function lack a rule for vmap?"
                )


def parts_into(tensor: Any, values: numpy.ndarray[Any, Any]) -> None:
    """Write real parts into a (complex or real) tensor."""
    array = tensor.numpy()
    array[...] = (values.view(complex) if array.dtype.kind == "c" else values).reshape(array.shape)


def check_constant(func: Any, args: Any, watched: Any, eps: float, atol: float) -> None:
    """A function whose results do not require grad must not depend on its inputs."""
    with no_grad():
        results = func(*args)
    # Copies, since a result may be a view of an input.
    befores = [each.numpy(force=True).copy() if isinstance(each, TensorBase) else None for each in as_tuple(results)]
    for position in watched:
        values = args[position].detach().numpy()
        original = values.copy()
        values[...] = original + eps
        with no_grad():
            moved = as_tuple(func(*args))
            afters = [each.numpy(force=True).copy() if isinstance(each, TensorBase) else None for each in moved]
        values[...] = original
        for before, after in zip(befores, afters):
            if before is not None and before.dtype.kind in "fc":
                change = numpy.abs(before - after).max(initial=0) / eps
                if change > atol:
                    raise GradcheckError("Numerical gradient for function expected to be zero: no output requires grad")


def check_undefined(func: Any, args: Any, watched: Any) -> None:
    """Outputs without a gradient must not disturb the others."""
    outputs = differentiable(func(*args))
    inputs = [args[n] for n in watched]
    for output in outputs:
        zeros = output.detach().new_zeros(output._array.shape)
        for given in grad(output, inputs, zeros, retain_graph=True, allow_unused=True):
            if given is not None and bool((given != 0).any()):
                raise GradcheckError("Expected backward function to handle undefined output grads")


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
    masked: bool = False,
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
