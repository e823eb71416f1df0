"""Calls of each function, on tensors of a size: what `test_layouts` tries in every arrangement.

Pointwise ops follow from their declarations, and what `weft.testing` has samples of, from these. For the others::

    @sized("sort argsort")
    def _(make, rows, columns, third):
        yield call(make.distinct(rows, columns))

A name is that of an op (``core::exp``), of a function of ``weft``, ``weft.nn.functional``, ``weft.linalg`` or
``weft.fft``, or of a method; its in-place variant and ``out=`` are tried where there are such. All values are multiples
of 1/8, which every dtype has: sums and products of few are exact, and no result hangs on a last place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from sizes import Size

import weft
import weft.fft
import weft.linalg
import weft.nn.functional as F
import weft.ops.orthogonal_polynomials
import weft.special
import weft.vision.ops
from weft.ao.decomposed import dequantize, quantize
from weft.ops._families import all_functions
from weft.ops._registry import registry
from weft.ops.compressed_rows import csr_matmul, csr_solve
from weft.testing import _core_samples as _core_samples
from weft.testing import call
from weft.testing._samples import _generators as tiny
from weft.vision.transforms.v2.functional import _bytes

Calls = Callable[["Make", int, int, int], Iterable[Any]]
CALLS: dict[str, Calls] = {}
all_functions()


class Make:
    """Makes the tensors of a sample: the same ones each time, of multiples of 1/8, or whole numbers."""

    def __init__(self, dtype: Any, seed: int) -> None:
        self.dtype = dtype
        self.random = np.random.RandomState(seed)

    def __call__(self, *shape: int, low: float = -2, high: float = 2, dtype: Any = None) -> Any:
        """Values from [low, high), or [1, 4) where integers leave none."""
        dtype = self.dtype if dtype is None else dtype
        if dtype is weft.bool:
            return self.mask(*shape)
        if dtype.is_floating_point or dtype.is_complex:
            eighths = self.random.randint(round(8 * low), max(round(8 * high), round(8 * low) + 1), shape)
            values = eighths / 8
            if dtype.is_complex:
                values = values + 1j * self.random.randint(-16, 16, shape) / 8
        else:
            low, high = (low, high) if high - low > 1 else (1, 4)
            values = self.random.randint(round(low), round(high), shape)
        return weft.from_numpy(np.asarray(values)).to(dtype)

    def index(self, *shape: int, below: int) -> Any:
        return weft.from_numpy(np.asarray(self.random.randint(0, max(below, 1), shape), np.int64))

    def mask(self, *shape: int) -> Any:
        return weft.from_numpy(np.asarray(self.random.rand(*shape) < 0.5))

    def distinct(self, *shape: int) -> Any:
        """Different numbers, as far as the dtype has so many: else sorted, equal ones may come in any order."""
        count = int(np.prod(shape))
        values = self.random.permutation(count).reshape(shape)
        if self.dtype is weft.bfloat16:  # the numbers of 16 bits in their order, from 2 ** -60 on
            values = (values % 0x3F00 + 0x2180).astype(np.uint32) << 16
            return weft.from_numpy(values.view(np.float32)).to(self.dtype)
        return weft.from_numpy(values).to(self.dtype)

    def definite(self, n: int) -> Any:
        """A symmetric matrix with positive eigenvalues."""
        a = self(n, n, low=0, high=1)
        return a + a.T + 4 * max(n, 1) * weft.eye(n, dtype=a.dtype)

    def regular(self, n: int) -> Any:
        return self(n, n) + 4 * max(n, 1) * weft.eye(n, dtype=self.dtype)


def sized(names: str) -> Callable[[Calls], Calls]:
    """Declare the calls of some functions."""

    def declare(calls: Calls) -> Calls:
        for name in names.split():
            CALLS[name] = calls
        return calls

    return declare


WITHOUT = {  # no tensor arguments, or nothing that depends on how they lie
    "core::transfer": "needs two devices",
    "core::view_dtype": "its values are the bits of others: they are not those of float64",
    "core::setitem": "what exported programs have for writes to views, which are tried themselves",
    "core::view_scatter": "a node of the graph, for writes to views; its gradient is what embeds them",
    "nn::int_conv1d": "its windows are those of conv1d; declared when it is first asked for",
    "nn::int_conv2d": "as int_conv1d",
    "nn::int_conv3d": "as int_conv1d",
    "nn::redrawn_dropout": "needs a counter-based generator, which devices have",
    "nn::redrawn_attention": "as redrawn_dropout",
    "core::nonzero_static": "for what is not to wait for a size: devices, and batches of vmap",
    "core::linalg_lobpcg": "an iteration that begins at random, on products that are tried themselves",
}
DOMAIN = {"core::digamma": 0.5, "core::lgamma": 0.5}  # from here on: they have poles below
SPACES = (F, weft, weft.linalg, weft.fft, weft.Tensor)


def function_of(name: str) -> Callable[..., Any]:
    """The function of a name."""
    if name in EXTRA:
        return EXTRA[name]
    if "::" in name:
        return registry[name].function if registry[name].promotes else registry[name].op
    for space in SPACES:
        found = getattr(space, name, None)
        if callable(found):
            return found
    raise LookupError(name)


@cache
def names() -> tuple[str, ...]:
    """All functions with calls."""
    derived = [name for name, each in registry.items() if each.promotes]
    own = [name for name in tiny if "." not in name]  # the samples of other portions have calls of their own here
    return tuple(dict.fromkeys([*derived, *own, *CALLS]))


def calls_of(name: str, dtype: Any, size: Size) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The calls of a function on tensors of a size; at the first one also the small samples that there are."""
    make = Make(dtype, (size.rows * 7919 + size.columns * 31 + size.third) % 2**31)
    if size == Size(7, 9) and name in tiny and name not in DOMAIN:
        yield from tiny[name](make)
    if name in CALLS:
        yield from CALLS[name](make, *size)
    elif "::" in name and registry[name].promotes:
        yield from pointwise(name, make, *size)


def pointwise(name: str, make: Make, rows: int, columns: int, third: int) -> Iterator[Any]:
    """Matrices; with a row, a column, and a number."""
    count = len(registry[name].arguments)
    if name in DOMAIN:
        yield call(make(rows, columns, low=DOMAIN[name], high=4))
        return
    yield call(*[make(rows, columns) for _ in range(count)])
    if count > 1:
        shapes = [(rows, columns), (columns,), (rows, 1)]
        yield call(*[make(*shape) for shape in shapes[:count]])
        yield call(*[make(*shape) for shape in ((rows, columns), (rows, 1), (columns,))[:count]])
    if count == 2:
        yield call(make(rows, columns), 2)
        yield call(make(columns), make(rows, columns))
    if rows * columns == 63:
        yield call(*[make(2, 3, 4, 5) for _ in range(count)])
        yield call(*[make() for _ in range(count)])


# Reductions


def dims_of(make: Make, rows: int, columns: int) -> Iterator[tuple[Any, Any]]:
    x = make(rows, columns)
    yield from ((x, 0), (x, 1), (x, (0, 1)))
    if rows * columns <= 4096:
        yield make(2, rows, columns), (0, 2)
        yield make(2, rows, columns), 1


@sized("sum mean nansum nanmean var std var_mean std_mean amax amin any all count_nonzero logsumexp")
def _(make, rows, columns, third):
    for x, dim in dims_of(make, rows, columns):
        yield call(x, dim=dim)


@sized("prod")
def _(make, rows, columns, third):
    if rows * columns <= 64:
        yield from (call(make(rows, columns), dim) for dim in (0, 1))
    signs = make.mask(rows, columns).to(make.dtype) * 2 - 1  # no product is too large, in whichever order
    yield from (call(signs, dim) for dim in (0, 1))
    yield call(signs)


@sized("max min argmax argmin median nanmedian mode cummax cummin")
def _(make, rows, columns, third):
    for dim in (0, 1):
        yield call(make.distinct(rows, columns), dim)
    if rows * columns <= 4096:
        yield call(make.distinct(2, rows, columns), 1)


@sized("core::max_all core::min_all")
def _(make, rows, columns, third):
    yield call(make.distinct(rows, columns))


@sized("core::hash_tensor")
def _(make, rows, columns, third):
    yield call(make(rows, columns), (1,), False)


@sized("sum_of_bytes prod_of_bytes all_bytes any_bytes")
def _(make, rows, columns, third):
    for x, dim in dims_of(lambda *shape: make(*shape, dtype=weft.int8), rows, columns):
        yield call(x, dim)


EXTRA: dict[str, Callable[..., Any]] = {
    "sum_of_bytes": lambda x, dim: x.sum(dim),
    "prod_of_bytes": lambda x, dim: x.flatten(*dim).prod(-1) if isinstance(dim, tuple) else x.prod(dim),
    "all_bytes": lambda x, dim: x.all(dim),
    "any_bytes": lambda x, dim: x.any(dim),
}


@sized("norm")
def _(make, rows, columns, third):
    for p in (1, 2, 3, float("inf")):
        yield call(make(rows, columns), p, dim=1)
        yield call(make(rows, columns), p, dim=0)


@sized("softmax log_softmax cumsum cumprod logcumsumexp")
def _(make, rows, columns, third):
    for dim in (0, 1):
        yield call(make(rows, columns, low=-1, high=1), dim)
    if rows * columns <= 4096:
        yield call(make(2, rows, columns, low=-1, high=1), 1)


@sized("sort argsort")
def _(make, rows, columns, third):
    for dim in (0, 1):
        yield call(make.distinct(rows, columns), dim)
        yield call(make.distinct(rows, columns), dim, descending=True)


@sized("topk")
def _(make, rows, columns, third):
    yield call(make.distinct(rows, columns), min(columns, 5))
    yield call(make.distinct(rows, columns), min(rows, 65), 0, largest=False)
    yield call(make.distinct(rows, columns), min(columns, 64))


@sized("kthvalue")
def _(make, rows, columns, third):
    yield call(make.distinct(rows, columns), 1 + columns // 2)
    yield call(make.distinct(rows, columns), 1 + rows // 2, 0)


@sized("diff")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns)), call(make(rows, columns), dim=0))


@sized("renorm")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 2, 0, 1.0)


@sized("cov corrcoef")
def _(make, rows, columns, third):
    yield call(make(min(rows, 50), columns))


# Copies and views


@sized("clone contiguous real nan_to_num round logit frac zeros_like ones_like t ravel flatten neg_view conj_physical")
def _(make, rows, columns, third):
    yield call(make(rows, columns))


CALLS.pop("neg_view")


@sized("core::contiguous_copy core::clone core::linalg_columns core::fft_covered core::angle core::std core::isnan")
def _(make, rows, columns, third):
    yield call(make(rows, columns))
    if rows * columns <= 4096:
        yield call(make(2, 3, rows, columns))


CALLS.pop("core::std")
CALLS.pop("core::fft_covered")


@sized("to")
def _(make, rows, columns, third):
    x = make(rows, columns)
    for dtype in (weft.float32, weft.bfloat16, weft.float16, weft.float64, weft.int64, weft.int8, weft.bool):
        yield call(x, dtype)


@sized("reshape")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), (columns, rows)), call(make(2, rows, columns), (2 * rows, columns)))


@sized("flip")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), (0,)), call(make(rows, columns), (1,)), call(make(rows, columns), (0, 1)))


@sized("roll")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), 1), call(make(rows, columns), (1, -2), (0, 1)))


@sized("tril triu")
def _(make, rows, columns, third):
    yield from (
        call(make(rows, columns)),
        call(make(rows, columns), 1),
        call(make(2, min(rows, 999), min(columns, 99))),
    )


@sized("cat")
def _(make, rows, columns, third):
    for dim in (0, 1):
        yield call([make(rows, columns), make(rows, columns), make(rows, columns)], dim)
    yield call([make(rows, columns), make(3, columns)], 0)
    yield call([make(rows, columns), make(rows, 1)], 1)


@sized("stack")
def _(make, rows, columns, third):
    for dim in (0, 1, 2):
        yield call([make(rows, columns), make(rows, columns)], dim)


@sized("block_diag")
def _(make, rows, columns, third):
    yield call(make(min(rows, 99), min(columns, 99)), make(3, 2))


@sized("rot90 fliplr flipud")
def _(make, rows, columns, third):
    yield call(make(rows, columns))


@sized("tile")
def _(make, rows, columns, third):
    yield call(make(rows, columns), (2, 2))


@sized("repeat_interleave")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), 2), call(make(rows, columns), make.index(rows, below=3), 0))


@sized("unfold")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 1, min(columns, 3), 2)


@sized("view_as_complex")
def _(make, rows, columns, third):
    yield call(make(rows, columns, 2))


@sized("view_as_real")
def _(make, rows, columns, third):
    yield call(make(rows, columns, dtype=weft.complex64))


@sized("complex polar")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns))


@sized("diag_embed diagonal diag trace")
def _(make, rows, columns, third):
    yield call(make(min(rows, 200), min(columns, 200)))


@sized("select_scatter")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows), 1, columns - 1)


@sized("slice_scatter")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, -(-columns // 2)), 1, 0, columns, 2)


# Choosing elements


@sized("where")
def _(make, rows, columns, third):
    yield call(make.mask(rows, columns), make(rows, columns), make(rows, columns))
    yield call(make.mask(rows, 1), make(columns), make(rows, columns))
    yield call(make.mask(rows, columns), make(rows, columns), 2)


@sized("masked_fill")
def _(make, rows, columns, third):
    yield from (
        call(make(rows, columns), make.mask(rows, columns), 1),
        call(make(rows, columns), make.mask(columns), 1),
    )


@sized("masked_select")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), make.mask(rows, columns)), call(make(rows, columns), make.mask(columns)))


@sized("masked_scatter")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make.mask(rows, columns), make(rows * columns))


@sized("index_select")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 0, make.index(rows, below=rows) if rows else make.index(0, below=1))
    yield call(make(rows, columns), 1, make.index(min(columns, 5), below=columns))


@sized("index_add index_copy")
def _(make, rows, columns, third):
    few = min(rows, 300)
    index = weft.from_numpy(make.random.permutation(max(rows, 1))[:few].astype(np.int64))
    yield call(make(rows, columns), 0, index, make(few, columns))
    few = min(columns, 300)
    index = weft.from_numpy(make.random.permutation(max(columns, 1))[:few].astype(np.int64))
    yield call(make(rows, columns), 1, index, make(rows, few))


@sized("index_fill")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 0, make.index(min(rows, 3), below=rows), 1)


@sized("gather")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 0, make.index(min(rows, 300), columns, below=rows))
    yield call(make(rows, columns), 1, make.index(rows, min(columns, 300), below=columns))


@sized("take_along_dim")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make.index(rows, columns, below=columns), 1)


@sized("scatter")
def _(make, rows, columns, third):
    shuffled = [make.random.permutation(max(columns, 1))[:columns] for _ in range(rows)]
    index = weft.from_numpy(np.array(shuffled, np.int64).reshape(rows, columns))
    yield call(make(rows, columns), 1, index, make(rows, columns))
    yield call(make(rows, columns), 1, index, 2.0 if make.dtype.is_floating_point else 2)
    yield call(make(rows, columns), 1, index, 2.0 if make.dtype.is_floating_point else 2, reduce="multiply")


@sized("scatter_add")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 1, make.index(rows, columns, below=columns), make(rows, columns))
    yield call(make(rows, columns), 0, make.index(rows, columns, below=rows), make(rows, columns))


@sized("scatter_reduce")
def _(make, rows, columns, third):
    for reduce in ("sum", "amax", "amin", "mean", "prod"):
        yield call(make(rows, columns), 1, make.index(rows, columns, below=columns), make(rows, columns), reduce)


@sized("segment_reduce")
def _(make, rows, columns, third):
    for reduce in ("sum", "mean", "max", "min", "prod"):
        data = make(rows, columns) if reduce != "prod" else make.mask(rows, columns).to(make.dtype) * 2 - 1
        yield call(data, reduce, lengths=weft.tensor([rows // 2, 0, rows - rows // 2]), unsafe=True)


@sized("take")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make.index(rows, columns, below=rows * columns))


@sized("put")
def _(make, rows, columns, third):
    index = weft.from_numpy(make.random.permutation(max(rows * columns, 1))[: rows * columns].astype(np.int64))
    yield call(make(rows, columns), index, make(rows * columns))


@sized("nonzero argwhere")
def _(make, rows, columns, third):
    yield call(make(rows, columns))


@sized("searchsorted")
def _(make, rows, columns, third):
    yield call(make(rows, columns).sort(1)[0].contiguous(), make(rows, min(columns, 99)))


@sized("bucketize")
def _(make, rows, columns, third):
    yield call(make(rows, columns), weft.arange(-2, 3).to(make.dtype))


@sized("unique unique_consecutive")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns)), call(make(rows, columns), return_inverse=True, return_counts=True))


@sized("isin")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(7))


@sized("bincount")
def _(make, rows, columns, third):
    yield call(make.index(rows * columns, below=9))
    yield call(make.index(rows * columns, below=9), make(rows * columns))


@sized("histc")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 7, -2, 2)


@sized("getitem_tensors")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make.index(min(rows, 50), below=rows), make.index(min(rows, 50), below=columns))
    yield call(make(rows, columns), make.index(min(rows, 50), 1, below=rows), make.index(3, below=columns))


@sized("getitem_rows getitem_columns")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make.index(min(rows, columns), below=min(rows, columns)))


@sized("getitem_mask")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), make.mask(rows, columns)), call(make(rows, columns), make.mask(rows)))


@sized("setitem_slice_")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), make(rows, columns)), call(make(rows, columns), make(columns)))


@sized("setitem_rows_")
def _(make, rows, columns, third):
    few = min(rows, 50)
    index = weft.from_numpy(make.random.permutation(max(rows, 1))[:few].astype(np.int64))
    yield from (call(make(rows, columns), index, make(few, columns)), call(make(rows, columns), index, make(columns)))


@sized("setitem_mask_")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make.mask(rows, columns), make(()) if False else make())


@sized("index_put_accumulated_")
def _(make, rows, columns, third):
    few = min(rows, 50)
    indices = (make.index(few, below=rows), make.index(few, below=columns))
    yield call(make(rows, columns), *indices, make(few))


def setitem_slice_(x, values):
    x[:] = values
    return x


def setitem_rows_(x, index, values):
    x[index] = values
    return x


setitem_mask_ = setitem_rows_


def write_to_view(x, values):
    y = x * 1
    y[:, ::2].mul_(values)
    return y


EXTRA |= {
    "written_view": write_to_view,
    "getitem_tensors": lambda x, i, j: x[i, j],
    "getitem_rows": lambda x, i: x[i],
    "getitem_columns": lambda x, i: x[:, i],
    "getitem_mask": lambda x, m: x[m],
    "setitem_slice_": setitem_slice_,
    "setitem_rows_": setitem_rows_,
    "setitem_mask_": setitem_mask_,
    "index_put_accumulated_": lambda x, i, j, v: x.index_put_((i, j), v, accumulate=True),
    "dropout_drawn": lambda x: F.dropout(x, 0.5, training=True),
    "attention_causal": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "lstm": lambda x, *weights: layers(weft.lstm, x, weights, 2),
    "gru": lambda x, *weights: layers(weft.gru, x, weights, 1),
    "rnn": lambda x, *weights: layers(weft.rnn_tanh, x, weights, 1),
    "nn_unfold": lambda x: F.unfold(x, 3, padding=1),
    "nn_fold": lambda x, h, w: F.fold(x, (h, w), 3, padding=1),
    "polygamma_1": lambda x: weft.special.polygamma(1, x),
}


@sized("written_view")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, -(-columns // 2)))


def compressed_rows(make, rows, columns):
    """The parts of a matrix with two entries in each row, the first of them on the diagonal."""
    columns = max(columns, 3)
    first = weft.arange(rows)[:, None] % columns
    col = weft.cat([first, (first + 1) % columns], 1)
    values = make(rows, 2, low=0, high=1)
    values[:, 0] += 4
    return values.flatten(), weft.arange(rows + 1) * 2, col.flatten()


EXTRA["csr_matmul"] = lambda values, crow, col, other, columns: csr_matmul.op(values, crow, col, other, columns, False)
EXTRA["csr_matmul_transposed"] = lambda *parts: csr_matmul.op(*parts, True)
EXTRA["csr_solve"] = lambda values, crow, col, other: csr_solve.op(values, crow, col, other, False)


@sized("csr_matmul")
def _(make, rows, columns, third):
    yield call(*compressed_rows(make, rows, columns), make(max(columns, 3), third), max(columns, 3))


@sized("csr_matmul_transposed")
def _(make, rows, columns, third):
    yield call(*compressed_rows(make, rows, columns), make(rows, third), max(columns, 3))


@sized("csr_solve")
def _(make, rows, columns, third):
    if make.dtype.is_floating_point and 3 <= rows <= 256:
        yield call(*compressed_rows(make, rows, rows), make(rows, third))


@sized("frexp")
def _(make, rows, columns, third):
    yield call(make(rows, columns))


@sized("istft")
def _(make, rows, columns, third):
    frames = make(2, 9, min(max(columns, 1), 30), dtype=weft.complex64)
    yield call(frames, 16, window=weft.ones(16))


# In place alone


@sized("copy_")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns))
    yield call(make(rows, columns), make(columns))
    yield call(make(rows, columns), make(rows, columns, dtype=weft.float64))
    yield call(make(rows, columns), make(rows, columns, dtype=weft.int8))


@sized("fill_")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), 1), call(make(rows, columns), 0), call(make(rows, columns), make()))


@sized("zero_ exponential_ log_normal_ cauchy_ random_ bernoulli_")
def _(make, rows, columns, third):
    yield call(make(rows, columns))


@sized("uniform_ normal_")
def _(make, rows, columns, third):
    yield call(make(rows, columns))
    yield call(make(rows, columns), generator=weft.default_generator)


@sized("_sample_dirichlet")
def _(make, rows, columns, third):
    yield call(make(rows, columns, low=1, high=2))


@sized("_dirichlet_grad")
def _(make, rows, columns, third):
    x, alpha = make(rows, columns, low=0.25, high=0.75), make(rows, columns, low=1, high=2)
    yield call(x, alpha, alpha + 2)


@sized("geometric_")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 0.5)


@sized("fill_diagonal_")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 1)


@sized("bernoulli poisson")
def _(make, rows, columns, third):
    yield call(make(rows, columns, low=0, high=1))


@sized("normal")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns, low=0, high=1))


@sized("binomial")
def _(make, rows, columns, third):
    yield call(make(rows, columns, low=1, high=4).round(), make(rows, columns, low=0, high=1))


@sized("multinomial")
def _(make, rows, columns, third):
    yield call(make(rows, columns, low=1, high=2), 2, True)


@sized("core::_standard_gamma")
def _(make, rows, columns, third):
    yield call(make(rows, columns, low=1, high=2), weft.default_generator)


@sized("dropout_drawn")
def _(make, rows, columns, third):
    yield call(make(rows, columns))


RANDOM = frozenset(
    "normal_ uniform_ exponential_ log_normal_ cauchy_ random_ bernoulli_ geometric_ bernoulli poisson normal "
    "_sample_dirichlet binomial multinomial core::_standard_gamma dropout_drawn".split()
)


# Products


@sized("matmul mm")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(columns, third))
    yield call(make(third, rows), make(rows, columns))


@sized("bmm")
def _(make, rows, columns, third):
    rows, columns = min(rows, 2000), min(columns, 2000)
    yield call(make(3, rows, columns), make(3, columns, third))


@sized("matmul_batches")
def _(make, rows, columns, third):
    rows, columns = min(rows, 2000), min(columns, 2000)
    yield call(make(3, rows, columns), make(columns, third))
    yield call(make(rows, columns), make(2, columns, third))
    yield call(make(2, 1, rows, columns), make(3, columns, third))
    yield call(make(3, rows, columns), make(3, columns, 1))
    yield call(make(3, 1, columns), make(3, columns, third))
    yield call(make(3, rows, columns), make(columns))


EXTRA["matmul_batches"] = weft.matmul


@sized("mv")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(columns))


@sized("dot vdot inner")
def _(make, rows, columns, third):
    yield call(make(rows * columns), make(rows * columns))


@sized("outer")
def _(make, rows, columns, third):
    yield call(make(rows), make(columns))


@sized("addmm")
def _(make, rows, columns, third):
    yield call(make(third), make(rows, columns), make(columns, third))
    yield call(make(rows, third), make(rows, columns), make(columns, third), beta=2, alpha=3)


@sized("addmv")
def _(make, rows, columns, third):
    yield call(make(rows), make(rows, columns), make(columns))


@sized("addbmm baddbmm")
def _(make, rows, columns, third):
    rows, columns = min(rows, 2000), min(columns, 2000)
    yield call(make(rows, third), make(3, rows, columns), make(3, columns, third))


@sized("addr")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows), make(columns))


@sized("core::int_mm")
def _(make, rows, columns, third):
    for dtype in (weft.int8, weft.uint8):
        yield call(make(rows, columns, dtype=dtype), make(columns, third, dtype=dtype))


@sized("einsum_ij_kj")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(third, columns))


EXTRA["einsum_ij_kj"] = lambda a, b: weft.einsum("ij,kj->ik", a, b)


@sized("kron")
def _(make, rows, columns, third):
    yield call(make(min(rows, 40), min(columns, 40)), make(2, 3))


@sized("cross")
def _(make, rows, columns, third):
    yield call(make(rows * columns, 3), make(rows * columns, 3))


@sized("cdist")
def _(make, rows, columns, third):
    yield call(make(min(rows, 60), columns), make(third if third < 60 else 5, columns))


@sized("pdist")
def _(make, rows, columns, third):
    yield call(make(min(rows, 60), columns))


# Element by element, with parameters of their own


@sized("ldexp")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make.index(rows, columns, below=4))


@sized("core::tanh_backward core::sigmoid_backward")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns, low=0, high=1))


@sized("core::add_scaled")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns), 2)
    yield call(make(rows, columns), make(columns), 2)


@sized("core::addcmul core::addcdiv")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns), make(rows, columns, low=1), value=2)
    yield call(make(rows, columns), make(columns), make(rows, 1, low=1), value=2)


@sized("clamp")
def _(make, rows, columns, third):
    yield call(make(rows, columns), -1, 1)
    yield call(make(rows, columns), make(rows, columns), make(columns))
    yield call(make(rows, columns), None, 1)


@sized("core::bitwise_left_shift core::bitwise_right_shift")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns, low=0, high=4))


@sized("polygamma_1 lgamma digamma")
def _(make, rows, columns, third):
    yield call(make(rows, columns, low=0.5, high=4))


@sized("core::igamma core::igammac core::zeta")
def _(make, rows, columns, third):
    yield call(make(rows, columns, low=1.5, high=4), make(rows, columns, low=1.5, high=4))


@sized("add sub rsub mul")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), make(rows, columns)), call(make(rows, columns), make(rows, columns), alpha=2))


CALLS.pop("mul")


# Linear algebra


@sized("inv det slogdet pinv matrix_exp svdvals eigvalsh")
def _(make, rows, columns, third):
    n = min(rows, 20)
    a = make.regular(n)
    yield from (call(a + a.T), call(weft.stack([a + a.T, a + a.T])))


@sized("cholesky")
def _(make, rows, columns, third):
    yield call(make.definite(min(rows, 20)))


@sized("linalg_solve")
def _(make, rows, columns, third):
    n = min(rows, 20)
    yield call(make.regular(n), make(n, 3))
    yield call(weft.stack([make.regular(n)] * 2), make(2, n, 3))


@sized("solve_triangular")
def _(make, rows, columns, third):
    n = min(rows, 20)
    yield call(make.regular(n).triu(), make(n, 3), upper=True)


@sized("qr_reduced")
def _(make, rows, columns, third):
    yield call(make.regular(min(rows, 20)))


@sized("linalg_eigvals svd_rebuilt eigh_rebuilt eig_rebuilt lu_rebuilt ldl_rebuilt")
def _(make, rows, columns, third):
    a = make.definite(min(rows, 12))
    yield call(a)


@sized("cholesky_solve")
def _(make, rows, columns, third):
    n = min(rows, 12)
    yield call(make(n, 2), make.definite(n).tril())


@sized("geqrf householder")
def _(make, rows, columns, third):
    yield call(make.regular(min(rows, 12)))


def svd_rebuilt(a):
    u, s, v = weft.linalg.svd(a)
    return (u * s) @ v


def eigh_rebuilt(a):
    values, vectors = weft.linalg.eigh(a)
    return (vectors * values) @ vectors.mT


def eig_rebuilt(a):
    values, vectors = weft.linalg.eig(a)
    return (vectors * values) @ weft.linalg.inv(vectors)


def lu_rebuilt(a):
    p, lower, upper = weft.linalg.lu(a)
    return p @ lower @ upper


def ldl_rebuilt(a):
    factor, pivots = weft.linalg.ldl_factor(a)
    return weft.linalg.ldl_solve(factor, pivots, weft.eye(len(a), dtype=a.dtype))


EXTRA |= {
    "linalg_solve": weft.linalg.solve,
    "linalg_eigvals": lambda a: weft.linalg.eigvals(a).real.sort()[0],
    "svd_rebuilt": svd_rebuilt,
    "eigh_rebuilt": eigh_rebuilt,
    "eig_rebuilt": eig_rebuilt,
    "lu_rebuilt": lu_rebuilt,
    "ldl_rebuilt": ldl_rebuilt,
    "qr_reduced": lambda a: weft.linalg.qr(a),
    "householder": lambda a: weft.linalg.householder_product(*weft.geqrf(a)),
}


@sized("fft ifft rfft fft2 rfft2 hfft")
def _(make, rows, columns, third):
    yield call(make(min(rows, 64), min(columns, 512)))


@sized("irfft")
def _(make, rows, columns, third):
    yield call(make(min(rows, 64), min(columns, 512), dtype=weft.complex64))


EXTRA |= {name: getattr(weft.fft, name) for name in "fft ifft rfft fft2 rfft2 hfft irfft".split()}


# nn


@sized(
    "gelu silu mish softsign logsigmoid hardswish hardsigmoid softplus elu selu celu leaky_relu relu relu6 hardtanh "
    "tanhshrink softshrink hardshrink"
)
def _(make, rows, columns, third):
    yield call(make(rows, columns))
    if rows * columns == 63:
        yield call(make(2, 3, 4, 5))


@sized("threshold")
def _(make, rows, columns, third):
    yield call(make(rows, columns), 0.5, 2)


@sized("glu")
def _(make, rows, columns, third):
    yield from (call(make(rows, 2 * columns)), call(make(2 * rows, columns), 0))


@sized("prelu")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), make(1)), call(make(rows, columns), make(columns)))
    if rows * columns <= 4096:
        yield call(make(2, 3, rows, columns), make(3))


@sized("linear")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(third, columns), make(third))
    yield call(make(rows, columns), make(third, columns))
    if rows * columns <= 4096:
        yield call(make(2, rows, columns), make(third, columns), make(third))


@sized("bilinear")
def _(make, rows, columns, third):
    rows, columns = min(rows, 200), min(columns, 200)
    yield call(make(rows, columns), make(rows, 3), make(4, columns, 3), make(4))


@sized("pad")
def _(make, rows, columns, third):
    yield call(make(rows, columns), (1, 2, 0, 1))
    for mode in ("reflect", "replicate", "circular"):
        yield call(make(2, min(rows, 99), columns), (1, 2), mode)


@sized("scaled_dot_product_attention attention_causal")
def _(make, rows, columns, third):
    rows, columns = min(rows, 160), min(columns, 160)
    yield call(make(2, 2, rows, columns), make(2, 2, rows, columns), make(2, 2, rows, columns))
    yield call(make(1, 2, rows, columns), make(1, 2, 9, columns), make(1, 2, 9, columns))


@sized("conv1d")
def _(make, rows, columns, third):
    rows, third = min(rows, 64), min(third, 65)
    yield call(make(2, rows, columns), make(third, rows, 3), make(third), padding=1)
    yield call(make(2, rows, columns), make(third, rows, 1))


@sized("conv2d")
def _(make, rows, columns, third):
    rows, columns, third = min(rows, 300), min(columns, 300), min(third, 65)
    yield call(make(2, 3, rows, columns), make(third, 3, 3, 3), make(third), padding=1)
    yield call(make(1, 4, rows, columns), make(4, 1, 3, 3), padding=1, groups=4)
    yield call(make(2, 4, rows, columns), make(third, 4, 1, 1), stride=2)
    channels = min(rows, 70)
    yield call(make(1, channels, 5, 6), make(third, channels, 3, 3), make(third), stride=2, padding=1)


@sized("conv3d")
def _(make, rows, columns, third):
    rows, columns = min(rows, 40), min(columns, 40)
    yield call(make(1, 2, 3, rows, columns), make(3, 2, 3, 3, 3), make(3), padding=1)


@sized("conv_transpose1d")
def _(make, rows, columns, third):
    rows, third = min(rows, 64), min(third, 65)
    yield call(make(2, rows, columns), make(rows, third, 3), make(third), stride=2)


@sized("conv_transpose2d")
def _(make, rows, columns, third):
    rows, columns = min(rows, 100), min(columns, 100)
    yield call(make(2, 3, rows, columns), make(3, 4, 3, 3), make(4), stride=2, padding=1)


@sized("max_pool1d avg_pool1d")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), 3), call(make(2, rows, columns), 2, 1))


@sized("max_pool2d avg_pool2d")
def _(make, rows, columns, third):
    rows, columns = min(rows, 600), min(columns, 600)
    maker = make.distinct if make.dtype is not weft.bfloat16 else make
    yield call(maker(2, 3, rows, columns), 2)
    yield call(maker(2, 3, rows, columns), 3, 2, 1)
    yield call(maker(1, 17, min(rows, 60), min(columns, 60)), 3, 1, 1)


@sized("max_pool3d avg_pool3d")
def _(make, rows, columns, third):
    rows, columns = min(rows, 60), min(columns, 60)
    yield call(make(1, 2, 4, rows, columns), 2)


@sized("adaptive_avg_pool2d adaptive_max_pool2d")
def _(make, rows, columns, third):
    rows, columns = min(rows, 100), min(columns, 100)
    yield from (call(make(2, 3, rows, columns), (3, 4)), call(make(2, 3, rows, columns), 1))


@sized("fractional_max_pool2d")
def _(make, rows, columns, third):
    rows, columns = min(rows, 60), min(columns, 60)
    samples = (make(2, 3, 2, low=0, high=1) * 2).floor() / 2  # the places that these give are exact in bfloat16 too
    yield call(make(2, 3, rows, columns), 2, output_size=(3, 3), _random_samples=samples)


@sized("interpolate")
def _(make, rows, columns, third):
    rows, columns = min(rows, 100), min(columns, 100)
    for mode in ("nearest", "bilinear", "bicubic"):
        yield call(make(1, 2, rows, columns), scale_factor=2, mode=mode)


@sized("grid_sample")
def _(make, rows, columns, third):
    rows, columns = min(rows, 100), min(columns, 100)
    for mode in ("bilinear", "nearest"):
        grid = make(1, rows, columns, 2, low=-1, high=1)
        yield call(make(1, 2, rows, columns), grid, mode=mode, align_corners=mode == "bilinear")


@sized("nn_unfold")
def _(make, rows, columns, third):
    yield call(make(2, 3, min(rows, 100), min(columns, 100)))


@sized("nn_fold")
def _(make, rows, columns, third):
    h, w = min(rows, 60), min(columns, 60)
    yield call(make(2, 27, h * w), h, w)


@sized("batch_norm")
def _(make, rows, columns, third):
    weight = (make(columns, low=0.5), make(columns))
    yield call(make(rows, columns), None, None, *weight, training=True)
    yield call(make(rows, columns), make(columns), make(columns, low=0.5, high=2), *weight)
    if rows * columns <= 1 << 13:
        yield call(make(2, 3, rows, columns), None, None, make(3, low=0.5), make(3), training=True)
        yield call(make(2, 3, rows, columns), make(3), make(3, low=0.5, high=2), make(3), make(3))
        yield call(make(2, columns, min(rows, 20)), None, None, *weight, training=True)


@sized("instance_norm")
def _(make, rows, columns, third):
    yield call(make(2, 3, min(rows, 600), min(columns, 600)))


@sized("layer_norm")
def _(make, rows, columns, third):
    yield call(make(rows, columns), (columns,), make(columns), make(columns))
    yield call(make(rows, columns), (columns,))


@sized("rms_norm")
def _(make, rows, columns, third):
    yield from (call(make(rows, columns), (columns,), make(columns)), call(make(rows, columns), (columns,)))


@sized("group_norm")
def _(make, rows, columns, third):
    if rows * columns <= 1 << 14:
        yield call(make(2, 4, rows, columns), 2, make(4), make(4))


@sized("normalize")
def _(make, rows, columns, third):
    yield call(make(rows, columns))


@sized("nll_loss cross_entropy")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make.index(rows, below=columns))
    yield call(make(rows, columns), make.index(rows, below=columns), make(columns, low=0.5), reduction="sum")
    yield call(make(rows, columns), make.index(rows, below=columns), reduction="none")
    if rows * columns <= 4096:
        yield call(make(2, rows, columns), make.index(2, columns, below=rows))


@sized("mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits")
def _(make, rows, columns, third):
    for reduction in ("mean", "sum", "none"):
        yield call(make(rows, columns), make(rows, columns, low=0, high=1), reduction=reduction)


@sized("binary_cross_entropy")
def _(make, rows, columns, third):
    yield call(make(rows, columns, low=0.125, high=0.875), make(rows, columns, low=0, high=1))


@sized("kl_div")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns, low=0.5, high=1), reduction="sum")


@sized("ctc_loss")
def _(make, rows, columns, third):
    rows, columns = min(rows, 40), min(max(columns, 2), 200)
    if rows >= 3:
        probabilities = make(rows, 2, columns).log_softmax(2)
        targets = make.index(2, 2, below=columns - 1) + 1
        yield call(probabilities, targets, weft.tensor([rows, rows]), weft.tensor([1, 1]), reduction="none")


@sized("cosine_similarity pairwise_distance")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns))


@sized("cosine_embedding_loss")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make(rows, columns), make.index(rows, below=2) * 2 - 1)


@sized("multi_margin_loss")
def _(make, rows, columns, third):
    yield call(make(rows, columns), make.index(rows, below=columns))


@sized("embedding")
def _(make, rows, columns, third):
    yield call(make.index(3, min(rows, 400), below=rows), make(rows, columns))


@sized("embedding_bag")
def _(make, rows, columns, third):
    for mode in ("sum", "mean", "max"):
        yield call(make.index(5, 4, below=rows), make(rows, columns), mode=mode)


@sized("one_hot")
def _(make, rows, columns, third):
    yield call(make.index(rows, below=min(max(columns, 1), 99)), min(max(columns, 1), 99))


@sized("pixel_shuffle")
def _(make, rows, columns, third):
    yield call(make(2, 8, min(rows, 99), min(columns, 99)), 2)


def layers(function, x, weights, states):
    """One layer from a state of zeros."""
    hidden = weights[1].shape[1]
    zeros = tuple(weft.zeros(1, x.shape[1], hidden, dtype=x.dtype) for _ in range(states))
    return function(x, zeros if states == 2 else zeros[0], weights, True, 1, 0.0, False, False, False)


def recurrent(gates):
    def calls(make, rows, columns, third):
        steps, columns = min(rows, 20), min(columns, 300)
        hidden = max(1, min(third, 33))
        weights = (gates * hidden, columns), (gates * hidden, hidden), (gates * hidden,), (gates * hidden,)
        yield call(make(steps, 3, columns), *[make(*shape, low=-0.5, high=0.5) for shape in weights])

    return calls


def boxes_of(make, count, rows, columns):
    """Boxes by corners, most of them in an image."""
    first = weft.stack((make(count, low=-1, high=max(columns, 1)), make(count, low=-1, high=max(rows, 1))), 1)
    return weft.cat((first, first + make(count, 2, low=0, high=8)), 1)


@sized("vision_nms")
def _(make, rows, columns, third):
    if make.dtype.is_floating_point:
        count = min(rows, 999)
        yield call(boxes_of(make, count, 40, 40), make(count), 0.30003)  # no quotient of small numbers


@sized("vision_box_iou")
def _(make, rows, columns, third):
    if make.dtype.is_floating_point:
        rotated = [weft.cat((boxes_of(make, count, 9, 9).abs() + 0.5, make(count, 1)), 1) for count in (5, 3)]
        yield call(*rotated, "cxcywhr")


@sized("vision_roi_align vision_roi_pool vision_ps_roi_align vision_ps_roi_pool")
def _(make, rows, columns, third):
    if make.dtype.is_floating_point:
        rows, columns = min(max(rows, 1), 40), min(max(columns, 1), 40)
        rois = weft.cat((make.index(9, 1, below=2).to(make.dtype), boxes_of(make, 9, rows, columns)), 1)
        yield call(make(2, 8, rows, columns), rois, 2, 0.5)


@sized("vision_luma_of_integers")
def _(make, rows, columns, third):
    if not make.dtype.is_floating_point and not make.dtype.is_complex:
        yield call(make(2, 3, rows, columns))


@sized("vision_blend_integers")
def _(make, rows, columns, third):
    if not make.dtype.is_floating_point and not make.dtype.is_complex:
        grey = make(2, 1, rows, columns).float()
        for other in (grey, grey[..., :1, :1] if grey.numel() else grey):
            yield call(make(2, 3, rows, columns), other, 1.3, 255)


EXTRA |= {
    "vision_blend_integers": _bytes.blend_integers,
    "vision_luma_of_integers": _bytes.luma_of_integers,
    "vision_nms": weft.vision.ops.nms,
    "vision_box_iou": weft.vision.ops.box_iou,
    "vision_roi_align": weft.vision.ops.roi_align,
    "vision_roi_pool": weft.vision.ops.roi_pool,
    "vision_ps_roi_align": weft.vision.ops.ps_roi_align,
    "vision_ps_roi_pool": weft.vision.ops.ps_roi_pool,
}
CALLS |= {"lstm": recurrent(4), "gru": recurrent(3), "rnn": recurrent(1)}

sys.modules.setdefault("calls", sys.modules[__name__])


# Rounding to integers and back


EXTRA["quantized_decomposed::quantize"] = quantize.op
EXTRA["quantized_decomposed::dequantize"] = dequantize.op


def scales(make: Make, channels: int) -> Any:
    """Powers of two, by which division is exact."""
    return (2.0 ** (weft.arange(channels) % 3 - 1)).to(weft.float32)


@sized("quantized_decomposed::quantize")
def _(make, rows, columns, third):
    yield call(make(rows, columns), weft.tensor(0.25), weft.tensor(3, dtype=weft.uint8), None)
    for axis, channels in ((0, rows), (1, columns)):
        yield call(make(rows, columns), scales(make, channels), weft.zeros(channels, dtype=weft.int8), axis)


@sized("quantized_decomposed::dequantize")
def _(make, rows, columns, third):
    integers = make(rows, columns).to(weft.int8)
    yield call(integers, weft.tensor(0.25), weft.tensor(3, dtype=weft.int8), None)
    for axis, channels in ((0, rows), (1, columns)):
        yield call(integers, scales(make, channels), None, axis)
