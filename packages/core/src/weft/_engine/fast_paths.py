"""Fast paths of common call forms: arguments are read by the declared signature, and go straight to the kernel.

A declaration of `weft.ops` names one (``fast_path=``). A call of another form, on other than plain tensors, watched,
or wrong is declined: the declared function then runs it, or explains. `functions`, `dimensions` and `creation` have
what an op needs to know beside the types of its arguments.
"""

from __future__ import annotations

import re
from inspect import CO_VARARGS
from typing import Any, Final, Optional

import numpy

from weft._engine.dispatch import Op, make, record, record_many, wrap
from weft._engine.dispatch_keys import LARGEST, DispatchKey, fitting_number
from weft._engine.methods import whole_numbers
from weft._engine.tensor import TensorBase, local, state

# How an argument is read
TENSOR: Final = 0
OPERAND: Final = 1  # a tensor or a number
DIM: Final = 2  # counted from the front
DIMS: Final = 3  # a tuple of them, all for None
BOOL: Final = 4
FLOAT: Final = 5
INT: Final = 6
SCALAR: Final = 7  # a number that the dtype of the tensors has
INTS: Final = 8  # an int or a tuple
STR: Final = 9
SIZE: Final = 10  # of a new tensor
ANY: Final = 11  # as it is
DEFAULT: Final = 12  # not taken: it must have its default

DECLINED: Final[Any] = object()
LEAST: Final = -(1 << 61)  # ints of more than 64 bits no dtype has; these are compared in a register
MOST: Final = 1 << 61
ALL_DIMS: Final[list[tuple[int, ...]]] = [tuple(range(ndim)) for ndim in range(65)]  # by their number, as NumPy's most
CATEGORIES: Final = {  # of dtypes: the first and the last
    "any": (0, 3),
    "bool": (0, 0),
    "real": (1, 2),
    "float": (2, 2),
    "complex": (2, 3),
}


class OutOfRange(IndexError):
    """A kernel was given a position that is not in its dimension, and has written nothing."""


class Parameter:
    """A parameter of a signature.

    Attributes
    ----------
    kind : int
        How its argument is read.
    optional : bool
        None is taken as it is.
    slot : int
        The place of its argument among those that are taken.
    is_ready : bool
        The default is what kernels take, whatever the tensors are.
    element : numpy.dtype or None
        Of a tensor that has not the dtype of the first.
    """

    def __init__(
        self, name: str, kind: int, optional: bool, slot: int, required: bool, default: Any, element: Any
    ) -> None:
        self.name = name
        self.kind = kind
        self.optional = optional
        self.slot = slot
        self.required = required
        self.default = default
        self.element = element
        is_none = default is None and optional
        self.is_ready = not required and (is_none or kind not in (OPERAND, DIM, DIMS, SCALAR))
        if self.is_ready and not is_none and kind < ANY:
            self.default = converted(default, kind, None, None)
            if self.default is DECLINED:  # a default of another type than the annotation's
                self.required, self.is_ready = True, False


class Signature:
    """The parameters of a declared function, as its annotations say, and the arguments that its fast path takes.

    Parameters
    ----------
    function : callable
    takes : tuple of str
        The parameters whose arguments are taken, in this order. The others must have their defaults.
    dtypes : str
        Of the first tensor: ``"any"``, ``"bool"``, ``"real"`` (integers and floats), ``"float"`` or ``"complex"`` (and
        floats).
    elements : dict
        Other dtypes of tensors, by parameter; ``"any"``: the argument is taken as it is.

    Attributes
    ----------
    template : list
        Where the arguments are read into, with the defaults that are ready.
    has_tensors : bool
    """

    def __init__(self, function: Any, takes: tuple[str, ...], dtypes: str, elements: dict[str, str]) -> None:
        code = function.__code__
        positional: int = code.co_argcount
        names = parameters_of(function)
        optional: dict[str, Any] = dict(function.__kwdefaults__ or {})
        defaults: tuple[Any, ...] = function.__defaults__ or ()
        optional.update(zip(names[positional - len(defaults) :], defaults))
        rest: str = code.co_varnames[len(names)] if code.co_flags & CO_VARARGS else ""
        self.is_variadic = rest != ""
        self.takes_size = rest == "size"
        if self.is_variadic:
            takes = (rest, *takes)
        self.parameters: list[Parameter] = []
        self.positional = positional
        self.needed = 0  # the parameters up to the last that has no default which is ready
        self.template: list[Any] = [None] * len(takes)
        self.has_tensors = False
        kinds: list[int] = []
        for name in names:
            kind = kind_of(name, function.__annotations__) if name in takes else DEFAULT
            kinds.append(ANY if elements.get(name) == "any" else kind)
            self.has_tensors = self.has_tensors or kind <= OPERAND
        for name, kind in zip(names, kinds):
            other = elements.get(name, "any")
            element = None if other == "any" else numpy.dtype(other)
            slot = takes.index(name) if name in takes else 0
            default = optional.get(name)
            if kind == DIMS and default == ():
                default = None
            if kind == DIM and not self.has_tensors:  # of a list of them: an int that nothing is known of
                kind = INT
            none_too = kind != DIMS and "None" in words_of(function.__annotations__.get(name, ""))
            parameter = Parameter(name, kind, none_too, slot, name not in optional, default, element)
            self.parameters.append(parameter)
            if not parameter.is_ready:
                self.needed = len(self.parameters)
            elif kind != DEFAULT:
                self.template[slot] = parameter.default
        first, last = CATEGORIES[dtypes]
        self.first_category: int = first
        self.last_category: int = last

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any], values: list[Any], arrays: list[Any]) -> int:
        """Read the arguments of a call into two lists, which have the tensors and their arrays.

        Returns
        -------
        int
            Which of them are tensors that require grad, as a bit mask; -1 for a call of another form.
        """
        given = len(args)
        left = len(kwargs)
        if self.is_variadic:
            taken = whole_numbers(args, 0) if self.takes_size else args
            if given == 0 or taken is None:
                return -1
            values[0] = taken
            given = 0
        elif given > self.positional:
            return -1
        key: Optional[DispatchKey] = None
        first: Any = None  # array
        mask = 0
        place = 0
        needed = self.needed
        for parameter in self.parameters:
            if place >= needed and place >= given and left == 0:
                break
            value: Any
            if place < given:
                value = args[place]
            elif left != 0 and parameter.name in kwargs:
                value = kwargs[parameter.name]
                left -= 1
            elif parameter.is_ready:
                place += 1
                continue
            elif parameter.required:
                return -1
            else:
                value = parameter.default
            place += 1
            kind = parameter.kind
            if kind <= OPERAND and isinstance(value, TensorBase):
                tensor: TensorBase = value
                array = tensor._array
                if key is None:
                    key = tensor._key
                    first = array
                    if not key.fast_path or not self.first_category <= key.category <= self.last_category:
                        return -1
                elif tensor._key is not (key if parameter.element is None else key.siblings.get(parameter.element)):
                    return -1
                values[parameter.slot] = tensor
                arrays[parameter.slot] = array
                if tensor._requires_grad:
                    mask |= 1 << parameter.slot
                continue
            if kind == DEFAULT:
                default = parameter.default
                if value is not default and (type(value) is not type(default) or value != default):
                    return -1
                continue
            if kind == DIMS and value is None and first is not None:  # `chosen_dims`, for a reduction of all
                ndim: int = first.ndim
                value = ALL_DIMS[ndim]
            elif kind < ANY and not (value is None and parameter.optional):
                value = converted(value, kind, key, first)
                if value is DECLINED:
                    return -1
            values[parameter.slot] = value
            if arrays is not values:
                arrays[parameter.slot] = value
        return mask if left == 0 else -1


def parameters_of(function: Any) -> tuple[str, ...]:
    """The names of a function's parameters."""
    code = function.__code__
    count: int = code.co_argcount + code.co_kwonlyargcount
    return tuple(code.co_varnames[:count])


def kind_of(name: str, annotations: dict[str, Any]) -> int:
    """How the argument for a parameter is read, beside None where that is one."""
    words = words_of(annotations.get(name, "")) - {"None"}
    if "Tensor" in words:
        if len(words) == 1:
            return TENSOR
        return OPERAND if words <= {"Tensor", "Scalar", "Number", "float"} else ANY
    if name in ("dim", "dims") and words <= {"int", "Sequence[int]"}:
        return DIMS if len(words) == 2 else DIM
    if name == "size":
        return SIZE
    if words - {"str"} == {"int", "Sequence[int]"}:
        return INTS
    for word, kind in (("bool", BOOL), ("int", INT), ("float", FLOAT), ("str", STR)):
        if words == {word}:
            return kind
    return SCALAR if words <= {"Scalar", "Number"} else ANY


def words_of(annotation: Any) -> set[str]:
    """The types that an annotation joins with ``|``, without their modules."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return set(re.sub(r"\w+\.|\s", "", text).split("|"))


def converted(value: Any, kind: int, key: Optional[DispatchKey], array: Any) -> Any:
    """An argument that is no tensor, as kernels take it; `DECLINED` for one that is to be looked at closely.

    ``key`` and ``array`` are of the first tensor, None if there was none yet.
    """
    if kind in (DIM, DIMS):
        if array is None:
            return DECLINED
        ndim: int = array.ndim
        if kind == DIMS:
            dims = chosen_dims(value, ndim)
            return DECLINED if dims is None else dims
        dim = chosen_dim(value, ndim)
        return DECLINED if dim < 0 else dim
    if kind == BOOL:
        return value if value is True or value is False else DECLINED
    if kind == FLOAT:
        if type(value) is int and not LEAST <= value <= MOST:
            return DECLINED
        if (type(value) is not float and type(value) is not int) or not -LARGEST <= value <= LARGEST:
            return DECLINED
        return float(value)
    if kind == INT:
        return value if type(value) is int else DECLINED
    if kind in (OPERAND, SCALAR):
        if key is None:  # beside no tensor any will do
            return value if type(value) is float or (type(value) is int and LEAST <= value <= MOST) else DECLINED
        number = fitting_number(value, key)
        return DECLINED if number is None else number
    if kind == STR:
        return value if type(value) is str else DECLINED
    if kind == SIZE:
        size = whole_numbers((value,), 0)
        return DECLINED if size is None else size
    if kind == INTS:
        return value if type(value) is int or (type(value) is tuple and is_of_ints(value)) else DECLINED
    return DECLINED


def is_of_ints(values: tuple[Any, ...]) -> bool:
    """Whether all members are plain ints."""
    for each in values:
        if type(each) is not int:
            return False
    return True


def chosen_dim(dim: object, ndim: int) -> int:
    """A dim counted from the front; -1 for what is none of so many."""
    if type(dim) is not int:
        return -1
    place: int = dim
    if place < 0:
        place += ndim
    return place if 0 <= place < ndim else -1


def chosen_dims(dim: object, ndim: int) -> Optional[tuple[int, ...]]:
    """All dims for None, or those given, counted from the front; None for what is to be looked at closely."""
    if dim is None:
        return ALL_DIMS[ndim]
    if type(dim) is int:
        place = chosen_dim(dim, ndim)
        return None if place < 0 else (place,)
    if type(dim) is not tuple or len(dim) == 0:
        return None
    dims: list[int] = []
    for each in dim:
        place = chosen_dim(each, ndim)
        if place < 0 or place in dims:
            return None
        dims.append(place)
    return tuple(dims)


class FastPath:
    """What runs common calls of a declared function, by its own op or another one.

    Parameters
    ----------
    op : Op, optional
        What runs; default: that of the declaration.
    prepare : callable, optional
        Takes two lists of the arguments, in the first of which tensors are tensors, in the second arrays, and makes
        them those of the kernel. Returns True; False, which declines the call; or a result, which needs no kernel.
    compute : callable, optional
        Takes the list of arguments and gives the result, or None, which declines: in place of an op.
    takes : str
        The parameters that are taken, in this order; default: those of the kernel, by name. Others must have their
        defaults.
    dtypes, elements
        See `Signature`.
    constants : tuple
        What the kernel takes behind them.
    result : type or str, optional
        For an op of several results: the class of the tuple for them, or ``"first"`` for the one that is wanted, where
        the others are for its gradient.
    """

    def __init__(
        self,
        op: Any = None,
        *,
        prepare: Any = None,
        compute: Any = None,
        takes: str = "",
        dtypes: str = "float",
        constants: tuple[Any, ...] = (),
        result: Any = None,
        **elements: str,
    ) -> None:
        self.op: Any = op
        self.prepare = prepare
        self.compute = compute
        self.takes = takes
        self.dtypes = dtypes
        self.constants = constants
        self.result = result
        self.elements = elements
        self.function: Any = None
        self.signature: Optional[Signature] = None
        own = type(self)
        self.has_condition: bool = own.accepts is not FastPath.accepts
        # Whether `finish` has nothing else to do than to run the op: its frame is left out then.
        self.is_direct: bool = own.finish is FastPath.finish and compute is None and prepare is None and result is None
        self.is_direct = self.is_direct and len(constants) == 0

    def bind(self, function: Any, op: Optional[Op] = None) -> Any:
        """Say whose calls it runs, and of which op, where it has none yet; returns what to call."""
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        self.function = function
        if self.op is None:
            self.op = op
        return self.call

    def read_signature(self) -> Signature:
        """The signature, read when the first call comes: kernels are declared after their functions."""
        names: tuple[str, ...] = tuple(self.takes.split())
        if len(names) == 0 and self.op is not None:
            own = parameters_of(self.function)
            names = tuple([name for name in self.op.declaration.arguments if name in own])
        signature = Signature(self.function, names, self.dtypes, self.elements)
        if type(self) is FastPath and self.prepare is None and self.compute is None:
            taken = len(signature.template) + len(self.constants)
            if taken != len(self.op.declaration.arguments):
                raise TypeError(
                    f"{self.function.__name__}: its fast path takes {taken} arguments for {self.op.name}, which has "
                    f"{len(self.op.declaration.arguments)}: {', '.join(self.op.declaration.arguments)}"
                )
        self.signature = signature
        return signature

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call; None where it is declined."""
        signature = self.signature
        if signature is None:
            signature = self.read_signature()
        if signature.takes_size and len(kwargs) == 0:  # `read`, for ``zeros(2, 3)``: half of what it would cost
            size = whole_numbers(args, 0)
            if size is None or len(args) == 0:
                return None
            sizes: list[Any] = [size]
            return self.finish(sizes, sizes, 0)
        values = signature.template[:]
        arrays = signature.template[:] if signature.has_tensors else values
        mask = signature.read(args, kwargs, values, arrays)
        if mask < 0:
            return None
        if not self.is_direct:
            return self.finish(values, arrays, mask)
        if self.has_condition and not self.accepts(values, arrays):
            return None
        tensor: TensorBase = values[0]
        try:
            return run(self.op, tensor._key, values, arrays, mask)
        except OutOfRange:  # the function has the words
            return None

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        """The result of a call whose arguments have the right types; None where it is declined."""
        if self.compute is not None:
            return self.compute(values)
        if self.has_condition and not self.accepts(values, arrays):
            return None
        if self.prepare is not None:
            ready = self.prepare(values, arrays)
            if ready is not True:
                return None if ready is False else ready
        if len(self.constants) != 0:
            values.extend(self.constants)
            arrays.extend(self.constants)
        tensor: TensorBase = values[0]
        try:
            if self.result is None:
                return run(self.op, tensor._key, values, arrays, mask)
            if self.result == "first" and (mask == 0 or (state.unrecorded and not local.grad_enabled)):
                return wrap(self.op.run_kernel(tensor._key, arrays, values)[0], tensor._key)
            outputs = run_many(self.op, tensor._key, values, arrays, mask)
        except OutOfRange:  # the function has the words
            return None
        return outputs[0] if self.result == "first" else self.result(*outputs)

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        """Whether the arguments fit each other. Makes them those of the kernel."""
        return True


def run(op: Op, key: DispatchKey, values: list[Any], arrays: list[Any], mask: int) -> Any:
    """Run an op of one result on the arrays of plain tensors on one device; record it for the tensors in a mask."""
    array = op.run_kernel(key, arrays, values)
    if type(array) is not key.array_type:
        array = key.asarray(array)
    result = op.result_keys[key.index]
    out = wrap(array, key) if result is None else make(array, result)
    if mask and not (state.unrecorded and not local.grad_enabled):
        record(op, out, tuple(values), mask)
    return out


def run_many(op: Op, key: DispatchKey, values: list[Any], arrays: list[Any], mask: int) -> list[Any]:
    """The same for an op of several results."""
    outputs: list[Any] = []
    for each in op.run_kernel(key, arrays, values):
        outputs.append(wrap(each, key))
    if mask and not (state.unrecorded and not local.grad_enabled):
        record_many(op, outputs, tuple(values), mask)
    return outputs
