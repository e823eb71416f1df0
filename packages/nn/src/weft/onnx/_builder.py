"""The graph of an ONNX file that is being written: what converters of ops are given as their first argument."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy

import weft
from weft.export._sizes import Size
from weft.onnx._blocks import BuildingBlocks

__all__ = ["GraphBuilder", "OnnxExporterError", "UnsupportedArguments", "Value", "onnx_dtype"]

UNARY = frozenset("Abs Exp Identity IsInf IsNaN Log Neg Not Reciprocal Relu Sign Sqrt".split())
BOOLEAN = frozenset("And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Xor".split())
INTEGER = frozenset("ArgMax ArgMin NonZero Shape Size".split())
WITH_PLACES = frozenset("MaxPool TopK".split())  # their second output has the places of the first's elements


# Dtypes that many operators do not take, and in which these compute the same.
WIDER = {weft.int8: weft.int32, weft.int16: weft.int32, weft.uint8: weft.int32, weft.uint16: weft.int32}


class OnnxExporterError(RuntimeError):
    """A program that cannot be written as an ONNX file."""


class UnsupportedArguments(NotImplementedError):
    """Arguments of an op that its converter does not write; raised by `GraphBuilder.refuse`."""


class Value:
    """A tensor of the file, by its name.

    Attributes
    ----------
    name : str
    shape : tuple of int and Size, or None
        As the program knows it; of what converters emit on their way, None.
    dtype : weft.dtype or None
    constant : numpy.ndarray or None
        Its elements, where they are known: of parameters, buffers and constants.
    size : Size or None
        Of a size (an int64 tensor with one element, in one dimension), what it depends on.
    """

    __slots__ = ("constant", "dtype", "name", "shape", "size")

    def __init__(
        self, name: str, shape: Any = None, dtype: Any = None, constant: Any = None, size: Size | None = None
    ) -> None:
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.constant = constant
        self.size = size

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Value({self.name!r}, shape={self.shape}, dtype={self.dtype})"


def onnx_dtype(element: Any) -> int:
    """The number that ONNX has for a dtype of weft's.

    Examples
    --------
    >>> from weft.onnx._builder import onnx_dtype
    >>> onnx_dtype(weft.float32)
    1
    """
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(numpy.dtype(element.numpy)))


class GraphBuilder(BuildingBlocks):
    """Nodes and constants.

    Operators of ONNX are its methods: ``graph.Add(a, 2.0)`` is ``graph.emit("Add", a, 2.0)``.

    Attributes
    ----------
    opset : int
        Which version of ONNX's operators the file is written for.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.used: set[str] = set()
        self.constants: dict[Any, Value] = {}
        self.base = "value"  # how what is emitted is called: the name of the node that is being written

    # Names and constants

    def unique(self, name: str) -> str:
        """A name that nothing in the file has yet."""
        candidate, number = name, 0
        while candidate in self.used:
            number += 1
            candidate = f"{name}_{number}"
        self.used.add(candidate)
        return candidate

    def initializer(self, name: str, array: Any, shape: Any = None, dtype: Any = None) -> Value:
        """A tensor with elements, under a name: a parameter or buffer."""
        name = self.unique(name)
        self.initializers[name] = array
        return Value(name, array.shape if shape is None else shape, dtype, constant=array)

    def constant(self, value: Any, like: Value | None = None, dtype: Any = None) -> Value:
        """A tensor of numbers; equal ones are one.

        Parameters
        ----------
        value : number, sequence or numpy.ndarray
        like : Value, optional
            Has the dtype that it shall have.
        dtype : weft.dtype, optional
            The same; default: int64 of Python's integers, the default dtype of its floats, else the array's.
        """
        element = dtype if like is None else like.dtype
        if element is None and not isinstance(value, numpy.ndarray):
            array = numpy.asarray(value)
            array = array.astype(weft.get_default_dtype().numpy) if array.dtype == numpy.float64 else array
        else:
            array = numpy.asarray(value, None if element is None else element.numpy)
        array = numpy.ascontiguousarray(array).reshape(numpy.shape(array))
        key = array.dtype.str, str(array.dtype), array.shape, array.tobytes()
        if key not in self.constants:
            known = weft.from_numpy(numpy.empty(0, array.dtype)).dtype if element is None else element
            self.constants[key] = self.initializer("constant", array, dtype=known)
        return self.constants[key]

    def value(self, argument: Any, like: Value | None = None) -> Value:
        """An argument of an op as a tensor: a value as it is, a number with the dtype of ``like``."""
        return argument if isinstance(argument, Value) else self.constant(argument, like)

    def sizes(self, sizes: Sequence[Any]) -> Value:
        """Whole numbers as an int64 tensor of one dimension: constants, and sizes that may change."""
        if not any(isinstance(each, Value) for each in sizes):
            return self.constant(numpy.asarray([int(each) for each in sizes], numpy.int64))
        parts: list[Value] = []
        numbers: list[int] = []
        for each in (*sizes, None):
            if isinstance(each, int):
                numbers.append(each)
                continue
            if numbers:
                parts.append(self.constant(numpy.asarray(numbers, numpy.int64)))
                numbers = []
            if each is not None:
                parts.append(each)
        return parts[0] if len(parts) == 1 else self.emit("Concat", *parts, axis=0, dtype=weft.int64)

    def unsized(self, value: Value) -> Value:
        """A value as it is; of a size, which has one dimension, without that."""
        return value if value.size is None else self.scalar(value)

    def scalar(self, size: Any) -> Value:
        """A whole number, which may be a size, as an int64 tensor without dimensions."""
        if not isinstance(size, Value):
            return self.constant(numpy.asarray(size, numpy.int64))
        if size.shape == ():
            return size
        return self.emit("Squeeze", size, self.sizes([0]), dtype=weft.int64)

    # Nodes

    def emit(
        self,
        op_type: str,
        *inputs: Any,
        outputs: int = 1,
        shape: Any = None,
        dtype: Any = None,
        domain: str = "",
        **attributes: Any,
    ) -> Any:
        """Add a node.

        Parameters
        ----------
        op_type : str
            ONNX's operator.
        *inputs : Value, number or None
            A number has the dtype of the first value among the inputs. None: an optional input that is left out.
        outputs : int
            How many it has.
        shape, dtype
            What is known of the first output. Default: the dtype that the operator gives, else that of the first value.
        **attributes
            Of the operator; those that are None are left out.

        Returns
        -------
        Value, or a list of them if ``outputs`` is not 1.
        """
        from onnx import helper

        place, like = next(((at, each) for at, each in enumerate(inputs) if isinstance(each, Value)), (0, None))
        if like is not None and like.dtype is not None and not takes(op_type, self.opset, place, like.dtype):
            return self.emit_wide(op_type, inputs, like.dtype, outputs=outputs, shape=shape, dtype=dtype, **attributes)
        given = ["" if each is None else self.value(each, like).name for each in inputs]
        while given and not given[-1]:
            given.pop()
        names = [self.unique(self.base) for _ in range(outputs)]
        attributes = {name: value for name, value in attributes.items() if value is not None and value != []}
        self.nodes.append(helper.make_node(op_type, given, names, name=names[0], domain=domain, **attributes))
        if dtype is None:
            dtype = weft.bool if op_type in BOOLEAN else weft.int64 if op_type in INTEGER else like and like.dtype
        if shape is None and op_type in UNARY:
            shape = like and like.shape
        made = [Value(name, shape, dtype) for name in names]
        if op_type in WITH_PLACES and outputs == 2:
            made[1].dtype = weft.int64
        return made[0] if outputs == 1 else made

    def emit_wide(self, op_type: str, inputs: Sequence[Any], narrow: Any, **options: Any) -> Any:
        """Add a node for inputs of a dtype that the operator does not take: it runs in a wider one."""
        wide = WIDER.get(narrow)
        place = next(at for at, each in enumerate(inputs) if isinstance(each, Value))
        if wide is None or not takes(op_type, self.opset, place, wide):
            self.refuse(f"ONNX's {op_type} takes no {narrow}; convert the input, as with .float()")
        given = [self.cast(each, wide) if isinstance(each, Value) and each.dtype is narrow else each for each in inputs]
        made = self.emit(op_type, *given, **options)
        several = made if isinstance(made, list) else [made]
        results = [self.cast(each, narrow) if each.dtype is wide else each for each in several]
        return results if isinstance(made, list) else results[0]

    def cast(self, value: Value, dtype: Any) -> Value:
        """A value in another dtype."""
        if value.dtype is dtype:
            return value
        return self.emit("Cast", value, to=onnx_dtype(dtype), dtype=dtype, shape=value.shape)

    def reshape(self, value: Value, shape: Sequence[Any]) -> Value:
        """A value in another shape, with as few looks at sizes as will do."""
        unknown = [place for place, each in enumerate(shape) if isinstance(each, Value)]
        if 0 in shape:
            return self.emit("Reshape", value, self.sizes(shape), allowzero=1)
        known = () if value.shape is None else value.shape
        # 0 is the size that the dimension of this number has; one other size follows from the rest, as -1
        same = [place for place in unknown if place < len(known) and known[place] == shape[place].size]
        others = [place for place in unknown if place not in same]
        if len(others) > 1:
            return self.emit("Reshape", value, self.sizes(shape))
        written = [0 if at in same else -1 if at in others else each for at, each in enumerate(shape)]
        return self.emit("Reshape", value, self.sizes(written))

    def shape_of(self, value: Value, start: int = 0, end: int | None = None) -> Value:
        """The sizes of a value's dimensions, from one to before another."""
        return self.emit("Shape", value, start=start or None, end=end, dtype=weft.int64)

    def refuse(self, why: str) -> NoReturn:
        """Say that the op cannot be written with these arguments.

        Raises
        ------
        UnsupportedArguments
            Always; the exporter adds the op and the line.
        """
        raise UnsupportedArguments(why)


@functools.cache
def takes(op_type: str, opset: int, place: int, dtype: Any) -> bool:
    """Whether an input of an operator may be of a dtype, by ONNX's declaration."""
    from onnx import defs, helper

    schema = defs.get_schema(op_type, opset)
    wanted = f"tensor({helper.tensor_dtype_to_string(onnx_dtype(dtype)).rpartition('.')[2].lower()})"
    return wanted in schema.inputs[min(place, len(schema.inputs) - 1)].types
