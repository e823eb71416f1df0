"""`Proxy`: stands for a value while a program runs to be recorded, and notes what is done with it."""

from __future__ import annotations

import dis
import enum
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import weft
from weft import Tensor
from weft.fx._code import BINARY, UNARY
from weft.fx.graph import Graph
from weft.fx.node import Argument, Node, Target, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]

BASE_TYPES = (
    str, int, float, bool, complex, bytes, type(None), type(Ellipsis), range, enum.Enum, weft.dtype, weft.device,
    weft.layout, weft.memory_format, weft.Size,
)  # fmt: skip
REFLECTED = "add sub mul floordiv truediv mod pow lshift rshift and_ or_ xor matmul".split()

# Functions of weft.nn.functional that PyTorch has in C: recorded as they were called. Of the others PyTorch records
# what is optional by name, with its default, and programs that match graphs look for that.
AS_CALLED = set(
    """
avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d
conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_ leaky_relu_ linear logsigmoid
native_channel_shuffle one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_
scaled_dot_product_attention selu_ softplus softshrink threshold_
""".split()
)


class TraceError(ValueError):
    """A program does something with a value that depends on the value, so that one recording cannot show it."""


class TracerBase:
    """What `Proxy` asks of whoever records.

    Attributes
    ----------
    graph : Graph
    """

    graph: Graph
    record_stack_traces: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """What stands for a node's value; override it for another class."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node to the graph, and return what stands for its value."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """What goes into a node for a value of the program: nodes for proxies, and constants.

        Raises
        ------
        NotImplementedError
            If a graph cannot hold it.
        """
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return type(a)(*(self.create_arg(each) for each in a))
        if isinstance(a, BASE_TYPES) or a is ... or a is inspect.Parameter.empty:
            return a
        if isinstance(a, tuple | list):
            return type(a)(self.create_arg(each) for each in a)  # type: ignore[call-arg]
        if isinstance(a, dict):
            return {self._constant_key(key): self.create_arg(each) for key, each in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if callable(a):
            return a
        raise NotImplementedError(f"create_arg: argument of type: {type(a)} cannot stand in a graph: {a!r}")

    @staticmethod
    def _constant_key(key: Any) -> Any:
        if isinstance(key, Proxy):
            raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node; use a constant")
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Answer whether a value is true: called where a program branches on it.

        Raises
        ------
        TraceError
            Unless it is overridden.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Iterate over a value, of which nobody knows how long it is.

        Raises
        ------
        TraceError
            Unless it is overridden.
        """
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. Loop over a number that is known, or make the function a leaf with "
            "weft.fx.wrap"
        )

    def keys(self, obj: Proxy) -> Any:
        """What a value's ``keys()`` is; asked for where it is passed as ``**kwargs``."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that is there: for proxies that are made of its nodes by hand."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Stands for a value while a program runs to be recorded.

    Parameters
    ----------
    node : Node
        Whose value it is.
    tracer : TracerBase, optional
        Who records; by default nodes are added to the node's graph.

    Examples
    --------
    >>> graph = weft.fx.Graph()
    >>> x = Proxy(graph.placeholder("x"))
    >>> weft.cat([x, x.relu() + 1], dim=0)
    Proxy(cat)
    """

    node: Node
    tracer: TracerBase

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in ("node", "tracer"):  # of an object that copy or pickle has not filled yet
            raise AttributeError(k)
        return Attribute(self, k)

    def __deepcopy__(self, memo: Any) -> Proxy:
        made: Proxy = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        # "a, b = value" says how many there are: the instruction that is running has the number.
        frame = inspect.currentframe()
        caller = None if frame is None else frame.f_back
        if caller is not None:
            for instruction in dis.get_instructions(caller.f_code):
                if instruction.offset == caller.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                    return iter([self[index] for index in range(instruction.argval)])
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Asked for where a proxy is passed as ``**kwargs``."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "weft.fx.wrap('len') at module scope"
        )

    def __getitem__(self, index: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, index), {})

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the call of a public function or method."""
        kwargs = kwargs or {}
        tracer = tracer_of((args, kwargs))
        name = getattr(func, "__name__", "")
        if is_method(func, name):
            return tracer.create_proxy("call_method", name, args, kwargs)
        if getattr(func, "__module__", None) == weft.nn.functional.__name__ and name not in AS_CALLED:
            args, kwargs = completed(func, args, kwargs)
        return tracer.create_proxy("call_function", func, args, kwargs, name=name or None)


def is_method(function: Any, name: str) -> bool:
    """Whether something is a method of Tensor and no function of weft."""
    return getattr(weft, name, None) is not function and getattr(Tensor, name, None) is function


def completed(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call: by position what the function needs, by name what is optional, with the defaults."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs  # running the graph says what is wrong with the call
    bound.apply_defaults()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in bound.signature.parameters.values():
        value = bound.arguments[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            positional.append(value)
        else:
            named[parameter.name] = value
    return tuple(positional), named


def proxies_in(value: Any) -> list[Proxy]:
    """The proxies among arguments, also inside of containers."""
    found: list[Proxy] = []

    def note(each: Any) -> Any:
        if isinstance(each, Proxy):
            found.append(each)
        return each

    map_aggregate(value, note)
    return found


def tracer_of(arguments: Any) -> TracerBase:
    """Who records a call.

    Raises
    ------
    RuntimeError
        If two do, each with a graph of its own.
    """
    tracers = {id(proxy.tracer.graph): proxy.tracer for proxy in proxies_in(arguments)}
    if len(tracers) != 1:
        raise RuntimeError(
            f"Found multiple different tracers {list(tracers.values())} while trying to trace operations; a call may "
            "have proxies of one graph only"
        )
    return next(iter(tracers.values()))


class Attribute(Proxy):
    """An attribute of a value; a call of it is the call of a method, and anything else makes a node for it."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of the attribute itself, made when it is first asked for."""
        if self._node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def define_operators() -> None:
    """Give Proxy Python's operators, each of which is recorded."""

    def forward(function: Any) -> Any:
        def operate(*args: Any) -> Proxy:
            return tracer_of(args).create_proxy("call_function", function, args, {})

        return operate

    def reflected(function: Any) -> Any:
        def operate(self: Proxy, other: Any) -> Proxy:
            return self.tracer.create_proxy("call_function", function, (other, self), {})

        return operate

    for name in (*BINARY, *UNARY):
        setattr(Proxy, f"__{name.strip('_')}__", forward(getattr(operator, name)))
    for name in REFLECTED:
        setattr(Proxy, f"__r{name.strip('_')}__", reflected(getattr(operator, name)))


define_operators()
