"""What is no tensor, number, dtype or device where one is wanted; and objects that lie about themselves."""

import math
from typing import Any

from table import bad, hard


class Raises:
    """Its numeric conversions raise an exception of their own."""

    def __index__(self) -> int:
        raise LookupError("from __index__")

    __int__ = __index__

    def __len__(self) -> int:
        raise LookupError("from __len__")

    def __getitem__(self, index: Any) -> Any:
        raise LookupError("from __getitem__")


class Lies:
    """A sequence that is longer than it says, and never ends."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> float:
        return 1.0


class Endless:
    """A sequence of itself."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: Any) -> Any:
        return self


class Huge:
    """A sequence that says it has 2**62 elements."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, index: Any) -> float:
        return 1.0


class Text:
    """An index that is no number."""

    def __index__(self) -> Any:
        return "a"


def itself() -> Any:
    """A list that contains itself."""
    items: list[Any] = []
    items.append(items)
    return items


def circle() -> Any:
    """A list that contains a list that contains the first."""
    outer: list[Any] = [1.0]
    outer.append([outer])
    return outer


def nested(levels: int) -> Any:
    """A number in so many lists."""
    value: Any = 1.0
    for _ in range(levels):
        value = [value]
    return value


UNARY = ("abs", "exp", "sum", "max", "sort", "relu", "clone", "isnan", "nonzero", "cumsum", "flatten", "sqrt", "unique")
METHODS = ("add", "mul", "matmul", "maximum", "eq", "dot", "gather", "index_select", "masked_fill", "where", "scatter")

ROWS = [
    *[bad(f"{name} of None", lambda w, n=name: getattr(w, n)(None), TypeError, name) for name in UNARY],
    *[
        bad(f"{name} of a list", lambda w, n=name: getattr(w, n)([1.0, 2.0]), TypeError, name)
        for name in ("exp", "sum", "sort", "relu", "unique", "clone")
    ],
    *[
        bad(f"{name} with an object", lambda w, n=name: getattr(w.ones(2), n)(object()), TypeError, name)
        for name in METHODS
    ],
    bad("a tensor of an object", lambda w: w.tensor(object()), RuntimeError, "tensor", "object"),
    bad("a tensor of None", lambda w: w.tensor(None), RuntimeError, "tensor", "None"),
    bad("a tensor of a set", lambda w: w.tensor({1, 2}), RuntimeError, "tensor", "set"),
    bad("a tensor of a dict", lambda w: w.tensor({1: 2}), RuntimeError, "tensor", "dict"),
    bad("a tensor of a generator", lambda w: w.tensor(each for each in (1, 2)), RuntimeError, "tensor", "generator"),
    bad("a tensor of text", lambda w: w.tensor("12"), TypeError, "tensor", "str"),
    bad("a list that contains itself", lambda w: w.tensor(itself()), ValueError, "tensor", "dimensions"),
    bad("a list that contains itself further in", lambda w: w.tensor(circle()), TypeError, "tensor"),
    bad("a list of 1,000 levels", lambda w: w.tensor(nested(1000)), ValueError, "tensor", "dimensions"),
    bad("a list of 100,000 levels", lambda w: w.tensor(nested(100_000)), ValueError, "tensor", "dimensions"),
    bad("as_tensor of a list that contains itself", lambda w: w.as_tensor(itself()), ValueError, "tensor"),
    bad("indexing by a list that contains itself", lambda w: w.ones(3)[itself()], ValueError, "tensor|index"),
    bad("sizes in a list that contains itself", lambda w: w.zeros(itself()), TypeError, "zeros"),
    bad("a ragged list further in", lambda w: w.tensor([[[1, 2], [3]], [[1, 2], [3, 4]]]), ValueError, "tensor"),
    bad("a number beside a list", lambda w: w.tensor([[1, 2], 3]), TypeError, "tensor"),
    bad("a list beside a number", lambda w: w.tensor([3, [1, 2]]), TypeError, "tensor"),
    bad("a sequence of itself", lambda w: w.tensor(Endless()), ValueError, "tensor", "dimensions"),
    bad("a sequence that says 2**62", lambda w: w.tensor(Huge()), RuntimeError, "tensor", "memory|length"),
    bad("a sequence that has more than it says", lambda w: w.tensor([Lies(), Lies()]), ValueError, "tensor"),
    bad("a sequence whose length raises", lambda w: w.tensor(Raises()), LookupError, "from __len__"),
    bad("an index whose number raises", lambda w: w.ones(3)[Raises()], LookupError, "from __"),
    bad("a size whose number raises", lambda w: w.zeros(Raises()), LookupError, "from __index__"),
    bad("a dim whose number raises", lambda w: w.ones(3).sum(Raises()), LookupError, "from __"),
    bad("a dim whose number is text", lambda w: w.ones(3).sum(Text()), TypeError, "sum"),
    bad("a size whose number is text", lambda w: w.zeros(Text()), TypeError, "zeros"),
    bad("a sum of tensors with text", lambda w: w.ones(2) + "a", TypeError, "add|\\+"),
    bad("a sum of tensors with None", lambda w: w.ones(2) + None, TypeError, "add|\\+"),
    bad("a sum with an integer of 1,000 bits", lambda w: w.ones(2, dtype=w.int64) + 2**1000, OverflowError,
        "too (big|large)"),
    bad("a sum of floats with an integer of 5,000 bits", lambda w: w.ones(2) + 2**5000, OverflowError,
        "too (big|large)"),
    bad("a tensor with an integer of 5,000 bits as float", lambda w: w.tensor([2**5000], dtype=w.float32),
        OverflowError, "too (big|large)"),
    bad("fill_ with an integer of 5,000 bits", lambda w: w.ones(2).fill_(2**5000), OverflowError, "fill",
        "too (big|large)"),
    bad("a comparison with an integer of 5,000 bits", lambda w: w.ones(2) < 2**5000, OverflowError, "too (big|large)"),
    bad("clamp to an integer of 5,000 bits", lambda w: w.ones(2).clamp(max=2**5000), OverflowError, "clamp",
        "too (big|large)"),
    bad("fill_ of int8 with 1,000", lambda w: w.ones(2, dtype=w.int8).fill_(1000), RuntimeError, "fill_|overflow"),
    bad("fill_ with text", lambda w: w.ones(2).fill_("a"), TypeError, "fill"),
    bad("fill_ with many", lambda w: w.ones(2).fill_(w.ones(2)), RuntimeError, "fill_"),
    bad("masked_fill with text", lambda w: w.ones(2).masked_fill(w.ones(2, dtype=w.bool), "a"), TypeError,
        "masked_fill"),
    bad("masked_fill with many", lambda w: w.ones(2).masked_fill(w.ones(2, dtype=w.bool), w.ones(2)), RuntimeError,
        "masked_fill"),
    bad("masked_fill of integers with nan",
        lambda w: w.ones(2, dtype=w.int64).masked_fill(w.ones(2, dtype=w.bool), math.nan), RuntimeError,
        "masked_fill|overflow"),
    bad("where of a condition of floats", lambda w: w.where(w.ones(2), 1.0, 2.0), RuntimeError, "where"),
    bad("where with text", lambda w: w.where(w.ones(2, dtype=w.bool), "a", 1), TypeError, "where|result_type"),
    bad("a dtype that is None's type", lambda w: w.zeros(2, dtype=type(None)), TypeError, "dtype"),
    bad("a dtype that is an object", lambda w: w.zeros(2, dtype=object()), TypeError, "dtype"),
    bad("a dtype that is NumPy's", lambda w: w.zeros(2, dtype=__import__("numpy").float32), TypeError, "dtype"),
    bad("to() of an object", lambda w: w.ones(2).to(object()), TypeError, "device|to"),
    bad("to() of text that is no device", lambda w: w.ones(2).to("float32"), RuntimeError, "float32"),
    bad("to() of nothing", lambda w: w.ones(2).to(1.5), TypeError, "device|to"),
    bad("type() of text that is none", lambda w: w.ones(2).type("abc"), ValueError, "type"),
    bad("a device of -5", lambda w: w.device("cpu", -5), RuntimeError, "-5"),
    bad("a device index of 2**62", lambda w: w.device("cuda", 2**62), RuntimeError, "device|index"),
    bad("a device of an object", lambda w: w.device(object()), TypeError, "device"),
    bad("a default dtype of integers", lambda w: w.set_default_dtype(w.int64), TypeError, "set_default_dtype|float"),
    bad("a default dtype of text", lambda w: w.set_default_dtype("float32"), TypeError, "set_default_dtype|dtype"),
    bad("finfo of integers", lambda w: w.finfo(w.int64), TypeError, "finfo"),
    bad("iinfo of floats", lambda w: w.iinfo(w.float32), TypeError, "iinfo"),
    bad("promote_types of text", lambda w: w.promote_types("a", w.float32), TypeError, "promote_types"),
    bad("result_type of nothing", lambda w: w.result_type(None, None), TypeError, "result_type"),
    bad("can_cast of an object", lambda w: w.can_cast(object(), w.float32), TypeError, "can_cast"),
    bad("out= that is a list", lambda w: w.add(w.ones(2), 1, out=[1, 2]), TypeError, "add", "out"),
    bad("out= of overlapping memory", lambda w: w.add(w.ones(3), 1, out=w.ones(1).expand(3)), RuntimeError, "add",
        "clone|single memory"),
    bad("out= of too few", lambda w: w.max(w.ones(2, 2), 0, out=(w.ones(2),)), TypeError, "max", "out"),
    bad("a number instead of out=", lambda w: w.sum(w.ones(2), out=3), TypeError, "sum", "out"),
    bad("an argument twice", lambda w: w.ones(2).sum(0, dim=0), TypeError, "sum", "dim"),
    bad("an argument that is not there", lambda w: w.ones(2).sum(dimension=0), TypeError, "sum", "dimension"),
    bad("too many arguments", lambda w: w.ones(2).exp(1, 2, 3), TypeError, "exp"),
    bad("too few arguments", lambda w: w.ones(2).gather(0), TypeError, "gather"),
    bad("a method called on a number", lambda w: w.Tensor.exp(1.0), TypeError, "exp"),
    bad("a memory format that is none", lambda w: w.ones(2).contiguous(memory_format="rows"), TypeError,
        "contiguous|memory_format"),
    bad("channels_last of two dimensions", lambda w: w.ones(2, 2).contiguous(memory_format=w.channels_last),
        RuntimeError, "channels_last|contiguous|4"),
    bad("requires_grad of text", lambda w: w.ones(2).requires_grad_("a"), TypeError, "requires_grad"),
    bad("float() of many", lambda w: float(w.ones(2)), ValueError, "one|2"),
    bad("int() of nan", lambda w: int(w.tensor(math.nan)), ValueError, "nan"),
    bad("int() of inf", lambda w: int(w.tensor(math.inf)), OverflowError, "inf"),
    bad("float() of a complex number", lambda w: float(w.tensor(1j)), RuntimeError, "complex|overflow|real"),
    bad("an index of a list by nan", lambda w: [1][w.tensor(math.nan)], TypeError, "index|integer"),
    bad("range() of a float tensor", lambda w: range(w.tensor(1.5)), TypeError, "index|integer"),
    bad("in with an object", lambda w: object() in w.ones(2), RuntimeError, "contains|object"),
    bad("iteration over a 0-d tensor by unpacking", lambda w: (lambda a, b: a)(*w.tensor(1.0)), TypeError, "0-d"),
    bad("an attribute of a tensor deleted", lambda w: delattr(w.ones(2), "shape"), AttributeError, "shape"),
    bad("the shape of a tensor set", lambda w: setattr(w.ones(2), "shape", (3,)), AttributeError, "shape"),
    bad("the dtype of a tensor set", lambda w: setattr(w.ones(2), "dtype", w.int64), AttributeError, "dtype"),
    bad("the data of a tensor set to a list", lambda w: setattr(w.ones(2), "data", [1]), TypeError, "data"),
    bad("apply_ of what raises", lambda w: w.ones(2).apply_(lambda x: 1 / 0), ZeroDivisionError, "division"),
    bad("map_ of what is none", lambda w: w.ones(2).map_(w.ones(2), None), TypeError, "map_", "callable"),
    bad("set_printoptions of text", lambda w: w.set_printoptions(precision="a"), TypeError, "precision"),
    bad("set_num_threads of 0", lambda w: w.set_num_threads(0), RuntimeError, "threads"),
    bad("set_num_threads of text", lambda w: w.set_num_threads("a"), RuntimeError, "threads"),
    *[
        bad(f"{name} of a tensor and None", lambda w, n=name: getattr(w, n)(w.ones(2), None), TypeError, name)
        for name in ("eq", "ne", "logical_and", "bitwise_xor", "gcd", "hypot", "xlogy", "maximum", "atan2")
    ],
    *[
        bad(f"{name} of None and a tensor", lambda w, n=name: getattr(w, n)(None, w.ones(2)), TypeError, name)
        for name in ("eq", "logical_or", "bitwise_and", "lcm", "xlogy", "minimum", "fmod")
    ],
    bad("full_like with None", lambda w: w.full_like(w.ones(2), None), TypeError, "full_like", "None"),
    bad("new_full with None", lambda w: w.ones(2).new_full((2,), None), TypeError, "new_full", "None"),
    bad("zeros_like on a device without a name", lambda w: w.zeros_like(w.ones(2), device=""), RuntimeError, "device"),
    bad("kthvalue of half", lambda w: w.ones(3).kthvalue(0.5), TypeError, "kthvalue", "float"),
    bad("unfold of text", lambda w: w.ones(3).unfold(0, "a", 1), TypeError, "unfold", "str"),
    bad("unfold in steps of text", lambda w: w.ones(3).unfold(0, 1, "a"), TypeError, "unfold", "str"),
    bad("tril_indices from half a diagonal", lambda w: w.tril_indices(3, 3, 0.5), TypeError, "tril_indices", "float"),
    bad("sum of a list that contains itself", lambda w: w.sum(itself()), TypeError, "sum"),
    bad("add of a list that contains itself", lambda w: w.add(w.ones(2), itself()), TypeError, "add"),
    bad("set_grad_enabled of text", lambda w: w.set_grad_enabled("a"), TypeError, "set_grad_enabled", "str"),
    bad("as_subclass of no class", lambda w: w.ones(2).as_subclass(3), TypeError, "as_subclass"),
    hard("a tensor compared with None", lambda w: (w.ones(2) == None) is False),  # noqa: E711
    hard("a tensor compared with an object", lambda w: (w.ones(2) == object()) is False),
    hard("a list of 64 levels", lambda w: w.tensor(nested(64)).ndim == 64),
    hard("repr of 2**50 elements", lambda w: repr(w.ones(1).expand(2**50)).startswith("tensor(")),
    hard("repr of hostile numbers",
         lambda w: repr(w.tensor([math.nan, math.inf, -math.inf, 1e-45, 3e38])).startswith("tensor(")),
    hard("repr of no elements in many dimensions", lambda w: repr(w.empty(3, 0, 2)).startswith("tensor(")),
]  # fmt: skip
