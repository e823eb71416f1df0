"""Positions out of range in every operator that takes some; nothing may be read or written beyond the memory."""

from typing import Any

from table import bad, hard, unharmed

MIN = -(2**63)
N = 3  # the size along which the rows index


def index(w: Any, *values: int) -> Any:
    return w.tensor(list(values), dtype=w.int64)


# Each takes the library, a matrix of 3 by 2 and an index of one position.
NO_NEGATIVES = {
    "index_select": (lambda w, x, i: x.index_select(0, i), IndexError),
    "gather": (lambda w, x, i: x.gather(0, i.view(1, 1)), RuntimeError),
    "scatter": (lambda w, x, i: x.scatter(0, i.view(1, 1), 1.0), RuntimeError),
    "scatter_": (lambda w, x, i: unharmed(lambda: x.scatter_(0, i.view(1, 1), w.ones(1, 1)), x), RuntimeError),
    "scatter_add": (lambda w, x, i: x.scatter_add(0, i.view(1, 1), w.ones(1, 1)), RuntimeError),
    "scatter_add_": (lambda w, x, i: unharmed(lambda: x.scatter_add_(0, i.view(1, 1), w.ones(1, 1)), x), RuntimeError),
    "scatter_reduce": (lambda w, x, i: x.scatter_reduce(0, i.view(1, 1), w.ones(1, 1), "amax"), RuntimeError),
    "index_add_": (lambda w, x, i: unharmed(lambda: x.index_add_(0, i, w.ones(1, 2)), x), RuntimeError),
    "index_reduce": (lambda w, x, i: x.index_reduce(0, i, w.ones(1, 2), "prod"), IndexError),
    "index_copy_": (lambda w, x, i: unharmed(lambda: x.index_copy_(0, i, w.ones(1, 2)), x), IndexError),
    "embedding": (lambda w, x, i: w.nn.functional.embedding(i, x), IndexError),
    "embedding_bag": (lambda w, x, i: w.nn.functional.embedding_bag(i.view(1, 1), x), RuntimeError),
    "nll_loss": (lambda w, x, i: w.nn.functional.nll_loss(x.t()[:1], i), IndexError),
    "cross_entropy": (lambda w, x, i: w.nn.functional.cross_entropy(x.t()[:1], i), IndexError),
    "nll_loss2d": (lambda w, x, i: w.nn.functional.nll_loss(x.view(1, 3, 2, 1), i.expand(1, 2, 1)), IndexError),
    "multi_margin_loss": (lambda w, x, i: w.nn.functional.multi_margin_loss(x.t()[:1], i), RuntimeError),
}
NEGATIVES = {
    "index": (lambda w, x, i: x[i], IndexError),
    "index_put_": (lambda w, x, i: unharmed(lambda: x.index_put_((i,), w.tensor(1.0)), x), IndexError),
    "a written index": (lambda w, x, i: unharmed(lambda: x.__setitem__(i, 1.0), x), IndexError),
    "index_fill_": (lambda w, x, i: unharmed(lambda: x.index_fill_(0, i, 1.0), x), IndexError),
    "take_along_dim": (lambda w, x, i: x.take_along_dim(i.view(1, 1), 0), RuntimeError),
}
TAKING_ALL = {
    "take": (lambda w, x, i: x[:, 0].take(i), IndexError),
    "put_": (lambda w, x, i: unharmed(lambda: x.put_(i * 2 if abs(int(i)) < 9 else i, w.ones(1)), x), IndexError),
}


def at(call: Any, value: int) -> Any:
    return lambda w: call(w, w.ones(N, 2), index(w, value))


def out_of_range() -> Any:
    """Rows for each operator and each value that is just or far out of range."""
    for name, (call, error) in {**NO_NEGATIVES, **NEGATIVES, **TAKING_ALL}.items():
        below = -1 if name in NO_NEGATIVES else -N - 1
        for value in (N, below, 2**62, MIN):
            yield bad(
                f"{name} at {value}", at(call, value), error, name.split()[-1].removesuffix("_").removesuffix("2d")
            )


def ctc(w: Any, labels: Any, input_length: int = 5, target_length: int = 2, blank: int = 0) -> Any:
    log_probs = w.ones(5, 1, 4).log_softmax(2)
    return w.nn.functional.ctc_loss(
        log_probs, w.tensor([labels]), w.tensor([input_length]), w.tensor([target_length]), blank
    )


def bag(w: Any, offsets: list[int], **options: Any) -> Any:
    return w.nn.functional.embedding_bag(index(w, 0, 1, 2), w.ones(3, 2), index(w, *offsets), **options)


def unpool(w: Any, value: int, dims: int = 2) -> Any:
    x = w.ones(1, 1, *[2] * dims)
    return getattr(w.nn.functional, f"max_unpool{dims}d")(x, w.full_like(x, value, dtype=w.int64), 2)


ROWS = [
    *out_of_range(),
    *[
        bad(f"ctc_loss with a label of {value}", lambda w, v=value: ctc(w, [1, v]), RuntimeError, "ctc_loss", "label")
        for value in (4, -1, 2**62, MIN)
    ],
    bad("ctc_loss with an input length beyond the input", lambda w: ctc(w, [1, 2], 9), RuntimeError, "ctc_loss", "9"),
    bad("ctc_loss with a negative input length", lambda w: ctc(w, [1, 2], -1), RuntimeError, "ctc_loss", "-1"),
    bad("ctc_loss with a target length beyond the targets", lambda w: ctc(w, [1, 2], 5, 9), RuntimeError, "ctc_loss"),
    bad("ctc_loss with a negative target length", lambda w: ctc(w, [1, 2], 5, -1), RuntimeError, "ctc_loss", "-1"),
    bad("ctc_loss with a target length of 2**62", lambda w: ctc(w, [1, 2], 5, 2**62), RuntimeError, "ctc_loss"),
    bad("ctc_loss with a blank that is not there", lambda w: ctc(w, [1, 2], blank=4), RuntimeError, "ctc_loss", "4"),
    bad("ctc_loss with a negative blank", lambda w: ctc(w, [1, 2], blank=-1), RuntimeError, "ctc_loss", "-1"),
    bad("one_hot of a negative class", lambda w: w.nn.functional.one_hot(index(w, -1)), RuntimeError, "one_hot"),
    bad("one_hot of 2**62", lambda w: w.nn.functional.one_hot(index(w, 2**62)), RuntimeError,
        "one_hot|scatter|zeros|empty",
        "memory|overflow"),
    bad("one_hot of nothing without classes", lambda w: w.nn.functional.one_hot(index(w)), RuntimeError, "one_hot"),
    bad("bincount of a negative number", lambda w: w.bincount(index(w, -1)), RuntimeError, "bincount", "-1|negative"),
    bad("bincount of 2**62", lambda w: w.bincount(index(w, 2**62)), RuntimeError, "bincount", "memory|overflow"),
    bad("bincount with a negative minlength", lambda w: w.bincount(index(w, 1), minlength=-1), RuntimeError,
        "bincount", "-1|minlength"),
    bad("bincount with a minlength of 2**62", lambda w: w.bincount(index(w, 1), minlength=2**62), RuntimeError,
        "bincount", "memory|overflow"),
    bad("bincount with weights of another size", lambda w: w.bincount(index(w, 1), w.ones(3)), RuntimeError,
        "bincount", "weights"),
    *[
        bad(f"max_unpool{dims}d at {value}", lambda w, v=value, d=dims: unpool(w, v, d), RuntimeError, "max_unpool")
        for dims in (1, 2, 3)
        for value in (2 * 2**dims * 9, -1, 2**62)
    ],
    bad("max_unpool2d with an index of another shape",
        lambda w: w.nn.functional.max_unpool2d(w.ones(1, 1, 2, 2), index(w, 0, 1).view(1, 1, 1, 2), 2), RuntimeError,
        "max_unpool2d"),
    bad("embedding_bag whose first offset is not 0", lambda w: bag(w, [1]), RuntimeError, "embedding_bag", "offsets"),
    bad("embedding_bag with an offset past the end", lambda w: bag(w, [0, 4]), RuntimeError, "embedding_bag",
        "offsets"),
    bad("embedding_bag with a negative offset", lambda w: bag(w, [0, -1]), RuntimeError, "embedding_bag", "offset"),
    bad("embedding_bag with an offset of 2**62", lambda w: bag(w, [0, 2**62]), RuntimeError, "embedding_bag", "offset"),
    bad("embedding_bag with offsets that decrease", lambda w: bag(w, [0, 2, 1]), RuntimeError, "embedding_bag",
        "offset"),
    bad("embedding_bag with a mode that is none", lambda w: bag(w, [0], mode="median"), ValueError, "embedding_bag",
        "median"),
    bad("embedding_bag with weights of another shape", lambda w: bag(w, [0], mode="sum", per_sample_weights=w.ones(2)),
        ValueError, "embedding_bag"),
    bad("embedding with a padding index that is not there",
        lambda w: w.nn.functional.embedding(index(w, 0), w.ones(3, 2), padding_idx=3), AssertionError, "padding_idx"),
    bad("embedding of a vector", lambda w: w.nn.functional.embedding(index(w, 0), w.ones(3)), RuntimeError,
        "embedding", "2-D|weight"),
    bad("searchsorted with a sorter out of range",
        lambda w: w.searchsorted(w.ones(3), w.ones(1), sorter=index(w, 0, 1, 3)), RuntimeError, "searchsorted",
        "sorter"),
    bad("searchsorted with a negative sorter",
        lambda w: w.searchsorted(w.ones(3), w.ones(1), sorter=index(w, 0, 1, -1)), RuntimeError, "searchsorted",
        "sorter"),
    bad("searchsorted with a sorter of another shape",
        lambda w: w.searchsorted(w.ones(3), w.ones(1), sorter=index(w, 0, 1)), RuntimeError, "searchsorted", "sorter"),
    bad("searchsorted with a sorter of floats",
        lambda w: w.searchsorted(w.ones(3), w.ones(1), sorter=w.ones(3)), RuntimeError, "searchsorted", "sorter"),
    bad("searchsorted of other rows", lambda w: w.searchsorted(w.ones(2, 3), w.ones(3, 1)), RuntimeError,
        "searchsorted"),
    bad("searchsorted of a 0-d sequence", lambda w: w.searchsorted(w.tensor(1.0), w.ones(1)), RuntimeError,
        "searchsorted"),
    bad("bucketize with two-dimensional boundaries", lambda w: w.bucketize(w.ones(2), w.ones(2, 2)), RuntimeError,
        "bucketize"),
    bad("unravel_index out of range", lambda w: w.unravel_index(index(w, 6), (2, 3)), ValueError, "unravel_index"),
    bad("unravel_index of a negative shape", lambda w: w.unravel_index(index(w, 0), (2, -3)), ValueError,
        "unravel_index"),
    bad("unravel_index of floats", lambda w: w.unravel_index(w.ones(1), (2, 3)), TypeError, "unravel_index"),
    bad("multilabel_margin_loss out of range",
        lambda w: w.nn.functional.multilabel_margin_loss(w.ones(1, 3), w.tensor([[3, -1, 0]])), RuntimeError,
        "multilabel_margin_loss"),
    bad("multilabel_margin_loss of 2**62",
        lambda w: w.nn.functional.multilabel_margin_loss(w.ones(1, 3), w.tensor([[2**62, -1, 0]])), RuntimeError,
        "multilabel_margin_loss"),
    bad("cross_entropy with probabilities of another shape",
        lambda w: w.nn.functional.cross_entropy(w.ones(2, 3), w.ones(2, 4)), RuntimeError, "cross_entropy"),
    bad("nll_loss with weights of another size",
        lambda w: w.nn.functional.nll_loss(w.ones(2, 3), index(w, 0, 1), w.ones(2)), RuntimeError, "nll_loss",
        "weight"),
    bad("nll_loss with floating-point classes",
        lambda w: w.nn.functional.nll_loss(w.ones(2, 3), w.ones(2)), RuntimeError, "nll_loss"),
    bad("segment_reduce with lengths beyond the data",
        lambda w: w.segment_reduce(w.ones(3), "sum", lengths=index(w, 2, 4)), RuntimeError, "segment_reduce"),
    bad("segment_reduce with negative lengths",
        lambda w: w.segment_reduce(w.ones(3), "sum", lengths=index(w, 4, -1)), RuntimeError, "segment_reduce"),
    bad("segment_reduce with offsets beyond the data",
        lambda w: w.segment_reduce(w.ones(3), "sum", offsets=index(w, 0, 9)), RuntimeError, "segment_reduce"),
    bad("an int32 index out of range", lambda w: w.ones(3).index_select(0, w.tensor([7], dtype=w.int32)), IndexError,
        "index_select", "7"),
    bad("gather from nothing", lambda w: w.ones(0).gather(0, index(w, 0)), RuntimeError, "gather", "0"),
    bad("take from nothing", lambda w: w.ones(0).take(index(w, 0)), IndexError, "take"),
    bad("index_select from nothing", lambda w: w.ones(0, 3).index_select(0, index(w, 0)), RuntimeError, "index_select"),
    bad("indexing nothing", lambda w: w.ones(0, 3)[index(w, 0)], IndexError, "index", "0"),
    bad("put_ into nothing", lambda w: w.ones(0).put_(index(w, 0), w.ones(1)), IndexError, "put_"),
    bad("put_ of more values than positions", lambda w: w.ones(3).put_(index(w, 0), w.ones(2)), IndexError, "put_"),
    bad("put_ of another dtype", lambda w: w.ones(3).put_(index(w, 0), w.ones(1, dtype=w.float64)), RuntimeError,
        "put_"),
    bad("take with floating-point positions", lambda w: w.ones(3).take(w.ones(1)), RuntimeError, "take"),
    bad("put_ with floating-point positions", lambda w: w.ones(3).put_(w.ones(1), w.ones(1)), RuntimeError, "put_"),
    bad("index_fill_ with many values", lambda w: w.ones(3).index_fill_(0, index(w, 0), w.ones(2)), RuntimeError,
        "index_fill"),
    bad("index_add_ into overlapping memory",
        lambda w: w.ones(1).expand(3).index_add_(0, index(w, 0), w.ones(1)), RuntimeError, "index_add",
        "clone|single memory"),
    bad("scatter_add of an index that is larger", lambda w: w.ones(3).scatter_add(0, index(w, 0, 1), w.ones(1)),
        RuntimeError, "scatter"),
    bad("scatter_reduce with a word that is none",
        lambda w: w.ones(3).scatter_reduce(0, index(w, 0), w.ones(1), "median"), RuntimeError, "scatter_reduce"),
    bad("index_reduce with a word that is none", lambda w: w.ones(3).index_reduce(0, index(w, 0), w.ones(1), "sum"),
        RuntimeError, "index_reduce"),
    bad("masked_scatter from too little", lambda w: w.ones(3).masked_scatter(w.ones(3, dtype=w.bool), w.ones(2)),
        RuntimeError, "masked_scatter"),
    bad("masked_select with a mask of another shape",
        lambda w: w.ones(3).masked_select(w.ones(2, dtype=w.bool)), RuntimeError, "masked_select"),
    bad("nonzero_static of -1", lambda w: w.ones(3).nonzero_static(size=-1), RuntimeError, "nonzero_static", "-1"),
    bad("nonzero_static of 2**62", lambda w: w.ones(3).nonzero_static(size=2**62), RuntimeError,
        "nonzero_static|new_full|empty", "memory|overflow"),
    bad("kthvalue of 0", lambda w: w.ones(3).kthvalue(0), RuntimeError, "kthvalue"),
    bad("kthvalue of 4 of 3", lambda w: w.ones(3).kthvalue(4), RuntimeError, "kthvalue"),
    bad("kthvalue of 2**62", lambda w: w.ones(3).kthvalue(2**62), RuntimeError, "kthvalue"),
    bad("topk of -1", lambda w: w.ones(3).topk(-1), RuntimeError, "topk"),
    bad("topk of 2**62", lambda w: w.ones(3).topk(2**62), RuntimeError, "topk"),
    bad("an index of 2**70", lambda w: w.ones(3)[2**70], IndexError, "index"),
    bad("an index of -2**63", lambda w: w.ones(3)[MIN], IndexError, "index"),
    bad("an index of nan", lambda w: w.ones(3)[float("nan")], IndexError, "index", "float"),
    bad("an index of text", lambda w: w.ones(3)["a"], TypeError, "index", "str"),
    bad("an index that is a dict", lambda w: w.ones(3)[{}], IndexError, "index", "dict"),
    bad("an index that is an object", lambda w: w.ones(3)[object()], IndexError, "index", "object"),
    bad("an index of two ellipses", lambda w: w.ones(3)[..., ...], IndexError, "index", "ellipsis"),
    bad("a slice of floats", lambda w: w.ones(3)[0.5:2], TypeError, "index|slice"),
    bad("a slice of text", lambda w: w.ones(3)["a":"b"], TypeError, "index|slice"),
    bad("a slice in steps of 0", lambda w: w.ones(3)[::0], ValueError, "step"),
    bad("a slice in steps of 2**70 negative", lambda w: w.ones(3)[:: -(2**70)], ValueError, "step"),
    bad("an index list of ragged lists", lambda w: w.ones(3)[[[0, 1], [2]]], IndexError, "index"),
    bad("a mask that is longer", lambda w: w.ones(3)[w.ones(4, dtype=w.bool)], IndexError, "index", "4"),
    bad("a mask of more dimensions", lambda w: w.ones(3)[w.ones(3, 1, dtype=w.bool)], IndexError, "index"),
    bad("writing through a mask too many values",
        lambda w: (lambda x: unharmed(lambda: x.__setitem__(x > 0, w.zeros(2)), x))(w.ones(3)), RuntimeError,
        "index_put|shape"),
    bad("writing text", lambda w: w.ones(3).__setitem__(0, "a"), TypeError, "str|index"),
    bad("writing None", lambda w: w.ones(3).__setitem__(0, None), TypeError, "None|index"),
    bad("writing an object", lambda w: w.ones(3).__setitem__(0, object()), TypeError, "object|index"),
    bad("writing a number that does not fit", lambda w: w.ones(3, dtype=w.int8).__setitem__(0, 2**70), ValueError,
        "index_put_", "fit int64"),
    bad("writing to overlapping memory by index",
        lambda w: w.ones(1).expand(3).__setitem__(index(w, 0), 2.0), RuntimeError, "clone|single memory"),
    bad("deleting an element", lambda w: (lambda x: x.__delitem__(0))(w.ones(3)), TypeError, "delet"),
    bad("index_add_ of its own memory",
        lambda w: (lambda x: x.index_add_(0, index(w, 0, 1, 2), x))(w.ones(3)), RuntimeError, "index_add_", "clone"),
    hard("an empty index", lambda w: w.ones(3)[index(w)].numel() == 0),
    hard("a gather of nothing", lambda w: w.ones(3).gather(0, index(w)).numel() == 0),
    hard("take_along_dim of a negative position", lambda w: w.arange(3).take_along_dim(index(w, -1), 0).item() == 2),
    hard("a negative position", lambda w: w.arange(3)[index(w, -3)].item() == 0),
]  # fmt: skip
