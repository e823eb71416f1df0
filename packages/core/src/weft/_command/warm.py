"""Compile the kernels of a backend ahead of time, so that no program waits for it.

Backends compile some kernels when they are first needed and keep them on disk. This runs small training steps with most
operations, layers and optimizers, and shows how long each took and how many kernels it added.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import weft
from weft.plugins import backend

ROWS, COLUMNS = 128, 512  # large enough that backends take the kernels that they compile

UNARY = """
abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square sin cos tan asin acos atan sinh cosh tanh asinh
acosh atanh sigmoid erf erfc erfinv floor ceil round trunc frac sign sgn relu isnan isinf isfinite
"""
BINARY = "add sub mul div pow remainder fmod eq ne lt le gt ge"
OF_TENSORS = "maximum minimum fmax fmin atan2 logaddexp hypot"
ACTIVATIONS = """
relu relu6 leaky_relu elu selu celu gelu silu mish softplus softsign tanhshrink softshrink hardshrink hardtanh hardswish
hardsigmoid logsigmoid threshold glu
"""
REDUCTIONS = "sum mean prod amax amin var std nansum norm argmax argmin all any count_nonzero logsumexp"
SCANS = "cumsum cumprod cummax cummin logcumsumexp sort argsort"
LOSSES = "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits soft_margin_loss"
OPTIMIZERS: dict[str, tuple[dict[str, Any], ...]] = {
    "SGD": ({}, {"momentum": 0.9, "weight_decay": 0.1}, {"momentum": 0.9, "nesterov": True}),
    "Adam": ({}, {"weight_decay": 0.1}, {"amsgrad": True}),
    "AdamW": ({}, {"amsgrad": True}),
    "RMSprop": ({}, {"momentum": 0.9, "centered": True}),
    "Adagrad": ({},),
    "Adamax": ({},),
    "NAdam": ({},),
    "RAdam": ({},),
    "Adadelta": ({},),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``weft warm [--device cpu] [--dtype float32 ...]``."""
    parser.add_argument("--device", default="cpu", help="whose kernels to compile (default: cpu)")
    parser.add_argument("--dtype", nargs="+", default=["float32"], help="of tensors (default: float32)")


def run(args: argparse.Namespace) -> int:
    """Run all workloads; 1 if one of them failed."""
    found = backend(args.device)
    found.compile_at_once()
    failed = 0
    begin = time.perf_counter()
    for name in args.dtype:
        for title, work in (WORK | OF_LAYERS if importlib.util.find_spec("weft.nn") else WORK).items():
            failed += not attempt(f"{name} {title}", work, Maker(args.device, getattr(weft, name)), found)
    facts = found.describe()
    print(f"ready after {time.perf_counter() - begin:.1f} s; compiled kernels: {facts.get('compiled', 'none')}")
    return 1 if failed else 0


def attempt(title: str, work: Callable[[Maker], None], make: Maker, found: Any) -> bool:
    """Run one workload and print its line; whether it succeeded."""
    before, start = found.compiled_kernels(), time.perf_counter()
    print(f"    {title:<28}", end="", flush=True)
    try:
        work(make)
    except Exception as error:  # a workload that this backend or installation lacks does not keep the others from it
        print(f" failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        return False
    seconds, more = time.perf_counter() - start, found.compiled_kernels() - before
    print(f" {seconds:6.2f} s" + (f", {more} kernels" if more else ""))
    return True


class Maker:
    """Makes the tensors of workloads."""

    def __init__(self, device: str, dtype: Any) -> None:
        self.device = device
        self.dtype = dtype

    def random(self, *shape: int) -> Any:
        """Numbers between 0.1 and 0.9, a leaf that requires grad."""
        made = weft.rand(*shape, device=self.device, dtype=self.dtype) * 0.8 + 0.1
        return made.requires_grad_()

    def positions(self, high: int, *shape: int) -> Any:
        """Integers from 0."""
        return weft.randint(0, high, shape, device=self.device)

    def module(self, module: Any) -> Any:
        """A module in place and dtype."""
        return module.to(device=self.device, dtype=self.dtype)


def backward(result: Any) -> None:
    """Differentiate what can be differentiated, with a gradient whose elements lie in memory as those of layers do."""
    for each in result if isinstance(result, tuple) else (result,):
        if isinstance(each, weft.Tensor) and each.requires_grad:
            each.backward(weft.ones_like(each), retain_graph=True)


def elementwise(make: Maker) -> None:
    x, y = make.random(ROWS, COLUMNS), make.random(ROWS, COLUMNS)
    for name in UNARY.split():
        backward(getattr(x, name)())
    others = (y, make.random(COLUMNS), make.random(ROWS, 1), 0.5)
    for name in BINARY.split():
        for other in others:
            backward(getattr(weft, name)(x, other))
        backward(getattr(weft, name)(x.t(), y.t()))
    for name in OF_TENSORS.split():
        for other in others[:3]:
            backward(getattr(weft, name)(x, other))
    mask = x > 0.5
    backward(weft.where(mask, x, y))
    backward(x.masked_fill(mask, 0.0))
    backward(x.clamp(0.2, 0.7))
    backward(weft.lerp(x, y, 0.3))
    backward(weft.addcmul(x, y, y))
    backward(weft.addcdiv(x, y, y))
    backward(x.to(weft.float32 if make.dtype is weft.bfloat16 else weft.bfloat16))
    with weft.no_grad():
        weft.floor_divide(x, y)
        z = x.clone()
        for name in ("add_", "sub_", "mul_", "div_"):
            getattr(z, name)(y)
            getattr(z, name)(0.5)
        z.copy_(y.t().reshape(ROWS, COLUMNS))


def activations(make: Maker) -> None:
    functional, x = weft.nn.functional, make.random(ROWS, COLUMNS)
    extra = {"threshold": (0.5, 0.0)}
    for name in ACTIVATIONS.split():
        backward(getattr(functional, name)(x - 0.5, *extra.get(name, ())))
    backward(functional.gelu(x, approximate="tanh"))
    backward(functional.prelu(x - 0.5, make.random(1)))
    backward(functional.dropout(x, 0.1))
    for dim in (-1, 0):
        backward(functional.softmax(x, dim))
        backward(functional.log_softmax(x, dim))


def reductions(make: Maker) -> None:
    x = make.random(ROWS, COLUMNS)
    for name in REDUCTIONS.split():
        reduce = getattr(weft, name)
        for operand in (x, x.t()):
            for dim in (0, 1, None):
                backward(reduce(operand, dim=(0, 1) if dim is None and name in ("amax", "amin", "logsumexp") else dim))
    for name in ("max", "min"):
        backward(getattr(x, name)())
        for dim in (0, 1):
            backward(getattr(x, name)(dim).values)
    for name in SCANS.split():
        for dim in (0, 1):
            result = getattr(weft, name)(x, dim=dim)
            backward(result if isinstance(result, weft.Tensor) else result[0])
    backward(x.topk(5).values)


def losses(make: Maker) -> None:
    functional = weft.nn.functional
    x, y = make.random(ROWS, COLUMNS), make.random(ROWS, COLUMNS).detach()
    for name in LOSSES.split():
        for reduction in ("mean", "sum", "none"):
            backward(getattr(functional, name)(x, y, reduction=reduction))
    backward(functional.binary_cross_entropy(x, y))
    backward(functional.kl_div(x.log(), y, reduction="batchmean"))
    classes = make.positions(COLUMNS, ROWS)
    for options in ({}, {"label_smoothing": 0.1}, {"reduction": "none"}, {"ignore_index": 0}):
        backward(functional.cross_entropy(x, classes, **options))
    backward(functional.nll_loss(functional.log_softmax(x, -1), classes))


def indexing(make: Maker) -> None:
    x = make.random(ROWS, COLUMNS)
    rows, places = make.positions(ROWS, ROWS), make.positions(ROWS, ROWS, COLUMNS)
    backward(x.gather(0, places))
    backward(x.gather(1, places))
    backward(x.scatter(0, places, make.random(ROWS, COLUMNS)))
    for dim in (0, 1):
        backward(x.scatter_add(dim, places, make.random(ROWS, COLUMNS)))
    backward(x.index_select(0, rows))
    backward(x.index_add(0, rows, make.random(ROWS, COLUMNS)))
    backward(x[rows])
    backward(x[x > 0.5])
    backward(weft.cat([x, x]))
    backward(weft.stack([x, x], 1))
    backward(x.flip(0))
    backward(x.tril())


def normalization(make: Maker) -> None:
    functional = weft.nn.functional
    x, image = make.random(ROWS, COLUMNS), make.random(8, 16, 16, 16)
    weight, bias = make.random(COLUMNS), make.random(COLUMNS)
    backward(functional.layer_norm(x, (COLUMNS,), weight, bias))
    backward(functional.rms_norm(x, (COLUMNS,), weight))
    backward(functional.group_norm(image, 4, make.random(16), make.random(16)))
    backward(functional.instance_norm(image))
    backward(functional.normalize(x))
    for training in (True, False):
        layer = make.module(weft.nn.BatchNorm2d(16)).train(training)
        backward(layer(image))
        backward(make.module(weft.nn.BatchNorm1d(COLUMNS)).train(training)(x))


def images(make: Maker) -> None:
    functional, nn = weft.nn.functional, weft.nn
    image = make.random(8, 16, 32, 32)
    for layer in (nn.Conv2d(16, 16, 3), nn.Conv2d(16, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, groups=16)):
        backward(make.module(layer)(image))
    backward(make.module(nn.ConvTranspose2d(16, 16, 2, stride=2))(image))
    backward(functional.pad(image, (1, 1)))
    for pool in ("max_pool2d", "avg_pool2d"):
        backward(getattr(functional, pool)(image, 2))
        backward(getattr(functional, pool)(image, 3, 2, 1))
    backward(functional.adaptive_avg_pool2d(image, 1))
    for mode in ("nearest", "bilinear"):
        backward(functional.interpolate(image, scale_factor=2, mode=mode))


def sequences(make: Maker) -> None:
    functional, nn = weft.nn.functional, weft.nn
    x = make.random(8, 32, 64)
    backward(functional.embedding(make.positions(ROWS, 8, 32), make.random(ROWS, 64)))
    for causal in (False, True):
        heads = make.random(4, 4, 32, 16)
        backward(functional.scaled_dot_product_attention(heads, heads, heads, is_causal=causal))
    for recurrent in (nn.LSTM, nn.GRU, nn.RNN):
        for first in (False, True):
            backward(make.module(recurrent(64, 64, batch_first=first))(x)[0])
    encoder = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    backward(make.module(encoder)(x))
    with weft.no_grad():
        make.module(encoder).eval()(x)


def optimizers(make: Maker) -> None:
    for name, settings in OPTIMIZERS.items():
        for options in settings:
            parameters = [make.random(ROWS, COLUMNS), make.random(COLUMNS)]
            optimizer = getattr(weft.optim, name)(parameters, lr=0.01, **options)
            for _ in range(2):
                for parameter in parameters:
                    parameter.grad = weft.ones_like(parameter)
                weft.nn.utils.clip_grad_norm_(parameters, 1.0)
                optimizer.step()
                optimizer.zero_grad()


def classifier(make: Maker) -> None:
    nn = weft.nn
    model = make.module(
        nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(), nn.Linear(8 * 13 * 13, 10)
        )
    )
    optimizer = weft.optim.Adam(model.parameters())
    for _ in range(2):
        loss = nn.functional.cross_entropy(model(make.random(32, 1, 28, 28).detach()), make.positions(10, 32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


WORK: dict[str, Callable[[Maker], None]] = {
    "elementwise": elementwise,
    "reductions": reductions,
    "indexing": indexing,
}
OF_LAYERS: dict[str, Callable[[Maker], None]] = {  # where weft-nn is installed
    "activations": activations,
    "losses": losses,
    "normalization": normalization,
    "images": images,
    "sequences": sequences,
    "optimizers": optimizers,
    "a classifier's steps": classifier,
}
