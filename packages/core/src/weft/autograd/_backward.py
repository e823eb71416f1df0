"""backward and grad: check what was asked, then walk the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from weft import _profiling
from weft._engine.dispatch import edge_of
from weft._engine.graph import Walk, accumulate, backward_from, find_needed
from weft._engine.tensor import Node, TensorBase, state
from weft._tensor import Tensor
from weft._unresolved import bits_of
from weft.autograd.hooks import GradientEdge, output_index, watch_of
from weft.ops.creation import ones_like
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
    inputs : Tensor or sequence of Tensor, optional
        Accumulate only into these.

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
    if inputs is None:
        walk(roots, seeds, keep, create_graph, None)
        return
    targets = tensors_only("backward", "inputs", inputs)
    if not targets:
        raise RuntimeError("backward: 'inputs' argument to backward cannot be empty.")
    check_requires_grad("backward", targets)
    found = captured(roots, seeds, keep, create_graph, targets)
    for target, grad in zip(targets, found):
        if grad is None:
            continue
        accumulate(target, grad, False, create_graph, plus)
        if target.is_leaf and target._extra is not None and target._extra.hooks is not None:
            target._extra.hooks.after_leaf(target, grad)


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
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: Expected allow_unused to be True or not passed when materialize_grads=True")
    keep = create_graph if retain_graph is None else retain_graph
    check_requires_grad("grad", targets)
    if is_grads_batched:
        return batched(roots, targets, grad_outputs, keep, create_graph, allow_unused, materialize_grads)
    seeds = seeds_for("grad", roots, grad_outputs, len(roots))
    found = captured(roots, seeds, keep, create_graph, targets)
    for number, each in enumerate(found):
        if each is None and materialize_grads:
            model = targets[number].detach()
            found[number] = model.new_zeros(model.shape, requires_grad=create_graph)
        elif each is None and not allow_unused:
            raise RuntimeError(
                "grad: One of the differentiated Tensors appears to not have been used in the graph: "
                f"inputs[{number}]. "
                "Set allow_unused=True if this is the desired behavior."
            )
    return tuple(found)


def batched(
    roots: list[Any], targets: list[Any], grad_outputs: Any, keep: bool, create: bool, unused: Any, zeros: bool
) -> tuple[Any, ...]:
    """Gradients for each of several vectors, stacked."""
    from weft.ops.joining import stack

    seeds = as_sequence("grad", "grad_outputs", grad_outputs)
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
    found = []
    for number, each in enumerate(values):
        if not isinstance(each, TensorBase | GradientEdge):
            raise TypeError(
                f"{name}: argument '{argument}' must hold Tensors; element {number} is {type(each).__name__}"
            )
        at_leaf = isinstance(each, GradientEdge) and not isinstance(each.node, Node)
        found.append(each.node.variable if at_leaf else each)
    return found


def tensors_only(name: str, argument: str, value: Any) -> list[Any]:
    values = [value] if isinstance(value, TensorBase) else list(value)
    for number, each in enumerate(values):
        if not isinstance(each, TensorBase):
            raise TypeError(
                f"{name}: argument '{argument}' must hold Tensors; element {number} is {type(each).__name__}"
            )
    return values


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
        if isinstance(root, GradientEdge):
            if not isinstance(seed, TensorBase):
                raise RuntimeError(
                    f"{name}: a gradient must be given for an edge of the graph; element {number} has none"
                )
            seeds.append(seed)
            continue
        if not root._requires_grad:
            raise RuntimeError(
                f"{name}: element {number} of tensors does not require grad and does not have a grad_fn. Set "
                "requires_grad=True on what it is computed from, and compute it outside weft.no_grad()"
            )
        if seed is None:
            if root._array.size != 1:
                raise RuntimeError(
                    f"{name}: grad can be implicitly created only for scalar outputs; this one has shape "
                    f"{list(root._array.shape)}. Reduce it, for example with .sum(), or pass a gradient of that shape"
                )
            if not root.kind.dtype.is_floating_point:
                raise RuntimeError(
                    f"{name}: grad can be implicitly created only for real scalar outputs but got {root.kind.dtype}"
                )
            seed = ones_like(root.detach())
        elif not isinstance(seed, TensorBase):
            raise TypeError(f"{name}: gradients can be either Tensors or None, but got {type(seed).__name__}")
        elif seed._array.shape != root._array.shape:
            raise RuntimeError(
                f"{name}: Mismatch in shape: grad_output[{number}] has a shape of {list(seed._array.shape)} and "
                f"output[{number}] has a shape of {list(root._array.shape)}."
            )
        elif seed.kind.is_complex != root.kind.is_complex:
            raise RuntimeError(
                f"{name}: For complex Tensors, both grad_output and output are required to have the same dtype. "
                f"Mismatch in dtype: grad_output[{number}] has {seed.kind.dtype} and output has {root.kind.dtype}."
            )
        seeds.append(seed)
    return seeds


def place_of(target: Any) -> tuple[Any, int]:
    """Where in the graph a gradient arrives: a node or leaf, and which of its outputs."""
    if isinstance(target, GradientEdge):
        return target.node, target.output_nr
    return edge_of(target), output_index(target)


def walk(roots: list[Any], seeds: list[Any], keep: bool, create: bool, captures: Any) -> None:
    places = [place_of(root) for root in roots]
    edges = [edge for edge, _ in places]
    needed = None if captures is None else find_needed(edges, captures)
    if _profiling.recorder is not None:
        time_nodes(edges)
    made = Walk(plus, keep, create, captures, needed)
    made.roots = edges
    for (edge, index), seed in zip(places, seeds):
        made.send(edge, index, seed, False)
    made.run()


def time_nodes(roots: list[Any]) -> None:
    """Let the profiler that runs see each node that is reached from some."""
    seen: set[Any] = set()
    stack = [root for root in roots if isinstance(root, Node)]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            watch_of(node).timed = True
            stack += [edge for edge in node.edges() if isinstance(edge, Node)]


def captured(roots: list[Any], seeds: list[Any], keep: bool, create: bool, targets: Sequence[Any]) -> list[Any]:
    """Gradients of the targets; None for those that were not reached."""
    keys = []
    captures: dict[Any, Any] = {}
    for target in targets:
        edge, index = place_of(target)
        key = (edge, index) if isinstance(edge, Node) else id(target)
        keys.append(key)
        captures[key] = None
    walk(roots, seeds, keep, create, captures)
    return [in_memory(captures[key]) for key in keys]


def in_memory(grad: Any) -> Any:
    """A gradient that programs get, whose values NumPy and others may look at."""
    return grad if grad is None or not bits_of(grad) else state.clone(grad)


def tensor_backward(
    self: Any, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add the gradient of this tensor to ``.grad`` of the leaves that it was computed from.

    See Also
    --------
    weft.autograd.backward
    """
    if not retain_graph and not create_graph and inputs is None and _profiling.recorder is None:
        if backward_from(self, gradient):
            return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


Tensor.backward = tensor_backward  # type: ignore[attr-defined]
