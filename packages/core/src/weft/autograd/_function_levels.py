"""Custom functions in function transforms: each level takes the part of the `Function` that is its own."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft._engine.tensor import TensorBase, Version, local, set_grad
from weft._interception.transforms import Level, record_of
from weft.autograd._function_operations import WithSaved, new_function_node
from weft.autograd.function import Function, attach_history

__all__ = ["VmapInfo", "map_call", "push_call", "record_call"]


class VmapInfo(NamedTuple):
    """What a function's ``vmap`` is told of the batch."""

    batch_size: int
    randomness: str


def check_separate(cls: Any) -> None:
    """The function's forward takes no ctx.

    Raises
    ------
    RuntimeError
        If it does: a transform cannot tell what it saves.
    """
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            f"{cls.__name__}: In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
            "...), it must override the setup_context staticmethod. Let forward take no ctx, and save what backward "
            "needs in setup_context(ctx, inputs, output)"
        )


def below(level: Level, args: Any) -> list[Any]:
    return [level.below(each) if isinstance(each, TensorBase) else each for each in args]


def structure(result: Any, values: list[Any]) -> Any:
    return tuple(values) if isinstance(result, (tuple, list)) else values[0]


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def record_call(level: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Reverse mode: the call below, and a node of this level for it."""
    check_separate(cls)
    recorded = local.grad_enabled
    set_grad(level.grad_enabled)
    try:
        result = cls.apply(*below(level, args), **kwargs)
    finally:
        set_grad(recorded)
    outputs = [level.constant(each) if isinstance(each, TensorBase) else each for each in as_list(result)]
    inputs = [level.constant(each) if isinstance(each, TensorBase) and not level.holds(each) else each for each in args]
    return structure(result, with_history(cls, inputs, outputs, structure(result, outputs)))


def with_history(cls: Any, inputs: list[Any], outputs: list[Any], output: Any) -> list[Any]:
    """The outputs with a node of the function as their history."""
    recorded = local.grad_enabled
    needs = tuple(isinstance(each, TensorBase) and each._requires_grad for each in inputs)
    node = new_function_node(cls._node_class)
    node.needs_input_grad = needs
    node._tensor_arguments = [each._key if isinstance(each, TensorBase) else None for each in inputs]
    set_grad(False)
    try:
        cls.setup_context(node, tuple(inputs), output)
    finally:
        set_grad(recorded)
    tracked = recorded and any(needs)
    made = attach_history(node, inputs, outputs, tracked)
    if tracked:
        node._keep([each for each in made if isinstance(each, TensorBase)])
    node._to_save = node._for_forward = node._dirty_tensors = node._non_differentiable = ()
    return made


def push_call(level: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Forward mode: the call below, and the function's own ``jvp``."""
    values = below(level, args)
    if cls.jvp is Function.jvp:
        raise NotImplementedError(
            f"{cls.__name__}: You must implement the jvp function for custom autograd.Function to use it with forward "
            "mode AD."
        )
    result, ctx = result_and_ctx(cls, values, kwargs)
    ctx._kept = [None if each is None else (each, version_of(each)) for each in ctx._for_forward]
    tangents = [level.tangent(each) for each in args]
    if ctx._materialize_grads:
        tangents = [
            each.new_zeros(each.shape) if tangent is None and is_differentiable(each) else tangent
            for each, tangent in zip(values, tangents)
        ]
    before = [None if each is None else version_of(each) for each in tangents]
    found = as_list(cls.jvp(ctx, *tangents))
    check_tangents(cls, as_list(result), found)
    made = []
    for number, (value, tangent) in enumerate(zip(as_list(result), found)):
        source = next((place for place, each in enumerate(values) if is_view_of(value, each)), None)
        if source is not None:
            is_dirty = is_among(value, ctx._dirty_tensors)
            check_view_tangent(cls, is_dirty, tangents[source], before[source], tangent)
        if tangent is not None and (not is_differentiable(value) or is_among(value, ctx._non_differentiable)):
            raise RuntimeError(
                f"{cls.__name__}: Output {number} of forward is not differentiable, but jvp returned a tangent for it. "
                "You should return None at that position instead"
            )
        if source is not None and is_among(value, ctx._dirty_tensors) and level.holds(args[source]):
            made.append(args[source])
        else:
            made.append(value if tangent is None else level.recorded_dual(value, tangent))
    if cls.setup_context is not Function.setup_context:
        made = with_history(cls, list(args), made, structure(result, made))
    return structure(result, made)


def result_and_ctx(cls: Any, values: list[Any], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """What forward returns, recorded below the level, and a ctx with what forward said and set."""
    ctx = new_function_node(cls._node_class)
    if cls.setup_context is not Function.setup_context:
        result = cls.apply(*values, **kwargs)
        cls.setup_context(ctx, tuple(values), result)
        return result, ctx

    def forward(own: Any, *args: Any, **options: Any) -> Any:
        returned = cls.forward(own, *args, **options)
        vars(ctx).update(vars(own))  # before apply lets go of it
        return returned

    watched = type(cls.__name__, (cls,), {"forward": staticmethod(forward)})
    return watched.apply(*values, **kwargs), ctx  # type: ignore[attr-defined]


def is_among(tensor: Any, tensors: Any) -> bool:
    return any(each is tensor for each in tensors)


def is_view_of(value: Any, source: Any) -> bool:
    """Whether an output is an input, or a view of it or of its base."""
    if not isinstance(value, TensorBase) or not isinstance(source, TensorBase):
        return False
    if value is source:
        return True
    base = value._view_base
    return base is not None and (base is source or base is source._view_base)


def check_view_tangent(cls: Any, is_dirty: bool, given: Any, version: int | None, returned: Any) -> None:
    """The tangent of an output that is an input, or a view of one, is that of the input, or a view of that.

    Raises
    ------
    RuntimeError
        If it is not: a write to one of the two would not be seen in the other's tangent.
    """
    if returned is None or given is None or returned._key.wrapped or given._key.wrapped:
        return
    if is_dirty:
        if returned is not given or version_of(given) == version:
            raise RuntimeError(
                f"{cls.__name__}: An inplace custom Function is not modifying the forward mode gradients inplace. If "
                "the forward is modifying an input inplace, then the jvp function must modify the corresponding "
                "gradient inplace."
            )
        return
    base = returned._view_base
    what = "" if base is None else " of the given tangent"
    if base is not None and given._view_base is not None:
        what = " of the same base as the given tangent"
    if base is None or (base is not given and base is not given._view_base):
        raise RuntimeError(
            f"{cls.__name__}: A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
            f"returning a view{what}."
        )


def check_tangents(cls: Any, outputs: list[Any], tangents: list[Any]) -> None:
    """What a ``jvp`` returned is a tangent, or None, for each output.

    Raises
    ------
    RuntimeError
        If it is not.
    """
    if len(tangents) != len(outputs):
        raise RuntimeError(
            f"{cls.__name__}: Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} "
            f"but got {len(tangents)})"
        )
    for number, (output, tangent) in enumerate(zip(outputs, tangents)):
        if tangent is None or not isinstance(output, TensorBase):
            continue
        if not isinstance(tangent, TensorBase):
            raise RuntimeError(
                f"{cls.__name__}: expected Variable or None (got {type(tangent).__name__}) for grad output {number}."
            )
        if tangent._array.shape != output._array.shape:
            raise RuntimeError(
                f"{cls.__name__}: Trying to set a forward gradient that has a different size than that of the original "
                f"Tensor, this is not supported. Tensor is of size {list(output._array.shape)} while the given forward "
                f"gradient is of size {list(tangent._array.shape)}."
            )


def is_differentiable(value: Any) -> bool:
    return isinstance(value, TensorBase) and value._key.is_differentiable


def version_of(tensor: Any) -> int:
    if tensor._version_counter is None:
        tensor._version_counter = Version(0)
    value: int = tensor._version_counter.value
    return value


def map_call(level: Any, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """vmap: by the function's own rule, or by mapping its forward and backward."""
    if cls.vmap is not Function.vmap:
        if cls.generate_vmap_rule:
            raise RuntimeError(
                f"{cls.__name__}: it has both generate_vmap_rule=True and a vmap staticmethod; keep one of them"
            )
        dims = tuple(0 if isinstance(each, TensorBase) and level.holds(each) else None for each in args)
        returned = cls.vmap(VmapInfo(level.size, level.randomness), dims, *below(level, args), **kwargs)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise RuntimeError(
                f"{cls.__name__}: Expected the vmap staticmethod to have two returns, an output and out_dims with "
                f"pytree structure compatible with the output. Got a {type(returned)} instead"
            )
        result, out_dims = returned
        outputs = as_list(result)
        places = out_dims if isinstance(out_dims, (tuple, list)) else [out_dims] * len(outputs)
        return structure(result, [placed(level, each, dim) for each, dim in zip(outputs, places)])
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            "the vmap staticmethod or set generate_vmap_rule=True."
        )
    check_separate(cls)
    flags = [isinstance(each, TensorBase) and level.holds(each) for each in args]
    result = mapped_function(cls, level, flags).apply(*below(level, args), **kwargs)
    return structure(result, [placed(level, each, 0) for each in as_list(result)])


def placed(level: Any, output: Any, dim: int | None) -> Any:
    """An output as a tensor of the batch, whose dimension of examples is given; None: the same in each."""
    if dim is None or not isinstance(output, TensorBase):
        return output
    tensor: Any = output
    return level.batch(tensor.movedim(dim, 0))


def mapped_function(cls: Any, outer: Any, flags: list[bool]) -> Any:
    """A Function over whole batches, each of whose parts is mapped over the examples."""
    level = type(outer)(outer.size, outer.randomness)

    def inside(values: Any, batched: Any) -> list[Any]:
        return [level.batch(each) if flag else each for each, flag in zip(values, batched)]

    def whole(value: Any) -> Any:
        if not isinstance(value, TensorBase):
            return value
        tensor: Any = value
        return record_of(tensor).value if level.holds(tensor) else tensor.unsqueeze(0).expand(level.size, *tensor.shape)

    class Mapped(Function):
        _is_one_op = False

        @staticmethod
        def forward(*args: Any, **kwargs: Any) -> Any:
            with level:
                result = cls.forward(*inside(args, flags), **kwargs)
                return structure(result, [whole(each) for each in as_list(result)])

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            with level:
                outputs = [level.batch(each) if isinstance(each, TensorBase) else each for each in as_list(output)]
                cls.setup_context(ctx, tuple(inside(inputs, flags)), structure(output, outputs))
                # The node keeps tensors of this function, so what was saved is kept whole; backward wraps it again.
                ctx._were_batched = [each is not None and level.holds(each) for each in ctx._to_save]
                ctx._to_save = tuple(None if each is None else level.below(each) for each in ctx._to_save)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            with level:
                inner = WithSaved(ctx, inside(ctx.saved_tensors, ctx._were_batched))
                given = [None if each is None else level.batch(each) for each in grads]
                found = as_list(cls.backward(inner, *given))
                return tuple(
                    each if each is None else whole(each) if flag else whole(each).sum(0)
                    for each, flag in zip(found, flags)
                )

    return Mapped
