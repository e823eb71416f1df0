"""Guards: what a recording took for granted, compared before each replay.

From a function all that it can reach is followed: its closure, the globals and attributes that its code names, modules
with their attributes, parameters and buffers, and containers. Of the program's code only what has run is looked at: the
rest does not run as long as all else is the same. What is held there is compared by identity: a number, tensor or
module that was replaced is another object. An object that cannot be looked into is a reason not to capture.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import dis
import gc
import operator
import types
from collections import OrderedDict
from collections.abc import Sequence, Set
from itertools import chain
from typing import Any

import numpy

from weft._devices.devices import device as device_class
from weft._dtypes.dtypes import dtype as dtype_class
from weft._dtypes.dtypes import get_default_dtype
from weft._engine.dispatch import Op
from weft._engine.tensor import TensorBase, local, state
from weft._interception.interceptors import Operation
from weft.compiler._execution import STATEFUL, is_of_library
from weft.ops._declare import Declaration
from weft.random import Generator

__all__ = ["CONSTANTS", "Guards", "Refused", "mode_now"]

# Attributes of what is run as it is (see `live`): a function that reads them computes with them.
SETTINGS = frozenset("param_groups get_last_lr get_lr last_epoch".split())
CONTAINERS = (list, tuple, dict, set, frozenset)
TABLES = (dict, OrderedDict, set)
TABLES_OF_MODULES = frozenset(("_parameters", "_buffers", "_modules"))
CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type(...), range, dtype_class, device_class)
# Tables of modules that are read where there are hooks, and by `state_dict` and `load_state_dict`.
HOW_HOOKS_ARE_CALLED = frozenset(
    "_forward_hooks_with_kwargs _forward_hooks_always_called _forward_pre_hooks_with_kwargs".split()
)
FOR_STATE_DICTS = frozenset(
    "_non_persistent_buffers_set _state_dict_hooks _state_dict_pre_hooks "
    "_load_state_dict_pre_hooks _load_state_dict_post_hooks".split()
)
KNOWN = (
    *(*CONSTANTS, types.MethodDescriptorType, Generator, numpy.generic, numpy.dtype),
    *(Declaration, Operation, Op),
)
written = operator.attrgetter("__code__", "__defaults__", "__kwdefaults__")


class Refused(Exception):
    """A function that cannot be captured; the message says why, and where."""


def mode_now() -> tuple[Any, ...]:
    """The settings under which a thread computes."""
    precision = local.precision
    return (
        local.grad_enabled,
        local.inference,
        None if precision is None else (*precision.dtypes.items(), precision.cache is None),
        get_default_dtype(),
        len(local.modes),
        len(local.levels),
        local.devices,
        local.saved_hooks,
        state.anomaly,
    )


class Guards:
    """All that a function reaches, and what was there.

    Parameters
    ----------
    function : callable or object
    codes : dict
        The program's code that runs in it, with its globals: see `Execution`.
    objects : sequence
        Those among its arguments.

    Attributes
    ----------
    tensors : list of Tensor
        Those that it reaches: a recording may take no others from outside.

    Raises
    ------
    Refused
        If it reaches something that cannot be compared.
    """

    def __init__(self, function: Any, codes: dict[Any, dict[str, Any]], objects: Sequence[Any] = ()) -> None:
        self.root = function
        self.codes = codes
        self.dicts: list[dict[Any, Any]] = []
        self.lists: list[Any] = []
        self.cells: list[Any] = []
        self.functions: list[Any] = []
        self.named: list[tuple[dict[str, Any], str]] = []  # globals
        self.contexts: list[Any] = []
        self.tensors: list[Any] = []
        self.objects: list[Any] = []  # with attributes
        self.keyed: list[dict[Any, Any]] = []  # of the program's own, which may look for keys
        self.in_program = True
        self.bases: set[type] = set()
        self.names = {name for code in codes for name in code.co_names}
        self.seen: dict[int, Any] = {}
        try:
            self.follow(function, getattr(function, "__name__", type(function).__name__))
            for each in objects:
                self.follow(each, "an argument")
            for code, space in codes.items():
                self.follow_names(code, space)
            self.snapshot()
        except Refused:
            raise
        except Exception as error:  # of an object that looks otherwise than it is, as proxies do
            raise Refused(f"it reaches an object that cannot be looked into: {error!r}") from error

    def joined(self, others: list[Guards]) -> Guards | None:
        """These and others as one, which is quicker to ask; None where something has changed."""
        every = [self, *others]
        if any(each.changed() for each in every):
            return None
        made = copy.copy(self)
        for name in ("dicts", "empty", "lists", "keyed", "objects", "cells", "functions", "contexts", "tensors"):
            found = {id(value): value for each in every for value in getattr(each, name)}
            setattr(made, name, list(found.values()))
        made.dicts += [each for each in made.empty if isinstance(each, dict)]
        made.lists += [each for each in made.empty if not isinstance(each, dict)]
        made.named = [pair for each in every for pair in each.named]
        made.snapshot()
        return made

    def snapshot(self) -> None:
        """Remember what is there now."""
        self.empty = [each for each in (*self.dicts, *self.lists) if not each]  # most are: those of modules' hooks
        self.dicts = [each for each in self.dicts if each]
        self.lists = [each for each in self.lists if each]
        # The collector's list is the quickest to be had of what dictionaries hold, and to compare it with another one
        # is quick where each is the same object. What may be equal to another object is compared by identity besides.
        self.values = gc.get_referents(*self.dicts)
        chosen = [place for place, each in enumerate(self.values) if not is_itself(each)]
        self.choose = several(chosen)
        self.chosen = self.choose(self.values)
        self.keys = list(map(tuple, self.keyed))
        self.classes = list(map(type, self.objects))
        self.attributes = [each.__dict__ for each in self.objects]
        self.items = list(chain.from_iterable(self.lists))
        self.lengths = list(map(len, self.lists))
        self.contents = [cell.cell_contents for cell in self.cells]
        self.current = [each.get(None) for each in self.contexts]
        self.globals = [place.get(name) for place, name in self.named]
        self.written = list(map(written, self.functions))
        self.arrays = [each._array for each in self.tensors]
        self.required = [each._requires_grad for each in self.tensors]
        self.extras = [each._extra for each in self.tensors]

    def changed(self) -> str:
        """What is no longer as it was, in words; empty where all is."""
        same = operator.is_
        if any(self.empty):
            return f"how many there are of {', '.join(map(str, next(filter(None, self.empty))))}"
        if not self.has_values():
            return self.changed_attribute()
        if list(map(type, self.objects)) != self.classes:
            return "the class of an object"
        if not all(map(same, [each.__dict__ for each in self.objects], self.attributes)):
            return "the attributes of an object"
        if self.lists and (
            list(map(len, self.lists)) != self.lengths
            or not all(map(same, chain.from_iterable(self.lists), self.items))
        ):
            return "a list that it uses"
        try:
            contents = [cell.cell_contents for cell in self.cells]
        except ValueError:  # one was deleted
            return "a variable of the enclosing function"
        if not all(map(same, contents, self.contents)):
            return "a variable of the enclosing function"
        if self.contexts and not all(map(same, [each.get(None) for each in self.contexts], self.current)):
            return "a context variable"
        if self.named and not all(map(same, [place.get(name) for place, name in self.named], self.globals)):
            return self.changed_global()
        if self.functions and not all(
            map(same, chain.from_iterable(map(written, self.functions)), chain.from_iterable(self.written))
        ):
            return "the defaults or the code of a function"
        tensors = self.tensors
        if not all(map(same, [each._array for each in tensors], self.arrays)):
            return "the memory of a tensor"
        if [each._extra for each in tensors] != self.extras:
            return "the hooks of a tensor"
        return "" if [each._requires_grad for each in tensors] == self.required else "requires_grad of a tensor"

    def has_values(self) -> bool:
        """Whether the dictionaries hold what they held."""
        values = gc.get_referents(*self.dicts)
        if len(values) != len(self.values) or not all(map(operator.is_, self.choose(values), self.chosen)):
            return False
        try:
            return values == self.values and list(map(tuple, self.keyed)) == self.keys
        except Exception:  # of an object that is there instead, and cannot be compared
            return False

    def changed_global(self) -> str:
        for (place, name), before in zip(self.named, self.globals):
            if place.get(name) is not before:
                return f"the global {name}"
        return "a global"

    def changed_attribute(self) -> str:
        before = {id(each) for each in self.values}
        changed = (name for each in self.dicts for name, value in each.items() if id(value) not in before)
        return f"attribute {next(changed, 'that it uses, or how many there are')}"

    # What is reached

    def follow(self, value: Any, path: str) -> None:
        """Remember an object, and what it holds."""
        if isinstance(value, types.BuiltinFunctionType):
            value = value.__self__  # of a function of C the module, of a method the object
        if id(value) in self.seen or isinstance(value, KNOWN) or value is NotImplemented:
            return
        self.seen[id(value)] = value
        if isinstance(value, type):
            self.follow_class(value, path)
            return
        if hasattr(type(value), "_captured_function"):  # a captured function inside another one
            self.follow(value._captured_function, path)
            return
        if getattr(type(value), "_runs_live", False) and value is not self.root:
            return  # what it does is seen when it does it, with guards of its own
        if isinstance(value, TensorBase):
            self.follow_tensor(value)
        elif isinstance(value, types.FunctionType):
            self.follow_function(value, path)
        elif isinstance(value, types.MethodType):
            self.follow(value.__func__, path)
            self.follow(value.__self__, path)
        elif isinstance(value, CONTAINERS):
            self.follow_container(value, path)
        elif isinstance(value, contextvars.ContextVar):
            self.contexts.append(value)
            self.follow(value.get(None), path)
        elif isinstance(value, STATEFUL):
            return  # a call of its methods is seen when it happens
        elif isinstance(value, types.ModuleType) or is_of_library(type(value).__module__):
            self.follow_library_object(value, path)
        elif hasattr(value, "__dict__") and not hasattr(value, "__next__"):
            self.follow_object(value, path)
        else:
            raise Refused(f"it uses {path}, a {type(value).__name__}, which cannot be compared before a replay")

    def follow_tensor(self, tensor: Any) -> None:
        self.tensors.append(tensor)
        if tensor._extra is not None and tensor._extra.hooks is not None:
            self.follow_object(tensor._extra.hooks, "a hook of a tensor")

    def follow_container(self, value: Any, path: str) -> None:
        if isinstance(value, dict):
            self.dicts.append(value)
            if self.in_program:
                self.keyed.append(value)
        else:
            self.lists.append(value)
        for place, each in value.items() if isinstance(value, dict) else enumerate(value):
            key = repr(place) if isinstance(place, (str, int)) else type(place).__name__  # a tensor's would take long
            self.follow(each, f"{path}[{key}]")

    def follow_library_object(self, value: Any, path: str) -> None:
        """What weft, NumPy or Python made: a module's attributes count, a library's own variables do not."""
        if isinstance(value, types.ModuleType):  # of the program's own what code names counts, see `follow_names`
            return
        if isinstance(value, numpy.ndarray):
            raise Refused(f"it uses {path}, an array of NumPy's, whose values nobody compares")
        if hasattr(value, "__next__"):
            raise Refused(f"it uses {path}, an iterator")
        if isinstance(value, contextlib._GeneratorContextManager):  # a decorator: calls make others like it
            self.follow([value.func, value.args, value.kwds], path)
        elif hasattr(value, "__dict__"):
            self.follow_object(value, path)
        elif not callable(value):
            raise Refused(f"it uses {path}, a {type(value).__name__}, which cannot be compared before a replay")

    def follow_object(self, value: Any, path: str) -> None:
        """An object with attributes, and the methods of a class of the program's own."""
        held = vars(value)
        self.dicts.append(held)
        self.objects.append(value)
        unread, outer = self.unread(held), self.in_program
        ours = not is_of_library(type(value).__module__)
        for name, each in held.items():
            if name not in unread:
                self.in_program = ours and name not in TABLES_OF_MODULES
                self.follow(each, f"{path}.{name}")
        self.in_program = outer
        for table in getattr(type(value), "_hooks_of_all_modules", ()):
            self.follow(table, "a hook of all modules")
        self.follow(type(value), path)

    def follow_class(self, value: type, path: str) -> None:
        """What classes of the program's own hold: methods, and what its code may read; of a library's, how they run."""
        for base in value.__mro__:
            if "forward" in vars(base) and base not in self.bases and is_of_library(base.__module__):
                self.bases.add(base)
                self.named.append((vars(base), "forward"))  # type: ignore[arg-type]
            if not is_of_library(base.__module__) and base not in self.bases:
                self.bases.add(base)
                (table,) = (each for each in gc.get_referents(vars(base)) if type(each) is dict)
                self.dicts.append(table)
                for name, each in table.items():
                    inner = getattr(each, "__func__", getattr(each, "fget", each))
                    if isinstance(inner, types.FunctionType) or (name in self.names and not is_descriptor(each)):
                        self.follow(inner, f"{path}.{name}")

    def unread(self, held: dict[str, Any]) -> Set[str]:
        """Of a module's attributes the tables that nobody reads: what they are is compared, not what is in them."""
        if "_forward_hooks" not in held:
            return frozenset()
        hooked = held["_forward_hooks"] or held["_forward_pre_hooks"]
        saved = any({"state_dict", "load_state_dict"}.intersection(code.co_names) for code in self.codes)
        return (frozenset() if hooked else HOW_HOOKS_ARE_CALLED) | (frozenset() if saved else FOR_STATE_DICTS)

    def follow_function(self, function: Any, path: str) -> None:
        library = is_of_library(function.__globals__.get("__name__", ""))  # decorators give away their `__module__`
        if not library and function.__code__ not in self.codes:
            return
        self.follow_cells(function, path, library)
        if not library:
            self.functions.append(function)
            self.dicts.append(function.__dict__)
            for name, each in function.__dict__.items():
                if name in self.names:
                    self.follow(each, f"{path}.{name}")
            for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
                self.follow(default, path)

    def follow_cells(self, function: Any, path: str, library: bool) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                content = cell.cell_contents
            except ValueError:
                raise Refused(f"{path}: its variable {name} has no value yet") from None
            self.cells.append(cell)
            if not library or is_given(content):
                self.follow(content, name)

    def follow_names(self, code: Any, space: dict[str, Any]) -> None:
        """The globals that code names, and of the program's own modules what it may take from them."""
        loaded = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        for name in code.co_names:
            if name in SETTINGS:
                where = f"{code.co_filename.rpartition('/')[2]}, {code.co_name}"
                raise Refused(f"it reads {name}, which no guard compares ({where})")
            if name not in loaded or name not in space:
                continue
            value = space[name]
            self.named.append((space, name))
            self.follow(value, name)
            if isinstance(value, types.ModuleType):
                for inner in code.co_names:
                    if inner in vars(value):
                        self.named.append((vars(value), inner))
                        if not is_of_library(value.__name__):
                            self.follow(vars(value)[inner], f"{name}.{inner}")


def is_descriptor(value: Any) -> bool:
    """Whether an attribute of a class gives something else when it is read."""
    return hasattr(type(value), "__get__")


def is_itself(value: Any) -> bool:
    """Whether what is equal to a value is the same object, or as good.

    A container that is empty is: as long as another one is equal to it, that is empty too.
    """
    kind = type(value)
    same: Any = object.__eq__
    return kind.__eq__ is same or kind in (str, type(None)) or (kind in TABLES and not value)


def several(places: list[int]) -> Any:
    """A function that takes the items at some places of a list."""
    if len(places) < 2:
        return lambda values: [values[place] for place in places]
    return operator.itemgetter(*places)


def is_given(value: Any) -> bool:
    """Whether what a function of a library's holds, such as the wrapper of a decorator, may come from the program."""
    kind = type(value)
    if isinstance(value, (TensorBase, types.FunctionType, types.MethodType)) or hasattr(kind, "named_parameters"):
        return True
    return not is_of_library(kind.__module__)
