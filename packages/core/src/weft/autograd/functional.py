"""Products with Jacobians and Hessians, and the matrices themselves, for functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._engine.tensor import TensorBase
from weft.autograd._backward import grad
from weft.autograd.grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def as_tuple(name: str, what: str, value: Any) -> tuple[bool, tuple[Any, ...]]:
    """Whether several tensors were given, and the tuple of them."""
    many = isinstance(value, (tuple, list))
    values = tuple(value) if many else (value,)
    for number, each in enumerate(values):
        if not isinstance(each, TensorBase):
            raise TypeError(
                f"{name}: The {what} given to {name} must be either a Tensor or a tuple of Tensors but the value at "
                "index "
                f"{number} has type {type(each).__name__}."
            )
    return many, values


def leaves(inputs: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Inputs that can be differentiated: themselves with their history, or new leaves."""
    if create_graph:
        return tuple(each.view_as(each) if each._requires_grad else each.detach().requires_grad_() for each in inputs)
    return tuple(each.detach().requires_grad_() for each in inputs)


def finished(values: Any, create_graph: bool) -> Any:
    return values if create_graph else tuple(each.detach() for each in values)


def single(many: bool, values: Any) -> Any:
    return tuple(values) if many else values[0]


def filled(grads: Any, like: Any) -> tuple[Any, ...]:
    """Zeros in place of gradients that are not there."""
    return tuple(each.detach().new_zeros(each.shape) if given is None else given for given, each in zip(grads, like))


def vectors(name: str, v: Any, like: tuple[Any, ...]) -> tuple[Any, ...]:
    """The vectors of a product, of the shapes of what they multiply."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"{name}: The vector v can only be None if the user-provided function returns a single Tensor with a "
                "single "
                "element."
            )
        return (like[0].detach().new_ones(like[0].shape),)
    _, given = as_tuple(name, "vector v", v)
    if len(given) != len(like):
        raise RuntimeError(f"{name}: v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
    for each, model in zip(given, like):
        if each.shape != model.shape:
            raise RuntimeError(f"{name}: v has invalid size: should be {model.shape} but got {each.shape}.")
    return given


def strictly(name: str, strict: bool, grads: Any, what: str) -> None:
    if strict and any(each is None for each in grads):
        raise RuntimeError(f"{name}: {what} is independent of one of the inputs. This is not allowed in strict mode.")


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of a function, and the product of a vector with its Jacobian.

    Parameters
    ----------
    func : callable
        Of tensors, returning a tensor or a tuple of them.
    inputs : Tensor or tuple of Tensor
    v : Tensor or tuple of Tensor
        Of the shapes of the outputs.
    create_graph : bool
        Make the results differentiable.
    strict : bool
        An output that does not depend on an input is an error instead of a zero.

    Examples
    --------
    >>> weft.autograd.functional.vjp(lambda x: x * x, weft.tensor([1.0, 2.0]), weft.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        many, given = as_tuple("vjp", "inputs", inputs)
        points = leaves(given, create_graph)
        several, outputs = as_tuple("vjp", "outputs of the user-provided function", func(*points))
        seeds = vectors("vjp", v, outputs)
        grads = product(outputs, points, seeds, create_graph)
        strictly("vjp", strict, grads, "The output of the user-provided function")
    result = filled(grads, points)
    return single(several, finished(outputs, create_graph)), single(many, finished(result, create_graph))


def product(outputs: Any, points: Any, seeds: Any, create_graph: bool) -> tuple[Any, ...]:
    """Gradients of those outputs that have any."""
    pairs = [(output, seed) for output, seed in zip(outputs, seeds) if output._requires_grad]
    if not pairs:
        return (None,) * len(points)
    return grad(
        [output for output, _ in pairs],
        points,
        [seed for _, seed in pairs],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of a function, and the product of its Jacobian with a vector, by differentiating twice.

    Parameters
    ----------
    v : Tensor or tuple of Tensor
        Of the shapes of the inputs.
    """
    with enable_grad():
        _, given = as_tuple("jvp", "inputs", inputs)
        points = leaves(given, create_graph)
        tangents = vectors("jvp", v, points)
        several, outputs = as_tuple("jvp", "outputs of the user-provided function", func(*points))
        # v -> v^T J is linear in v: its own vector-Jacobian product is J u.
        dummies = tuple(each.detach().new_zeros(each.shape).requires_grad_() for each in outputs)
        grads = product(outputs, points, dummies, True)
        strictly("jvp", strict, grads, "The output of the user-provided function")
        pairs = [
            (first, tangent) for first, tangent in zip(grads, tangents) if first is not None and first._requires_grad
        ]
        if pairs:
            found = grad(
                [first for first, _ in pairs],
                dummies,
                [tangent for _, tangent in pairs],
                create_graph=create_graph,
                allow_unused=True,
            )
        else:
            found = (None,) * len(dummies)
    result = filled(found, outputs)
    return single(several, finished(outputs, create_graph)), single(several, finished(result, create_graph))


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of a function.

    Returns
    -------
    Tensor of shape (*output.shape, *input.shape), or tuples of them for several outputs (outside) and inputs.
    """
    with enable_grad():
        many, given = as_tuple("jacobian", "inputs", inputs)
        points = leaves(given, create_graph)
        several, outputs = as_tuple("jacobian", "outputs of the user-provided function", func(*points))
        rows_of: list[Any] = []
        for output in outputs:
            rows: list[list[Any]] = [[] for _ in points]
            for element in output.reshape(-1).unbind(0):
                found = product((element,), points, (element.detach().new_ones(()),), create_graph)
                strictly("jacobian", strict, found, "The output of the user-provided function")
                for row, each in zip(rows, filled(found, points)):
                    row.append(each)
            rows_of.append(tuple(assembled(row, output, point, create_graph) for row, point in zip(rows, points)))
    result = [single(many, each) for each in rows_of]
    return single(several, result)


def assembled(row: list[Any], output: Any, point: Any, create_graph: bool) -> Any:
    from weft.ops.joining import stack

    shape = (*output.shape, *point.shape)
    whole = stack(row).reshape(shape) if row else point.detach().new_zeros(shape)
    return whole if create_graph else whole.detach()


def scalar_output(name: str, func: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*args: Any) -> Any:
        _, outputs = as_tuple(name, "outputs of the user-provided function", func(*args))
        if len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError(
                f"{name}: The function given to {name} should return a single Tensor with a single element"
            )
        return outputs[0].reshape(())

    return checked


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of a function with one element.

    Returns
    -------
    Tensor of shape (*input.shape, *input.shape), or a tuple of tuples of them for several inputs.
    """
    many, given = as_tuple("hessian", "inputs", inputs)
    single_value = scalar_output("hessian", func)

    def gradient(*points: Any) -> tuple[Any, ...]:
        found: Any = jacobian(single_value, points, create_graph=True, strict=strict)
        return tuple(found)

    result = jacobian(gradient, given, create_graph=create_graph, strict=strict)
    return result if many else result[0][0]


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function with one element, and the product of a vector with its Hessian."""
    with enable_grad():
        many, given = as_tuple("vhp", "inputs", inputs)
        points = leaves(given, create_graph)
        seeds = vectors("vhp", v, points)
        value = scalar_output("vhp", func)(*points)
        first = filled(product((value,), points, (value.detach().new_ones(()),), True), points)
        found = product(first, points, seeds, create_graph)
        strictly("vhp", strict, found, "The gradient of the user-provided function")
    result = filled(found, points)
    return finished((value,), create_graph)[0], single(many, finished(result, create_graph))


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function with one element, and the product of its Hessian with a vector.

    The Hessian is symmetric, so that this is `vhp` under another name.
    """
    return vhp(func, inputs, v, create_graph, strict)
