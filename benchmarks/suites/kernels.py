"""Single operators on sizes that programs have, most of them with their gradients."""

from collections.abc import Callable
from typing import Any

Build = Callable[[Any], Callable[[], Any]]
Call = Callable[[Any, Any], Any]


def function_of(lib: Any, name: str) -> Any:
    """``softmax`` or ``nn.functional.gelu`` of a library."""
    for part in name.split("."):
        lib = getattr(lib, part)
    return lib


def pointwise(name: str, *shapes: tuple[int, ...]) -> Build:
    """One operator over random tensors between 0.1 and 1.1."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        inputs = [lib.rand(*shape) + 0.1 for shape in shapes]
        function = function_of(lib, name)
        return lambda: function(*inputs)

    return build


def with_gradient(call: Call, *shapes: tuple[int, ...]) -> Build:
    """``call(lib, tensors)`` and the gradients of its sum with respect to all tensors."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        inputs = [lib.randn(*shape).requires_grad_() for shape in shapes]
        cotangent = lib.ones_like(call(lib, inputs).detach())
        return lambda: lib.autograd.grad(call(lib, inputs), inputs, cotangent)

    return build


def plain(call: Call, *shapes: tuple[int, ...]) -> Build:
    """``call(lib, tensors)`` without gradients."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        inputs = [lib.randn(*shape) for shape in shapes]
        return lambda: call(lib, inputs)

    return build


def at_positions(call: Callable[[Any, Any, Any], Any], high: int, shape: tuple[int, ...], *sizes: int) -> Build:
    """``call(lib, table, positions)`` with random positions below ``high``."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        table, positions = lib.randn(*shape), lib.randint(0, high, sizes)
        return lambda: call(lib, table, positions)

    return build


def embedding(lib: Any) -> Callable[[], Any]:
    """Look 4,096 rows up and scatter their gradients back."""
    lib.manual_seed(0)
    table, indices = lib.randn(10_000, 128).requires_grad_(), lib.randint(0, 10_000, (32, 128))
    cotangent = lib.ones(32, 128, 128)
    return lambda: lib.autograd.grad(lib.nn.functional.embedding(indices, table), table, cotangent)


def classes(name: str, rows: int, columns: int) -> Build:
    """A loss of predictions over classes, with its gradient."""

    def build(lib: Any) -> Callable[[], Any]:
        lib.manual_seed(0)
        logits, target = lib.randn(rows, columns).requires_grad_(), lib.randint(0, columns, (rows,))
        loss = function_of(lib.nn.functional, name)
        return lambda: lib.autograd.grad(loss(logits, target), logits)

    return build


def batch_norm(lib: Any) -> Callable[[], Any]:
    """In training, 32 images of 64 channels, with gradients."""
    lib.manual_seed(0)
    layer, x = lib.nn.BatchNorm2d(64), lib.randn(32, 64, 16, 16).requires_grad_()
    inputs, cotangent = [x, *layer.parameters()], lib.ones(32, 64, 16, 16)
    return lambda: lib.autograd.grad(layer(x), inputs, cotangent)


def convolution(
    channels: tuple[int, int], kernel: int, size: int, *, batch: int = 8, dims: int = 2, name: str = "", **options: int
) -> Build:
    """A convolution with the gradients of input, weight and bias."""
    before, after = channels
    groups = options.get("groups", 1)
    name = name or f"conv{dims}d"
    first, second = (before, after // groups) if "transpose" in name else (after, before // groups)
    return with_gradient(
        lambda lib, x: function_of(lib.nn.functional, name)(*x, **options),
        (batch, before, *[size] * dims),
        (first, second, *[kernel] * dims),
        (after,),
    )


SMALL, MEDIUM, LARGE = (1000,), (256, 1024), (10_000_000,)
IMAGES, HEADS = (8, 32, 32, 32), (16, 6, 128, 32)

FAMILIES: dict[str, dict[str, Build]] = {
    "elementwise": {
        **{f"{op} {shape}": pointwise(op, shape, shape) for op in ("add", "mul") for shape in (SMALL, MEDIUM, LARGE)},
        "div (256, 1024)": pointwise("div", MEDIUM, MEDIUM),
        "pow (256, 1024)": pointwise("pow", MEDIUM, MEDIUM),
        "maximum (256, 1024)": pointwise("maximum", MEDIUM, MEDIUM),
        "add a row (256, 1024)": pointwise("add", MEDIUM, (1024,)),
        "mul by a column (256, 1024)": pointwise("mul", MEDIUM, (256, 1)),
        "add a transposed (1024, 1024)": plain(lambda lib, x: x[0] + x[1].t(), (1024, 1024), (1024, 1024)),
        **{f"{op} (256, 1024)": pointwise(op, MEDIUM) for op in ("exp", "log", "sqrt", "sin", "abs", "erf")},
        "clamp (256, 1024)": plain(lambda lib, x: x[0].clamp(-1.0, 1.0), MEDIUM),
        "greater (256, 1024)": plain(lambda lib, x: x[0] > x[1], MEDIUM, MEDIUM),
        "where (256, 1024)": plain(lambda lib, x: lib.where(x[0] > 0, x[0], x[1]), MEDIUM, MEDIUM),
        "add in place (256, 1024)": plain(lambda lib, x: x[0].add_(x[1]), MEDIUM, MEDIUM),
        "to bfloat16 (256, 1024)": plain(lambda lib, x: x[0].bfloat16(), MEDIUM),
    },
    "activations, with gradient": {
        **{
            f"{op} (256, 1024)": with_gradient(lambda lib, x, op=op: getattr(lib.nn.functional, op)(x[0]), MEDIUM)
            for op in ("relu", "gelu", "silu", "sigmoid", "tanh", "leaky_relu", "elu", "softplus", "hardswish", "mish")
        },
        "dropout (256, 1024)": with_gradient(lambda lib, x: lib.nn.functional.dropout(x[0], 0.1), MEDIUM),
    },
    "softmax and norms, with gradient": {
        "softmax (256, 1024)": with_gradient(lambda lib, x: lib.softmax(x[0], -1), MEDIUM),
        "softmax, no gradient (256, 1024)": plain(lambda lib, x: lib.softmax(x[0], -1), MEDIUM),
        "log_softmax (256, 1024)": with_gradient(lambda lib, x: lib.log_softmax(x[0], -1), MEDIUM),
        "layer_norm (256, 1024)": with_gradient(
            lambda lib, x: lib.nn.functional.layer_norm(x[0], (1024,), x[1], x[2]), MEDIUM, (1024,), (1024,)
        ),
        "layer_norm, no gradient (256, 1024)": plain(
            lambda lib, x: lib.nn.functional.layer_norm(x[0], (1024,), x[1], x[2]), MEDIUM, (1024,), (1024,)
        ),
        "rms_norm (256, 1024)": with_gradient(
            lambda lib, x: lib.nn.functional.rms_norm(x[0], (1024,), x[1]), MEDIUM, (1024,)
        ),
        "group_norm (8, 32, 32, 32)": with_gradient(
            lambda lib, x: lib.nn.functional.group_norm(x[0], 8, x[1], x[2]), IMAGES, (32,), (32,)
        ),
        "batch_norm (32, 64, 16, 16)": batch_norm,
    },
    "losses, with gradient": {
        "cross_entropy (256, 10000)": classes("cross_entropy", 256, 10_000),
        "cross_entropy (2048, 65)": classes("cross_entropy", 2048, 65),
        **{
            f"{op} (256, 1024)": with_gradient(
                lambda lib, x, op=op: getattr(lib.nn.functional, op)(x[0], lib.zeros_like(x[0])), MEDIUM
            )
            for op in ("mse_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits")
        },
    },
    "reductions": {
        "sum (10000000,)": plain(lambda lib, x: x[0].sum(), LARGE),
        "sum over rows (256, 1024)": plain(lambda lib, x: x[0].sum(1), MEDIUM),
        "sum over columns (256, 1024)": plain(lambda lib, x: x[0].sum(0), MEDIUM),
        "mean, with gradient (256, 1024)": with_gradient(lambda lib, x: x[0].mean(), MEDIUM),
        "max over columns (256, 1024)": plain(lambda lib, x: x[0].max(0), MEDIUM),
        "amax over rows (256, 1024)": plain(lambda lib, x: x[0].amax(1), MEDIUM),
        "argmax over rows (256, 1024)": plain(lambda lib, x: x[0].argmax(1), MEDIUM),
        "var over rows (256, 1024)": plain(lambda lib, x: x[0].var(1), MEDIUM),
        "logsumexp (256, 1024)": plain(lambda lib, x: x[0].logsumexp(1), MEDIUM),
        "norm (256, 1024)": plain(lambda lib, x: x[0].norm(), MEDIUM),
        "cumsum (256, 1024)": plain(lambda lib, x: x[0].cumsum(1), MEDIUM),
        "any (256, 1024)": plain(lambda lib, x: (x[0] > 9).any(), MEDIUM),
    },
    "gather and scatter": {
        "gather (256, 1024)": at_positions(lambda lib, x, i: x.gather(1, i), 1024, MEDIUM, *MEDIUM),
        "scatter_add (256, 1024)": at_positions(lambda lib, x, i: x.scatter_add(1, i, x), 1024, MEDIUM, *MEDIUM),
        "index_select 4,096 of 10,000 rows": at_positions(
            lambda lib, x, i: x.index_select(0, i), 10_000, (10_000, 128), 4096
        ),
        "x[i] 4,096 of 10,000 rows": at_positions(lambda lib, x, i: x[i], 10_000, (10_000, 128), 4096),
        "index_add 4,096 rows": at_positions(
            lambda lib, x, i: x.index_add(0, i, x[:4096]), 10_000, (10_000, 128), 4096
        ),
        "x[mask] (256, 1024)": plain(lambda lib, x: x[0][x[0] > 0], MEDIUM),
        "masked_fill (256, 1024)": plain(lambda lib, x: x[0].masked_fill(x[0] > 0, 0.0), MEDIUM),
        "embedding, with gradient": embedding,
    },
    "moving": {
        "cat of 4 (256, 1024)": plain(lambda lib, x: lib.cat(x, 1), MEDIUM, MEDIUM, MEDIUM, MEDIUM),
        "stack of 4 (256, 1024)": plain(lambda lib, x: lib.stack(x), MEDIUM, MEDIUM, MEDIUM, MEDIUM),
        "transposed copy (256, 1024)": plain(lambda lib, x: x[0].t().contiguous(), MEDIUM),
        "permuted copy (8, 32, 32, 32)": plain(lambda lib, x: x[0].permute(0, 2, 3, 1).contiguous(), IMAGES),
        "flip (256, 1024)": plain(lambda lib, x: x[0].flip(1), MEDIUM),
        "pad (8, 32, 32, 32)": plain(lambda lib, x: lib.nn.functional.pad(x[0], (1, 1, 1, 1)), IMAGES),
        "tril (1024, 1024)": plain(lambda lib, x: x[0].tril(), (1024, 1024)),
    },
    "sorting": {
        "sort (256, 1024)": plain(lambda lib, x: x[0].sort(1), MEDIUM),
        "argsort (100000,)": plain(lambda lib, x: x[0].argsort(), (100_000,)),
        "topk 10 (256, 1024)": plain(lambda lib, x: x[0].topk(10, 1), MEDIUM),
    },
    "pooling, with gradient": {
        "max_pool2d 2 (8, 32, 32, 32)": with_gradient(lambda lib, x: lib.nn.functional.max_pool2d(x[0], 2), IMAGES),
        "max_pool2d 3 stride 2 (8, 32, 32, 32)": with_gradient(
            lambda lib, x: lib.nn.functional.max_pool2d(x[0], 3, 2, 1), IMAGES
        ),
        "avg_pool2d 2 (8, 32, 32, 32)": with_gradient(lambda lib, x: lib.nn.functional.avg_pool2d(x[0], 2), IMAGES),
        "adaptive_avg_pool2d 1 (8, 32, 32, 32)": with_gradient(
            lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x[0], 1), IMAGES
        ),
    },
    "convolutions, with gradients": {
        "3x3, 16 to 32, 32x32": convolution((16, 32), 3, 32, padding=1),
        "3x3, 64 to 64, 16x16": convolution((64, 64), 3, 16, padding=1),
        "3x3, 256 to 256, 8x8": convolution((256, 256), 3, 8, padding=1),
        "1x1, 64 to 128, 28x28": convolution((64, 128), 1, 28),
        "depthwise 3x3, 64, 28x28": convolution((64, 64), 3, 28, padding=1, groups=64),
        "strided 7x7, 3 to 64, 64x64": convolution((3, 64), 7, 64, stride=2, padding=3),
        "dilated 3x3, 32 to 32, 32x32": convolution((32, 32), 3, 32, padding=2, dilation=2),
        "1-d 5, 64 to 64, 256": convolution((64, 64), 5, 256, dims=1, padding=2),
        "transposed 2x2, 32 to 16, 16x16": convolution((32, 16), 2, 16, name="conv_transpose2d", stride=2),
    },
    "matrix products": {
        **{f"{n} x {n}": plain(lambda lib, x: x[0] @ x[1], (n, n), (n, n)) for n in (64, 256, 1024)},
        "2048 x 192, transposed 768 x 192": plain(lambda lib, x: x[0] @ x[1].t(), (2048, 192), (768, 192)),
        "32 of 64 x 64": plain(lambda lib, x: x[0] @ x[1], (32, 64, 64), (32, 64, 64)),
        "matrix 2048 x 2048 and vector": plain(lambda lib, x: x[0] @ x[1], (2048, 2048), (2048,)),
        "linear 256 x 1024 to 1024, with gradient": with_gradient(
            lambda lib, x: lib.nn.functional.linear(*x), MEDIUM, (1024, 1024), (1024,)
        ),
    },
    "attention": {
        "causal (16, 6, 128, 32), with gradient": with_gradient(
            lambda lib, x: lib.nn.functional.scaled_dot_product_attention(*x, is_causal=True), HEADS, HEADS, HEADS
        ),
        "(16, 6, 128, 32)": plain(
            lambda lib, x: lib.nn.functional.scaled_dot_product_attention(*x), HEADS, HEADS, HEADS
        ),
    },
}
CASES: dict[str, Build] = {
    f"{family.partition(',')[0]}: {case}": build for family, cases in FAMILIES.items() for case, build in cases.items()
}
