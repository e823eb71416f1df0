"""`Library` and the functions that register with operators, with PyTorch's interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from weft._devices.devices import device
from weft._ops import defined
from weft.library._operators import (
    DEVICE_KEYS,
    EXPLICIT,
    IMPLICIT,
    KEYS,
    META,
    Operator,
    add_operator,
    operator_of,
    parse_key,
    remove_operator,
    split_name,
)
from weft.ops._registry import registry

__all__ = [
    "Library",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

RESERVED = frozenset({"prim"})
owners: dict[str, Any] = {}  # of a namespace: the library that defines it
kept: list[Any] = []  # libraries of functions that name none


def fallthrough_kernel() -> NoReturn:
    """What says of a key that nothing is done there; never called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """Operators of a namespace, or functions for some that exist.

    Parameters
    ----------
    ns : str
    kind : "DEF", "FRAGMENT" or "IMPL"
        Define operators (of a namespace there is one such library), define more of them, or register functions alone.
    dispatch_key : str, optional
        Of functions that name none.

    Raises
    ------
    ValueError
        For another kind, or a namespace that is not to be extended.
    RuntimeError
        If the namespace has a library that defines it.

    Examples
    --------
    >>> lib = weft.library.Library("doc_library", "DEF")
    >>> _ = lib.define("twice(Tensor x) -> Tensor")
    >>> lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> weft.ops.doc_library.twice(weft.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}; expected 'DEF', 'FRAGMENT' or 'IMPL'")
        if ns in RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in owners:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
                    "definitions in a single TORCH_LIBRARY block. If you really intended to define operators for a "
                    "single namespace in a distributed way, use kind 'FRAGMENT'"
                )
            owners[ns] = self
        self.ns = ns
        self.kind = kind
        self.dispatch_key = parse_key(dispatch_key) if dispatch_key else ""
        self._op_defs: set[str] = set()
        self._defined: list[Operator] = []
        self._undo: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator.

        Parameters
        ----------
        schema : str
            ``"scale(Tensor x, float by=2.0) -> Tensor"``.
        alias_analysis : str
            Accepted: "" or "CONSERVATIVE".
        tags : weft.Tag or sequence of them

        Returns
        -------
        str
            Its name.

        Raises
        ------
        RuntimeError
            If it is no schema, of another namespace, or the operator exists.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(
                "define(): this library was made with kind 'IMPL', for functions alone; use 'DEF' or 'FRAGMENT'"
            )
        named, _, _ = schema.partition("(")
        namespace, colons, _ = named.partition("::")
        if colons and namespace.strip() != self.ns:
            raise RuntimeError(
                f"Explicitly provided namespace ({namespace.strip()}) in schema string does not match namespace of "
                f"enclosing TORCH_LIBRARY block ({self.ns})."
            )
        operator = add_operator(schema if colons else f"{self.ns}::{schema}", as_tags(tags))
        self._defined.append(operator)
        self._op_defs.add(operator.name)
        for key, function in waiting.pop(operator.name, {}).items():
            set_kernel(operator, key, function)
        return operator.name.partition("::")[2]

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Register a function for an operator.

        Parameters
        ----------
        op_name : str or OpOverload
            The name, with the overload if there are several.
        fn : callable
        dispatch_key : str
            ``"CPU"``, ``"CUDA"``, ``"Meta"``, ``"Autograd"``, ``"CompositeExplicitAutograd"`` (all devices) or
            ``"CompositeImplicitAutograd"`` (made of differentiable ops); default: that of the library, else the last.

        Raises
        ------
        TypeError
            If it is no function.
        RuntimeError
            If there is no such key, or the operator is one of weft's.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("impl: weft has no sets of dispatch keys to call a function with")
        key = parse_key(dispatch_key) if dispatch_key else self.dispatch_key or IMPLICIT
        name = op_name.name() if hasattr(op_name, "overloadpacket") else op_name
        full = name if "::" in name else f"{self.ns}::{name}"
        if full.partition("::")[0] != self.ns:
            raise RuntimeError(f"impl: operator {full} is not of the library's namespace {self.ns}")
        register_function(full, key, fn, self._undo)

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Refuse: weft has no function for all operators of a key.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "Library.fallback: weft has no function for all operators of a dispatch key; a TorchDispatchMode sees each"
        )

    def _destroy(self) -> None:
        """Take back what the library defined and registered."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        for operator in self._defined:
            remove_operator(operator)
        self._defined.clear()
        self._op_defs.clear()
        if owners.get(self.ns) is self:
            del owners[self.ns]


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A library for the block, taken back at its end."""
    made = Library(*args, **kwargs)
    try:
        yield made
    finally:
        made._destroy()


waiting: dict[str, dict[str, Callable[..., Any]]] = {}  # functions of operators that are still to be defined


def is_awaited(name: str) -> bool:
    """Whether an operator may still be defined: none of the name is a program's, nor weft's own."""
    qualified, _ = split_name(name)
    return not (qualified in defined or qualified.startswith("aten::") or qualified in registry)


def register_function(name: str, key: str, fn: Callable[..., Any], undo: list[Callable[[], None]]) -> None:
    """Register a function for an operator, also before it is defined."""
    qualified, overload = split_name(name)
    if qualified not in defined:
        if not is_awaited(name):
            raise RuntimeError(
                f"impl: {qualified} is one of weft's own operators; a kernel for it is a backend's, see weft.backend, "
                "and weft.library.kernels wraps those that run"
            )
        full = qualified if overload == "default" else f"{qualified}.{overload}"
        waiting.setdefault(full, {})[key] = fn
        undo.append(lambda: waiting.get(full, {}).pop(key, None) and None)
        return
    operator = operator_of(name)
    before = operator.kernels.get(key)
    set_kernel(operator, key, fn)

    def restore() -> None:
        if before is None:
            operator.kernels.pop(key, None)
        else:
            operator.kernels[key] = before
        operator.changed()

    undo.append(restore)


def set_kernel(operator: Operator, key: str, fn: Callable[..., Any]) -> None:
    """Let a function compute an operator for a key; the fallthrough kernel: nothing does."""
    if fn is fallthrough_kernel:
        operator.kernels.pop(key, None)
    else:
        operator.kernels[key] = fn
    operator.changed()


def as_tags(tags: Any) -> tuple[Any, ...]:
    """Tags as a tuple."""
    return tuple(tags) if isinstance(tags, (tuple, list, set)) else (tags,)


def library_for(lib: Library | None, name: str, kind: str = "FRAGMENT") -> Library:
    """The library of a call, or one of its own."""
    if lib is not None:
        return lib
    made = Library(name.partition("::")[0], kind)
    kept.append(made)
    return made


def define(qualname: str | Library, schema: str, *args: Any, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operator.

    Parameters
    ----------
    qualname : str
        With its namespace, ``"mylib::scale"``. In the older form it is a `Library`, the schema has the name, and the
        result is a decorator of the function.
    schema : str
        ``"(Tensor x, float by=2.0) -> Tensor"``.
    *args
        In the older form the alias analysis.
    lib : Library, optional
        Whose end it shares.
    tags : weft.Tag or sequence of them

    Raises
    ------
    ValueError
        If the name has no namespace, or the schema does not begin with its arguments.
    """
    if isinstance(qualname, Library):
        return defining(qualname, qualname.define(schema, *args))
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    split_name(qualname)
    if not schema.lstrip().startswith("(") or "->" not in schema:
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    library_for(lib, qualname).define(f"{qualname.partition('::')[2]}{schema.lstrip()}", tags=tags)
    return None


def defining(lib: Library, name: str, dispatch_key: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that registers a function with an operator of a library."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        lib.impl(name, function, dispatch_key)
        return function

    return register


def keys_of(types: Any) -> list[str]:
    """The dispatch keys of types of devices; a key stands for itself."""
    found = []
    for each in (types,) if isinstance(types, str) else types:
        if each in KEYS:
            found.append(each)
            continue
        found.append(EXPLICIT if each == "default" else DEVICE_KEYS.get(device(each).type, ""))
        if not found[-1]:
            raise RuntimeError(
                f"Expected one of {', '.join(sorted(DEVICE_KEYS))} device type at start of device string: {each}"
            )
    return found


def impl(qualname: str | Library, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Register a function for an operator on some types of devices. May be a decorator.

    Parameters
    ----------
    qualname : str
    types : str or sequence of str
        Types of devices, "default" (all) or dispatch keys.
    func : callable, optional

    Notes
    -----
    In the older form the arguments are a `Library`, the operator's name in it, and the dispatch key.
    """
    if isinstance(qualname, Library):
        return defining(qualname, types, func or "")
    keys = keys_of(types)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        home = library_for(lib, qualname)
        for key in keys:
            register_function(qualname, key, function, home._undo)
        return function

    if func is None:
        return register
    register(func)
    return None


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """Register a function for an operator on some types of devices (None: all). May be a decorator.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
    device_types : str, sequence of str or None
    func : callable, optional
    """
    operator = operator_of(op, "register_kernel")
    keys = [EXPLICIT] if device_types is None else keys_of(device_types)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for key in keys:
            set_kernel(operator, key, function)
        return function

    if func is None:
        return register
    register(func)
    return None


def register_fake(
    op: Any,
    func: Any = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = False,
) -> Any:
    """Register what an operator returns for tensors without memory, on the device ``meta``. May be a decorator.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        A name may be that of an operator that is still to be defined: torchvision registers `nms` so, whose schema is
        in its compiled library.
    func : callable, optional
        Returns new tensors of the shapes, strides and dtypes of the results.

    Raises
    ------
    RuntimeError
        If there is a function for Meta already.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(op, str) and is_awaited(op):
            register_function(op, META, function, [])
            return function
        operator = operator_of(op, "register_fake")
        if META in operator.kernels and not allow_override:
            raise RuntimeError(
                f"register_fake(...): the operator {operator.name} already has a function for the dispatch key Meta"
            )
        operator.fake = function
        return function

    return register if func is None else register(func)


def impl_abstract(qualname: str, func: Any = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Any:
    """`register_fake` under its older name."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Register how an operator is differentiated.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
    backward : callable
        ``backward(ctx, *grads)`` returns a gradient (or None) for each argument, a list for a list of tensors.
    setup_context : callable, optional
        ``setup_context(ctx, inputs, output)`` keeps what backward needs; with ``keyword_only_inputs`` between, where
        the schema has such.

    Raises
    ------
    RuntimeError
        If the operator writes to its arguments.
    """
    operator = operator_of(op, "register_autograd")
    if operator.schema.is_mutable and operator.schema.returns:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator.overload} with schema "
            f"{operator.schema}. Please create a functional operator and register an autograd formula for that."
        )
    operator.backward, operator.setup_context = backward, setup_context
    operator.changed()


def register_vmap(op: Any, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """Register how an operator runs on a batch: ``func(info, in_dims, *args)`` returns outputs and their dimensions."""
    operator = operator_of(op, "register_vmap")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        operator.vmap = function
        operator.changed()
        return function

    return register if func is None else register(func)


def register_torch_dispatch(
    op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Library | None = None
) -> Any:
    """Register what a mode, or a subclass, of ``__torch_dispatch__`` does about an operator. May be a decorator.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
    torch_dispatch_class : type
        A subclass of Tensor, or of TorchDispatchMode.
    func : callable, optional
        ``func(mode, func, types, args, kwargs)`` of a mode, or ``func(cls, func, types, args, kwargs)`` of a subclass.
    """
    operator = operator_of(op, "register_torch_dispatch")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        operator.overload.overloadpacket.torch_dispatch_rules[torch_dispatch_class] = function
        return function

    return register if func is None else register(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> None:
    """Let an operator cast its floating-point tensors where `weft.autocast` is enabled.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
    device_type : "cpu" or "cuda"
    cast_inputs : dtype

    Raises
    ------
    ValueError
        For another device.
    """
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    operator_of(op, "register_autocast").autocast[device_type] = cast_inputs


def get_ctx() -> NoReturn:
    """Refuse: sizes that depend on values need a compiler's symbols.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError(
        "get_ctx() can only be called inside of a `register_fake` function that a compiler runs; weft has no sizes "
        "that stand for those of values. Return a tensor of the largest size"
    )


def get_kernel(op: Any, dispatch_key: str) -> Callable[..., Any]:
    """The function that was registered for an operator and a dispatch key.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    operator = operator_of(op, "get_kernel")
    found = operator.kernels.get(parse_key(dispatch_key))
    if found is None:
        raise RuntimeError(
            f"get_kernel: no kernel of {operator.name} is registered for the dispatch key {dispatch_key}"
        )

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        return found(*args, **kwargs)

    kernel.call_boxed = kernel  # type: ignore[attr-defined]
    return kernel


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any = (), schema: str | None = None) -> NoReturn:
    """Refuse: weft does not compile Triton's kernels.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(
        "triton_op: weft does not run Triton's kernels; write the function with ops of weft, or with CuPy, and use "
        "weft.library.custom_op"
    )


def wrap_triton(triton_kernel: Any, /) -> NoReturn:
    """Refuse: weft does not compile Triton's kernels.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("wrap_triton: weft does not run Triton's kernels; see weft.library.triton_op")
