"""Modules and parameters in lists and dictionaries."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, ClassVar, TypeVar, cast, overload

from weft import Tensor
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

SequentialSelf = TypeVar("SequentialSelf", bound="Sequential")
ModuleListSelf = TypeVar("ModuleListSelf", bound="ModuleList")
ParameterListSelf = TypeVar("ParameterListSelf", bound="ParameterList")


def _position(name: str, index: Any, length: int) -> int:
    """Return ``index`` counted from the front, or raise the error for one that is out of range."""
    position = operator.index(index)
    if not -length <= position < length:
        raise IndexError(f"{name}: index {position} is out of range for {length} entries")
    return position % length


class _ModuleSequence(Module):
    """Modules under the names "0", "1", ..., or, in a Sequential, under names of their own."""

    _modules: dict[str, Module]  # type: ignore[assignment]

    _refusal: ClassVar[type[Exception]] = TypeError  # of what is no module, in `insert`

    def _name_at(self, index: Any) -> str:
        return next(islice(self._modules, _position(self._get_name(), index, len(self)), None))

    def _renumber(self, modules: Iterable[Module]) -> None:
        self.__dict__["_modules"] = {str(position): module for position, module in enumerate(modules)}

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def insert(self, index: int, module: Module) -> Any:
        """Put ``module`` before position ``index``; later ones are renumbered.

        Raises
        ------
        TypeError, AssertionError
            If ``module`` is not a Module; the second of a Sequential.
        IndexError
            If ``index`` is beyond the end, or before the beginning.
        """
        if not isinstance(module, Module):
            raise self._refusal(f"insert: module should be of type Module, got {type(module).__name__}")
        length = len(self)
        if not -length <= index <= length:
            raise IndexError(f"insert: index {index} is out of range for {length} entries")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key: Any) -> Module:
        """Take away the module at position ``key``, and return it."""
        module = cast(Module, self[key])  # type: ignore[index]
        del self[key]
        return module


class Sequential(_ModuleSequence):
    """Modules in a row: each takes what the one before returned.

    Parameters
    ----------
    *args : Module, or one dict of str to Module
        A dict gives the names; without it they are "0", "1", ...

    Shapes
    ------
    input : what the first module takes
    output : what the last one returns

    Examples
    --------
    >>> model = weft.nn.Sequential(weft.nn.Flatten(), weft.nn.Linear(4, 3), weft.nn.ReLU())
    >>> model(weft.zeros(5, 2, 2)).shape
    weft.Size([5, 3])
    >>> model[1:]
    Sequential(
      (1): Linear(in_features=4, out_features=3, bias=True)
      (2): ReLU()
    )
    """

    _refusal = AssertionError

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for position, module in enumerate(args):
                self.add_module(str(position), module)

    def forward(self, input: Any) -> Any:
        """Pass ``input`` through all modules in order."""
        for module in self._modules.values():
            input = module(input)
        return input

    @overload
    def __getitem__(self: SequentialSelf, index: slice) -> SequentialSelf: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    def __getitem__(self, index: slice | int) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __delitem__(self, index: slice | int) -> None:
        if isinstance(index, slice):
            for name in list(self._modules)[index]:
                delattr(self, name)
        else:
            delattr(self, self._name_at(index))
        self._renumber(self)

    def __add__(self, other: Sequential) -> Sequential:
        _require_sequential("+", other)
        return Sequential(*self, *other)

    def __iadd__(self: SequentialSelf, other: Sequential) -> SequentialSelf:
        _require_sequential("+=", other)
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*(module for _ in range(_repetitions("*", other)) for module in self))

    __rmul__ = __mul__

    def __imul__(self: SequentialSelf, other: int) -> SequentialSelf:
        modules = list(self)
        for _ in range(_repetitions("*=", other) - 1):
            self.extend(modules)
        return self

    def append(self: SequentialSelf, module: Module) -> SequentialSelf:
        """Add ``module`` at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self: SequentialSelf, sequential: Iterable[Module]) -> SequentialSelf:
        """Add all modules of ``sequential`` at the end."""
        for module in list(sequential):
            self.append(module)
        return self


def _require_sequential(sign: str, other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"Sequential: `{sign}` supports only objects of Sequential class, got {type(other)}; use append"
        )


def _repetitions(sign: str, count: Any) -> int:
    if not isinstance(count, int):
        raise TypeError(f"Sequential: unsupported operand type(s) for {sign}: Sequential and {type(count)}")
    if count <= 0:
        raise ValueError(f"Sequential: non-positive multiplication factor {count} for {sign}")
    return count


class ModuleList(_ModuleSequence):
    """A list of modules. It has no `forward`: loop over it in yours.

    Parameters
    ----------
    modules : iterable of Module, optional

    Examples
    --------
    >>> layers = weft.nn.ModuleList(weft.nn.Linear(4, 4) for _ in range(3))
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=4, out_features=4, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    @overload
    def __getitem__(self: ModuleListSelf, index: slice) -> ModuleListSelf: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    def __getitem__(self, index: slice | int) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._name_at(index)]

    def __delitem__(self, index: slice | int) -> None:
        modules = list(self)
        del modules[index]
        self._renumber(modules)

    def __iadd__(self: ModuleListSelf, modules: Iterable[Module]) -> ModuleListSelf:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def append(self: ModuleListSelf, module: Module) -> ModuleListSelf:
        """Add ``module`` at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self: ModuleListSelf, modules: Iterable[Module]) -> ModuleListSelf:
        """Add all of ``modules`` at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleList.extend: should be called with an iterable, but got {type(modules).__name__}; use append"
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Show neighbours that look alike as one, with their count."""
        runs: list[tuple[int, int, str]] = []  # first position, last position, text
        for position, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], position, text)
            else:
                runs.append((position, position, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = []
        for first, last, text in runs:
            label = f"({first})" if first == last else f"({first}-{last})"
            count = "" if first == last else f"{last - first + 1} x "
            lines.append(f"  {label}: {count}" + text.replace("\n", "\n  "))
        return "\n".join([f"{self._get_name()}(", *lines, ")"])


class ModuleDict(Module):
    """A dictionary of modules, in the order of insertion. It has no `forward`.

    Parameters
    ----------
    modules : mapping of str to Module, or iterable of pairs, optional

    Examples
    --------
    >>> heads = weft.nn.ModuleDict({"digit": weft.nn.Linear(8, 10), "color": weft.nn.Linear(8, 3)})
    >>> heads["color"](weft.zeros(8)).shape, [name for name, _ in heads.named_parameters()]
    (weft.Size([3]), ['digit.weight', 'digit.bias', 'color.weight', 'color.bias'])
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules away."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take away the module under ``key``, and return it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Return the pairs of names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add all of ``modules``, a mapping or an iterable of pairs, replacing those of the same name."""
        for key, module in _pairs("ModuleDict.update", modules):
            self[key] = module


def _pairs(caller: str, entries: Any) -> list[tuple[str, Any]]:
    """Return the pairs of a mapping, of a container with `items`, or of an iterable of pairs."""
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{caller}: should be called with an iterable of key/value pairs, but got {type(entries).__name__}"
        )
    if isinstance(entries, (Mapping, ModuleDict, ParameterDict)):
        return list(entries.items())
    pairs = []
    for position, pair in enumerate(entries):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{caller}: element {position} should be Iterable; is {type(pair).__name__}")
        pair = list(pair)
        if len(pair) != 2:
            raise ValueError(f"{caller}: element {position} has length {len(pair)}; 2 is required")
        pairs.append((pair[0], pair[1]))
    return pairs


def _as_parameter(value: Any) -> Any:
    """Return a plain tensor as a Parameter, anything else as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _described(key: Any, value: Any, type_name: Callable[[Tensor], Any]) -> str:
    """Return the line of `repr` for one entry of a ParameterList or ParameterDict."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.shape))
    place = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    return f"  ({key}): {kind} containing: [{type_name(value)} of size {size}{place}]"


class ParameterList(Module):
    """A list of parameters. Plain tensors become parameters; other values are kept, but are not parameters.

    Parameters
    ----------
    values : iterable, optional

    Examples
    --------
    >>> scales = weft.nn.ParameterList([weft.ones(2), weft.ones(3)])
    >>> [(name, parameter.shape) for name, parameter in scales.named_parameters()]
    [('0', weft.Size([2])), ('1', weft.Size([3]))]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self: ParameterListSelf, index: slice) -> ParameterListSelf: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            values = type(self)()
            for position in range(*index.indices(len(self))):
                values.append(self[position])
            return values
        return getattr(self, str(_position(self._get_name(), index, len(self))))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(_position(self._get_name(), index, len(self))), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[position] for position in range(len(self)))

    def __iadd__(self: ParameterListSelf, values: Iterable[Any]) -> ParameterListSelf:
        return self.extend(values)

    def append(self: ParameterListSelf, value: Any) -> ParameterListSelf:
        """Add ``value`` at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self: ParameterListSelf, values: Iterable[Any]) -> ParameterListSelf:
        """Add all of ``values`` at the end."""
        if not isinstance(values, Iterable) or isinstance(values, (Tensor, str)):
            raise TypeError(
                f"ParameterList.extend: should be called with an iterable, but got {type(values).__name__}; use append"
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Return a line for each entry."""
        return "\n".join(
            _described(position, value, lambda tensor: tensor.dtype) for position, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: it only holds parameters."""
        raise RuntimeError("ParameterList: should not be called; it only holds parameters")


class ParameterDict(Module):
    """A dictionary of parameters. Plain tensors become parameters; other values are kept, but are not parameters.

    Parameters
    ----------
    parameters : mapping of str to Any, or iterable of pairs, optional

    Examples
    --------
    >>> scales = weft.nn.ParameterDict({"left": weft.ones(2), "right": weft.ones(3)})
    >>> scales["left"].requires_grad, list(scales)
    (True, ['left', 'right'])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"ParameterDict: index given as key: {key!r} of type {type(key).__name__}; only str keys are supported"
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._key_to_attr(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = ParameterDict(other)
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Return another ParameterDict with the same parameters."""
        return ParameterDict({key: self[key] for key in self._keys})

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value under ``key``, after putting ``default`` there if it is new."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all entries away."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take away the entry under ``key``, and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take away the newest entry, and return its key and value."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value under ``key``, or ``default``."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new ParameterDict with ``default`` under each of ``keys``."""
        return ParameterDict(dict.fromkeys(keys, default))

    def keys(self) -> Any:
        """Return the keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the pairs of keys and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add all of ``parameters``, a mapping or an iterable of pairs, replacing those under the same key."""
        for key, value in _pairs("ParameterDict.update", parameters):
            self[key] = value

    def extra_repr(self) -> str:
        """Return a line for each entry."""
        return "\n".join(_described(key, value, lambda tensor: tensor.type()) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: it only holds parameters."""
        raise RuntimeError("ParameterDict: should not be called; it only holds parameters")


class Container(Module):
    """A module of the named modules that it is made with: the oldest container.

    Parameters
    ----------
    **kwargs : Module

    Examples
    --------
    >>> weft.nn.Container(first=weft.nn.ReLU()).first
    ReLU()
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)
