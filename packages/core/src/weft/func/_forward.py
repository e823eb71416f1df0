"""Transforms in forward mode: jvp, jacfwd, linearize; and hessian, forward over reverse."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft._engine.tensor import TensorBase
from weft.autograd.forward_ad import DualLevel
from weft.func._arguments import as_positions, basis, chosen, real_only, replaced, tensors_only
from weft.func._reverse import jacrev, split_aux
from weft.func._vmap import vmap
from weft.utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["hessian", "jacfwd", "jvp", "linearize"]


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of a function, and its directional derivative: the product of its Jacobian with a vector.

    Parameters
    ----------
    func : callable
    primals : tuple
        Its arguments.
    tangents : tuple
        The direction, in the structure and shapes of ``primals``.
    strict : bool
        Raise for a result that does not depend on the arguments, instead of a zero derivative.
    has_aux : bool
        ``func`` returns ``(output, aux)``.

    Returns
    -------
    (output, derivative) or (output, derivative, aux)

    Raises
    ------
    RuntimeError
        If primals and tangents are no tuples of the same structure.

    Examples
    --------
    >>> weft.func.jvp(weft.sin, (weft.tensor(0.0),), (weft.tensor(3.0),))
    (tensor(0.), tensor(3.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp: Expected primals to be a tuple. E.g. it should be valid to call f(*primals); got "
            f"{type(primals).__name__}"
        )
    leaves, spec = tree_flatten(primals)
    directions, direction_spec = tree_flatten(tangents)
    if spec != direction_spec:
        raise RuntimeError(
            "jvp: Expected primals and tangents to have the same python structure: a tuple with a tangent for each "
            f"primal. Got primals with structure {spec} but tangents with structure {direction_spec}"
        )
    tensors_only("jvp", "primals", leaves)
    tensors_only("jvp", "tangents", directions)
    check_pairs(leaves, directions)
    with DualLevel() as level:
        duals = [level.dual(leaf, direction) for leaf, direction in zip(leaves, directions)]
        output, aux = split_aux("jvp", func(*tree_unflatten(duals, spec)), has_aux)
        results, out_spec = tree_flatten(output)
        tensors_only("jvp", "results", results)
        derivatives = [derivative(level, each, strict) for each in results]
        values = [level.below(each) for each in results]
        aux = tree_map(lambda leaf: level.below(leaf) if isinstance(leaf, TensorBase) else leaf, aux)
    found = tree_unflatten(values, out_spec), tree_unflatten(derivatives, out_spec)
    return (*found, aux) if has_aux else found


def check_pairs(primals: list[Any], tangents: list[Any]) -> None:
    """Each tangent has the shape and dtype of its primal."""
    for primal, tangent in zip(primals, tangents):
        if not primal._key.is_differentiable:
            raise ValueError(f"jvp: Expected primal to be floating point or complex, but got: {primal._key.dtype}")
        if primal._array.shape != tangent._array.shape:
            raise RuntimeError(
                "jvp: Trying to set a forward gradient that has a different size than that of the original Tensor, "
                "this is not supported. Tensor is of size "
                f"{list(primal._array.shape)} while the given forward gradient is of size {list(tangent._array.shape)}."
            )
        if primal._key.dtype is not tangent._key.dtype:
            raise RuntimeError(
                f"jvp: a tangent is {tangent._key.dtype}, but its primal {primal._key.dtype}; they must be equal"
            )


def derivative(level: DualLevel, result: Any, strict: bool) -> Any:
    tangent = level.tangent(result)
    if tangent is not None:
        return tangent
    if strict:
        raise RuntimeError("jvp: The output of f is independent of the inputs. This is not allowed with strict=True.")
    return result.new_zeros(result.shape)


def jacfwd(
    func: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that returns the Jacobian of another one, column by column in forward mode.

    Parameters
    ----------
    func, argnums, has_aux, chunk_size
        As in `jacrev`, whose results it has.
    randomness : str
        What random operations do; see `vmap`.

    Examples
    --------
    >>> weft.func.jacfwd(weft.square)(weft.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    positions = as_positions(argnums)

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        wanted = chosen("jacfwd", args, positions)
        inputs, spec = tree_flatten(wanted)
        tensors_only("jacfwd", "arguments", inputs)
        real_only("jacfwd", "inputs", inputs)

        def of_chosen(*leaves: Any) -> Any:
            return func(*replaced(args, positions, tree_unflatten(leaves, spec)), **kwargs)

        structure: list[Any] = []

        def columns(*directions: Any) -> Any:
            derivatives = jvp(of_chosen, tuple(inputs), directions, has_aux=has_aux)[1]
            results, out_spec = tree_flatten(derivatives)
            real_only("jacfwd", "outputs", results)
            structure[:] = [out_spec]
            return tuple(results)

        rows = vmap(columns, randomness=randomness, out_dims=-1, chunk_size=chunk_size)(*basis(inputs))
        jacobian = tree_unflatten([split_columns(row, inputs, spec, argnums) for row in rows], structure[0])
        return (jacobian, func_aux(func, args, kwargs)) if has_aux else jacobian

    return differentiated


def func_aux(func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
    """The auxiliary value of a function, which is that of one call."""
    return func(*args, **kwargs)[1]


def split_columns(row: Any, inputs: list[Any], spec: Any, argnums: Any) -> Any:
    """The Jacobian of one output, whose last dimension counts all elements of the inputs, as one for each input."""
    parts = []
    start = 0
    for each in inputs:
        part = row.narrow(-1, start, each.numel())
        parts.append(part.reshape((*row.shape[:-1], *each.shape)))
        start += each.numel()
    found = tree_unflatten(parts, spec)
    return found if isinstance(argnums, tuple) else found[0]


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that returns the matrix of second derivatives of another one: forward over reverse mode.

    Parameters
    ----------
    func, argnums
        As in `jacrev`.

    Examples
    --------
    >>> weft.func.hessian(lambda x: (x**3).sum())(weft.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and a function that multiplies its Jacobian there with vectors.

    Parameters
    ----------
    func : callable
        It is run once more for each product: the graph is dynamic.
    *primals : Tensor or nested containers of them

    Returns
    -------
    (output, jvp_fn)

    Examples
    --------
    >>> value, push = weft.func.linearize(weft.exp, weft.tensor(0.0))
    >>> push(weft.tensor(2.0))
    tensor(2.)
    """
    output = func(*primals)

    def push(*tangents: Any) -> Any:
        return jvp(func, primals, tangents)[1]

    return output, push
