"""``__torch_function__``: tensor subclasses, and modes, that see each call of a public function before it runs.

Nobody pays for it who does not use it. Subclasses that override it have keys of their own, off the engine's fast
path, and while a mode is active no key is on it: so operators come to `Declaration.dispatch`, which asks here.
Functions and methods ask here from when the first tensor of such a class is made (many programs import one that they
never use), the first mode is entered, or a call fails on an object of another class that overrides it (`arm`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache, wraps
from types import CodeType, FunctionType
from typing import Any, TypeVar

from weft._devices.devices import device, key_of, override_listeners
from weft._dtypes.dtypes import dtype
from weft._engine.tensor import TensorBase, intercept, local
from weft._interception.torch_dispatch import asked_about, classes, dispatching
from weft._tensor.subclasses import as_subclass
from weft.ops._registry import registry

__all__ = [
    "Unimplemented",
    "arm",
    "awakened",
    "call_override",
    "default_torch_function",
    "flatten",
    "offer",
    "overridable",
    "overriding",
    "pop",
    "push",
    "unmasked",
]

R = TypeVar("R")
Offers = Callable[[], list[tuple[Any, Iterable[str]]]]

_offered: list[tuple[Any, Iterable[str]]] = []  # namespaces, and which of their names are public functions
_offers: list[Offers] = []  # what is asked for more of them when functions begin to ask
_asking: dict[Any, Any] = {}  # from a function that asks first to what it does then
_forms: dict[
    Any, Callable[..., tuple[Any, ...]]
] = {}  # what overrides see of calls of a function that has several forms
_armed = False

# Methods and functions that speak of the object itself, and not of a computation with it.
PREFIXES = {"weft.fft": "fft_", "weft.linalg": "linalg_", "weft.special": "special_"}  # of the names, as in PyTorch
OWN = frozenset("as_subclass is_tensor register_hook register_post_accumulate_grad_hook".split())


def offer(namespace: Any, names: Iterable[str]) -> None:
    """Let the public functions of a module or class be overridden."""
    _offered.append((namespace, names))
    if _armed:
        ask_in(namespace, names)


def offer_when_armed(offers: Offers) -> Offers:
    """Offer what a function returns when functions begin to ask: to find it takes too long for ``import weft``."""
    _offers.append(offers)
    return offers


def arm() -> None:
    """From now on public functions ask for overrides."""
    global _armed
    if _armed:
        return
    found = [each for offers in _offers for each in offers()]
    _armed = True
    _silent.add(sys.modules["weft"].Tensor)
    for namespace, names in found:  # first: a function bears its name there
        offer(namespace, names)
    for namespace, names in _offered:
        ask_in(namespace, names)


override_listeners.append(arm)


def found_later(namespace: Any, name: str, function: Any) -> Any:
    """What a namespace shows of a function that was only now found."""
    if not _armed or type(function) is not FunctionType:
        return function
    if not any(each is namespace and name in names for each, names in _offered):
        return function
    return asking(function, name, namespace.__name__)


def ask_in(namespace: Any, names: Iterable[str]) -> None:
    for name in names:
        function = vars(namespace).get(name)
        if type(function) is FunctionType:
            asking(function, name, namespace.__name__)


def asked_with(form: Callable[..., tuple[Any, ...]]) -> Callable[[R], R]:
    """Decorator: overrides see a call of the function with the positional arguments that ``form`` makes of its own."""

    def declare(function: R) -> R:
        _forms[function] = form
        return function

    return declare


def asking(function: Any, name: str, home: str = "weft") -> Any:
    """Let a function ask modes and subclasses first, under the name by which it was found first.

    It stays the object that it is, since programs hold functions, and compare them with what they are asked about: its
    code is replaced by a call of what asks, and the code that it had belongs to another function.

    ``home`` is the namespace that shows it, where pickle finds it again.
    """
    if function in _asking:
        return function
    inner = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    inner.__kwdefaults__, inner.__annotations__ = function.__kwdefaults__, function.__annotations__
    inner.__qualname__ = function.__qualname__

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not local.modes and is_silent(args) and (not kwargs or is_silent(kwargs.values())):
            return inner(*args, **kwargs)
        types = overriding((*args, *kwargs.values()))
        if not types and not local.modes:
            note_silent((*args, *kwargs.values()))
            if classes and dispatching((*args, *kwargs.values())):
                with asked_about():
                    return inner(*args, **kwargs)
            return inner(*args, **kwargs)
        form = _forms.get(function)
        return call_override(function, types, args if form is None else form(*args), kwargs)

    _asking[function] = inner
    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = inner  # whose signature is shown
    function.__qualname__ = name
    function.__name__ = f"{PREFIXES[home]}{name}" if home in PREFIXES else name
    if home in sys.modules:
        function.__module__ = home
    function.__code__ = code_of(ask, len(function.__closure__ or ()))
    return function


ASK = 0.123456789  # stands in code for the function to call


@cache
def template(count: int) -> CodeType:
    """The code of a function that calls `ASK`, whose closure has so many variables: that cannot be changed."""
    names = ", ".join(f"v{number}" for number in range(count))
    outer = f"def outer({names}):\n def dispatched(*args, **kwargs):\n  ask = {ASK}\n  return ask(args, kwargs)\n"
    found: dict[str, Any] = {}
    exec(f"{outer}  return ({names})\n return dispatched", found)
    code: CodeType = found["outer"](*range(count)).__code__
    return code


def code_of(ask: Callable[..., Any], count: int) -> CodeType:
    code = template(count)
    return code.replace(co_consts=tuple(ask if each == ASK else each for each in code.co_consts))  # type: ignore[arg-type]


def awakened(*args: Any) -> bool:
    """Whether a call that failed is to be made again, since only from now on functions ask for overrides.

    A tensor of such a class, or a mode, is noticed when it is made. An object of any other class is when a function
    does not know what to do with it.
    """
    if _armed or not overriding(args):
        return False
    arm()
    return True


def overridable(function: Any) -> Any:
    """A function that is no op, and notices a class that overrides it when it does not know one of its objects."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError):
            if not awakened(*args, *kwargs.values()):
                raise
        return called(*args, **kwargs)

    return called


def public(declaration: Any) -> Any:
    """What users know an op as."""
    named = vars(sys.modules["weft"]).get(declaration.short, declaration.function)
    return declaration if named is None else asking(named, declaration.short)


def flatten(args: Any, levels: int = 8) -> list[Any]:
    """The tensors among arguments, also inside lists and tuples; not further in, where a list may contain itself."""
    found: list[Any] = []
    for arg in args:
        if isinstance(arg, TensorBase):
            found.append(arg)
        elif levels and isinstance(arg, (list, tuple)):
            found.extend(flatten(arg, levels - 1))
    return found


# Classes of most arguments, which override nothing, told apart at once; tensors themselves when functions begin to ask.
_silent: set[type] = {bool, float, int, str, type(None), slice, type(...), dtype, device}


def is_silent(args: Iterable[Any]) -> bool:
    """Whether all arguments are of classes that are known to override nothing: sooner told than found out."""
    for arg in args:
        kind = type(arg)
        if kind in _silent:
            continue
        if kind is not tuple and kind is not list:
            return False
        for each in arg:
            if type(each) not in _silent:
                return False
    return True


def note_silent(args: Iterable[Any]) -> None:
    """Remember the classes of tensors that were found to override nothing, such as parameters."""
    for arg in args:
        kind = type(arg)
        if isinstance(arg, TensorBase) and kind._is_plain and not kind._dispatches:  # type: ignore[attr-defined]
            _silent.add(kind)


def overriding(args: Iterable[Any]) -> list[Any]:
    """The types among arguments (and in lists of them) that override ``__torch_function__``.

    Subclasses come before the classes that they derive from, otherwise from left to right.
    """
    found: list[Any] = []
    for arg in args:
        for each in arg if type(arg) in (list, tuple) else (arg,):
            kind = type(each)
            if kind in _silent or kind in found or not hasattr(kind, "__torch_function__"):
                continue
            if isinstance(each, TensorBase):
                if each._key.has_torch_function and not local.plain_only and not kind._is_plain:  # type: ignore[attr-defined]
                    found.append(kind)
            elif not is_pytorchs(kind):
                found.append(kind)
    if len(found) > 1:
        found.sort(key=lambda kind: -len(kind.__mro__))
    return found


def pytorchs_tensor() -> Any:
    """The Tensor of PyTorch itself, if the program has imported that too, and its name does not stand for ours."""
    found = getattr(sys.modules.get("torch"), "Tensor", None)
    return found if isinstance(found, type) and not issubclass(found, TensorBase) else None


def is_pytorchs(kind: type) -> bool:
    """Whether a class is one of PyTorch's tensors: what it does with a function is to call it, which asks it again."""
    tensor = pytorchs_tensor()
    return tensor is not None and issubclass(kind, tensor)


def is_pytorchs_function(function: Any) -> bool:
    """Whether PyTorch itself asks, about a function of its own: to call it would be to be asked again."""
    if pytorchs_tensor() is None:
        return False
    home = getattr(function, "__objclass__", None) or getattr(function, "__self__", None)
    home = getattr(home, "__objclass__", home)  # of a property's __get__
    module = getattr(function, "__module__", None) or getattr(home, "__module__", None) or type(home).__module__
    return str(module).partition(".")[0] == "torch"


class Unimplemented(TypeError):
    """No override took a call. Of an operator Python then asks the other operand, and says itself what is wrong."""


def call_override(function: Any, types: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the newest mode, or else the first type that wants to, makes of a call.

    Raises
    ------
    TypeError
        If none does.
    """
    modes = local.modes
    asked: list[Any] = []
    if modes:
        local.modes = modes[:-1]  # what the mode calls goes to those below it
        try:
            result = modes[-1].__torch_function__(function, tuple(types), args, kwargs)
        finally:
            local.modes = modes
        if result is not NotImplemented:
            return result
        asked.append(type(modes[-1]))
    for each in types:
        result = each.__torch_function__(function, tuple(types), args, kwargs)
        if result is not NotImplemented:
            return result
        asked.append(each)
    name = getattr(function, "__name__", str(function))
    raise Unimplemented(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"[{', '.join(each.__name__ for each in asked)}]"
    )


def default_torch_function(cls: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run the function as if its tensors were plain, and give its results the subclass."""
    if not all(issubclass(cls, each) for each in types) or is_pytorchs_function(function):
        return NotImplemented
    result = unmasked(flatten((*args, *(kwargs or {}).values())), function, args, kwargs or {})
    return converted(result, cls)


def unmasked(tensors: list[Any], function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function while these tensors, whatever their class, count as plain ones."""
    if classes and dispatching(tensors):
        return without_torch_function(function, args, kwargs)
    hidden = [(each, each._key) for each in tensors if each._key.has_torch_function]
    for tensor, key in hidden:
        tensor._key = key_of(key.dtype, key.device, bits=key.bits)
    try:
        return function(*args, **kwargs)
    finally:
        for tensor, _ in hidden:
            tensor._key = key_of(tensor._key.dtype, tensor._key.device, plain=False, bits=tensor._key.bits)


def without_torch_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function while no subclass is asked by ``__torch_function__``."""
    before = local.plain_only
    local.plain_only = True
    try:
        return function(*args, **kwargs)
    finally:
        local.plain_only = before


def converted(value: Any, cls: Any) -> Any:
    """A result, its tensors as tensors of a subclass."""
    if isinstance(value, TensorBase):
        if isinstance(value, cls):
            return value
        is_leaf = value._requires_grad and value._node is None
        return as_subclass(registry["core::alias"].op(value) if is_leaf else value, cls)
    if isinstance(value, (tuple, list)):
        made = [converted(each, cls) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


def push(mode: Any) -> None:
    """Let a mode see this thread's calls."""
    arm()
    intercept(1)
    local.modes = (*local.modes, mode)


def pop() -> Any:
    """Take the newest mode off again."""
    mode = local.modes[-1]
    local.modes = local.modes[:-1]
    intercept(-1)
    return mode
