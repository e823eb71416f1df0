"""A pickle interpreter that can build containers and numbers, and what a table names: nothing else.

Python's own unpickler, even with `find_class` restricted, sets attributes on whatever it found and
takes memory for whatever size a file claims. Here every opcode that could do harm checks first, so
that the worst a hostile file does is to be refused.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from weft.serialization._safe_globals import full_name

STOP = pickle.STOP[0]
KEY_PARTS = 1000  # values inside one dict key or set item; hashing nested tuples is recursive in C
ALIKE = 1000  # different keys with one hash: each is compared with all before it
PLAIN_INTEGERS = 1 << 60  # below, the hash of an integer is the integer
NESTED = 1000  # defaultdicts that are values of a defaultdict: Python frees these recursively, in C
BUDGET = 1 << 20  # elements that a file may copy from one container to another, beyond
BUDGET_OF_A_BYTE = 8  # so many for each byte of its pickle
SET_COSTS = 16  # an empty set takes four times the memory of an empty list
MAPPINGS = (dict, OrderedDict, Counter, defaultdict)
PLAIN_KEYS = (str, bytes, bool, float, type(None))  # hashes that nobody can predict, or few can share

# What building from damaged data may raise.
DAMAGE = (TypeError, ValueError, KeyError, AttributeError, OverflowError, ArithmeticError, RecursionError)

Builder = Callable[..., Any]


class Allowed:
    """What a file may name.

    Parameters
    ----------
    values : dict
        From ``module.name`` to the object that stands for it.
    builders : dict
        From such an object to the function that makes its instances, which checks its arguments.
    classes : frozenset
        Objects that the caller listed: called, and given their state, as pickle does.
    """

    def __init__(self, values: dict[str, Any], builders: dict[Any, Builder], classes: frozenset[Any]) -> None:
        self.values = values
        self.builders = builders
        self.classes = classes


class SafeUnpickler:
    """Runs one pickle.

    Parameters
    ----------
    data : bytes
    allowed : Allowed
    persistent_load : callable
        From a persistent id to the object.
    start : int
        Where in ``data`` the pickle begins; ``position`` is where it ended.
    """

    def __init__(
        self, data: bytes, allowed: Allowed, persistent_load: Callable[[Any], Any], source: str, start: int = 0
    ) -> None:
        self.position = start
        self._data = data
        self._allowed = allowed
        self._persistent_load = persistent_load
        self._source = source
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._budget = BUDGET + BUDGET_OF_A_BYTE * len(data)
        self._keys: set[Any] = set()  # other dict keys and set items than `PLAIN_KEYS`
        self._hashes: dict[int, int] = {}  # how many of them have one hash
        self._nested = 0

    def load(self) -> Any:
        """Build and return the pickled object.

        Raises
        ------
        pickle.UnpicklingError
            If the pickle is damaged, or asks for what is not allowed.
        """
        data, opcodes = self._data, OPCODES
        try:
            while True:
                code = data[self.position]
                self.position += 1
                if code == STOP:
                    return self._stack.pop()
                run = opcodes.get(code)
                if run is None:
                    raise self._refused(f"has opcode {bytes([code])!r}, which no checkpoint needs")
                run(self)
        except UnpicklingError:
            raise
        except IndexError as error:
            raise self._refused("ends early or is damaged") from error
        except (*DAMAGE, struct.error) as error:
            raise self._refused(f"cannot be rebuilt: {type(error).__name__}: {str(error)[:1000]}") from error

    def spend(self, count: int) -> None:
        """Count elements copied from one container to another: a short file could ask for it without end."""
        self._budget -= count
        if self._budget < 0:
            raise self._refused("copies containers over and over, beyond what its size explains")

    def _refused(self, what: str) -> UnpicklingError:
        return UnpicklingError(f"load: the pickle in {self._source} {what} (at byte {self.position})")

    # Reading ---------------------------------------------------------------------------------------------

    def _take(self, count: int) -> bytes:
        start = self.position
        if count < 0 or start + count > len(self._data):
            raise self._refused(f"claims {count} more bytes where {len(self._data) - start} are left")
        self.position = start + count
        return self._data[start : start + count]

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> str:
        end = self._data.find(b"\n", self.position)
        if end < 0:
            raise self._refused("ends within a line")
        line = self._data[self.position : end]
        self.position = end + 1
        return line.decode()

    # Opcodes ---------------------------------------------------------------------------------------------

    def _protocol(self) -> None:
        protocol = self._take(1)[0]
        if protocol > pickle.HIGHEST_PROTOCOL:
            raise self._refused(f"has protocol {protocol}; this Python knows up to {pickle.HIGHEST_PROTOCOL}")

    def _mark(self) -> None:
        self._marks.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._since_mark()

    def _text_int(self) -> None:
        line = self._line()
        self._push({"00": False, "01": True}[line] if line in ("00", "01") else int(line))

    def _long(self, form: str) -> None:
        self._push(int.from_bytes(self._take(self._number(form)), "little", signed=True))

    def _text(self, form: str) -> None:
        self._push(self._take(self._number(form)).decode("utf-8", "surrogatepass"))

    def _ascii(self, form: str) -> None:
        self._push(self._take(self._number(form)).decode("ascii"))

    def _bytes(self, form: str) -> None:
        self._push(self._take(self._number(form)))

    def _tuple(self, count: int) -> None:
        items = tuple(self._stack[-count:])
        if len(items) < count:
            raise IndexError
        self._stack[-count:] = [items]

    def _push_first(self, make: Callable[[list[Any]], Any]) -> None:
        self._push(make(self._since_mark()))

    def _append(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list and type(target) not in self._allowed.classes:
            raise self._refused(f"appends to a {type(target).__name__}")
        target.extend(items)

    def _set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) not in MAPPINGS and type(target) not in self._allowed.classes:
            raise self._refused(f"sets items of a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.check_key(key)
            if type(value) is defaultdict and type(target) is defaultdict:
                self._nested += 1
                if self._nested > NESTED:
                    raise self._refused(f"has more than {NESTED} defaultdicts within defaultdicts")
            target[key] = value

    def _set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._set_items([key, value])

    def _empty_set(self) -> None:
        self.spend(SET_COSTS)
        self._push(set())

    def _add_items(self) -> None:
        items = self._since_mark()
        target = self._stack[-1]
        if type(target) is not set:
            raise self._refused(f"adds items to a {type(target).__name__}")
        target.update(self.checked_keys(items))

    def _new_dict(self, items: list[Any]) -> None:
        self._push({})
        self._set_items(items)

    def _put(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def _get(self, index: int) -> None:
        if index not in self._memo:
            raise self._refused(f"refers to object {index}, which it has not defined")
        self._push(self._memo[index])

    def _global(self, module: str, name: str) -> None:
        self._push(self._find(module, name))

    def _stack_global(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        if type(name) is not str or type(module) is not str:
            raise self._refused("names a global by something that is no text")
        self._global(module, name)

    def _find(self, module: str, name: str) -> Any:
        for path in (full_name(module, name), f"{module}.{name}"):
            if path in self._allowed.values:
                return self._allowed.values[path]
        module, name = module[:200], name[:200]  # a message is no place for a megabyte
        if module.partition(".")[0] == "torch":
            raise UnpicklingError(
                f"load: weights-only load failed: {self._source} holds a {module}.{name}, which weft cannot build "
                "from a file; save tensors, state dicts and plain containers instead"
            )
        raise UnpicklingError(
            f"load: weights-only load failed: {self._source} names {module}.{name}, and weights_only=True builds only "
            f"tensors, containers, numbers and what you list. If you know what {name} does, list it: "
            f"weft.serialization.add_safe_globals([{name}]), or load within "
            f"`with weft.serialization.safe_globals([{name}]):`. weights_only=False loads everything, and lets the "
            "file run any code: give it only for a file whose source you trust."
        )

    def _reduce(self) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if type(arguments) is not tuple:
            raise self._refused("calls with arguments that are no tuple")
        self._push(self._call(function, arguments))

    def _call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        if not callable(function):  # asked before its hash, which of nested tuples is recursive in C
            raise self._refused(f"calls {described(function)}")
        builder = self._allowed.builders.get(function)
        if builder is not None:
            return builder(self, *arguments)
        if function in self._allowed.classes:
            return function(*arguments)
        raise self._refused(f"calls {described(function)}, which is not for calling")

    def _new_object(self, keywords: bool) -> None:
        named = self._stack.pop() if keywords else {}
        arguments, kind = self._stack.pop(), self._stack.pop()
        if not isinstance(kind, type) or kind not in self._allowed.classes:
            raise self._refused(f"makes an object of {described(kind)}, which is not listed as safe")
        self._push(kind.__new__(kind, *arguments, **named))

    def _build(self) -> None:
        state = self._stack.pop()
        target = self._stack[-1]
        kind = type(target)
        setter = self._allowed.builders.get((kind, "state"))
        if setter is not None:
            setter(self, target, state)
        elif kind in self._allowed.classes:
            _set_state(target, state)
        else:
            raise self._refused(f"gives state to a {kind.__name__}, which takes none")

    # Checks that builders use ----------------------------------------------------------------------------

    def check_key(self, key: Any) -> None:
        """Refuse a dict key or set item whose hash could take the interpreter down."""
        if type(key) in PLAIN_KEYS or (type(key) is int and -PLAIN_INTEGERS < key < PLAIN_INTEGERS):
            return
        waiting, seen = [key], 0
        while waiting:
            part = waiting.pop()
            seen += 1
            if seen > KEY_PARTS:
                raise self._refused(f"has a dict key or set item of more than {KEY_PARTS} parts")
            if isinstance(part, tuple | frozenset):
                waiting.extend(part)
            elif type(part) is int:
                self.spend(part.bit_length() >> 6)  # hashed anew each time
        self.spend(seen)
        self._check_hash(key)

    def _check_hash(self, key: Any) -> None:
        """Refuse many keys that were made to have the same hash: a dict of n takes n * n comparisons."""
        if key in self._keys:
            return
        self._keys.add(key)
        code = hash(key)
        count = self._hashes[code] = self._hashes.get(code, 0) + 1
        if count > ALIKE:
            raise self._refused(f"has more than {ALIKE} different dict keys or set items with one hash")

    def checked_keys(self, items: Any) -> Any:
        """Return the items after `check_key` of each, and `spend` for all."""
        self.spend(len(items))
        for item in items:
            self.check_key(item)
        return items


def described(value: Any) -> str:
    """What a message calls a value of a file: never the text of a container, which a small file can make huge."""
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str):
        return name
    if isinstance(value, str | bytes | int | float) and len(text := repr(value)) <= 100:
        return text
    return f"a {type(value).__name__}"


def _set_state(target: Any, state: Any) -> None:
    """Give an instance of a listed class its state, as pickle does."""
    setter = getattr(target, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def _opcodes() -> dict[int, Callable[[SafeUnpickler], None]]:
    """One entry for each opcode of protocols 0 to 5 that a checkpoint may have."""
    u = SafeUnpickler
    table: dict[bytes, Callable[[SafeUnpickler], None]] = {
        pickle.PROTO: u._protocol,
        pickle.FRAME: lambda s: s._number("<Q"),
        pickle.MARK: u._mark,
        pickle.POP: u._pop,
        pickle.POP_MARK: lambda s: s._since_mark().clear(),
        pickle.DUP: lambda s: s._push(s._stack[-1]),
        pickle.NONE: lambda s: s._push(None),
        pickle.NEWTRUE: lambda s: s._push(True),
        pickle.NEWFALSE: lambda s: s._push(False),
        pickle.INT: u._text_int,
        pickle.BININT: lambda s: s._push(s._number("<i")),
        pickle.BININT1: lambda s: s._push(s._number("<B")),
        pickle.BININT2: lambda s: s._push(s._number("<H")),
        pickle.LONG1: lambda s: s._long("<B"),
        pickle.LONG4: lambda s: s._long("<i"),
        pickle.FLOAT: lambda s: s._push(float(s._line())),
        pickle.BINFLOAT: lambda s: s._push(s._number(">d")),
        pickle.SHORT_BINUNICODE: lambda s: s._text("<B"),
        pickle.BINUNICODE: lambda s: s._text("<I"),
        pickle.BINUNICODE8: lambda s: s._text("<Q"),
        pickle.SHORT_BINSTRING: lambda s: s._ascii("<B"),
        pickle.BINSTRING: lambda s: s._ascii("<i"),
        pickle.SHORT_BINBYTES: lambda s: s._bytes("<B"),
        pickle.BINBYTES: lambda s: s._bytes("<I"),
        pickle.BINBYTES8: lambda s: s._bytes("<Q"),
        pickle.BYTEARRAY8: lambda s: s._push(bytearray(s._take(s._number("<Q")))),
        pickle.EMPTY_TUPLE: lambda s: s._push(()),
        pickle.TUPLE1: lambda s: s._tuple(1),
        pickle.TUPLE2: lambda s: s._tuple(2),
        pickle.TUPLE3: lambda s: s._tuple(3),
        pickle.TUPLE: lambda s: s._push_first(tuple),
        pickle.EMPTY_LIST: lambda s: s._push([]),
        pickle.LIST: lambda s: s._push_first(list),
        pickle.APPEND: lambda s: s._append([s._stack.pop()]),
        pickle.APPENDS: lambda s: s._append(s._since_mark()),
        pickle.EMPTY_DICT: lambda s: s._push({}),
        pickle.DICT: lambda s: s._new_dict(s._since_mark()),
        pickle.SETITEM: u._set_item,
        pickle.SETITEMS: lambda s: s._set_items(s._since_mark()),
        pickle.EMPTY_SET: u._empty_set,
        pickle.ADDITEMS: u._add_items,
        pickle.FROZENSET: lambda s: s._push_first(lambda items: frozenset(s.checked_keys(items))),
        pickle.PUT: lambda s: s._put(int(s._line())),
        pickle.BINPUT: lambda s: s._put(s._number("<B")),
        pickle.LONG_BINPUT: lambda s: s._put(s._number("<I")),
        pickle.MEMOIZE: lambda s: s._put(len(s._memo)),
        pickle.GET: lambda s: s._get(int(s._line())),
        pickle.BINGET: lambda s: s._get(s._number("<B")),
        pickle.LONG_BINGET: lambda s: s._get(s._number("<I")),
        pickle.GLOBAL: lambda s: s._global(s._line(), s._line()),
        pickle.STACK_GLOBAL: u._stack_global,
        pickle.REDUCE: u._reduce,
        pickle.NEWOBJ: lambda s: s._new_object(keywords=False),
        pickle.NEWOBJ_EX: lambda s: s._new_object(keywords=True),
        pickle.BUILD: u._build,
        pickle.BINPERSID: lambda s: s._push(s._persistent_load(s._stack.pop())),
    }
    return {code[0]: run for code, run in table.items()}


OPCODES = _opcodes()
