"""Products of many matrices with one other, which is arranged as the library likes it once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from weft.backend_cpu.onednn.library import UnsupportedError, make
from weft.backend_cpu.onednn.primitives import (
    DST,
    SRC,
    WEIGHTS,
    Handle,
    Primitive,
    address,
    any_layout,
    attributes,
    described,
    engine,
    is_fast,
    layout_of,
    on_this_thread,
    pool,
    reorder,
    size_of,
    workspace,
)

__all__ = ["Multiply", "repeated"]

Array = numpy.ndarray[Any, Any]
Multiply = Callable[[Array, Array], Any]  # from a contiguous matrix, and where to write its product


def repeated(rows: int, other: Array, work: Callable[[Multiply], None]) -> bool:
    """Call ``work`` with a function that multiplies a matrix of ``rows`` with ``other``; False if there is none."""
    on_this_thread()
    found = pool(RepeatedProduct, rows, other.shape, other.strides)
    if found is None:
        return False
    found.run(other, work)
    return True


class RepeatedProduct:
    """The primitive, and the reorder before it.

    Raises
    ------
    UnsupportedError
        If the library has no fast one.
    """

    def __init__(self, rows: int, shape: tuple[int, int], strides: tuple[int, int]) -> None:
        inner, columns = shape
        a = described((rows, inner), (4 * inner, 4))
        result = described((rows, columns), (4 * columns, 4))
        create = "dnnl_matmul_primitive_desc_create"
        made = make(create, engine(), a, any_layout(shape), None, result, attributes())
        description = Handle("primitive_desc", made)
        if not is_fast(description):
            raise UnsupportedError(f"{create}: only the plain loops")
        layout = layout_of(description, WEIGHTS)
        self.size = size_of(layout)
        given = described(shape, strides)
        self.arrange = reorder(given.value, layout or 0)
        self.product = Primitive(description, [(SRC, a), (WEIGHTS, layout), (DST, result)])

    def run(self, other: Array, work: Callable[[Multiply], None]) -> None:
        """Arrange the other matrix, and call ``work``."""
        buffer, place = workspace(self.size)
        self.arrange.run(address(other), place)
        product = self.product
        work(lambda matrix, result: product.run(address(matrix), place, address(result)))
        del buffer  # not before the work is done
