"""Samples of core's own ops, for those that do not follow from the signature."""

from __future__ import annotations

from collections.abc import Iterator

import weft
from weft.testing._samples import Call, Make, call, samples


def core(names: str) -> list[str]:
    """Full names of core's ops."""
    return [f"core::{name}" for name in names.split()]


# Reductions


@samples(*core("sum mean nansum nanmean var std var_mean std_mean"))
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4, 2)
    yield from (call(x), call(x, 1), call(x, (0, -1), keepdim=True), call(make(4, 3).T, 0), call(x[0, 0]))


@samples(*core("prod"))
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x), call(x, 1), call(x, 0, keepdim=True), call(make(0)))


@samples(*core("amax amin"))
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 4)
    yield from (call(x), call(x, 1), call(x, (0, 1), keepdim=True), call(x.T, -1))


@samples(*core("aminmax"))
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 4)
    yield from (call(x), call(x, dim=1), call(x, dim=0, keepdim=True))


@samples(*core("max min argmax argmin median nanmedian"))
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 5)
    yield from (call(x), call(x, 1), call(x, 0, keepdim=True), call(x.T, -1))


@samples(*core("mode"))
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 5)
    yield from (call(x), call(x, 1), call(x, 0, True))


@samples(*core("any all count_nonzero"))
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x), call(x, 1), call(weft.zeros_like(x), 0), call(make(0)))


@samples(*core("logsumexp softmax log_softmax"))
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x, 1), call(x, 0), call(x.T, -1), call(make(2, 3, 4), 1))


@samples(*core("norm"))
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x), call(x, 1), call(x, 3, dim=1), call(x, 2, dim=(0, 1), keepdim=True))


# Along one dimension


@samples(*core("cumsum cumprod logcumsumexp"))
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x, 0), call(x, -1), call(x.T, 1), call(make(0, 3), 0))


@samples(*core("cummax cummin"))
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 4)
    yield from (call(x, 0), call(x, -1))


@samples(*core("sort argsort"))
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 5)
    yield from (call(x), call(x, 0), call(x, dim=1, descending=True), call(make.distinct(1)))


@samples(*core("topk"))
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 6)
    yield from (call(x, 2), call(x, 2, dim=0), call(x, 3, largest=False))


@samples(*core("kthvalue"))
def _(make: Make) -> Iterator[Call]:
    x = make.distinct(3, 6)
    yield from (call(x, 2), call(x, 1, 0), call(x, 3, keepdim=True))


@samples(*core("diff"))
def _(make: Make) -> Iterator[Call]:
    x = make(3, 5)
    yield from (call(x), call(x, dim=0), call(x, 2))


@samples(*core("renorm"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), 2, 0, 1.0)


# Shapes and views


@samples(*core("reshape view"))
def _(make: Make) -> Iterator[Call]:
    x = make(3, 4)
    yield from (call(x, (4, 3)), call(x, (2, -1)), call(x, (12,)), call(make(0, 3), (3, 0)), call(make(), (1, 1)))


@samples(*core("expand broadcast_to"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 1), (3, 4)), call(make(4), (2, 3, 4)), call(make(), (2, 2)))


@samples(*core("permute"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3, 4), (2, 0, 1)), call(make(2, 3), (-1, 0)))


@samples(*core("transpose swapaxes swapdims"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3, 4), 0, 2), call(make(2, 3), -1, 0))


@samples(*core("movedim moveaxis"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3, 4), 0, 2), call(make(2, 3, 4), (0, 1), (2, 0)))


@samples(*core("t"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3)), call(make(3)))


@samples(*core("squeeze"))
def _(make: Make) -> Iterator[Call]:
    x = make(1, 3, 1)
    yield from (call(x), call(x, 0), call(x, -1), call(x, 1))


@samples(*core("unsqueeze"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), 0), call(make(2, 3), -1), call(make(), 0))


@samples(*core("flatten"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3, 4)), call(make(2, 3, 4), 1), call(make()))


@samples(*core("unflatten"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(2, 6), 1, (3, -1))


@samples(*core("narrow"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 5), 1, 1, 3), call(make(3, 5), 0, 2, 0))


@samples(*core("select"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 5), 1, 2), call(make(3, 5), 0, -1))


@samples(*core("diagonal"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4)), call(make(3, 4), 1), call(make(2, 3, 3), -1, 1, 2))


@samples(*core("diag diag_embed"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3)), call(make(3), 1))


@samples(*core("tril triu"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4)), call(make(2, 3, 3), 1), call(make(3, 4), -1))


@samples(*core("unfold"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(7), 0, 3, 2), call(make(3, 6), 1, 2, 1))


@samples(*core("as_strided"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(12), (3, 2), (4, 1), 1), call(make(6), (2, 3), (1, 1)))


@samples(*core("unbind"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3)), call(make(2, 3), 1))


@samples(*core("split"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(7, 2), 3), call(make(2, 5), [1, 4], 1))


@samples(*core("chunk tensor_split"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(7, 2), 3), call(make(2, 5), 2, 1))


@samples(*core("cat concat concatenate"))
def _(make: Make) -> Iterator[Call]:
    yield from (call([make(2, 3), make(1, 3)]), call([make(2, 1), make(2, 2)], 1), call([make(0, 3), make(2, 3)]))


@samples(*core("stack"))
def _(make: Make) -> Iterator[Call]:
    yield from (call([make(2, 3), make(2, 3)]), call([make(2), make(2)], -1))


@samples(*core("flip"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), (0,)), call(make(3, 4), (0, -1)))


@samples(*core("roll"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), 1), call(make(3, 4), (1, -1), (0, 1)))


@samples(*core("rot90"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4)), call(make(3, 4), 3, (1, 0)))


@samples(*core("repeat tile"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), (2, 1)), call(make(3), (2, 2)))


@samples(*core("repeat_interleave"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), 2), call(make(2, 3), 2, 1))


@samples(*core("pad constant_pad_nd"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), (1, 2)), call(make(2, 3), (0, 1, 2, 0), value=1))


# Choosing elements


@samples(*core("where"))
def _(make: Make) -> Iterator[Call]:
    yield from (
        call(make.mask(3, 4), make(3, 4), make(3, 4)),
        call(make.mask(3, 1), make(4), make(3, 4)),
        call(make.mask(3, 4), make(3, 4), 2),
    )


@samples(*core("masked_fill"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), make.mask(3, 4), 1), call(make(3, 4), make.mask(4), 1))


@samples(*core("masked_select"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), make.mask(3, 4)), call(make(3, 4), make.mask(4)))


@samples(*core("masked_scatter"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), make.mask(3, 4), make(12))


@samples(*core("index_select"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), 0, make.index(5, below=3)), call(make(3, 4), 1, make.index(0, below=4)))


@samples(*core("index_add index_copy"))
def _(make: Make) -> Iterator[Call]:
    index = weft.tensor([2, 0])
    yield from (call(make(3, 4), 0, index, make(2, 4)), call(make(4, 3), 1, index, make(4, 2)))


@samples(*core("index_fill"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), 0, weft.tensor([2, 0]), 1)


@samples(*core("gather"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), 0, make.index(2, 3, below=3)), call(make(3, 4), 1, make.index(2, 5, below=4)))


@samples(*core("take_along_dim"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4), make.index(2, 4, below=3), 0), call(make(3, 4), make.index(3, 1, below=4), 1))


@samples(*core("scatter scatter_add"))
def _(make: Make) -> Iterator[Call]:
    index = weft.tensor([[0, 1, 2], [2, 0, 1]])
    yield from (call(make(3, 4), 0, index, make(2, 3)), call(make(2, 4), 1, index, make(2, 3)))


@samples(*core("scatter_reduce"))
def _(make: Make) -> Iterator[Call]:
    index = weft.tensor([[0, 1, 2], [2, 0, 1]])
    for reduce in ("sum", "mean", "amax"):
        yield call(make(3, 4), 0, index, make(2, 3), reduce)


@samples(*core("take"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), make.index(2, 3, below=12))


@samples(*core("nonzero argwhere"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(3, 4)), call(weft.zeros(2, 2)))


@samples(*core("searchsorted"))
def _(make: Make) -> Iterator[Call]:
    yield call(weft.arange(5).to(make.dtype), make(3, 4))


@samples(*core("bucketize"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(3, 4), weft.arange(5).to(make.dtype))


@samples(*core("unique"))
def _(make: Make) -> Iterator[Call]:
    x = make.index(8, below=4).to(make.dtype)
    yield from (call(x), call(x, return_inverse=True, return_counts=True))


@samples(*core("bincount"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make.index(8, below=4)), call(make.index(8, below=4), minlength=6))


# Products


@samples(*core("matmul"))
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


@samples(*core("mm"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(2, 3), make(3, 4)), call(make(3, 2).T, make(4, 3).T), call(make(2, 0), make(0, 3)))


@samples(*core("bmm"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(5, 2, 3), make(5, 3, 4))


@samples(*core("mv"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(2, 3), make(3))


@samples(*core("dot vdot inner"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(4), make(4))


@samples(*core("outer ger"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(3), make(4))


@samples(*core("addmm"))
def _(make: Make) -> Iterator[Call]:
    yield from (call(make(4), make(2, 3), make(3, 4)), call(make(2, 4), make(2, 3), make(3, 4), beta=2, alpha=3))


@samples(*core("addmv"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(2), make(2, 3), make(3))


@samples(*core("baddbmm"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(5, 2, 4), make(5, 2, 3), make(5, 3, 4))


@samples(*core("einsum"))
def _(make: Make) -> Iterator[Call]:
    yield from (call("ij,jk->ik", make(2, 3), make(3, 4)), call("bii->b", make(2, 3, 3)))


@samples(*core("tensordot"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(2, 3, 4), make(3, 4, 5), 2)


@samples(*core("kron"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(2, 3), make(2, 2))


@samples(*core("cross"))
def _(make: Make) -> Iterator[Call]:
    yield call(make(4, 3), make(4, 3))
