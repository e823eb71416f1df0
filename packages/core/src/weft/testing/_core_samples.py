"""Samples of core's own functions, for those that do not follow from the signature."""

from __future__ import annotations

from collections.abc import Iterator

import weft
from weft.testing._samples import Call, Make, call, samples

# Pointwise functions


@samples("core::add_scaled")
def _(make: Make) -> Iterator[Call]:
    x, times = make(3, 4), True if make.dtype is weft.bool else 2
    yield from (call(x, make(3, 4), times), call(x, make(4), times), call(x.T, make(4, 1), times))


# Reductions


@samples("sum", "mean", "nansum", "nanmean", "var", "std", "var_mean", "std_mean")
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4, 2)
    yield from (call(x), call(x, 1), call(x, (0, -1), keepdim=True), call(make(4, 3).T, 0), call(x[0, 0]))


@samples("prod")
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x), call(x, 1), call(x, 0, keepdim=True), call(make(0)))


@samples("amax", "amin")
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 4)
    yield from (call(x), call(x, 1), call(x, (0, 1), keepdim=True), call(x.T, -1))


@samples("aminmax")
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 4)
    yield from (call(x), call(x, dim=1), call(x, dim=0, keepdim=True))


@samples("max", "min", "argmax", "argmin", "median", "nanmedian")
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 5)
    yield from (call(x), call(x, 1), call(x, 0, keepdim=True), call(x.T, -1))


@samples("ldexp")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), make.index(3, below=4)), call(make(2, 3), make(3)))


@samples("mode")
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 5)
    yield from (call(x), call(x, 1), call(x, 0, True))


@samples("any", "all", "count_nonzero")
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x), call(x, 1), call(weft.zeros_like(x), 0), call(make(0)))


@samples("logsumexp", "softmax", "log_softmax")
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x, 1), call(x, 0), call(x.T, -1), call(make(2, 3, 4), 1))


@samples("norm")
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x), call(x, 1), call(x, 3, dim=1), call(x, 2, dim=(0, 1), keepdim=True))


# Along one dimension


@samples("cumsum", "cumprod", "logcumsumexp")
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x, 0), call(x, -1), call(x.T, 1), call(make(0, 3), 0))


@samples("cummax", "cummin")
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 4)
    yield from (call(x, 0), call(x, -1))


@samples("sort", "argsort")
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 5)
    yield from (call(x), call(x, 0), call(x, dim=1, descending=True), call(make.distinct(1)))


@samples("topk")
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 6)
    yield from (call(x, 2), call(x, 2, dim=0), call(x, 3, largest=False))


@samples("kthvalue")
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 6)
    yield from (call(x, 2), call(x, 1, 0), call(x, 3, keepdim=True))


@samples("diff")
def _(make: Make) -> Iterator[Call]:
    x = make(3, 5)
    yield from (call(x), call(x, dim=0), call(x, 2))


@samples("renorm")
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), 2, 0, 1.0)


# Shapes and views


@samples("reshape", "view")
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x, (4, 3)), call(x, (2, -1)), call(x, (12,)), call(make(0, 3), (3, 0)), call(make(), (1, 1)))


@samples("expand", "broadcast_to")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 1), (3, 4)), call(make(4), (2, 3, 4)), call(make(), (2, 2)))


@samples("permute")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3, 4), (2, 0, 1)), call(make(2, 3), (-1, 0)))


@samples("transpose", "swapaxes", "swapdims")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3, 4), 0, 2), call(make(2, 3), -1, 0))


@samples("movedim", "moveaxis")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3, 4), 0, 2), call(make(2, 3, 4), (0, 1), (2, 0)))


@samples("t")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3)), call(make(3)))


@samples("squeeze")
def _(make: Make) -> Iterator[Call]:
    x = make(1, 3, 1)
    yield from (call(x), call(x, 0), call(x, -1), call(x, 1))


@samples("unsqueeze")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), 0), call(make(2, 3), -1), call(make(), 0))


@samples("flatten")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3, 4)), call(make(2, 3, 4), 1), call(make()))


@samples("unflatten")
def _(make: Make) -> Iterator[Call]:
    yield call(make(2, 6), 1, (3, -1))


@samples("narrow")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 5), 1, 1, 3), call(make(3, 5), 0, 2, 0))


@samples("select")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 5), 1, 2), call(make(3, 5), 0, -1))


@samples("diagonal")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4)), call(make(3, 4), 1), call(make(2, 3, 3), -1, 1, 2))


@samples("diag", "diag_embed")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3)), call(make(3), 1))


@samples("tril", "triu")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4)), call(make(2, 3, 3), 1), call(make(3, 4), -1))


@samples("unfold")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(7), 0, 3, 2), call(make(3, 6), 1, 2, 1))


@samples("as_strided")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(12), (3, 2), (4, 1), 1), call(make(6), (2, 3), (1, 1)))


@samples("unbind")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3)), call(make(2, 3), 1))


@samples("split")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(7, 2), 3), call(make(2, 5), [1, 4], 1))


@samples("chunk", "tensor_split")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(7, 2), 3), call(make(2, 5), 2, 1))


@samples("cat", "concat", "concatenate")
def _(make: Make) -> Iterator[Call]:
    yield from (call([make(2, 3), make(1, 3)]), call([make(2, 1), make(2, 2)], 1), call([make(0, 3), make(2, 3)]))


@samples("stack")
def _(make: Make) -> Iterator[Call]:
    yield from (call([make(2, 3), make(2, 3)]), call([make(2), make(2)], -1))


@samples("block_diag")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), make(1, 1), make(2)), call(make(1, 2)))


@samples("flip")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), (0,)), call(make(3, 4), (0, -1)))


@samples("roll")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), 1), call(make(3, 4), (1, -1), (0, 1)))


@samples("rot90")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4)), call(make(3, 4), 3, (1, 0)))


@samples("tile")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), (2, 1)), call(make(3), (2, 2)))


@samples("repeat_interleave")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), 2), call(make(2, 3), 2, 1))


# Element by element, with parameters of their own


UNARY = "clone detach real imag view_as_real nan_to_num round conj _neg_view zeros_like ones_like"


@samples(*UNARY.split())
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4)), call(make(4, 3).T), call(make()), call(make(0, 2)))


@samples("logit")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4, low=0.1, high=0.9)), call(make(3, 4, low=-1, high=2), eps=0.1))


@samples("view_as_complex")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 2)), call(make(2)), call(make(0, 2)))


@samples("complex")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), make(3, 4)), call(make(), make()))


# Choosing elements


@samples("where")
def _(make: Make) -> Iterator[Call]:
    yield from (
        call(make.mask(3, 4), make(3, 4), make(3, 4)),
        call(make.mask(3, 1), make(4), make(3, 4)),
        call(make.mask(3, 4), make(3, 4), 2),
    )


@samples("masked_fill")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), make.mask(3, 4), 1), call(make(3, 4), make.mask(4), 1))


@samples("masked_select")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), make.mask(3, 4)), call(make(3, 4), make.mask(4)))


@samples("masked_scatter")
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), make.mask(3, 4), make(12))


@samples("index_select")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), 0, make.index(5, below=3)), call(make(3, 4), 1, make.index(0, below=4)))


@samples("index_add", "index_copy")
def _(make: Make) -> Iterator[Call]:
    index = weft.tensor([2, 0])
    yield from (call(make(3, 4), 0, index, make(2, 4)), call(make(4, 3), 1, index, make(4, 2)))


@samples("index_fill")
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), 0, weft.tensor([2, 0]), 1)


@samples("gather")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), 0, make.index(2, 3, below=3)), call(make(3, 4), 1, make.index(2, 5, below=4)))


@samples("take_along_dim")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), make.index(2, 4, below=3), 0), call(make(3, 4), make.index(3, 1, below=4), 1))


@samples("scatter", "scatter_add")
def _(make: Make) -> Iterator[Call]:
    index = weft.tensor([[0, 1, 2], [2, 0, 1]])
    yield from (call(make(3, 4), 0, index, make(2, 3)), call(make(2, 4), 1, index, make(2, 3)))


@samples("take")
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), make.index(2, 3, below=12))


@samples("nonzero", "argwhere")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4)), call(weft.zeros(2, 2)))


@samples("searchsorted")
def _(make: Make) -> Iterator[Call]:
    yield call(weft.arange(5).to(make.dtype), make(3, 4))


@samples("bucketize")
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), weft.arange(5).to(make.dtype))


@samples("unique")
def _(make: Make) -> Iterator[Call]:
    x = make.index(8, below=4).to(make.dtype)
    yield from (call(x), call(x, return_inverse=True, return_counts=True))


@samples("unique_consecutive")
def _(make: Make) -> Iterator[Call]:
    yield call(make.index(8, below=2).to(make.dtype))


@samples("isin")
def _(make: Make) -> Iterator[Call]:
    x = make.index(3, 4, below=6).to(make.dtype)
    yield from (call(x, x[0]), call(x, x[0, 0], invert=True))


@samples("bincount")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make.index(8, below=4)), call(make.index(8, below=4), minlength=6))


# Products


@samples("matmul")
def _(make: Make) -> Iterator[Call]:
    yield from (
        call(make(2, 3), make(3, 4)),
        call(make(3), make(3)),
        call(make(2, 3), make(3)),
        call(make(3), make(3, 2)),
        call(make(5, 2, 3), make(3, 4)),
        call(make(2, 1, 2, 3), make(5, 3, 2)),
        call(make(3, 2).T, make(4, 3).T),
        call(make(2, 0), make(0, 3)),
    )


@samples("mm")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), make(3, 4)), call(make(3, 2).T, make(4, 3).T), call(make(2, 0), make(0, 3)))


@samples("bmm")
def _(make: Make) -> Iterator[Call]:
    yield call(make(5, 2, 3), make(5, 3, 4))


@samples("mv")
def _(make: Make) -> Iterator[Call]:
    yield call(make(2, 3), make(3))


@samples("dot", "vdot", "inner")
def _(make: Make) -> Iterator[Call]:
    yield call(make(4), make(4))


@samples("outer", "ger")
def _(make: Make) -> Iterator[Call]:
    yield call(make(3), make(4))


@samples("addmm")
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(4), make(2, 3), make(3, 4)), call(make(2, 4), make(2, 3), make(3, 4), beta=2, alpha=3))


@samples("addmv")
def _(make: Make) -> Iterator[Call]:
    yield call(make(2), make(2, 3), make(3))


@samples("baddbmm")
def _(make: Make) -> Iterator[Call]:
    yield call(make(5, 2, 4), make(5, 2, 3), make(5, 3, 4))


@samples("einsum")
def _(make: Make) -> Iterator[Call]:
    yield from (call("ij,jk->ik", make(2, 3), make(3, 4)), call("bii->b", make(2, 3, 3)))


@samples("tensordot")
def _(make: Make) -> Iterator[Call]:
    yield call(make(2, 3, 4), make(3, 4, 5), 2)


@samples("kron", "core::kron")
def _(make: Make) -> Iterator[Call]:
    yield call(make(2, 3), make(2, 2))


@samples("cross")
def _(make: Make) -> Iterator[Call]:
    yield call(make(4, 3), make(4, 3), dim=1)
