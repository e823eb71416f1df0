"""Operators that programs define: a schema, functions by dispatch key, and rules for gradients, batches and fakes.

`Library`, `define` and `custom_op` make them; ``weft.ops.<namespace>.<name>`` finds them. A call goes, as in PyTorch,
to ``__torch_function__``, to the function for Autograd (or the registered formula, as one node), then below autograd to
modes and subclasses of ``__torch_dispatch__``, and last to the function for the device of its tensors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import weft
from weft._engine.tensor import TensorBase, local
from weft._interception.interceptors import operations
from weft._interception.torch_dispatch import bare, call_overload, position
from weft._interception.torch_function import call_override, flatten, overriding
from weft._ops import OpOverload, OpOverloadPacket, defined, namespace_of
from weft.autograd._function_operations import FunctionOperation
from weft.autograd.function import Function
from weft.ops._inplace import bump
from weft.ops._schema import FunctionSchema, is_of_type, parse_schema, takes
from weft.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["Operator", "operator_of", "parse_key"]

IMPLICIT, EXPLICIT, META = "CompositeImplicitAutograd", "CompositeExplicitAutograd", "Meta"
DEVICES = {"CPU": "cpu", "CUDA": "cuda", "XPU": "xpu", "MPS": "mps", META: "meta", "PrivateUse1": "privateuseone"}
DEVICES |= {each.upper(): each for each in ("hpu", "xla", "ipu", "mtia")}
AUTOCAST = {"AutocastCPU": "cpu", "AutocastCUDA": "cuda", "AutocastXPU": "xpu"}
KEYS = {
    *DEVICES,
    *AUTOCAST,
    IMPLICIT,
    EXPLICIT,
    "Autograd",
    *(f"Autograd{each}" for each in ("CPU", "CUDA", "XPU", "MPS", "Other")),
}


def parse_key(key: str) -> str:
    """A dispatch key that functions are registered for.

    Raises
    ------
    RuntimeError
        If it is none.
    NotImplementedError
        If it is PyTorch's own business.
    """
    if key in KEYS:
        return key
    if key in ("Python", "ADInplaceOrView", "Functionalize", "BackendSelect", "Tracer"):
        raise NotImplementedError(
            f"torch.library: weft has no dispatch key {key}; register_torch_dispatch and register_autograd are for "
            "what is done there"
        )
    raise RuntimeError(f"could not parse dispatch key: {key}")


class Operator:
    """One overload of an operator that a program defined.

    Attributes
    ----------
    schema : FunctionSchema
    overload : OpOverload
    kernels : dict
        From a dispatch key to its function.
    """

    def __init__(self, schema: FunctionSchema, tags: Sequence[Any] = (), packet: Any = None) -> None:
        self.schema = schema
        self.tags = list(tags)
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.disabled: set[str] = set()  # devices whose function is left out for now
        self.fallback: Callable[..., Any] | None = None  # of a custom op: of all devices that have none of their own
        self.devices: tuple[str, ...] | None = None  # on which the fallback runs; None: all
        self.fake: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.vmap: Callable[..., Any] | None = None
        self.autocast: dict[str, Any] = {}  # from a device's type to the dtype that it casts to
        self.is_custom = False  # made by custom_op: its results are new tensors, one without formula is refused
        self.signature: Any = None  # whose parameters name the arguments, for interceptors
        self.inside = False
        self._functions: dict[Any, Any] = {}
        self.overload: OpOverload = getattr(packet, schema.overload_name or "default") if packet is not None else None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Operator {self.schema}>"

    @property
    def name(self) -> str:
        """With its namespace and overload."""
        suffix = f".{self.schema.overload_name}" if self.schema.overload_name else ""
        return f"{self.schema.name}{suffix}"

    def changed(self) -> None:
        """Something was registered."""
        self._functions.clear()

    # Calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        types = overriding((*args, *kwargs.values()))
        if types or local.modes:
            return call_override(self.overload, types, args, kwargs)
        args, kwargs = self.bound(args, kwargs)
        if position.below:
            return self.run_below(*args, **kwargs)
        casting = self.casting_kernel(args)
        if casting is not None:
            return casting(*args, **kwargs)
        args, kwargs = self.cast(args, kwargs)
        above = self.kernel_above(args)
        if above is not None and not self.inside:
            self.inside = True
            try:
                return above(*args, **kwargs)
            finally:
                self.inside = False
        if self.backward is None and self.vmap is None and not self.is_custom:
            return self.without_formula(args, kwargs)
        return self.as_one_node(args, kwargs)

    def casting_kernel(self, args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The function for autocast, which casts tensors and calls the operator again without it; None outside."""
        if self.kernels.keys().isdisjoint(AUTOCAST):
            return None
        where = self.device(args)
        found = next(
            (self.kernels[key] for key, each in AUTOCAST.items() if each == where and key in self.kernels), None
        )
        return found if found is not None and weft.is_autocast_enabled(where) else None

    def kernel_above(self, args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The function for Autograd, or the one that stands for all keys because it is made of differentiable ops."""
        for key in ("Autograd", f"Autograd{key_of_device(self.device(args))}"):
            if key in self.kernels:
                return self.kernels[key]
        own = DEVICE_KEYS.get(self.device(args), "")
        return self.kernels.get(IMPLICIT) if own not in self.kernels and EXPLICIT not in self.kernels else None

    def without_formula(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of an operator that is differentiated through what its function is made of, with a warning."""
        result = call_overload(self.overload, self.run_kernel, args, kwargs)
        for each in flatten((result,)):
            if each._requires_grad and each._node is not None and local.grad_enabled and not self.schema.is_mutable:
                each.register_hook(partial(warn_of_no_formula, self.name))
        return result

    def run_below(self, *args: Any, **kwargs: Any) -> Any:
        """A call below autograd: the next mode, a subclass, or the function of the device."""
        return call_overload(self.overload, self.run_kernel, args, kwargs)

    def run_kernel(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function for the device of the arguments."""
        return self.kernel_for((*args, *kwargs.values()))(*args, **kwargs)

    def device(self, args: Sequence[Any]) -> str:
        """The type of the device of the first tensor."""
        tensors = flatten(args)
        return tensors[0].device.type if tensors else "cpu"

    def kernel_for(self, args: Sequence[Any]) -> Callable[..., Any]:
        """The function for the device of the arguments.

        Raises
        ------
        NotImplementedError
            If there is none.
        """
        where = self.device(args)
        if where == "meta":
            return self.fake_kernel()
        key = DEVICE_KEYS.get(where, "")
        found = self.kernels.get(key) if where not in self.disabled else None
        found = found or self.kernels.get(EXPLICIT) or self.kernels.get(IMPLICIT)
        if found is None and self.fallback is not None and (self.devices is None or where in self.devices):
            found = self.fallback
        if found is None:
            known = sorted({*self.kernels} | {*(self.devices or ())}) or ["none"]
            raise NotImplementedError(
                f"Could not run '{self.name}' with arguments from the '{key or where}' backend: no kernel for device "
                f"'{where}'; there are kernels for {', '.join(known)}. Add one with register_kernel"
            )
        return found

    def fake_kernel(self) -> Callable[..., Any]:
        """The function for tensors without memory.

        Raises
        ------
        RuntimeError
            Of a custom op without one.
        NotImplementedError
            Of another operator without one.
        """
        found = self.fake or self.kernels.get(META)
        if found is None and not self.is_custom:
            found = self.kernels.get(EXPLICIT) or self.kernels.get(IMPLICIT)
        if found is not None:
            return found
        if self.is_custom:
            raise RuntimeError(
                f"There was no fake impl registered for <CustomOpDef({self.name})>. This is necessary for "
                "torch.compile/export/fx tracing to work. Please use "
                f"`{self.schema.name.partition('::')[2]}.register_fake` to add an fake impl."
            )
        raise NotImplementedError(
            f"{self.name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
            "registered. Add one with weft.library.register_fake"
        )

    # Arguments

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call, checked: positional ones by position, and without those at their defaults behind.

        Raises
        ------
        RuntimeError
            If they are not those of the schema.
        """
        schema = self.schema
        positional = [each for each in schema.arguments if not each.kwarg_only]
        count = len(args) + len(kwargs)
        if len(args) > len(positional) or count > len(schema.arguments):
            raise RuntimeError(
                f"{schema.name}() expected at most {len(schema.arguments)} argument(s) but received {count} "
                f"argument(s). Declaration: {schema}"
            )
        named = {each.name: value for each, value in zip(positional, args)}
        for name, value in kwargs.items():
            if name not in schema.by_name or name in named:
                raise RuntimeError(
                    f"{schema.name}() got an unexpected keyword argument '{name}'. Declaration: {schema}"
                )
            named[name] = value
        for number, each in enumerate(schema.arguments):
            if each.name not in named:
                if not each.has_default_value():
                    raise RuntimeError(
                        f"{schema.name}() is missing value for argument '{each.name}'. Declaration: {schema}"
                    )
            elif not is_of_type(named[each.name], each.type):
                raise RuntimeError(
                    f"{schema.name}() Expected a value of type '{each.type}' for argument '{each.name}' but instead "
                    f"found type '{type(named[each.name]).__name__}'.\nPosition: {number}\n"
                    f"Value: {named[each.name]!r}\nDeclaration: {schema}"
                )
        given: list[Any] = []
        last = 0
        for each in positional:
            given.append(named.get(each.name, each.default_value))
            last = len(given) if each.name in named else last
        return tuple(given[:last]), {
            each.name: named[each.name] for each in schema.arguments if each.kwarg_only and each.name in named
        }

    def completed(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Positional arguments with the defaults of those that were left out."""
        positional = [each for each in self.schema.arguments if not each.kwarg_only]
        return (*args, *(each.default_value for each in positional[len(args) :]))

    def cast(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as `weft.autocast` wants them."""
        where = self.device(args) if self.autocast else ""
        if where not in self.autocast:
            return args, kwargs
        if not weft.is_autocast_enabled(where):
            return args, kwargs
        dtype = self.autocast[where]

        def one(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(one(each) for each in value)
            castable = isinstance(value, TensorBase) and value.is_floating_point() and value.dtype is not weft.float64  # type: ignore[attr-defined]
            return value.to(dtype) if castable else value

        return tuple(one(each) for each in args), {name: one(each) for name, each in kwargs.items()}

    # As one node of the graph

    def as_one_node(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run it as a custom `autograd.Function`, of the tensors among the arguments."""
        args = self.completed(args)
        leaves, spec = tree_flatten(args)
        flat = all(not isinstance(each, (list, tuple)) for each in args)
        key = (None if flat else spec, tuple(kwargs.items()) if kwargs else ())
        try:
            function = self._functions.get(key)
        except TypeError:  # a keyword's value has no hash
            return self.new_function(spec, flat, kwargs).apply(*leaves)
        if function is None:
            function = self._functions[key] = self.new_function(spec, flat, kwargs)
        return function.apply(*leaves)

    def new_function(self, spec: Any, flat: bool, kwargs: dict[str, Any]) -> Any:
        """The `Function` for calls with arguments of a structure."""
        outer = self

        def forward(*leaves: Any) -> Any:
            inputs = [bare(each) if is_plain(each) else each for each in leaves]
            args = tree_unflatten(inputs, spec)
            before, position.below = position.below, True
            try:
                result = call_overload(outer.overload, partial(outer.above_kernels, before), args, kwargs)
            finally:
                position.below = before
            if outer.is_custom:
                check_apart(outer.schema.name, result, inputs)
            outer.count_writes(tree_unflatten(leaves, spec), kwargs)
            return tuple(result) if isinstance(result, list) else result

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            if outer.setup_context is None:
                return
            given = outer.completed(tree_unflatten(inputs, spec))
            named = {
                each.name: kwargs.get(each.name, each.default_value)
                for each in outer.schema.arguments
                if each.kwarg_only
            }
            extra = {"keyword_only_inputs": named} if named else {}
            outer.setup_context(ctx=ctx, inputs=given, output=output, **extra)

        def backward(ctx: Any, *grads: Any) -> Any:
            if outer.backward is None:
                raise RuntimeError(
                    f"{outer.name}: Trying to backward through {outer.overload} but no autograd formula was "
                    "registered. Please use register_autograd to add one."
                )
            found = outer.backward(ctx, *grads)
            return padded(found, len(spec.children_specs)) if flat else flat_gradients(found, spec)

        methods = {"forward": forward, "setup_context": setup_context, "backward": backward}
        if self.vmap is not None:
            methods["vmap"] = self.vmap
        body: dict[str, Any] = {name: staticmethod(each) for name, each in methods.items()}
        body["generate_vmap_rule"] = self.vmap is None
        label = f"GeneratedBackwardFor_{self.schema.name.replace('::', '_')}_{self.overload._overloadname}"
        made: Any = type(label, (Function,), body)
        signature = self.signature if flat and self.signature is not None else forward
        made._operation = FunctionOperation(made, self.schema.name, f"{self.schema.name}_backward", signature)
        return made

    def above_kernels(self, below: bool, *args: Any, **kwargs: Any) -> Any:
        """Run the function, outside of which nobody is below autograd for it: what it calls is seen as ever."""
        before, position.below = position.below, below
        try:
            return self.run_kernel(*args, **kwargs)
        finally:
            position.below = before

    def count_writes(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Count the writes to arguments that are written to."""
        positional = iter(args)
        for each in self.schema.arguments:
            value = kwargs.get(each.name) if each.kwarg_only else next(positional, None)
            if each.alias_info is not None and each.alias_info.is_write:
                for tensor in flatten((value,)):
                    bump(tensor, self.schema.name)

    @contextmanager
    def kernel_enabled(self, device_type: str, enabled: bool) -> Iterator[None]:
        """In this block the function of a device is used, or not."""
        before = {*self.disabled}
        (self.disabled.discard if enabled else self.disabled.add)(device_type)
        try:
            yield
        finally:
            self.disabled = before


DEVICE_KEYS = {where: key for key, where in DEVICES.items()}


def key_of_device(where: str) -> str:
    """The dispatch key of a type of device."""
    return DEVICE_KEYS.get(where, "Other")


def is_plain(value: Any) -> bool:
    """Whether a value is a tensor, and not of a subclass that defines ``__torch_dispatch__``."""
    return isinstance(value, TensorBase) and not type(value)._dispatches  # type: ignore[attr-defined]


def padded(found: Any, count: int) -> Any:
    """The gradients of all arguments; those that are left out have none."""
    grads = found if isinstance(found, tuple) else (found,)
    return (*grads[:count], *[None] * (count - len(grads)))


def flat_gradients(found: Any, spec: Any) -> tuple[Any, ...]:
    """The gradients of arguments, of which some are lists, one for each leaf."""
    grads = found if isinstance(found, tuple) else (found,)
    flat: list[Any] = []
    for each, child in zip(grads, spec.children_specs):
        if child.is_leaf():
            flat.append(each)
        else:
            flat.extend([None] * child.num_leaves if each is None else tree_flatten(list(each))[0])
    return (*flat, *[None] * (spec.num_leaves - len(flat)))


def warn_of_no_formula(name: str, grad: Any) -> None:
    """Say that a gradient is that of what a function is made of."""
    warnings.warn(
        f"{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through "
        "it. This may lead to silently incorrect behavior. Register a formula with weft.library.register_autograd, or "
        "the function with the dispatch key CompositeImplicitAutograd, if it is made of differentiable ops",
        UserWarning,
        stacklevel=2,
    )


def check_apart(name: str, result: Any, inputs: Sequence[Any]) -> None:
    """The results are new tensors.

    Raises
    ------
    RuntimeError
        If one of them is an argument: its history would be lost.
    """
    given = [each for each in inputs if isinstance(each, TensorBase)]
    for each in flatten(result if isinstance(result, (tuple, list)) else (result,)):
        if any(each is other for other in given):
            raise RuntimeError(
                f"{name}: The output of this custom operator must not also be an input to this custom operator and may "
                "not alias any inputs; return a clone() instead"
            )


class DefinedPacket(OpOverloadPacket):
    """An operator that a program defined."""

    def __init__(self, namespace: str, name: str) -> None:
        super().__init__(namespace, name)
        self.operators: dict[str, Operator] = {}

    @property
    def schemas(self) -> dict[str, FunctionSchema]:
        """The schemas of its overloads."""
        return {name: each.schema for name, each in self.operators.items()}

    def function_of(self, overload: str) -> Callable[..., Any]:
        return self.operators[overload]

    def tags_of(self, overload: str) -> list[Any]:
        return self.operators[overload].tags

    def has_kernel(self, overload: str, key: str) -> bool:
        return key in self.operators[overload].kernels

    def overload_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        fitting = (name for name, each in self.operators.items() if takes(each.schema, args, kwargs))
        return next(fitting, next(iter(self.operators)))


def add_operator(text: str, tags: Sequence[Any] = ()) -> Operator:
    """Define an operator by its schema.

    Raises
    ------
    RuntimeError
        If it is no schema, or the overload exists.
    """
    schema = parse_schema(text)
    namespace, _, name = schema.name.partition("::")
    packet = defined.get(schema.name)
    overload = schema.overload_name or "default"
    if packet is None:
        packet = DefinedPacket(namespace, name)
    elif overload in packet.schemas:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each "
            "overload's schema should only be registered with a single call to def()."
        )
    assert isinstance(packet, DefinedPacket)
    operator = Operator(schema, tags)
    packet.operators[overload] = operator
    operator.overload = getattr(packet, overload)
    defined[schema.name] = packet
    setattr(namespace_of(namespace), name, packet)
    return operator


def remove_operator(operator: Operator) -> None:
    """Take an operator back."""
    packet = defined.get(operator.schema.name)
    if not isinstance(packet, DefinedPacket) or operator not in packet.operators.values():
        return
    del packet.operators[operator.schema.overload_name or "default"]
    operations.pop(operator.schema.name, None)
    if not packet.operators:
        del defined[operator.schema.name]
        vars(namespace_of(packet.namespace)).pop(packet._opname, None)


def operator_of(op: Any, what: str = "torch.library") -> Operator:
    """The operator that a name, an overload, a packet or a custom op stands for.

    Raises
    ------
    ValueError
        If a name has no namespace.
    RuntimeError
        If there is none.
    """
    if isinstance(op, OpOverload):
        found = op.overloadpacket
        if isinstance(found, DefinedPacket):
            return found.operators[op._overloadname]
        raise not_a_programs(what, str(op))
    if isinstance(op, DefinedPacket):
        return next(iter(op.operators.values()))
    if hasattr(op, "_operator"):
        return op._operator  # type: ignore[no-any-return]
    if not isinstance(op, str):
        raise ValueError(f"{what}({op}): got unexpected type for op: {type(op)}")
    name, overload = split_name(op)
    packet = defined.get(name)
    if isinstance(packet, DefinedPacket) and overload in packet.operators:
        return packet.operators[overload]
    raise not_a_programs(what, op)


def not_a_programs(what: str, name: str) -> RuntimeError:
    return RuntimeError(
        f"{what}: no operator {name} was defined; define it with weft.library.define or custom_op. Kernels of weft's "
        "own ops are replaced by a backend, see weft.backend"
    )


def split_name(qualname: str) -> tuple[str, str]:
    """The name with namespace, and the overload, of a qualified name.

    Raises
    ------
    ValueError
        If it has no namespace.
    """
    if qualname.count("::") != 1 or not all(qualname.split("::")):
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    name, _, overload = qualname.partition(".")
    return name, overload or "default"
