"""NumPy's kernels go on for a while where the compiled ones compute the same; and these do so, to the bit."""

import math

import numpy as np
import pytest

import weft
from weft.backend_cpu import compiled, libraries, registry
from weft.library.formulas import formula_of
from weft.nn import functional
from weft.ops._registry import registry as declared

pytestmark = pytest.mark.skipif(
    compiled not in libraries.available() or not registry.MIN_SIZE, reason="needs Numba, and large arrays that differ"
)

RANDOM = np.random.default_rng(0)
EDGES = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 3e38]
SHAPE = 6, 130, 180  # large enough for each of the kernels, every other column too


FORMULAS = {name: formula for name in declared if (formula := formula_of(name)) is not None}
BITWISE = {op for (op, _), row in libraries.rows_of("compiled").items() if row.bitwise}
BITWISE |= {name for name, formula in FORMULAS.items() if formula.is_exact}


def numbers():
    values = 2 * RANDOM.standard_normal(SHAPE)
    values.flat[::37] = RANDOM.choice(EDGES, values.flat[::37].size)
    return weft.tensor(values.astype(np.float32))


X, GRAD = numbers(), numbers()
MASK = weft.tensor(RANDOM.random(SHAPE) < 0.5)
Y = weft.where(weft.tensor(RANDOM.random(SHAPE) < 0.1), X, numbers())
ROW, COLUMN = Y[0, 0].clone(), Y[:, :, :1].clone()
IMAGE = X.reshape(6, 13, 10, 180)
BYTES = weft.tensor(RANDOM.integers(0, 256, (2, 3, 131, 180)).astype(np.uint8))
PLACES, ROWS = weft.tensor(RANDOM.integers(0, 6, SHAPE)), weft.tensor(RANDOM.integers(0, 130, 60))


def with_gradient(function, *args):
    x = X.clone().requires_grad_()
    made = function(x, *args)
    made.backward(GRAD)
    return made.detach(), x.grad


def dropped():
    weft.manual_seed(0)
    return with_gradient(functional.dropout, 0.3)


ONE = "abs angle deg2rad frac nan_to_num neg rad2deg reciprocal sgn sign sqrt square tril triu nonzero clone".split()
TWO = "add sub mul div copysign fmod remainder eq ne lt le gt ge".split()
ALONG = "all any amax amin argmax argmin count_nonzero cummax cummin max min".split()
CALLS = {f"core::{name}": lambda name=name: [getattr(weft, name)(each) for each in (X, X[:, :, ::2])] for name in ONE}
CALLS |= {
    f"core::{name}": lambda name=name: [getattr(weft, name)(X, each) for each in (Y, ROW, COLUMN, 0.7)] for name in TWO
}
CALLS |= {f"core::{name}": lambda name=name: [getattr(weft, name)(X, dim) for dim in (0, 1, 2)] for name in ALONG}
CALLS |= {
    "core::cat": lambda: weft.cat([X, Y], 1),
    "core::contiguous_copy": lambda: X.transpose(0, 2).contiguous(),
    "core::convert": lambda: [X.to(each) for each in (weft.float64, weft.float16, weft.bfloat16, weft.bool)],
    "core::flip": lambda: X.flip(0, 2),
    "core::gather": lambda: X.gather(0, PLACES),
    "core::index": lambda: [X[:, ROWS], X[MASK]],
    "core::index_select": lambda: X.index_select(1, ROWS),
    "core::masked_fill": lambda: X.masked_fill(MASK, 0.5),
    "core::relu": lambda: weft.relu(X),
    "core::roll": lambda: X.roll(3, 1),
    "core::sigmoid_backward": lambda: with_gradient(weft.sigmoid),
    "core::stack": lambda: weft.stack([X, Y], 1),
    "core::threshold_backward": lambda: with_gradient(weft.relu),
    "core::topk": lambda: X.topk(5),
    "core::where": lambda: weft.where(MASK, X, Y),
    "nn::dropout": dropped,
    "nn::embedding": lambda: functional.embedding(PLACES, Y[0]),
    "nn::hardsigmoid": lambda: functional.hardsigmoid(X),
    "nn::hardsigmoid_backward": lambda: with_gradient(functional.hardsigmoid),
    "nn::hardswish": lambda: functional.hardswish(X),
    "nn::hardswish_backward": lambda: with_gradient(functional.hardswish),
    "nn::hardtanh": lambda: functional.hardtanh(X),
    "nn::hardtanh_backward": lambda: with_gradient(functional.hardtanh),
    "nn::leaky_relu": lambda: functional.leaky_relu(X),
    "nn::leaky_relu_backward": lambda: with_gradient(functional.leaky_relu),
    "nn::max_pool_with_indices": lambda: [
        functional.max_pool2d(IMAGE, *window, return_indices=True) for window in ((2,), (3, 2, 1))
    ],
    "nn::pad_constant": lambda: functional.pad(X, (2, 3)),
    "nn::pad_inside": lambda: functional.pad(X, (2, 3), mode="reflect"),
    "nn::prelu": lambda: functional.prelu(X, weft.tensor([0.3])),
    "nn::prelu_backward": lambda: with_gradient(functional.prelu, weft.tensor([0.3])),
    "nn::resample": lambda: [
        functional.interpolate(BYTES, (90, 70), mode=mode, antialias=antialias)
        for mode in ("bilinear", "bicubic")
        for antialias in (False, True)
    ],
    "nn::softsign": lambda: functional.softsign(X),
    "nn::softsign_backward": lambda: with_gradient(functional.softsign),
    "nn::threshold": lambda: functional.threshold(X, 0.1, 0.2),
    "vision::blend_integers": lambda: pictures().adjust_saturation(BYTES, 0.3),
    "vision::luma_of_integers": lambda: pictures().rgb_to_grayscale(BYTES),
}


def pictures():
    """The functions of pictures of bytes."""
    return pytest.importorskip("weft.vision.transforms.v2.functional")


def bits(result):
    """The bytes of all tensors of a result, of which all nan are one."""
    if isinstance(result, weft.Tensor):
        array = result.contiguous().numpy() if result.dtype != weft.bfloat16 else result.float().numpy()
        array = np.where(array != array, np.array(np.nan, array.dtype), array) if array.dtype.kind == "f" else array
        return [array.dtype, array.shape, array.tobytes()]
    return [bits(each) for each in result]


@pytest.fixture
def patient(monkeypatch, tmp_path):
    """Nothing is decided yet, and NumPy may take for ever."""
    disk_cache = pytest.importorskip("weft.backend_cpu.compiled.codegen.disk_cache")
    monkeypatch.setattr(disk_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(libraries, "numpy_seconds", {})
    monkeypatch.setattr(libraries, "COMPILE_AFTER_SECONDS", math.inf)
    weft.backend.invalidate_kernels()
    yield
    monkeypatch.undo()
    weft.backend.invalidate_kernels()


@pytest.mark.parametrize("name", sorted(BITWISE))
def test_compiled_kernels_compute_the_same_bits(patient, monkeypatch, name):
    weft.exp(X)  # which imports Numba
    expected = bits(CALLS[name]())
    assert any(work.startswith(f"{name} ") for work in libraries.numpy_seconds)
    monkeypatch.setattr(libraries, "COMPILE_AFTER_SECONDS", 0.0)
    weft.backend.invalidate_kernels()
    assert bits(CALLS[name]()) == expected


def test_numpy_is_kept_until_it_has_taken_long_enough_and_no_later_process_keeps_it(patient, monkeypatch):
    monkeypatch.setattr(libraries, "COMPILE_AFTER_SECONDS", 0.3)
    assert libraries.keep_numpy("core::flip float32", 0.2)
    assert libraries.keep_numpy("core::roll float32", 0.2)
    assert not libraries.keep_numpy("core::flip float32", 0.2)
    assert not libraries.keep_numpy("core::flip float32")
    libraries.numpy_seconds.clear()  # as in another process
    assert not libraries.keep_numpy("core::flip float32")
    assert libraries.keep_numpy("core::roll float32", 0.2)


def test_an_op_takes_its_compiled_kernel_when_numpy_is_kept_no_longer(patient, monkeypatch):
    calls = []

    def generic(x):
        calls.append(x)
        return np.abs(x)

    x = np.full(16 * registry.MIN_SIZE, -1.0, np.float32)
    kernel = libraries.kernel("core::abs", weft.float32, generic)
    assert kernel(x).min() == 1 and len(calls) == 1
    libraries.compile_at_once()
    assert kernel(x).min() == 1 and len(calls) == 2  # the last by NumPy
    kernel = libraries.kernel("core::abs", weft.float32, generic)
    assert kernel(x).min() == 1 and len(calls) == 2
