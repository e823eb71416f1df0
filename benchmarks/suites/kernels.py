"""Single operators on sizes that programs have."""

from collections.abc import Callable
from typing import Any

Build = Callable[[Any], Callable[[], Any]]


def pointwise(name: str, shape: tuple[int, ...], operands: int = 1) -> Build:
    """One operator over random tensors."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        inputs = [lib.rand(*shape) + 0.1 for _ in range(operands)]
        function = lib
        for part in name.split("."):
            function = getattr(function, part)
        return lambda: function(*inputs)

    return build


def with_backward(call: Callable[[Any, Any], Any], *shapes: tuple[int, ...]) -> Build:
    """``call(lib, tensors)`` and the gradients of its sum with respect to all tensors."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        inputs = [lib.randn(*shape).requires_grad_() for shape in shapes]
        cotangent = lib.ones_like(call(lib, inputs).detach())
        return lambda: lib.autograd.grad(call(lib, inputs), inputs, cotangent)

    return build


def plain(call: Callable[[Any, Any], Any], *shapes: tuple[int, ...]) -> Build:
    """``call(lib, tensors)`` without gradients."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        inputs = [lib.randn(*shape) for shape in shapes]
        return lambda: call(lib, inputs)

    return build


def index_with(call: Callable[[Any, Any, Any], Any], rows: int, columns: int, picks: int) -> Build:
    """``call(lib, table, indices)`` with random indices into the table's rows."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        table, indices = lib.randn(rows, columns), lib.randint(0, rows, (picks,))
        return lambda: call(lib, table, indices)

    return build


def embedding_gradient(lib: Any) -> Callable[[], Any]:
    """Look 4,096 rows up and scatter their gradients back."""
    lib.manual_seed(0)
    table, indices = lib.randn(10_000, 128).requires_grad_(), lib.randint(0, 10_000, (32, 128))
    cotangent = lib.ones(32, 128, 128)
    return lambda: lib.autograd.grad(lib.nn.functional.embedding(indices, table), table, cotangent)


def cross_entropy(lib: Any) -> Callable[[], Any]:
    """Loss of 256 predictions over 10,000 classes, with its gradient."""
    lib.manual_seed(0)
    logits, target = lib.randn(256, 10_000).requires_grad_(), lib.randint(0, 10_000, (256,))
    return lambda: lib.autograd.grad(lib.nn.functional.cross_entropy(logits, target), logits)


SMALL, MEDIUM, LARGE = (1000,), (256, 1024), (10_000_000,)
IMAGES, FILTERS = (8, 16, 32, 32), (32, 16, 3, 3)

CASES: dict[str, Build] = {
    **{f"{op} {shape}": pointwise(op, shape, 2) for op in ("add", "mul") for shape in (SMALL, MEDIUM, LARGE)},
    **{f"{op} {MEDIUM}": pointwise(op, MEDIUM) for op in ("exp", "tanh", "sigmoid", "sqrt", "nn.functional.gelu")},
    f"relu {LARGE}": pointwise("relu", LARGE),
    f"sum {LARGE}": pointwise("sum", LARGE),
    f"mean over rows {MEDIUM}": plain(lambda lib, x: x[0].mean(1), MEDIUM),
    f"max over columns {MEDIUM}": plain(lambda lib, x: x[0].max(0), MEDIUM),
    f"argmax {MEDIUM}": plain(lambda lib, x: x[0].argmax(1), MEDIUM),
    f"cumsum {MEDIUM}": plain(lambda lib, x: x[0].cumsum(1), MEDIUM),
    f"sort {MEDIUM}": plain(lambda lib, x: x[0].sort(1), MEDIUM),
    f"topk 10 {MEDIUM}": plain(lambda lib, x: x[0].topk(10, 1), MEDIUM),
    f"where {MEDIUM}": plain(lambda lib, x: lib.where(x[0] > 0, x[0], x[1]), MEDIUM, MEDIUM),
    f"cat of 4 {MEDIUM}": plain(lambda lib, x: lib.cat(x, 1), MEDIUM, MEDIUM, MEDIUM, MEDIUM),
    f"transposed copy {MEDIUM}": plain(lambda lib, x: x[0].t().contiguous(), MEDIUM),
    f"softmax {MEDIUM}": plain(lambda lib, x: lib.softmax(x[0], -1), MEDIUM),
    f"softmax, with gradient {MEDIUM}": with_backward(lambda lib, x: lib.softmax(x[0], -1), MEDIUM),
    f"layer_norm {MEDIUM}": plain(lambda lib, x: lib.nn.functional.layer_norm(x[0], (1024,), x[1], x[2]),
                                  MEDIUM, (1024,), (1024,)),
    f"layer_norm, with gradient {MEDIUM}": with_backward(
        lambda lib, x: lib.nn.functional.layer_norm(x[0], (1024,), x[1], x[2]), MEDIUM, (1024,), (1024,)),
    **{f"matmul {n} x {n}": plain(lambda lib, x: x[0] @ x[1], (n, n), (n, n)) for n in (64, 256, 1024)},
    "batched matmul 32 x 64 x 64": plain(lambda lib, x: x[0] @ x[1], (32, 64, 64), (32, 64, 64)),
    "linear 256 x 1024 -> 1024, with gradient": with_backward(
        lambda lib, x: lib.nn.functional.linear(*x), MEDIUM, (1024, 1024), (1024,)),
    f"conv2d {IMAGES} * {FILTERS}": plain(lambda lib, x: lib.nn.functional.conv2d(x[0], x[1], padding=1),
                                          IMAGES, FILTERS),
    f"conv2d, with gradient {IMAGES} * {FILTERS}": with_backward(
        lambda lib, x: lib.nn.functional.conv2d(x[0], x[1], padding=1), IMAGES, FILTERS),
    f"max_pool2d {IMAGES}": plain(lambda lib, x: lib.nn.functional.max_pool2d(x[0], 2), IMAGES),
    "index_select 4,096 of 10,000 rows": index_with(lambda lib, x, i: x.index_select(0, i), 10_000, 128, 4096),
    "advanced index 4,096 of 10,000 rows": index_with(lambda lib, x, i: x[i], 10_000, 128, 4096),
    "index_add 4,096 rows": index_with(lambda lib, x, i: x.index_add(0, i, x[:4096]), 10_000, 128, 4096),
    f"boolean index {MEDIUM}": plain(lambda lib, x: x[0][x[0] > 0], MEDIUM),
    "embedding, with gradient": embedding_gradient,
    "cross_entropy, with gradient": cross_entropy,
}  # fmt: skip
