"""Transforms in reverse mode: grad, vjp, jacrev."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft._engine.tensor import TensorBase, local
from weft._interception.transforms import record_of, settled
from weft.autograd._backward import grad as backward_grad
from weft.autograd._grad_level import GradLevel
from weft.func._arguments import (
    as_positions,
    basis,
    chosen,
    jacobian_blocks,
    real_only,
    replaced,
    tensors_only,
    variables_only,
)
from weft.func._vmap import vmap
from weft.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["grad", "grad_and_value", "jacrev", "vjp"]


class Recording:
    """A call of a function whose recording is at a level of its own.

    Attributes
    ----------
    outputs : list of Tensor
        The flat results, at the level.
    values : list of Tensor
        What they are below it.
    """

    def __init__(self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, wanted: Any) -> None:
        leaves, self.spec = tree_flatten(chosen(name, args, wanted))
        variables_only(name, leaves)
        self.inputs: list[Any] = []
        with GradLevel() as level:
            self.level = level
            self.inputs = [level.variable(leaf) for leaf in leaves]
            self.result = func(*replaced(args, wanted, tree_unflatten(self.inputs, self.spec)), **kwargs)

    def set_outputs(self, outputs: list[Any]) -> None:
        self.outputs = [settled_at(self.level, each) for each in outputs]
        self.values = [self.below(each) for each in outputs]

    def below(self, value: Any) -> Any:
        """A result without the level."""
        if not isinstance(value, TensorBase):
            return value
        found: Any = value
        while record_of(found) is not None and not record_of(found).level.alive:
            found = record_of(found).value
        return found

    def pull_back(self, cotangents: list[Any], keep: bool, create_graph: bool) -> Any:
        """The vector-Jacobian product, in the structure of the arguments; zeros where there is none."""
        pairs = [(out, each) for out, each in zip(self.outputs, cotangents) if out._requires_grad]
        found: list[Any] = [None] * len(self.inputs)
        wanted = [each for each in self.inputs if each._requires_grad]
        if pairs and wanted:
            grads = iter(
                backward_grad(
                    [out for out, _ in pairs],
                    wanted,
                    [each for _, each in pairs],
                    retain_graph=keep,
                    create_graph=create_graph,
                    allow_unused=True,
                )
            )
            found = [next(grads) if each._requires_grad else None for each in self.inputs]
        values = [
            self.below(given).new_zeros(given.shape) if each is None else settled(each)
            for given, each in zip(self.inputs, found)
        ]
        return tree_unflatten(values, self.spec)


def settled_at(level: GradLevel, tensor: Any) -> Any:
    """An output at the level, which has just ended; others are constants of it."""
    return tensor if level.holds(tensor) else level.constant(tensor)


def split_aux(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """The function's result and its auxiliary value."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True; got "
            f"{type(result).__name__}"
        )
    return result[0], result[1]


def aux_below(recording: Recording, aux: Any) -> Any:
    leaves, spec = tree_flatten(aux)
    return tree_unflatten([recording.below(each) for each in leaves], spec)


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of another one, and its value.

    Parameters
    ----------
    func : callable
        Returns one tensor of one element (and, with ``has_aux``, anything else).
    argnums : int or tuple of int
        The arguments with respect to which it is differentiated; they may be nested containers of tensors.
    has_aux : bool
        ``func`` returns ``(value, aux)``.

    Returns
    -------
    callable, which returns ``(gradient, value)``, or ``(gradient, (value, aux))``.

    Raises
    ------
    RuntimeError
        If the function returns something else than one tensor of one element.
    """

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        recorded = local.grad_enabled
        recording = Recording("grad", func, args, kwargs, argnums)
        output, aux = split_aux("grad", recording.result, has_aux)
        if not isinstance(output, TensorBase):
            raise RuntimeError(
                f"grad: Expected f(*args) to return a Tensor, got {type(output)}; sum the parts, or use jacrev"
            )
        if output._array.size != 1 or output._array.ndim:
            raise RuntimeError(
                f"grad: Expected f(*args) to return a scalar tensor, got tensor with {output._array.ndim} dims (shape "
                f"{list(output._array.shape)}). Reduce it, or use jacrev"
            )
        if output._key.is_complex:
            raise RuntimeError(
                f"grad: grad can be implicitly created only for real scalar outputs but got {output._key.dtype}; take "
                "the real part, or use vjp"
            )
        recording.set_outputs([output])
        value = recording.values[0]
        gradient = recording.pull_back([value.new_ones(value.shape)], False, recorded)
        return gradient, (value, aux_below(recording, aux)) if has_aux else value

    return differentiated


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of another one.

    Parameters
    ----------
    func, argnums, has_aux
        See `grad_and_value`; with ``has_aux`` the result is ``(gradient, aux)``.

    Examples
    --------
    >>> from weft.func import grad
    >>> grad(grad(lambda x: x**3))(weft.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and a function that multiplies vectors with its transposed Jacobian.

    Parameters
    ----------
    func : callable
        Takes ``primals`` and returns tensors (in nested containers).
    *primals : Tensor or nested containers of them
    has_aux : bool
        ``func`` returns ``(output, aux)``.

    Returns
    -------
    (output, vjp_fn) or (output, vjp_fn, aux)
        ``vjp_fn`` takes vectors in the structure of the output and returns a tuple with a product for each of
        ``primals`` (the product itself, if there is one).

    Examples
    --------
    >>> value, pull_back = weft.func.vjp(weft.sin, weft.tensor(0.0))
    >>> pull_back(weft.tensor(2.0))
    (tensor(2.),)
    """
    recording = Recording("vjp", func, primals, {}, tuple(range(len(primals))))
    output, aux = split_aux("vjp", recording.result, has_aux)
    flat, spec = tree_flatten(output)
    tensors_only("vjp", "results", flat)
    recording.set_outputs(flat)

    def pull_back(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 and not (spec.type is tuple and len(flat) > 1) else cotangents
        if len(cotangents) == 1 and spec.type is not None and tree_flatten(cotangents[0])[1] == spec:
            given = cotangents[0]
        vectors, given_spec = tree_flatten(given)
        if given_spec != spec:
            raise RuntimeError(
                f"vjp: Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given_spec}, primal output: {spec}"
            )
        create = local.grad_enabled if create_graph is None else create_graph
        return recording.pull_back(vectors, retain_graph, create)

    value = tree_unflatten(recording.values, spec)
    return (value, pull_back, aux_below(recording, aux)) if has_aux else (value, pull_back)


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of another one, row by row in reverse mode.

    Parameters
    ----------
    func, argnums, has_aux
        As in `grad`, but the function may return tensors of any shape, in nested containers.
    chunk_size : int, optional
        How many rows are computed at once; default: all.

    Returns
    -------
    callable, whose results have the structure of the output, and in each leaf that of the arguments; each Jacobian has
    the shape of the output followed by that of the argument.

    Examples
    --------
    >>> weft.func.jacrev(weft.square)(weft.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        recorded = local.grad_enabled
        recording = Recording("jacrev", func, args, kwargs, as_positions(argnums))
        output, aux = split_aux("jacrev", recording.result, has_aux)
        flat, spec = tree_flatten(output)
        tensors_only("jacrev", "results", flat)
        real_only("jacrev", "inputs", recording.inputs)
        real_only("jacrev", "outputs", flat)
        recording.set_outputs(flat)

        def rows(*vectors: Any) -> Any:
            return tree_flatten(recording.pull_back(list(vectors), True, recorded))[0]

        found = vmap(rows, chunk_size=chunk_size)(*basis(recording.values))
        blocks = jacobian_blocks(recording.values, found, [each.shape for each in recording.inputs])
        per_output = [tree_unflatten(row, recording.spec) for row in blocks]
        if not isinstance(argnums, tuple):
            per_output = [each[0] for each in per_output]
        jacobian = tree_unflatten(per_output, spec)
        return (jacobian, aux_below(recording, aux)) if has_aux else jacobian

    return differentiated
