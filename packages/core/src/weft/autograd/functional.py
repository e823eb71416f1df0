"""Products with Jacobians and Hessians, and the matrices themselves, for functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._engine.tensor import TensorBase
from weft.autograd._backward import grad
from weft.autograd.grad_mode import enable_grad
from weft.func import jacfwd
from weft.ops.joining import stack

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


def filled(
    grads: Any, like: Any, strict: bool = False, create_graph: bool = False, what: str = "jacobian", of: str = "input"
) -> tuple[Any, ...]:
    """Zeros in place of gradients that are not there.

    Raises
    ------
    RuntimeError
        With ``strict``, instead of a zero, and with ``create_graph`` for what can only be zero when differentiated.
    """
    for number, each in enumerate(grads):
        if strict and each is None:
            raise RuntimeError(
                f"The {'output' if what == 'jacobian' else 'jacobian'} of the user-provided function is independent of "
                f"{of} {number}. This is not allowed in strict mode."
            )
        if strict and create_graph and not each._requires_grad:
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of {of} {number}. This is not allowed in "
                "strict mode when create_graph=True."
            )
    return tuple(each.detach().new_zeros(each.shape) if given is None else given for given, each in zip(grads, like))


def vectors(name: str, v: Any, like: tuple[Any, ...], many: bool = True, of_inputs: bool = False) -> tuple[Any, ...]:
    """The vectors of a product, of the shapes of what they multiply."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            who = "input to the user-provided function is" if of_inputs else "user-provided function returns"
            raise RuntimeError(
                f"{name}: The vector v can only be None if the {who} a single Tensor with a single element."
            )
        return (like[0].detach().new_ones(like[0].shape),)
    _, given = as_tuple(name, "v", v)
    if len(given) != len(like):
        if not many:
            raise RuntimeError(f"{name}: The given v should contain a single Tensor.")
        raise RuntimeError(f"{name}: v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
    for each, model in zip(given, like):
        if each.shape != model.shape:
            raise RuntimeError(f"{name}: v has invalid size: should be {model.shape} but got {each.shape}.")
    return given


def check_outputs(name: str, outputs: tuple[Any, ...], strict: bool) -> None:
    """In strict mode every output has a history.

    Raises
    ------
    RuntimeError
        If one has none.
    """
    for number, each in enumerate(outputs):
        if strict and not each._requires_grad:
            raise RuntimeError(
                f"{name}: Output {number} of the user-provided function does not require gradients. The outputs must "
                "be computed in a differentiable manner from the input when running in strict mode."
            )


def check_jacobian(name: str, first: tuple[Any, ...], strict: bool) -> None:
    """In strict mode every first derivative has a history.

    Raises
    ------
    RuntimeError
        If one has none.
    """
    for number, each in enumerate(first):
        if strict and not each._requires_grad:
            raise RuntimeError(
                f"{name}: While computing the hessian, found that the jacobian of the user-provided function with "
                f"respect to input {number} is independent of the input. This is not allowed in strict mode. You "
                "should ensure that your function is twice differentiable and that the jacobian depends on the inputs "
                "(this would be violated by a linear function for example)."
            )


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
        check_outputs("vjp", outputs, strict)
        seeds = vectors("vjp", v, outputs, several)
        grads = product(outputs, points, seeds, create_graph)
    result = filled(grads, points, strict, create_graph)
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
        many, given = as_tuple("jvp", "inputs", inputs)
        points = leaves(given, create_graph)
        tangents = vectors("jvp", v, points, many, of_inputs=True)
        several, outputs = as_tuple("jvp", "outputs of the user-provided function", func(*points))
        check_outputs("jvp", outputs, strict)
        # v -> v^T J is linear in v: its own vector-Jacobian product is J u.
        dummies = tuple(each.detach().new_zeros(each.shape).requires_grad_() for each in outputs)
        grads = product(outputs, points, dummies, True)
        filled(grads, points, strict)
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
    result = filled(found, outputs, strict and create_graph, create_graph)
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

    Parameters
    ----------
    vectorize : bool
        Compute all rows at once, where ``strategy`` asks for forward mode; the rows of reverse mode follow each other.
    strategy : "reverse-mode" or "forward-mode"
        The latter for a function of few inputs; only with ``vectorize``.

    Returns
    -------
    Tensor of shape (*output.shape, *input.shape), or tuples of them for several outputs (outside) and inputs.
    """
    check_strategy("jacobian", strict, vectorize, strategy, create_graph)
    if strategy == "forward-mode":
        return by_columns(func, inputs)
    with enable_grad():
        many, given = as_tuple("jacobian", "inputs", inputs)
        points = leaves(given, create_graph)
        several, outputs = as_tuple("jacobian", "outputs of the user-provided function", func(*points))
        check_outputs("jacobian", outputs, strict)
        rows_of: list[Any] = []
        for at, output in enumerate(outputs):
            rows: list[list[Any]] = [[] for _ in points]
            for element in output.reshape(-1).unbind(0):
                found = product((element,), points, (element.detach().new_ones(()),), create_graph)
                if strict and any(each is None for each in found):
                    number = next(n for n, each in enumerate(found) if each is None)
                    raise RuntimeError(
                        f"jacobian: Output {at} of the user-provided function is independent of input {number}. This "
                        "is not allowed in strict mode."
                    )
                for row, each in zip(rows, filled(found, points, strict, create_graph)):
                    row.append(each)
            rows_of.append(tuple(assembled(row, output, point, create_graph) for row, point in zip(rows, points)))
    result = [single(many, each) for each in rows_of]
    return single(several, result)


def check_strategy(name: str, strict: bool, vectorize: bool, strategy: str, create_graph: bool) -> None:
    """The options of a Jacobian go together.

    Raises
    ------
    AssertionError, NotImplementedError, RuntimeError
        As in PyTorch, if they do not.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f'{name}: Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more '
            'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError(
            f'{name}: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). Please '
            'either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            f"{name}: Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    if strict and vectorize:
        raise RuntimeError(
            f"{name}: `strict=True` and `vectorized=True` are not supported together. Please either set `strict=False` "
            "or `vectorize=False`."
        )


def by_columns(func: Callable[..., Any], inputs: Any) -> Any:
    """The Jacobian by forward mode, a column for each element of the inputs."""
    many, given = as_tuple("jacobian", "inputs", inputs)

    def checked(*args: Any) -> Any:
        result = func(*args)
        as_tuple("jacobian", "outputs of the user-provided function", result)
        return result

    found: Any = jacfwd(checked, argnums=tuple(range(len(given))) if many else 0)(*[each.detach() for each in given])
    return found


def assembled(row: list[Any], output: Any, point: Any, create_graph: bool) -> Any:
    shape = (*output.shape, *point.shape)
    whole = stack(row).reshape(shape) if row else point.detach().new_zeros(shape)
    return whole if create_graph else whole.detach()


def scalar_output(name: str, func: Callable[..., Any], strict: bool = False) -> Callable[..., Any]:
    """The function, whose result is checked to be one number."""

    def checked(*args: Any) -> Any:
        many, outputs = as_tuple(name, "outputs of the user-provided function", func(*args))
        check_outputs(name, outputs, strict)
        if many:
            raise RuntimeError(f"{name}: The function given to {name} should return a single Tensor")
        if outputs[0].numel() != 1:
            raise RuntimeError(
                f"{name}: The Tensor returned by the function given to {name} should contain a single element"
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
    check_strategy("hessian", strict, vectorize, outer_jacobian_strategy, create_graph)
    many, given = as_tuple("hessian", "inputs", inputs)
    single_value = scalar_output("hessian", func, strict)

    def gradient(*points: Any) -> tuple[Any, ...]:
        found: Any = jacobian(single_value, points, create_graph=True)
        check_jacobian("hessian", found, strict)
        return tuple(found)

    result = jacobian(gradient, given, create_graph=create_graph, strict=strict)
    return result if many else result[0][0]


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function with one element, and the product of a vector with its Hessian."""
    return hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function with one element, and the product of its Hessian with a vector.

    The Hessian is symmetric, so that this is `vhp` under another name.
    """
    return hessian_product("hvp", func, inputs, v, create_graph, strict)


def hessian_product(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    """The value of a function with one element, and its Hessian times a vector."""
    with enable_grad():
        many, given = as_tuple(name, "inputs", inputs)
        points = leaves(given, create_graph)
        seeds = vectors(name, v, points, many, of_inputs=True)
        value = scalar_output(name, func, strict)(*points)
        first = filled(product((value,), points, (value.detach().new_ones(()),), True), points, strict)
        check_jacobian(name, first, strict)
        found = product(first, points, seeds, create_graph)
    result = filled(found, points, strict, create_graph, "hessian")
    return finished((value,), create_graph)[0], single(many, finished(result, create_graph))
