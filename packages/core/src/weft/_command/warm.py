"""Compile the kernels of a backend ahead of time, so that no program waits for it.

Backends compile some kernels when they are first needed and keep them on disk. This runs small training steps with most
operations, layers and optimizers, in a process for each processor, and shows how long each took and how many kernels it
added. What is on disk already is read: an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
    """``weft warm [--device cpu] [--dtype float32 ...] [--processes 2]``."""
    parser.add_argument("--device", default="cpu", help="whose kernels to compile (default: cpu)")
    parser.add_argument("--dtype", nargs="+", default=["float32"], help="of tensors (default: float32)")
    parser.add_argument("--processes", type=int, help="how many (default: one for each processor, on the CPU)")
    parser.add_argument("--share", help=argparse.SUPPRESS)  # "0/2": what one of the processes does


def run(args: argparse.Namespace) -> int:
    """Run all workloads; 1 if one of them failed."""
    found = backend(args.device)
    processes = args.processes or ((os.cpu_count() or 1) if args.device == "cpu" else 1)
    begin = time.perf_counter()
    os.environ["WEFT_QUIET"] = "1"  # the lines below say what is compiled
    if processes > 1 and not args.share:
        failed = run_in_processes(args, processes)
    else:
        found.compile_at_once()
        part, parts = map(int, (args.share or "0/1").split("/"))
        titles = [(name, *each) for name in args.dtype for each in workloads().items()][part::parts]
        made = [
            attempt(f"{name} {title}", work, Maker(args.device, getattr(weft, name)), found)
            for name, title, work in titles
        ]
        failed = not all(made)
    if not args.share:
        facts = found.describe()
        print(f"ready after {time.perf_counter() - begin:.1f} s; compiled kernels: {facts.get('compiled', 'none')}")
    return int(failed)


def workloads() -> dict[str, Callable[[Maker], None]]:
    """The workloads of what is installed."""
    return WORK | OF_LAYERS if importlib.util.find_spec("weft.nn") else WORK


def run_in_processes(args: argparse.Namespace, processes: int) -> bool:
    """Run the workloads in several processes, and print their lines; whether one of them failed."""
    given = ["--device", args.device, "--dtype", *args.dtype]
    command = [sys.executable, "-m", "weft", "warm", *given, "--processes", "1", "--share"]
    total, done = len(args.dtype) * len(workloads()), itertools.count(1)
    children = [
        subprocess.Popen([*command, f"{part}/{processes}"], stdout=subprocess.PIPE, text=True)
        for part in range(processes)
    ]

    def relay(child: subprocess.Popen[str]) -> None:
        for line in child.stdout or ():
            print(f"{next(done):4}/{total}{line.rstrip()}", flush=True)

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(relay, children))
    return sum(child.wait() != 0 for child in children) > 0


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
        backward(getattr(x[:, ::2], name)())
    others = (y, make.random(COLUMNS), make.random(ROWS, 1), 0.5)
    for name in BINARY.split():
        for other in others:
            backward(getattr(weft, name)(x, other))
        backward(getattr(weft, name)(x.t(), y.t()))
    for name in OF_TENSORS.split():
        for other in others[:3]:
            backward(getattr(weft, name)(x, other))
    backward(x[:, ::2] * y[:, 1::2])
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


def products(make: Maker) -> None:
    x, y = make.random(ROWS, COLUMNS), make.random(COLUMNS, 96)
    backward(x @ y)
    backward(x @ make.random(COLUMNS))
    backward(make.random(1, COLUMNS) @ y)
    backward(make.random(4, ROWS, 16) @ make.random(4, 16, ROWS))
    backward(make.random(4, 1, COLUMNS) @ make.random(4, COLUMNS, 96))
    backward(make.random(COLUMNS) @ y)
    backward(make.random(16, 300) @ make.random(300))
    backward(make.random(300) @ make.random(16, 300).t())
    backward(weft.outer(make.random(COLUMNS), make.random(COLUMNS)))
    backward(weft.einsum("bij,bjk->bik", make.random(4, ROWS, 16), make.random(4, 16, ROWS)))


def integers(make: Maker) -> None:
    """The dtypes of positions, labels, masks and bytes: not those of `make`."""
    for dtype in (weft.int64, weft.int32, weft.uint8, weft.bool):
        x = make.positions(2, ROWS, COLUMNS).to(dtype)
        for each in (
            x.to(make.dtype),
            x.sum(),
            x.sum(0),
            x.sum(-1),
            x.any(-1),
            x.all(-1),
            weft.cat([x, x]),
            x.t().contiguous(),
        ):
            each.to(weft.int64).to(dtype)
        places = make.positions(ROWS, ROWS)
        (
            x[places],
            x.index_select(0, places),
            x.flip(0),
            x.tril(),
            x == x.t().reshape(ROWS, COLUMNS),
            x.gather(0, x.long()),
        )
        if dtype is not weft.bool:
            x + x, x - x, x * x, x < 1, x.amax(-1), x.argmax(-1), x.cumsum(-1), x.sort(-1), x // 2, x % 2
            weft.randint(0, 2, (ROWS, COLUMNS), dtype=dtype, device=make.device)
    weft.randperm(ROWS * COLUMNS, device=make.device)
    mask = make.positions(2, ROWS, COLUMNS).bool()
    (mask & mask, mask | mask, ~mask, mask ^ mask, weft.where(mask, 0, 1), mask.nonzero())


def samples(make: Maker) -> None:
    x = make.random(ROWS, 8 * COLUMNS).detach()
    x.uniform_(-1, 1).normal_(0, 2).bernoulli_(0.5).exponential_()
    weft.randn(ROWS, 8 * COLUMNS, device=make.device, dtype=make.dtype)
    weft.multinomial(make.random(ROWS, COLUMNS).detach(), 4)
    weft.bernoulli(make.random(ROWS, COLUMNS).detach())


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


def resampling(make: Maker) -> None:
    functional = weft.nn.functional
    image, grid = make.random(4, 3, 40, 40), make.random(4, 50, 50, 2)
    for mode in ("nearest", "bilinear"):
        for padding in ("zeros", "border", "reflection"):
            backward(functional.grid_sample(image, grid, mode, padding, align_corners=False))
    backward(functional.grid_sample(image, grid, "bicubic", align_corners=False))
    backward(functional.interpolate(image, size=(60, 61), mode="bicubic"))
    backward(functional.interpolate(image, size=(20, 21), mode="area"))
    backward(functional.interpolate(image, size=(20, 21), mode="bilinear", antialias=True))
    backward(functional.interpolate(make.random(4, 3, 400), size=900, mode="linear"))
    for pool in (functional.max_pool2d, functional.avg_pool2d):
        for size in (2, 3):
            backward(pool(image, size, stride=size))
            backward(pool(image.contiguous(memory_format=weft.channels_last), size, stride=2, padding=1))
    backward(functional.max_pool2d(make.random(4, 32, 8, 8), 2))  # few windows in a row
    backward(functional.avg_pool1d(make.random(4, 3, 400), 4))
    backward(functional.adaptive_avg_pool2d(image, (4, 5)))
    backward(functional.adaptive_max_pool2d(image, (4, 5)))
    backward(functional.pad(image, (1, 2, 3, 4), "reflect"))
    backward(functional.pixel_shuffle(make.random(4, 16, 20, 20), 4))
    if importlib.util.find_spec("weft.vision"):
        pictures(make)


def pictures(make: Maker) -> None:
    """Of weft.vision: bytes, and regions of interest."""
    vision = weft.vision
    picture, ops = make.positions(256, 3, 90, 120).to(weft.uint8), vision.ops
    transforms = vision.transforms.v2
    for layer in (
        transforms.Resize(48, antialias=True),
        transforms.RandomResizedCrop(48, antialias=True),
        transforms.RandomHorizontalFlip(1.0),
        transforms.ToDtype(weft.float32, scale=True),
        transforms.Grayscale(3),
        transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
        transforms.Pad(4),
        transforms.RandomAffine(20),
    ):
        layer(picture)
    corners = make.random(800, 2).detach() * 30
    boxes = weft.cat([corners, corners + 1 + make.random(800, 2).detach() * 9], 1)
    ops.nms(boxes.float(), weft.rand(800, device=make.device), 0.5)
    backward(ops.roi_align(make.random(1, 16, 40, 40), [boxes[:40].to(make.dtype)], 7))


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
        functional.linear(make.random(1, COLUMNS), make.random(96, COLUMNS), make.random(96))
        functional.linear(make.random(1, COLUMNS), make.random(COLUMNS, 96).t())


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


def residual_network(make: Maker) -> None:
    nn = weft.nn
    first, norm = make.module(nn.Conv2d(3, 32, 3, padding=1)), make.module(nn.BatchNorm2d(32))
    second, head = make.module(nn.Conv2d(32, 32, 3, padding=1, bias=False)), make.module(nn.Linear(32, 10))
    parameters = [each for layer in (first, norm, second, head) for each in layer.parameters()]
    optimizer = weft.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4)
    for _ in range(2):
        x = nn.functional.relu(norm(first(make.random(16, 3, 32, 32).detach())))
        x = nn.functional.relu(norm(second(x)) + x)
        loss = nn.functional.cross_entropy(head(x.mean((2, 3))), make.positions(10, 16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def language_model(make: Maker) -> None:
    nn, functional = weft.nn, weft.nn.functional
    words, places = make.module(nn.Embedding(ROWS, 64)), make.module(nn.Embedding(32, 64))
    norm, project = make.module(nn.LayerNorm(64)), make.module(nn.Linear(64, 192))
    modules = nn.ModuleList([words, places, norm, project])
    optimizer = weft.optim.AdamW(modules.parameters(), lr=0.01)
    for _ in range(2):
        tokens = make.positions(ROWS, 16, 32)
        x = words(tokens) + places(weft.arange(32, device=make.device))
        q, k, v = (each.view(16, 32, 4, 16).transpose(1, 2) for each in project(norm(x)).split(64, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = (q @ k.transpose(-2, -1) / 4).masked_fill(weft.ones(32, 32, device=make.device).triu(1).bool(), -1e4)
        x = x + (mixed + functional.dropout(scores.softmax(-1), 0.1) @ v).transpose(1, 2).reshape(16, 32, 64)
        logits = functional.gelu(norm(x)) @ words.weight.t()
        loss = functional.cross_entropy(logits.view(-1, ROWS), tokens.view(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(modules.parameters(), 1.0)
        optimizer.step()
    with weft.no_grad():
        modules.eval()
        project(norm(words(tokens[:1, :1])))


WORK: dict[str, Callable[[Maker], None]] = {
    "elementwise": elementwise,
    "reductions": reductions,
    "indexing": indexing,
    "products": products,
    "integers": integers,
    "samples": samples,
}
OF_LAYERS: dict[str, Callable[[Maker], None]] = {  # where weft-nn is installed
    "activations": activations,
    "losses": losses,
    "normalization": normalization,
    "images": images,
    "resampling": resampling,
    "sequences": sequences,
    "optimizers": optimizers,
    "a classifier's steps": classifier,
    "a residual network's steps": residual_network,
    "a language model's steps": language_model,
}
