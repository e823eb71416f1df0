"""Kernels are kept on disk whole or not at all, and nobody else's process is changed by that."""

import os
import subprocess
import sys

import pytest

caching = pytest.importorskip("numba.core.caching")
disk_cache = pytest.importorskip("weft.backend_cpu.compiled.codegen.disk_cache")


def files(folder, stamp="stamp"):
    return disk_cache.KernelFiles(str(folder), "kernel", stamp)


def test_kernels_that_two_processes_keep_at_the_same_time_are_not_mixed_up(tmp_path):
    first, second = files(tmp_path), files(tmp_path)
    write, read = first._save_data, second._load_index()

    def write_after_the_other(name, data):  # which read the index when both began
        second._load_index = lambda: dict(read)
        second.save("tanh", "the kernel of tanh")
        write(name, data)

    first._save_data = write_after_the_other
    first.save("exp", "the kernel of exp")
    again = files(tmp_path)
    assert again.load("exp") == "the kernel of exp"
    assert again.load("tanh") in ("the kernel of tanh", None)  # None: it will be compiled again


def test_a_kernel_that_is_compiled_again_takes_the_place_of_the_old_one(tmp_path):
    file = files(tmp_path)
    for data in ("before", "after"):
        file.save("exp", data)
    assert file.load("exp") == "after"
    assert len(list(tmp_path.glob("*.nbc"))) == 1


@pytest.mark.parametrize("ending", ["*.nbc", "*.nbi"])
@pytest.mark.parametrize("left", [0, 1, 10, -1])
def test_a_file_that_was_cut_short_is_none_and_is_written_again(tmp_path, ending, left):
    file = files(tmp_path)
    file.save("exp", "the kernel of exp")
    (path,) = tmp_path.glob(ending)
    path.write_bytes(path.read_bytes()[:left])
    assert file.load("exp") is None
    file.save("exp", "the kernel of exp")
    assert files(tmp_path).load("exp") == "the kernel of exp"


def add_of(monkeypatch, folder):
    """A compiled function whose kernels are kept in a folder."""
    monkeypatch.setattr(caching.config, "CACHE_DIR", str(folder))

    def add(a, b):
        return a + b

    return disk_cache.cached_njit()(add)


@pytest.mark.parametrize("lost", [RuntimeError("no compiled object yet"), OSError(28, "No space left on device")])
def test_a_kernel_that_cannot_be_kept_serves_all_the_same(monkeypatch, tmp_path, lost):
    add = add_of(monkeypatch, tmp_path)

    def fail(*args):
        raise lost

    monkeypatch.setattr(type(add._cache._impl), "reduce", fail)
    assert add(1, 2) == 3
    assert add(1.5, 2.0) == 3.5
    monkeypatch.undo()
    assert add_of(monkeypatch, tmp_path)(1, 2) == 3


def test_a_kernel_that_is_no_whole_one_is_compiled_again(monkeypatch, tmp_path):
    assert add_of(monkeypatch, tmp_path)(1, 2) == 3
    (path,) = tmp_path.rglob("*.nbc")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    again = add_of(monkeypatch, tmp_path)
    assert again(1, 2) == 3
    assert again.stats.cache_misses
    assert len(path.read_bytes()) == len(whole)
    last = add_of(monkeypatch, tmp_path)
    assert last(1, 2) == 3
    assert last.stats.cache_hits


def test_a_kernel_is_asked_for_again_when_a_file_has_changed_that_its_own_takes_functions_from():
    pytest.importorskip("weft.backend_cpu.compiled.kernels.softmax")
    package = "weft.backend_cpu.compiled."
    found = {name.removeprefix(package) for name, _, _ in disk_cache.sources_of(package + "kernels.softmax")}
    used = {"float16", "mathematics", "parallel", "instructions"}
    assert {"kernels.softmax", *(f"codegen.{name}" for name in used)} <= found
    assert "kernels.recurrent" not in found


UNTOUCHED = """
import inspect, numba, sys
from numba.core import caching, ccallback, dispatcher, compiler, codegen
def state():
    return {(m.__name__, n, k): v for m in (caching, ccallback, dispatcher, compiler, codegen)
            for n, c in vars(m).items() if inspect.isclass(c) for k, v in vars(c).items() if inspect.isfunction(v)}
before = state()
import weft
from weft.backend_cpu.compiled.kernels import activations, mt19937, reductions
after = state()
assert before.keys() <= after.keys() and all(after[k] is v for k, v in before.items())
"""


def test_the_methods_of_numbas_classes_stay_as_they_are():
    environment = {key: value for key, value in os.environ.items() if key != "WEFT_POISON"}
    subprocess.run([sys.executable, "-c", UNTOUCHED], check=True, env=environment)


COMPUTED = """
import hashlib, sys
import numpy as np
from numba.core.dispatcher import Dispatcher
import weft
from weft.backend_cpu.compiled.codegen.deferred import Deferred
from weft.nn import functional as F

random = np.random.default_rng(0)
some = lambda *shape: weft.tensor(random.standard_normal(shape).astype(np.float32))
params = [some(*shape).requires_grad_() for shape in [(16, 1, 3, 3), (16,), (64, 300), (5,)]]
for kind in (weft.optim.Adam, weft.optim.RMSprop):
    optimizer = kind(params)
    for _ in range(3):
        for param in params:
            param.grad = some(*param.shape)
        optimizer.step()
results = [param.detach() for param in params]
x = some(48, 300).requires_grad_()
loss = F.cross_entropy(F.layer_norm(F.gelu(x), (300,)), weft.arange(48))
loss.backward()
results += [loss.detach(), x.grad, x.detach().var(1), x.detach().softmax(1)]
print(hashlib.sha256(b"".join(each.numpy().tobytes() for each in results)).hexdigest())

compiled = [module for name, module in sys.modules.items() if name.startswith("weft.backend_cpu.compiled.")]
values = [value for module in compiled for value in vars(module).values()]
values += [vars(value).get("numba") for value in values if isinstance(value, Deferred)]
functions = {each for each in values if isinstance(each, Dispatcher)}
kernels = [kernel.library for function in functions for kernel in function.overloads.values()]
names = [each.name for kernel in kernels for each in kernel.get_defined_functions()]
copies = [name for name in names if name.startswith("_Z") and "weft" in name]
print(len(copies), len(copies) - len(set(copies)))
"""


def test_kernels_compute_the_same_where_they_are_compiled_and_where_they_are_read_from_disk(tmp_path):
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "WEFT_CPU_PATIENCE": "0",
        "WEFT_CPU_LIBRARIES": "numba",
        "WEFT_CPU_PREBUILT": "0",
    }
    environment.pop("WEFT_POISON", None)
    command = [sys.executable, "-c", COMPUTED]
    (one, counts), (other, _) = (
        subprocess.run(command, check=True, env=environment, text=True, stdout=subprocess.PIPE).stdout.splitlines()
        for _ in range(2)
    )
    assert one == other
    copies, doubled = map(int, counts.split())
    assert copies > 20
    assert doubled == 0  # of two functions with one name, the process takes the first


COMPILES = "import weft; [weft.rand(300, 300, dtype=weft.float64).cumprod(0) for _ in range(2)]"


def test_what_is_compiled_is_told_once_and_not_when_it_comes_from_disk(tmp_path):
    said = []
    for folder, quiet in (("first", "1"), ("second", "0"), ("second", "0")):
        place = {"WEFT_CPU_LIBRARIES": "numba", "WEFT_CPU_PREBUILT": "0", "NUMBA_CACHE_DIR": str(tmp_path / folder)}
        environment = {**os.environ, **place, "WEFT_QUIET": quiet}
        line = [sys.executable, "-c", COMPILES]
        said.append(subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stderr)
    assert said[0] == said[2] == ""
    assert said[1].count("weft:") == 1 and "here " in said[1] and "<" not in said[1]
