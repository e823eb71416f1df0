"""Kernels compiled ahead of time: calls by the types of their arguments, and what runs where there is none."""

import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from weft.backend import KernelBySize
from weft.backend_cpu import libraries
from weft.backend_cpu.compiled import prebuilt

ROOT = Path(__file__).resolve().parents[3]
HALF = {kind: np.dtype([(name, "u2")]) for name, kind in prebuilt.KINDS.items()}
KERNEL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int64))

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def script(name):
    """A module of the folder of scripts."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    """The extension module, compiled here."""
    folder = tmp_path_factory.mktemp("launch")
    script("make_prebuilt").make_extension(folder)
    (file,) = folder.glob("launch.*")
    spec = importlib.util.spec_from_file_location("launch", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    prebuilt.set_records(module)
    return module


def missing(*args):
    return "missing", args


def launcher(launch, types, result, function):
    """A launcher with one kernel, a function of Python that gets the slots."""
    kernel = KERNEL(function)
    made = launch.Launcher("name", missing, ((types, ctypes.cast(kernel, ctypes.c_void_p).value, result),))
    return made, kernel  # which has to stay alive


def strided(shape, dtype):
    return np.zeros(tuple(2 * n for n in shape), dtype)[tuple(slice(None, None, 2) for _ in shape)]


ARGUMENTS = {
    "n": None,
    "b": True,
    "i": -(2**63),
    "f": 0.5,
    "#f4": np.float32(1),
    "#u8": np.uint64(1),
    "#i2": np.int16(1),
    "()": (),
    "(i(fn))": (1, (2.0, None)),
    "[f41Cw": np.zeros(3, np.float32),
    "[f40Cw": np.zeros((), np.float32),
    "[i82Fw": np.zeros((3, 2)).astype(int).T,
    "[u83Aw": strided((2, 2, 2), np.uint64),
    "[b12Cw": np.zeros((0, 3), bool),
    "[h21Cwu": np.zeros(4, HALF["h"]),
    "[g22Cwu": np.zeros((2, 2), HALF["g"]),
    "[c81Cw": np.zeros(2, np.complex64),
}


@pytest.mark.parametrize("described", ARGUMENTS)
def test_each_kind_of_argument_has_a_description_of_its_own(launch, described):
    assert launch.described(ARGUMENTS[described]) == described
    assert launch.described(1, ARGUMENTS[described], 1.0) == f"i{described}f"


def test_arrays_that_are_read_only_or_unaligned_are_described_as_such(launch):
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    assert launch.described(array) == "[f41Cr"
    assert launch.described(np.zeros(9, np.uint8)[1:].view(np.float32)) == "[f41Cwu"


def test_numpys_scalars_of_eight_bytes_are_pythons_numbers(launch):
    assert launch.described(np.float64(1), np.int64(2), np.bool_(True)) == "fib"


@pytest.mark.parametrize(
    "value",
    [
        "text",
        object(),
        2**63,
        1j,
        [1],
        np.zeros(2, ">f4"),
        np.zeros(2, "V3"),
        np.zeros(2, "U2"),
        np.zeros(2, object),
        np.zeros(2, np.longdouble),
        np.zeros((1,) * 12),
        (0,) * 500,
        np.ma.zeros(3),
    ],
)
def test_what_no_kernel_takes_goes_to_missing(launch, value):
    called, _kernel = launcher(launch, "i", "n", lambda slots: 0)
    assert launch.described(value) is None
    name, args = called(value)
    assert name == "missing" and args[0] is value
    assert called(1.0)[0] == called()[0] == called(1, 2)[0] == "missing"


def test_a_tuple_in_itself_many_times_is_no_overflow(launch):
    value = ()
    for _ in range(200):
        value = (value,)
    assert launch.described(value) is None


def test_slots_hold_values_and_the_geometry_of_arrays(launch):
    array, seen = strided((2, 3), np.float32), []
    called, _kernel = launcher(launch, "b[f42Aw(i#i2)", "n", lambda slots: seen.extend(slots[:11]) or 0)
    assert called(True, array, (7, np.int16(-1))) is None
    assert seen[:8] == [1, array.ctypes.data, 6, 4, 2, 3, 48, 8]
    assert [seen[8], seen[9] & 0xFFFF] == [7, 0xFFFF]


@pytest.mark.parametrize(
    ("result", "slots", "wanted"),
    [
        ("n", [], None),
        ("b", [1], True),
        ("i", [-5], -5),
        ("u", [-1], 2**64 - 1),
        ("f", [0x3FE0000000000000], 0.5),
        ("()", [], ()),
        ("(i(bf)n)", [3, 0, 0x3FE0000000000000], (3, (False, 0.5), None)),
    ],
)
def test_results_come_from_the_first_slots(launch, result, slots, wanted):
    def run(memory):
        for place, value in enumerate(slots):
            memory[place] = value
        return 0

    called, _kernel = launcher(launch, "", result, run)
    assert called() == wanted


def test_a_kernel_that_finds_no_memory_raises(launch):
    called, _kernel = launcher(launch, "", "n", lambda slots: 1)
    with pytest.raises(MemoryError, match="name: there is not enough memory"):
        called()


def test_the_last_entry_found_does_not_hide_the_others(launch):
    kernels = [KERNEL(lambda slots, value=value: slots.__setitem__(0, value) or 0) for value in (1, 2)]
    places = [ctypes.cast(each, ctypes.c_void_p).value for each in kernels]
    called = launch.Launcher("name", missing, (("i", places[0], "i"), ("f", places[1], "i")))
    assert [called(0), called(0.0), called(0), called(0.0), called.count] == [1, 2, 1, 2, 2]


def test_launchers_are_called_from_several_threads(launch):
    called, _kernel = launcher(launch, "i", "i", lambda slots: slots.__setitem__(0, slots[0] + 1) or 0)
    wrong = []

    def work(start):
        wrong.extend(k for k in range(start, start + 300) if called(k) != k + 1)

    threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(4)]
    [each.start() for each in threads]
    [each.join() for each in threads]
    assert not wrong


# What is compiled


def every_kind(out, pair, number, single, flag, nothing):
    memory = np.empty(len(out), out.dtype)
    for i in range(len(out)):
        memory[i] = out[i] * number + single
    out[:] = memory
    return flag, pair[0] + pair[1], out.sum(), nothing


def nothing_back(out, column):
    out[:, column] += 1


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="of the extra [compile]")
def test_objects_compute_what_numbas_functions_do(launch, tmp_path):
    numba = pytest.importorskip("numba")
    from weft.backend_cpu.compiled.codegen.deferred import import_numba

    import_numba()
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        worker = script("prebuilt_worker")
    finally:
        sys.path.pop(0)
    binding = worker.llvm
    host = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    emitter = worker.Emitter(tmp_path, "kernel_", *host)
    calls = {
        every_kind: (np.arange(4.0), (1, 2), 3, np.float32(0.5), True, None),
        nothing_back: (np.ones((3, 4), np.int32)[:, ::2], 1),
    }
    compiled = {function: numba.njit(function) for function in calls}
    copies = {
        function: [each.copy() if hasattr(each, "copy") else each for each in calls[function]] for function in calls
    }
    copies[nothing_back][0] = np.ones((3, 4), np.int32)[:, ::2]
    wanted = {function: compiled[function](*calls[function]) for function in calls}
    found = [each for function in calls for each in emitter.launcher(function.__name__, compiled[function])]
    (tmp_path / "kernels.json").write_text(json.dumps(found))
    script("make_prebuilt").link("x86-64-v2", [tmp_path], tmp_path)
    index = json.loads((tmp_path / "x86-64-v2.json").read_text())
    code = ctypes.CDLL(str(tmp_path / "x86-64-v2.so"))
    table = (ctypes.c_uint64 * index["count"]).in_dll(code, "weft_kernels")
    for function in calls:
        ((types, place, result),) = index["launchers"][function.__name__]
        called = launch.Launcher(function.__name__, missing, ((types, table[place], result),))
        assert called(*copies[function]) == wanted[function]
        assert np.array_equal(copies[function][0], calls[function][0])


EVERY_OP = """
import hashlib, sys
import weft
from weft._command import warm
from weft.backend_cpu.compiled import prebuilt

class Bits(weft.library.Interceptor):
    def after(self, op, args, result):
        if "empty" in op.name:
            return  # whatever lay there
        given = result if isinstance(result, (tuple, list)) else [result]
        lists = [each for value in args.values() if isinstance(value, (tuple, list)) for each in value]
        arrays = [each._array.tobytes() for each in (*given, *lists) if isinstance(each, weft.Tensor)]
        print(title, op.name, hashlib.md5(b"".join(arrays)).hexdigest())

print(prebuilt.describe() is None)
weft.plugins.backend("cpu").compile_at_once()
for dtype in sys.argv[1:]:
    for title, work in warm.workloads().items():
        weft.manual_seed(0)
        with Bits():
            work(warm.Maker("cpu", getattr(weft, dtype)))
"""


@pytest.mark.skipif(os.environ.get("WEFT_PREBUILT") is None, reason="minutes: WEFT_PREBUILT=float32 names a dtype")
@pytest.mark.skipif(prebuilt.library() is None, reason="nothing is prebuilt here: ./dev kernels")
def test_prebuilt_kernels_have_the_bits_of_compiled_ones(tmp_path):
    level, dtypes = prebuilt.library().level, os.environ["WEFT_PREBUILT"].split()
    compiled = os.environ | script("make_prebuilt").settings(level, tmp_path)
    environments = {"True": compiled, "False": os.environ | {"WEFT_CPU_PATIENCE": "0"}}
    found = {}
    for is_compiled, environment in environments.items():
        command = [sys.executable, "-c", EVERY_OP, *dtypes]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        first, *found[is_compiled] = run.stdout.splitlines()
        assert first == is_compiled
    assert len(found["True"]) > 1000
    differ = [one for one, other in zip(found["True"], found["False"], strict=True) if one != other]
    assert not differ, differ[:20]


# What there is not


def test_numpy_computes_what_is_not_prebuilt():
    def make(generic):
        def run(x):
            raise prebuilt.NotPrebuilt("none")

        return KernelBySize("small", run, 5)

    made = libraries.where_compiled(make, False, lambda x: x + 1)
    assert (made.small, made.large(1), made.least) == ("small", 2, 5)
    assert libraries.where_compiled(lambda generic: None, True, None) is None


def test_kernels_of_another_source_are_not_used(launch, tmp_path, monkeypatch):
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path)
    monkeypatch.setattr(prebuilt, "extension", lambda: launch)
    monkeypatch.setattr(prebuilt, "is_there", lambda: True)
    found = prebuilt.library.__wrapped__
    assert found() is None  # no level
    level = next(name for name in prebuilt.LEVELS if name in launch.instructions())
    (tmp_path / f"{level}.so").write_bytes(b"")
    (tmp_path / f"{level}.json").write_text(json.dumps({"stamp": prebuilt.stamp() + 1}))
    assert found() is None


PROGRAM = """
import sys
sys.modules["numba"] = None  # as if it were not installed
import weft
x = weft.linspace(0, 1, 40000).reshape(200, 200).requires_grad_()
y = (x.exp() * x).softmax(-1).sum(0)
y.sort().values[-10:].sum().backward()
assert weft.isfinite(x.grad).all()
assert weft.arange(30000, dtype=weft.int16).cumsum(0)[-1] == 449985000
print(round(y.sum().item(), 3))
"""


def test_programs_run_without_numba():
    run = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert run.stdout.split() == ["200.0"], run.stderr
