"""backward and grad: check what was asked, then walk the graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from weft._devices.streams import ordered, several
from weft._dtypes.dtypes import get_default_dtype
from weft._engine.dispatch import edge_of
from weft._engine.graph import BackwardPass, backward_from, find_needed
from weft._engine.tensor import Node, TensorBase, state
from weft._interception import profiling
from weft._settings import warn_once
from weft._tensor.base import Tensor, add_members
from weft._tensor.conjugation import bits_of
from weft._tensor.size import Size
from weft.autograd._nodes import GradientEdge, key_of_output
from weft.autograd.anomaly_mode import Trace
from weft.autograd.hooks import output_index, watch_of
from weft.ops.creation import ones, ones_like
from weft.ops.joining import stack
from weft.ops.pointwise import plus


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradient of some tensors to ``.grad`` of the leaves that they were computed from.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensor
        What to differentiate.
    grad_tensors : Tensor or sequence of (Tensor or None), optional
        The vectors of the vector-Jacobian product, of the shapes of ``tensors``; may be left out for tensors of
        one element.
    retain_graph : bool, optional
        Keep what was saved, to differentiate again. Default: ``create_graph``.
    create_graph : bool
        Record the differentiation itself, for higher derivatives.
    inputs : Tensor, GradientEdge or sequence of them, optional
        Accumulate only into these; other tensors than leaves keep their gradient from now on (`retain_grad`).

    Raises
    ------
    RuntimeError
        For a tensor without history, or of several elements where no gradient was given.
    """
    roots = as_sequence("backward", "tensors", tensors)
    if grad_variables is not None and grad_tensors is None:
        grad_tensors = grad_variables
    seeds = seeds_for("backward", roots, grad_tensors, len(roots))
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        warn_of_cycles()
    if inputs is None:
        backward_pass(roots, seeds, keep, create_graph, None)
        return
    targets = as_sequence("backward", "inputs", inputs)
    if not targets:
        raise RuntimeError("backward: `inputs` argument to `backward()` cannot be empty.")
    check_requires_grad("backward", targets)
    for target in targets:
        if isinstance(target, TensorBase):
            target.retain_grad()  # type: ignore[attr-defined]  # a leaf has its gradient anyway
    captured(roots, seeds, keep, create_graph, targets, True)


def warn_of_cycles() -> None:
    """Warn that gradients which are differentiable refer to the graph that they are part of."""
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
        "gradient which can cause a memory leak. Use autograd.grad when creating the graph to avoid this, or set the "
        ".grad fields of the parameters to None after use to break the cycle."
    )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of some tensors with respect to others, without touching ``.grad``.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
    grad_outputs, retain_graph, create_graph
        As in `backward`.
    allow_unused : bool, optional
        Return None for an input that no output depends on, instead of an error.
    is_grads_batched : bool
        The first dimension of each ``grad_outputs`` counts several vectors; the results have it too.
    materialize_grads : bool
        Return zeros instead of None.

    Raises
    ------
    RuntimeError
        For an input that was not used, one that does not require grad, or as `backward`.

    Examples
    --------
    >>> x = weft.tensor(3.0, requires_grad=True)
    >>> weft.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    roots = as_sequence("grad", "outputs", outputs)
    targets = as_sequence("grad", "inputs", inputs)
    if not targets:
        raise RuntimeError("grad: `inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: Expected allow_unused to be True or not passed when materialize_grads=True")
    keep = create_graph if retain_graph is None else retain_graph
    wrappers: dict[int, Any] = {}
    for number, target in enumerate(targets):
        if isinstance(target, TensorBase) and target._key.has_torch_function and hasattr(target, "_inner_values"):
            wrappers[number] = target  # whose gradient is that of its values
            targets[number] = target._inner_values
    check_requires_grad("grad", targets)
    if is_grads_batched:
        return batched(roots, targets, grad_outputs, keep, create_graph, allow_unused, materialize_grads)
    seeds = seeds_for("grad", roots, grad_outputs, len(roots))
    found = captured(roots, seeds, keep, create_graph, targets)
    for number, each in enumerate(found):
        if each is None and materialize_grads:
            if isinstance(targets[number], GradientEdge):
                raise RuntimeError(
                    "grad: materialize_grads cannot be used when the given input is a GradientEdge; "
                    f"inputs[{number}] is one that no output depends on, and has no shape"
                )
            model = targets[number].detach()
            found[number] = model.new_zeros(model.shape, requires_grad=create_graph)
        elif each is None and not allow_unused:
            raise RuntimeError(
                "grad: One of the differentiated Tensors appears to not have been used in the graph: "
                f"inputs[{number}]. "
                "Set allow_unused=True if this is the desired behavior."
            )
    for number, target in wrappers.items():
        found[number] = None if found[number] is None else target.with_values(found[number])
    return tuple(found)


def batched(
    roots: list[Any], targets: list[Any], grad_outputs: Any, keep: bool, create: bool, unused: Any, zeros: bool
) -> tuple[Any, ...]:
    """Gradients for each of several vectors, stacked."""
    seeds = as_sequence("grad", "grad_outputs", grad_outputs)
    for number, (root, seed) in enumerate(zip(roots, seeds)):
        shape = shape_of(root)
        if seed._array.shape[1:] != shape:
            raise RuntimeError(
                "grad: If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{number}] has a shape of "
                f"{Size(seed._array.shape)} and output[{number}] has a shape of {Size(shape)}."
            )
    rows = []
    count = seeds[0].shape[0]
    for number in range(count):
        last = number == count - 1
        row = [each[number] for each in seeds]
        rows.append(grad(roots, targets, row, keep or not last, create, True, unused, materialize_grads=zeros))
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows))


def check_requires_grad(name: str, targets: list[Any]) -> None:
    for number, target in enumerate(targets):
        if isinstance(target, TensorBase) and not target._requires_grad:
            raise RuntimeError(f"{name}: One of the differentiated Tensors does not require grad: inputs[{number}]")


def as_sequence(name: str, argument: str, value: Any) -> list[Any]:
    """The tensors or edges of the graph that were given; an edge at a leaf is the leaf."""
    one = isinstance(value, TensorBase | GradientEdge) or not isinstance(value, Iterable)
    values = [value] if one else list(value)
    found: list[Any] = []
    for number, each in enumerate(values):
        if not isinstance(each, TensorBase | GradientEdge):
            raise TypeError(
                f"{name}: argument '{argument}' must hold Tensors; element {number} is {type(each).__name__}"
            )
        if isinstance(each, GradientEdge) and not isinstance(each.node, Node):
            found.append(each.node.variable)
        else:
            found.append(each)
    return found


def seeds_for(name: str, roots: list[Any], given: Any, count: int) -> list[Any]:
    """The gradient that each root starts with."""
    if given is None:
        given = [None] * count
    elif isinstance(given, TensorBase):
        given = [given]
    elif not isinstance(given, (list, tuple)):
        raise TypeError(f"{name}(): gradients must be Tensors or None, not {type(given).__name__}")
    if len(given) != count:
        raise RuntimeError(f"{name}: got {count} tensors and {len(given)} gradients")
    seeds = []
    for number, (root, seed) in enumerate(zip(roots, given)):
        if isinstance(root, TensorBase) and not root._requires_grad:
            raise RuntimeError(
                f"{name}: element {number} of tensors does not require grad and does not have a grad_fn. Set "
                "requires_grad=True on what it is computed from, and compute it outside weft.no_grad()"
            )
        seeds.append(seed_for(name, number, root, seed))
    return seeds


def seed_for(name: str, number: int, root: Any, seed: Any) -> Any:
    """The gradient that a root starts with: one for a scalar, or what was given, checked."""
    shape, key = shape_of(root), key_at(root)
    if seed is None:
        if math.prod(shape) != 1:
            raise RuntimeError(
                f"{name}: grad can be implicitly created only for scalar outputs; this one has shape "
                f"{list(shape)}. Reduce it, for example with .sum(), or pass a gradient of that shape"
            )
        if key is not None and not key.dtype.is_floating_point:
            raise RuntimeError(
                f"{name}: grad can be implicitly created only for real scalar outputs but got {key.dtype}"
            )
        if isinstance(root, TensorBase):
            return ones_like(root)  # type: ignore[arg-type]
        return ones(shape, dtype=get_default_dtype() if key is None else key.dtype)
    if not isinstance(seed, TensorBase):
        raise TypeError(f"{name}: gradients can be either Tensors or None, but got {type(seed).__name__}")
    if seed._array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{number}] has a shape of {Size(seed._array.shape)} and output[{number}] "
            f"has a shape of {Size(shape)}."
        )
    if key is not None and seed._key.is_complex != key.is_complex:
        raise RuntimeError(
            f"{name}: For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{number}] has {seed._key.dtype} and output has {key.dtype}."
        )
    return seed if key is None else in_dtype_of(key, seed)


def in_dtype_of(key: Any, seed: Any) -> Any:
    """A gradient that was given, in the dtype of what it is of."""
    return seed if seed._key.dtype is key.dtype or not key.is_differentiable else seed.to(key.dtype)


def shape_of(root: Any) -> Any:
    """The shape of a tensor, or of the tensor that stood at an edge of the graph."""
    if isinstance(root, TensorBase):
        return root._array.shape
    if not isinstance(root.node, Node):
        return shape_of(root.node.variable)
    several = root.node._extra is not None and root.node._extra.outputs
    return root.node._shape[root.output_nr] if several else root.node._shape


def _calculate_shape(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes of an output, or of what stood at an edge, and of a gradient (without the batch's dimension)."""
    if is_strided_nested(output):
        if is_grads_batched:
            raise RuntimeError("grad: Batched grads are not supported with Nested Tensor.")
        return output._nested_tensor_size(), grad._nested_tensor_size()
    shape = Size(grad.shape)
    return Size(shape_of(output)), shape[1:] if is_grads_batched else shape


def is_strided_nested(value: Any) -> bool:
    """Whether a value is a nested tensor whose parts' shapes differ in any dimension: it has no shape of its own."""
    return isinstance(value, TensorBase) and hasattr(value, "_nested_tensor_size")


def key_at(root: Any) -> Any:
    """The kind of a tensor, or of the tensor that stood at an edge; None where nobody looked at its node."""
    return root._key if isinstance(root, TensorBase) else key_of_output(root.node, root.output_nr)


def place_of(target: Any) -> tuple[Any, int]:
    """Where in the graph a gradient arrives: a node or leaf, and which of its outputs."""
    if isinstance(target, GradientEdge):
        return target.node, target.output_nr
    return edge_of(target), output_index(target)


def backward_pass(
    roots: list[Any], seeds: list[Any], keep: bool, create: bool, captures: Any, accumulates: bool = False
) -> None:
    places = [place_of(root) for root in roots]
    edges = [edge for edge, _ in places]
    needed = None if captures is None else find_needed(edges, captures, accumulates)
    if profiling.recorder is not None:
        time_nodes(edges)
    if state.anomaly:
        trace_nodes(edges)
    made = BackwardPass(plus, keep, create, captures, needed, accumulates)
    made.roots = edges
    for (edge, index), seed in zip(places, seeds):
        made.send(edge, index, seed, False)
    if several:
        with ordered:
            made.run()
    else:
        made.run()


def nodes_from(roots: list[Any]) -> set[Any]:
    """The nodes that are reached from some."""
    seen: set[Any] = set()
    stack = [root for root in roots if isinstance(root, Node)]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += [edge for edge in node.edges() if isinstance(edge, Node)]
    return seen


def time_nodes(roots: list[Any]) -> None:
    """Let the profiler that runs see each node that is reached from some."""
    for node in nodes_from(roots):
        watch_of(node).timed = True


def trace_nodes(roots: list[Any]) -> None:
    """Let anomaly mode see each node, also those that were recorded before it was on."""
    for node in nodes_from(roots):
        watch = watch_of(node)
        if watch.trace is None:
            watch.trace = Trace(recorded=False)


def captured(
    roots: list[Any], seeds: list[Any], keep: bool, create: bool, targets: Sequence[Any], accumulates: bool = False
) -> list[Any]:
    """Gradients of the targets; None for those that were not reached."""
    keys = []
    captures: dict[Any, Any] = {}
    for target in targets:
        edge, index = place_of(target)
        key = (edge, index) if isinstance(edge, Node) else id(target)
        keys.append(key)
        captures[key] = None
    backward_pass(roots, seeds, keep, create, captures, accumulates)
    return [in_memory(captures[key]) for key in keys]


def in_memory(grad: Any) -> Any:
    """A gradient that programs get, whose values NumPy and others may look at."""
    return grad if grad is None or not bits_of(grad) else state.clone(grad)


def tensor_backward(
    self: Any,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge] | None = None,
) -> None:
    """Add the gradient of this tensor to ``.grad`` of the leaves that it was computed from.

    Parameters
    ----------
    gradient : Tensor, of this tensor's shape, optional
        The gradient of what comes after it; 1 for a tensor of one element.
    retain_graph : bool, optional
        Keep what the graph saved, for another pass. Default: ``create_graph``.
    create_graph : bool
        Record the pass itself, for second derivatives.
    inputs : sequence of Tensor, optional
        The tensors that get a gradient, leaves or not. Default: all leaves.

    Raises
    ------
    RuntimeError
        If the tensor has no history, or its graph was freed by an earlier pass; without ``gradient`` for a tensor of
        other than one element.

    See Also
    --------
    weft.autograd.backward

    Examples
    --------
    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> (x**2).backward(weft.tensor([1.0, 10.0]))
    >>> x.grad
    tensor([ 2., 40.])
    """
    if not retain_graph and not create_graph and inputs is None and profiling.recorder is None and not several:
        if backward_from(self, gradient):
            return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


add_members(backward=tensor_backward)
