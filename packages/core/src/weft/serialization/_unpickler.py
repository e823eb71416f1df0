"""A pickle interpreter that can build containers and numbers, and what a table names: nothing else.

Python's own unpickler, even with `find_class` restricted, sets attributes on whatever it found and
takes memory for whatever size a file claims. Here every opcode that could do harm checks first, so
that the worst a hostile file does is to be refused.
"""

from __future__ import annotations

import pickle
import struct
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from weft import _display_name
from weft.serialization._budget import Budget
from weft.serialization._hashing import FEW, SIMPLE_INTEGERS, Keys
from weft.serialization._safe_globals import full_name

STOP = pickle.STOP[0]
NESTED = 1000  # defaultdicts that are values of a defaultdict: Python frees these recursively, in C
MEMO_GAP = 1000  # numbers that a pickle may leave out as it numbers what it remembers
MAPPINGS = (dict, OrderedDict, Counter, defaultdict)

INT1, INT2, INT4, UINT4, UINT8 = map(struct.Struct, ("<B", "<H", "<i", "<I", "<Q"))
FLOAT8 = struct.Struct(">d")

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
    source : str
        What messages call the file.
    budget : Budget
        Of the whole load.
    start : int
        Where in ``data`` the pickle begins; ``position`` is where it ended.
    """

    def __init__(
        self,
        data: bytes,
        allowed: Allowed,
        persistent_load: Callable[[Any], Any],
        source: str,
        budget: Budget,
        start: int = 0,
    ) -> None:
        self.position = start
        self.budget = budget
        self._data = data
        self._allowed = allowed
        self._persistent_load = persistent_load
        self._source = source
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: list[Any] = []
        self._keys = Keys(budget, source)
        self._nested = 0

    def load(self) -> Any:
        """Build and return the pickled object.

        Raises
        ------
        pickle.UnpicklingError
            If the pickle is damaged, or asks for what is not allowed or for too much.
        """
        data, opcodes, costs, budget = self._data, OPCODES, COSTS, self.budget
        try:
            while True:
                code = data[self.position]
                self.position += 1
                if code == STOP:
                    return self._stack.pop()
                run = opcodes[code]
                if run is None:
                    raise self._refused(f"has opcode {bytes([code])!r}, which no checkpoint needs")
                budget.memory = left = budget.memory - costs[code]
                if left < 0:
                    raise budget.exceeded("memory")
                run(self)
        except UnpicklingError:
            raise
        except (IndexError, struct.error) as error:
            raise self._refused("ends early or is damaged") from error
        except DAMAGE as error:
            raise self._refused(f"cannot be rebuilt: {type(error).__name__}: {str(error)[:1000]}") from error

    def _refused(self, what: str) -> UnpicklingError:
        return UnpicklingError(f"load: the pickle in {self._source} {what} (at byte {self.position})")

    # Reading ---------------------------------------------------------------------------------------------

    def _take(self, count: int) -> bytes:
        start = self.position
        if count < 0 or start + count > len(self._data):
            raise self._refused(f"claims {count} more bytes where {len(self._data) - start} are left")
        self.position = start + count
        return self._data[start : start + count]

    def _number(self, form: struct.Struct) -> Any:
        start = self.position
        self.position = start + form.size
        return form.unpack_from(self._data, start)[0]

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
        self.budget.memory += COST_OF_A_MARK
        return items

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    # The opcodes that most checkpoints are made of have a function of their own: one call in place of three.

    def _small_integer(self) -> None:
        self._stack.append(self._data[self.position])
        self.position += 1

    def _integer(self) -> None:
        start = self.position
        self.position = start + 4
        self._stack.append(INT4.unpack_from(self._data, start)[0])

    def _float(self) -> None:
        start = self.position
        self.position = start + 8
        self._stack.append(FLOAT8.unpack_from(self._data, start)[0])

    def _put_by_byte(self) -> None:
        index = self._data[self.position]
        self.position += 1
        self._put(index)

    def _put_by_word(self) -> None:
        start = self.position
        self.position = start + 4
        (index,) = UINT4.unpack_from(self._data, start)
        if index == len(self._memo):
            self._memo.append(self._stack[-1])
        else:
            self._put(index)

    def _memoize(self) -> None:
        self._memo.append(self._stack[-1])

    def _get_by_byte(self) -> None:
        index = self._data[self.position]
        self.position += 1
        self._get(index)

    def _get_by_word(self) -> None:
        start = self.position
        self.position = start + 4
        self._get(UINT4.unpack_from(self._data, start)[0])

    def _pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._since_mark()

    def _text_int(self) -> None:
        line = self._line()
        self._push({"00": False, "01": True}[line] if line in ("00", "01") else int(line))

    def _long(self, form: struct.Struct) -> None:
        self._push(int.from_bytes(self._take(self._number(form)), "little", signed=True))

    def _short_long(self) -> None:
        count = self._data[self.position]
        self.position += 1
        self._stack.append(int.from_bytes(self._take(count), "little", signed=True))

    def _text_by_word(self) -> None:
        start = self.position
        self.position = start + 4
        self._stack.append(self._take(UINT4.unpack_from(self._data, start)[0]).decode("utf-8", "surrogatepass"))

    def _text(self, form: struct.Struct) -> None:
        self._stack.append(self._take(self._number(form)).decode("utf-8", "surrogatepass"))

    def _ascii(self, form: struct.Struct) -> None:
        self._push(self._take(self._number(form)).decode("ascii"))

    def _bytes(self, form: struct.Struct) -> None:
        self._push(self._take(self._number(form)))

    def _tuple_of_one(self) -> None:
        self._stack[-1] = (self._stack[-1],)

    def _tuple_of_two(self) -> None:
        last = self._stack.pop()
        self._stack[-1] = (self._stack[-1], last)

    def _tuple_of_three(self) -> None:
        last, middle = self._stack.pop(), self._stack.pop()
        self._stack[-1] = (self._stack[-1], middle, last)

    def _push_first(self, make: Callable[[list[Any]], Any]) -> None:
        self._push(make(self._since_mark()))

    def _append(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list and type(target) not in self._allowed.classes:
            raise self._refused(f"appends to a {type(target).__name__}")
        target.extend(items)

    def _set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        kind = type(target)
        if kind not in MAPPINGS and kind not in self._allowed.classes:
            raise self._refused(f"sets items of a {kind.__name__}")
        keys, values = items[::2], items[1::2]
        if len(keys) != len(values):
            raise self._refused("has a key without a value")
        plain = kind in MAPPINGS
        before = sys.getsizeof(target) if plain else 0
        self._keys.check(keys, target if plain else ())
        if kind is defaultdict:
            self._nested += sum(type(value) is defaultdict for value in values)
            if self._nested > NESTED:
                raise self._refused(f"has more than {NESTED} defaultdicts within defaultdicts")
        for key, value in zip(keys, values):
            target[key] = value
        self.budget.take(sys.getsizeof(target) - before if plain else ITEM * len(keys))

    def _set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        target = self._stack[-1]
        simple = type(key) is str or (type(key) is int and -SIMPLE_INTEGERS < key < SIMPLE_INTEGERS)
        if simple and type(target) is dict and len(target) < FEW:
            target[key] = value
            self.budget.memory -= ITEM if len(target) > 1 else FIRST_ITEM
        else:
            self._set_items([key, value])

    def _append_item(self) -> None:
        self._append([self._stack.pop()])

    def _add_items(self) -> None:
        items = self._since_mark()
        target = self._stack[-1]
        if type(target) is not set:
            raise self._refused(f"adds items to a {type(target).__name__}")
        before = sys.getsizeof(target)
        self._keys.check(items, target)
        target.update(items)
        self.budget.take(sys.getsizeof(target) - before)

    def _frozenset(self, items: list[Any]) -> frozenset[Any]:
        made = frozenset(self.checked_keys(items))
        self.budget.take(sys.getsizeof(made))
        return made

    def _new_dict(self, items: list[Any]) -> None:
        self._push({})
        self._set_items(items)

    def _put(self, index: int) -> None:
        memo, value = self._memo, self._stack[-1]
        if index == len(memo):
            memo.append(value)
            return
        if not 0 <= index <= len(memo) + MEMO_GAP:
            raise self._refused(f"remembers object {described(index)} after {len(memo)} others")
        if index > len(memo):
            self.budget.take(9 * (index - len(memo)))
            memo.extend([MISSING] * (index + 1 - len(memo)))
        memo[index] = value

    def _get(self, index: int) -> None:
        memo = self._memo
        value = memo[index] if 0 <= index < len(memo) else MISSING
        if value is MISSING:
            raise self._refused(f"refers to object {described(index)}, which it has not defined")
        self._stack.append(value)

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
                f"load: Weights only load failed. Unsupported global: GLOBAL {module}.{name} was not an allowed global "
                f"by default: {self._source} holds one, which weft cannot build from a file; save tensors, state dicts "
                "and plain containers instead"
            )
        namespace, shown = f"{_display_name.name}.serialization", f"{module}.{name}"
        raise UnpicklingError(
            f"load: Weights only load failed. Unsupported global: GLOBAL {shown} was not an allowed global by "
            f"default: {self._source} names it, and weights_only=True builds only tensors, containers, numbers and "
            f"what you list. Please use `{namespace}.add_safe_globals([{shown}])` or the "
            f"`{namespace}.safe_globals([{shown}])` context manager to allowlist this global if "
            "you trust this class/function. weights_only=False loads everything, and lets the file run any "
            "code: give it only for a file whose source you trust."
        )

    def _reduce(self) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if type(arguments) is not tuple:
            raise self._refused("calls with arguments that are no tuple")
        if function is OrderedDict and not arguments:  # each tensor has one, for its hooks
            self.budget.spend(STEPS_OF_A_CALL)
            self.budget.memory -= EMPTY_ORDERED_DICT
            self._stack.append(OrderedDict())
            return
        self._push(self._call(function, arguments))

    def _call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        if not callable(function):  # asked before its hash, which of nested tuples is recursive in C
            raise self._refused(f"calls {described(function)}")
        builder = self._allowed.builders.get(function)
        if builder is not None:
            self.budget.spend(STEPS_OF_A_CALL)
            made = builder(self, *arguments)
            self.budget.take(sys.getsizeof(made))
            return made
        if function in self._allowed.classes:
            return function(*arguments)
        raise self._refused(f"calls {described(function)}, which is not for calling")

    def _persistent(self) -> None:
        self.budget.spend(STEPS_OF_A_REFERENCE)
        self._stack.append(self._persistent_load(self._stack.pop()))

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

    # What builders use -----------------------------------------------------------------------------------

    def check_keys(self, keys: list[Any], container: Any) -> None:
        """Refuse keys that must not be put into a dict, or not into this one."""
        self._keys.check(keys, container)

    def checked_keys(self, items: Any) -> Any:
        """Return items as a list, for a new set, after a check of each; the copy is charged."""
        self.budget.take(ITEM * len(items))
        self.budget.spend(len(items))
        items = list(items)
        self._keys.check(items, set())
        return items


def described(value: Any) -> str:
    """What a message calls a value of a file: never the text of a container, which a small file can make huge."""
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str):
        return name[:200]
    if isinstance(value, int) and value.bit_length() > 300:  # Python refuses to print a very long one
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str | bytes | int | float) and (isinstance(value, int | float) or len(value) <= 100):
        return repr(value)
    return f"a {type(value).__name__}"


def check_attribute(target: Any, name: Any) -> None:
    """Refuse a name that a state must not set: no text, or one by which Python and other libraries ask for what to do.

    NumPy, for one, reads memory wherever an object's ``__array_interface__`` says.
    """
    if type(name) is not str or name.startswith("__"):
        raise ValueError(f"{described(name)} is not a name for an attribute of a {type(target).__name__}")


def _set_state(target: Any, state: Any) -> None:
    """Give an instance of a listed class its state, as pickle does."""
    setter = getattr(target, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    for name in (*(state or ()), *(slots or ())):
        check_attribute(target, name)
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


STEPS_OF_A_CALL, STEPS_OF_A_REFERENCE = 15, 40
EMPTY_ORDERED_DICT = sys.getsizeof(OrderedDict())
MISSING = object()  # a number that the memo has not
COST_OF_A_MARK = 72  # which is returned when what follows the mark becomes a container
ITEM, FIRST_ITEM = 80, 160  # bytes that a dict or set takes for an item, about


def _opcodes() -> list[Callable[[SafeUnpickler], None] | None]:
    """One entry for each opcode of protocols 0 to 5 that a checkpoint may have."""
    u = SafeUnpickler
    table: dict[bytes, Callable[[SafeUnpickler], None]] = {
        pickle.PROTO: u._protocol,
        pickle.FRAME: lambda s: s._number(UINT8),
        pickle.MARK: u._mark,
        pickle.POP: u._pop,
        pickle.POP_MARK: lambda s: s._since_mark().clear(),
        pickle.DUP: lambda s: s._push(s._stack[-1]),
        pickle.NONE: lambda s: s._push(None),
        pickle.NEWTRUE: lambda s: s._push(True),
        pickle.NEWFALSE: lambda s: s._push(False),
        pickle.INT: u._text_int,
        pickle.BININT: u._integer,
        pickle.BININT1: u._small_integer,
        pickle.BININT2: lambda s: s._push(s._number(INT2)),
        pickle.LONG1: u._short_long,
        pickle.LONG4: lambda s: s._long(INT4),
        pickle.FLOAT: lambda s: s._push(float(s._line())),
        pickle.BINFLOAT: u._float,
        pickle.SHORT_BINUNICODE: lambda s: s._text(INT1),
        pickle.BINUNICODE: u._text_by_word,
        pickle.BINUNICODE8: lambda s: s._text(UINT8),
        pickle.SHORT_BINSTRING: lambda s: s._ascii(INT1),
        pickle.BINSTRING: lambda s: s._ascii(INT4),
        pickle.SHORT_BINBYTES: lambda s: s._bytes(INT1),
        pickle.BINBYTES: lambda s: s._bytes(UINT4),
        pickle.BINBYTES8: lambda s: s._bytes(UINT8),
        pickle.BYTEARRAY8: lambda s: s._push(bytearray(s._take(s._number(UINT8)))),
        pickle.EMPTY_TUPLE: lambda s: s._push(()),
        pickle.TUPLE1: u._tuple_of_one,
        pickle.TUPLE2: u._tuple_of_two,
        pickle.TUPLE3: u._tuple_of_three,
        pickle.TUPLE: lambda s: s._push_first(tuple),
        pickle.EMPTY_LIST: lambda s: s._push([]),
        pickle.LIST: lambda s: s._push_first(list),
        pickle.APPEND: u._append_item,
        pickle.APPENDS: lambda s: s._append(s._since_mark()),
        pickle.EMPTY_DICT: lambda s: s._push({}),
        pickle.DICT: lambda s: s._new_dict(s._since_mark()),
        pickle.SETITEM: u._set_item,
        pickle.SETITEMS: lambda s: s._set_items(s._since_mark()),
        pickle.EMPTY_SET: lambda s: s._push(set()),
        pickle.ADDITEMS: u._add_items,
        pickle.FROZENSET: lambda s: s._push_first(s._frozenset),
        pickle.PUT: lambda s: s._put(int(s._line())),
        pickle.BINPUT: u._put_by_byte,
        pickle.LONG_BINPUT: u._put_by_word,
        pickle.MEMOIZE: u._memoize,
        pickle.GET: lambda s: s._get(int(s._line())),
        pickle.BINGET: u._get_by_byte,
        pickle.LONG_BINGET: u._get_by_word,
        pickle.GLOBAL: lambda s: s._global(s._line(), s._line()),
        pickle.STACK_GLOBAL: u._stack_global,
        pickle.REDUCE: u._reduce,
        pickle.NEWOBJ: lambda s: s._new_object(keywords=False),
        pickle.NEWOBJ_EX: lambda s: s._new_object(keywords=True),
        pickle.BUILD: u._build,
        pickle.BINPERSID: u._persistent,
    }
    handlers: list[Callable[[SafeUnpickler], None] | None] = [None] * 256
    for code, run in table.items():
        handlers[code[0]] = run
    return handlers


def _costs() -> list[int]:
    """Bytes of memory that each opcode takes, about, besides those of a text or number that stand in the file."""
    costs = [9] * 256  # a place on the stack, in a list or in the memo
    for codes, cost in (
        (pickle.BININT + pickle.BININT2 + pickle.LONG1 + pickle.LONG4 + pickle.INT, 41),
        (pickle.FLOAT + pickle.BINFLOAT, 33),
        (pickle.SHORT_BINUNICODE + pickle.BINUNICODE + pickle.BINUNICODE8, 72),
        (pickle.SHORT_BINSTRING + pickle.BINSTRING, 72),
        (pickle.SHORT_BINBYTES + pickle.BINBYTES + pickle.BINBYTES8 + pickle.BYTEARRAY8, 72),
        (pickle.TUPLE + pickle.TUPLE1 + pickle.TUPLE2 + pickle.TUPLE3, 49),
        (pickle.MARK, COST_OF_A_MARK + 8),
        (pickle.EMPTY_LIST + pickle.LIST + pickle.EMPTY_DICT + pickle.DICT, 80),
        (pickle.EMPTY_SET + pickle.FROZENSET, 240),
        (pickle.APPEND, 32),
        (pickle.APPENDS, 64),
        (pickle.NEWOBJ + pickle.NEWOBJ_EX, 64),
        (pickle.BINPERSID, 120),
    ):
        for code in codes:
            costs[code] = cost
    return costs


OPCODES = _opcodes()
COSTS = _costs()
