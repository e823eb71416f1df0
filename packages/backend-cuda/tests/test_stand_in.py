"""The stand-in for CuPy refuses, counts and hides what CuPy does: faults that are planted here are seen."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def run(code):
    """What a program prints in a process of its own, where the stand-in is CuPy."""
    setup = f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
    setup += "import cupy_stand_in, numpy; cupy = cupy_stand_in.install()\n"
    result = subprocess.run([sys.executable, "-c", setup + code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip().splitlines()


REFUSED = """
import cupyx.scipy.special
x = cupy.zeros((2, 3), "float32")
h = x.astype(cupy.ones(1).dtype).astype("float16")
import ml_dtypes
b = x.astype(ml_dtypes.bfloat16)
for call in (
    lambda: cupy.max(x, initial=0),
    lambda: cupy.sum(x, where=x > 0),
    lambda: cupy.add(x, x, where=x > 0),
    lambda: cupy.add(x, numpy.zeros((2, 3))),
    lambda: cupy.maximum.accumulate(x),
    lambda: cupy.maximum.reduce(x),
    lambda: cupy.add.at(x.astype("bool"), cupy.asarray([0]), True),
    lambda: cupy.add.at(b, cupy.asarray([0]), 1),
    lambda: cupy.multiply.at(x, cupy.asarray([0]), 1),
    lambda: cupy.repeat(x, cupy.asarray([1, 2])),
    lambda: cupy.sort(b),
    lambda: cupyx.scipy.special.airy(x),
    lambda: cupy.linalg.inv(b),
    lambda: cupy.matmul(b[None], b.T[None]),
    lambda: cupy.zeros(3, ml_dtypes.float8_e4m3fn),
    lambda: numpy.asarray(x),
    lambda: x.__setitem__(0, numpy.zeros(3)),
    lambda: [1, 2, 3][cupy.asarray(1)],
    lambda: cupy.nanquantile(x, 0.5),
    lambda: x.T.sort(),
    lambda: x.item(),
    lambda: cupy.zeros(1 << 40),
):
    try:
        print("accepted:", call())
    except (AttributeError, NotImplementedError, TypeError, ValueError, MemoryError) as error:
        print("refused")
with cupy.cuda.Device(1):
    try:
        x + 1
    except ValueError:
        print("refused")
"""


def test_what_cupy_refuses_is_refused():
    lines = run(REFUSED)
    assert lines == ["refused"] * 23


COUNTED = """
x = cupy.arange(6.0).reshape(2, 3)
def events(call):
    with cupy_stand_in.record() as log:
        call()
    print(*sorted({event.kind for event in log if event.kind != "call"}))
for call in (
    lambda: x.sum() + 1,
    lambda: bool(x.any()),
    lambda: float(x[0, 0]),
    lambda: x[x > 2],
    lambda: cupy.nonzero(x),
    lambda: cupy.asarray(1.0),
    lambda: cupy.asarray(numpy.ones(3)),
    lambda: x[[0, 1]],
    lambda: x[cupy.arange(9)],
    lambda: cupy.take(x, cupy.arange(9)),
    lambda: cupy.linalg.inv(cupy.zeros((2, 2))),
):
    events(call)
"""


def test_waits_uploads_and_silence_are_counted():
    waits, uploads, silent = ["wait"] * 4, ["upload"] * 3, ["silent"] * 3
    assert run(COUNTED) == ["", *waits, *uploads, *silent] or run(COUNTED) == [*waits, *uploads, *silent]


VIEWS = """
x = cupy.arange(6.0)
m = x.reshape(2, 3)
print(x[0].base is x, m.T.base is x, x.T is x, m.squeeze() is m, x[1:][1:].base is x)
s = cupy.lib.stride_tricks.as_strided(x[2:], (2, 2), (8, 8))
print(s.base, s.data.mem is x.data.mem, s.data.ptr - x.data.ptr)
s[1, 1] = 9
x[0][...] = 8
print(float(x[4]), float(x[0]))
again = cupy.ndarray((2,), "float64", cupy.cuda.MemoryPointer(x.data.mem, 8), (16,))
print(again.tolist(), again.base)
"""


def test_views_are_in_the_memory_of_their_base_and_not_all_know_it():
    assert run(VIEWS) == ["True True True True True", "None True 16", "9.0 8.0", "[1.0, 3.0] None"]


KERNELS = """
x = cupy.arange(6.0).reshape(2, 3)
double = cupy.ElementwiseKernel("T x, raw T table, int64 k", "T y", "y = 2 * x + table[k + i]", "double_and_add")
print(double(x, x, 0).tolist())
for call in (
    lambda: double(x, x, 1),
    lambda: double(x, x, -1),
    lambda: double(x, x.astype("float32"), 0),
    lambda: double(x.astype("float32"), x.astype("float32"), 0, cupy.zeros((2, 3))),
    lambda: double(x, numpy.ones(6), 0),
    lambda: double(x, x, 0, cupy.zeros(3)),
    lambda: cupy.ElementwiseKernel("raw T x", "T y", "y = x[i]", "undecided")(x),
    lambda: cupy.ElementwiseKernel("T i", "T y", "y = i", "reserved"),
    lambda: cupy.ElementwiseKernel("T x", "T y", "y = absent(x)", "misspelt")(x),
):
    try:
        print("accepted:", call())
    except (IndexError, TypeError, ValueError, RuntimeError) as error:
        print("refused")
"""


def test_kernels_are_compiled_and_held_to_their_arrays():
    found = run(KERNELS)
    assert found == ["[[0.0, 3.0, 6.0], [9.0, 12.0, 15.0]]", *["refused"] * 9]


def test_memory_is_counted_and_limited():
    lines = run("""
pool = cupy.get_default_memory_pool()
x = cupy.zeros(1000, "float32")
y = x[:10]
print(pool.used_bytes())
del x
print(pool.used_bytes())
del y
print(pool.used_bytes(), pool.total_bytes())
pool.set_limit(size=1 << 20)
try:
    cupy.zeros(1 << 20)
except cupy.cuda.memory.OutOfMemoryError as error:
    print(type(error).__name__)
""")
    assert lines == ["4096", "4096", "0 4096", "OutOfMemoryError"]


@pytest.mark.parametrize("kernel", ["float(xp.sum(x)) + x", "xp.maximum.accumulate(x)", "x + numpy.ones(3)", "x[[5]]"])
def test_a_fault_planted_in_a_kernel_is_caught(kernel):
    """A wait, a missing loop, a mixed array, an unchecked index: each fails, or is in the record."""
    (line,) = run(f"""
import weft
from weft.plugins import backend
backend("cuda").kernels["core::neg"] = lambda x, xp=cupy: {kernel}
x = weft.ones(3, device="cuda")
with cupy_stand_in.record() as log:
    try:
        weft.neg(x)
    except Exception:
        print("caught")
    else:
        print("caught" if any(event.kind in ("wait", "upload", "silent") for event in log) else "missed")
""")
    assert line == "caught"
