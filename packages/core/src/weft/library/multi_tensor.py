"""One formula for one parameter, run over lists of parameters.

An optimizer's formula is written once, in a tensor's in-place methods. It runs in one of three ways:

- Where gradients are recorded (``differentiable=True``), on the tensors themselves; also where a number that the
  formula takes is a tensor on a device, which is not waited for.
- By the backend's own kernel for the whole list, if its ``kernels`` have one under the formula's name, as
  ``"optim::adam_step"``. It is called with what the formula takes, each parameter of the formula replaced by the list
  of its values (arrays, numbers, or None), and with the same options; it writes into the arrays.
- Otherwise on the backend's arrays, a block at a time: a formula of ten operations passes over its memory ten times,
  so each large array is cut into blocks that stay in the cache from the first to the last, and small ones are spared
  ten times the way through an op.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from weft._devices.devices import backend_of
from weft._engine.dispatch_keys import DispatchKey
from weft._engine.tensor import local, run_quietly
from weft._interception.interceptors import Operation, is_watched
from weft._interception.profiling import watched
from weft._plugins.access import plugins
from weft._tensor.base import Tensor
from weft.ops._declare import parameters_of
from weft.ops._inplace import bump

__all__ = ["MultiTensorStep", "multi_tensor", "steps_on"]

_block_elements = 16384  # some four arrays of float32 in a cache of 256 KiB

Row = Sequence[Any]

_stands_for: dict[type, Callable[[Row], Row]] = {}


def steps_on(cls: type, function: Callable[[Row], Row]) -> None:
    """Let steps over tensors of a subclass run on plain ones.

    Parameters
    ----------
    cls : type
        The class of the parameter.
    function : callable
        Takes the arguments of the formula for one parameter, and returns those that it runs with: the parts of tensors
        that several processes have, which formulas of elements may step one by one.
    """
    _stands_for[cls] = function


def multi_tensor(formula: Callable[..., None]) -> MultiTensorStep:
    """Turn a formula for one parameter into a step over lists of them.

    Parameters
    ----------
    formula : callable
        Takes by position the parameter, its gradient, and its state (tensors or numbers, or None where the options need
        none), and by name options that all parameters have in common. It writes into parameter and state, and calls
        no other methods than an optimizer's arithmetic needs: in place ``copy_ mul_ add_ addcmul_ addcdiv_ lerp_
        clamp_``; for new values ``add mul div addcmul sqrt abs sign maximum gt lt masked_fill``.

    Examples
    --------
    >>> from weft.library.multi_tensor import multi_tensor
    >>> @multi_tensor
    ... def descend(param, grad, *, lr):
    ...     param.add_(grad, alpha=-lr)
    >>> weights = [weft.ones(2), weft.ones(3)]
    >>> with weft.no_grad():
    ...     descend(weights, [weft.ones(2), weft.ones(3)], lr=0.5)
    >>> weights
    [tensor([0.5000, 0.5000]), tensor([0.5000, 0.5000, 0.5000])]
    """
    return MultiTensorStep(formula)


class MultiTensorStep:
    """A formula that takes lists in place of single tensors.

    Attributes
    ----------
    name : str
        Under which a backend may have a kernel, ``"optim::sgd_step"``.
    """

    def __init__(self, formula: Callable[..., None]) -> None:
        functools.update_wrapper(self, formula)
        self.formula = formula
        self.name = f"optim::{formula.__name__}"
        self._operation = Operation(self.name, self._run_by_name, formula)
        self._operation.array_function = self.array_function
        kinds = [formula.__annotations__.get(name) for name in parameters_of(formula)]
        self._numbers = [position for position, kind in enumerate(kinds) if kind in ("float", float)]

    def __call__(self, *columns: Row, **options: Any) -> None:
        """Step all parameters.

        Parameters
        ----------
        *columns : sequences of equal length
            For each positional parameter of the formula, its values.
        **options
            Of the formula.
        """
        if not local.grad_enabled and any(type(each) in _stands_for for each in columns[0] if _stands_for):
            columns = tuple(zip(*[self._on_plain(row) for row in zip(*columns, strict=True)]))
        if not local.grad_enabled and is_watched():
            self._operation.run(columns, options)
            return
        if local.grad_enabled or self._takes_tensors(columns, options):
            for values in zip(*columns, strict=True):
                self.formula(*values, **options)
            return
        key = columns[0][0]._key
        if key.plain and all(value._key is key for column in columns for value in column if isinstance(value, Tensor)):
            self._run_on_arrays(key, columns, options)
            return
        for key, rows in self._by_kind(list(zip(*columns, strict=True))).items():
            if key is None:
                for row in rows:
                    self.formula(*row, **options)
            else:
                self._run_on_arrays(key, list(zip(*rows)), options)

    @staticmethod
    def _on_plain(row: Row) -> Row:
        function = _stands_for.get(type(row[0]))
        return row if function is None else function(row)

    def _takes_tensors(self, columns: Sequence[Row], options: dict[str, Any]) -> bool:
        """Whether a number of the formula is in a tensor."""
        numbers = [columns[position][0] for position in self._numbers if position < len(columns)]
        return any(isinstance(value, Tensor) for value in (*numbers, *options.values()))

    def _run_by_name(self, *columns: Row, **options: Any) -> None:
        """Step as the op that interceptors see: numbers, as the counts of steps, may stand in tensors."""
        if not is_watched():
            columns = tuple(
                [number_of(x) for x in column] if position in self._numbers else column
                for position, column in enumerate(columns)
            )
        self(*columns, **options)

    @staticmethod
    def _by_kind(rows: list[Row]) -> dict[DispatchKey | None, list[Row]]:
        """Rows whose tensors are all of one dtype and device, by that; under None those to run on tensors."""
        found: dict[DispatchKey | None, list[Row]] = {}
        for row in rows:
            key: DispatchKey | None = row[0]._key
            if any(isinstance(value, Tensor) and (value._key is not key or not value._key.plain) for value in row):
                key = None
            found.setdefault(key, []).append(row)
        return found

    def _run_on_arrays(self, key: DispatchKey, columns: Sequence[Row], options: dict[str, Any]) -> None:
        kernel = self.kernel(key)
        arrays = [[x._array if isinstance(x, Tensor) else x for x in column] for column in columns]
        with backend_of(key.device).guard(key.device.index):
            run_quietly(functools.partial(watched(self.name, kernel), *arrays, **options))
        short = self.formula.__name__
        for index, column in enumerate(columns):
            if index != 1 and isinstance(column[0], Tensor):  # all but the gradients are written
                for tensor in column:
                    bump(tensor, short)

    def kernel(self, key: DispatchKey) -> Callable[..., None]:
        """The function of lists of arrays that steps parameters of a dispatch key."""
        kernel = plugins().kernels(key.device.type).get(self.name)
        if kernel is not None:
            return kernel
        backend = backend_of(key.device)
        generic = functools.partial(self._in_blocks, _block_class(backend.xp))
        found: Callable[..., None] = backend.kernel(self.name, key.dtype, generic)
        return found

    def array_function(self, values: dict[str, Any]) -> Callable[..., None] | None:
        """The op that interceptors see as a function of its arguments' arrays; None if it is no single kernel."""
        names, numbers = list(values), self._numbers
        columns = sum(isinstance(value, list) for value in values.values())
        rows = [each for place, each in enumerate(values.values()) if place < columns and place not in numbers]
        keys = {each for row in rows for each in row if isinstance(each, DispatchKey)}
        if len(keys) != 1 or any(isinstance(values[name], DispatchKey) for name in names[columns:]):
            return None
        kernel = self.kernel(keys.pop())

        def step(*arrays: Any) -> None:
            given = list(arrays[:columns])
            for position in numbers:
                given[position] = [x.item() if isinstance(x, np.ndarray) else x for x in given[position]]
            kernel(*given, **dict(zip(names[columns:], arrays[columns:])))

        return step

    def _in_blocks(self, block: Any, *columns: Row, **options: Any) -> None:
        formula = self.formula
        is_array = [hasattr(column[0], "dtype") for column in columns]
        for row in zip(*columns):
            for piece in [row] if row[0].size <= _block_elements else _pieces(row):
                formula(*[block(x) if wrap else x for x, wrap in zip(piece, is_array)], **options)


def number_of(value: Any) -> Any:
    """A number that may stand in a tensor, unless that is on a device."""
    return value.item() if isinstance(value, Tensor) and value.device.type == "cpu" else value


def _pieces(row: Row) -> Iterator[Row]:
    """The row, or its arrays cut in the same way into blocks that fit into the cache."""
    param = row[0]
    if not isinstance(param, np.ndarray):  # for another library, each block would be more kernels to launch
        yield row
        return
    if all(x.flags.c_contiguous for x in row if isinstance(x, np.ndarray)):
        row = [x.reshape(-1) if isinstance(x, np.ndarray) else x for x in row]
        param = row[0]
    length = max(1, _block_elements * param.shape[0] // param.size)
    for start in range(0, param.shape[0], length):
        yield [x[start : start + length] if isinstance(x, np.ndarray) else x for x in row]


@functools.cache
def _block_class(xp: Any) -> type:
    """The class of arrays with those of a tensor's methods that formulas use, over an array namespace."""

    def raw(value: Any) -> Any:
        return value.array if isinstance(value, Block) else value

    class Block:
        """An array with methods of a tensor, without gradients, checks or promotion."""

        __slots__ = ("array",)

        def __init__(self, array: Any) -> None:
            self.array = array

        def is_complex(self) -> bool:
            return bool(self.array.dtype.kind == "c")

        # In place

        def copy_(self, other: Block) -> Block:
            self.array[...] = other.array
            return self

        def mul_(self, other: Any) -> Block:
            xp.multiply(self.array, raw(other), out=self.array)
            return self

        def add_(self, other: Any, *, alpha: Any = 1) -> Block:
            other = raw(other)
            xp.add(self.array, other if alpha == 1 else xp.multiply(other, alpha), out=self.array)
            return self

        def addcmul_(self, first: Block, second: Block, *, value: Any = 1) -> Block:
            product = xp.multiply(first.array, second.array if value == 1 else value)
            if value != 1:
                product = xp.multiply(product, second.array)
            xp.add(self.array, product, out=self.array)
            return self

        def addcdiv_(self, first: Block, second: Block, *, value: Any = 1) -> Block:
            scaled = first.array if value == 1 else xp.multiply(first.array, value)
            xp.add(self.array, xp.divide(scaled, second.array), out=self.array)
            return self

        def lerp_(self, end: Block, weight: float) -> Block:
            distance = xp.subtract(end.array, self.array)
            if weight < 0.5:
                xp.add(self.array, xp.multiply(distance, weight), out=self.array)
            else:  # exact at 1
                xp.subtract(end.array, xp.multiply(distance, 1 - weight), out=self.array)
            return self

        def clamp_(self, min: float, max: float) -> Block:
            xp.clip(self.array, min, max, out=self.array)
            return self

        # New arrays

        def add(self, other: Any, *, alpha: Any = 1) -> Block:
            other = raw(other)
            return Block(xp.add(self.array, other if alpha == 1 else xp.multiply(other, alpha)))

        def mul(self, other: Any) -> Block:
            return Block(xp.multiply(self.array, raw(other)))

        def div(self, other: Any) -> Block:
            return Block(xp.divide(self.array, raw(other)))

        def addcmul(self, first: Block, second: Block, *, value: Any = 1) -> Block:
            return Block(self.array + xp.multiply(first.array, second.array) * value)

        def sqrt(self) -> Block:
            return Block(xp.sqrt(self.array))

        def abs(self) -> Block:
            return Block(xp.abs(self.array))

        def sign(self) -> Block:
            return Block(xp.sign(self.array))

        def maximum(self, other: Block) -> Block:
            return Block(xp.maximum(self.array, other.array))

        def gt(self, other: Any) -> Block:
            return Block(xp.greater(self.array, raw(other)))

        def lt(self, other: Any) -> Block:
            return Block(xp.less(self.array, raw(other)))

        def masked_fill(self, mask: Block, value: float) -> Block:
            return Block(xp.where(mask.array, self.array.dtype.type(value), self.array))

    return Block
