"""Kernels are compiled in another process where NumPy computes the same bits, and nobody notices but by their speed."""

import itertools
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("numba")
from weft.backend_cpu import compiled, libraries
from weft.backend_cpu.compiled import background, compile_server
from weft.backend_cpu.compiled.codegen.file_lock import exclusive

pytestmark = pytest.mark.skipif(not compiled.is_available(), reason="needs OpenMP")

MINUTES = 8  # after which a process is taken to hang, on a machine that has much else to do

# A program with an op whose compiled kernel is due. `compiled` are the functions that Numba compiles
# in its own process, `use` calls the op and says whether the kernel is there.
PROGRAM = """
import os, sys, time
sys.path[:0] = sys.argv[1].split(os.pathsep)
import weft
from weft.backend_cpu import libraries
from weft.backend_cpu.compiled import background

libraries.import_loops()
from numba.core import event
from weft.backend_cpu.compiled.kernels import triangular

compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"])

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
weft.manual_seed(0)
x = weft.arange(120000, dtype=weft.float64).reshape(300, 400)
expected = x.numpy() * (x.numpy() % 400 <= x.numpy() // 400)

def use():
    assert (x.tril().numpy() == expected).all()
    return bool(triangular.triangle.overloads)

def use_until(is_done):
    end = time.monotonic() + 300
    while not is_done():
        assert time.monotonic() < end, (background.asked, background.refused)
        time.sleep(0.01)

use()  # by NumPy, which now has taken as long as it may
"""
ENDS_COMPILED = """
assert not use()
assert background.asked
use_until(use)
assert not compiled and not background.asked and not background.refused and background.server is None
"""
PATHS = os.pathsep.join(each for each in sys.path if each)


def start(code, folder, *flags, cwd=None, **environment):
    """A process that runs a program with its own folder of kernels."""
    found = {key: value for key, value in os.environ.items() if key not in ("WEFT_POISON", "WEFT_CPU_LEAST")}
    found |= {
        "NUMBA_CACHE_DIR": str(folder),
        "TMPDIR": str(folder.parent),  # no server of another test is waited for
        "WEFT_CPU_LIBRARIES": "numba",
        "WEFT_CPU_PREBUILT": "0",
        "WEFT_CPU_PATIENCE": "1e-9",
        "WEFT_QUIET": "0",
    }
    return subprocess.Popen(
        [sys.executable, *flags, "-c", PROGRAM + code, PATHS],
        env=found | environment,
        cwd=cwd,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process):
    """What a process says on stderr, which ends well."""
    out, said = process.communicate(timeout=60 * MINUTES)
    assert process.returncode == 0, said[-3000:]
    assert not out
    return said


def is_running(pid):
    """Whether a process is there, and no zombie."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("flags", [[], ["-I"], ["-P", "-W", "error", "-X", "dev"]], ids=" ".join)
def test_a_program_ends_up_with_a_kernel_that_it_did_not_compile(tmp_path, flags):
    for name in ("weft", "numba", "queue", "profile", "__main__", "sitecustomize"):  # nothing of the program's is run
        (tmp_path / f"{name}.py").write_text("open('was_run', 'w')")
    environment = {"WEFT_AS_TORCH": "1"} if flags else {}
    said = ended(start(ENDS_COMPILED, tmp_path / "kernels", *flags, cwd=tmp_path, **environment))
    assert said == ""
    assert not (tmp_path / "was_run").exists()
    assert list((tmp_path / "kernels").rglob("triangular.triangle-*.nbc"))


OWN_FORMULA = """
from weft.library import pointwise

@pointwise("soft_sign", formula=True, result="float", dtypes="int float", namespace="own", gradient=None)
def soft_sign(input):
    return input / (1 + abs(input))

y = weft.arange(20000, dtype=weft.float32) - 7000
by_numpy = soft_sign(y).numpy()
use_until(lambda: bool((soft_sign(y).numpy() == by_numpy).all()) and bool(elementwise.loops))
assert not compiled and not background.refused
"""


def test_a_formula_that_only_the_program_has_is_compiled_elsewhere_too(tmp_path):
    code = "from weft.backend_cpu.compiled.codegen import elementwise\n" + OWN_FORMULA
    assert ended(start(code, tmp_path / "kernels")) == ""


EVERY_OP = """
import math
sys.path.insert(0, TESTS)
import test_tiered_compilation as tiered

def random_numbers():
    weft.manual_seed(1)
    made = [weft.rand(20000), weft.rand(9000, dtype=weft.float64), weft.randperm(9000), weft.randint(5, (9000,))]
    made += [weft.empty(9000).uniform_(-1, 2), weft.empty(9000).bernoulli_(0.3), weft.randint(1 << 40, (9000,))]
    return [*made, weft.get_rng_state()]

calls = tiered.CALLS | {"random samples": random_numbers}
calls = {name: call for name, call in calls.items() if "vision" not in name or hasattr(weft, "vision")}
asked = []
background.leave_to_server = lambda key, *rest: asked.append(key) or True  # and never makes it
background.MOST = 1
libraries.COMPILE_AFTER_SECONDS = math.inf
expected = {name: tiered.bits(call()) for name, call in calls.items()}

libraries.COMPILE_AFTER_SECONDS = 1e-9
libraries.numpy_seconds.clear()
weft.backend.invalidate_kernels()
for name, call in calls.items():
    count = len(asked)
    for turn in range(4):
        assert tiered.bits(call()) == expected[name], (name, turn)
    assert len(asked) > count, name
assert background.server is None
"""


def test_nothing_is_written_or_drawn_before_a_kernel_is_found_missing(tmp_path):
    code = EVERY_OP.replace("TESTS", repr(str(Path(__file__).parent)))
    ended(start(code, tmp_path / "kernels", WEFT_QUIET="1"))


def test_two_programs_that_want_the_same_kernel_both_get_it(tmp_path):
    programs = [start(ENDS_COMPILED, tmp_path / "kernels") for _ in range(2)]
    said = [ended(each) for each in programs]
    assert said == ["", ""]


def test_no_server_is_left_when_a_program_is_killed(tmp_path):
    with start("use(); print(background.server.pid, flush=True); sys.stdin.read()", tmp_path / "kernels") as program:
        server = int(program.stdout.readline())
        assert is_running(server)
        program.kill()
    end = time.monotonic() + 60 * MINUTES
    while is_running(server):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_program_that_ends_early_says_nothing_of_its_server(tmp_path):
    assert ended(start("use(); assert background.server", tmp_path / "kernels", "-X", "dev")) == ""


def test_a_forked_child_has_nothing_to_do_with_the_server(tmp_path):
    code = """
use()
child = os.fork()
if not child:
    os._exit(bool(background.server or background.asked))
assert os.waitpid(child, 0)[1] == 0
use_until(use)
assert not compiled
"""
    assert ended(start(code, tmp_path / "kernels")) == ""


WITHOUT = {
    "a server that is killed": "use(); background.server.kill()",
    "a server that does not start": "background.SERVER = 'weft.no_such_module'; use()",
    "no interpreter": "sys.executable = '/opt/application'",
    "a system without processes": "import subprocess; subprocess.Popen = None",
    "a folder that cannot be written to any more": """
use()
import shutil
shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])
open(os.environ["NUMBA_CACHE_DIR"], "w")
""",
    "no folder": "from numba.core.caching import NullCache; triangular.triangle._cache = NullCache()",
}


@pytest.mark.parametrize("without", WITHOUT)
def test_a_program_compiles_itself_where_no_other_process_can(tmp_path, without):
    code = f"""
{WITHOUT[without]}
use_until(use)
assert compiled and not background.asked
use()
assert background.server is None or background.server.poll() is not None
"""
    assert ended(start(code, tmp_path / "kernels")).count("weft: compiling") == 1


def test_more_and_more_calls_are_left_to_numpy_before_a_kernel_is_looked_for_again():
    looked = []

    def run(call):
        looked.append(call)
        raise background.NotCompiled

    kernel = background.until_there(run, lambda call: -call)
    assert [kernel(call) for call in range(2000)] == [-call for call in range(2000)]
    apart = [b - a for a, b in itertools.pairwise(looked)]
    assert looked[0] == 0
    assert apart == sorted(apart)
    assert apart[0] <= 2
    assert apart[-1] == background.MOST + 1


def test_only_what_numpy_computes_to_the_same_bits_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(libraries, "COMPILE_AFTER_SECONDS", 0.3)
    asks = background.may_wait
    nested = background.until_there(lambda: (asks(), background.marked(False)(lambda: asks())(), asks()), None)
    assert not asks()
    assert nested() == (True, False, True)
    assert libraries.or_generic_for_good(asks, None)() is False
    missing = background.until_there(lambda: kernel_that_is_missing(), asks)
    assert background.until_there(missing, None)() is False  # by NumPy's, in which others may be compiled
    monkeypatch.setattr(libraries, "COMPILE_AFTER_SECONDS", 0.0)
    assert nested() == (False, False, False)


def kernel_that_is_missing():
    raise background.NotCompiled


def test_only_an_interpreter_is_started():
    assert background.is_python("/usr/bin/python3.12")
    assert background.is_python(sys.executable)
    assert not background.is_python("/opt/application")
    assert not background.is_python("")
    assert not background.is_python(None)


def test_a_locked_file_is_not_to_be_had_until_it_is_let_go(tmp_path):
    with exclusive(tmp_path / "lock", 0.0) as first, exclusive(tmp_path / "lock", 0.0) as second:
        assert first
        assert not second
    with exclusive(tmp_path / "lock", 0.0) as third:
        assert third
    with exclusive(tmp_path / "no folder" / "lock", 0.0) as unlocked:
        assert unlocked


def test_a_server_ends_when_nothing_is_asked_for(monkeypatch):
    monkeypatch.setattr(compile_server, "IDLE", 0.1)
    monkeypatch.setattr(compile_server, "WATCH", 0.05)
    monkeypatch.setattr(compile_server, "lower_priority", lambda: None)
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb"):
        monkeypatch.setattr(compile_server, "read", lambda *args: source.read(0))
        assert compile_server.main(os.getppid()) == 0


def test_an_interrupt_of_the_program_does_not_reach_its_server(tmp_path):
    code = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it
use()
try:
    os.killpg(0, signal.SIGINT)
    raise AssertionError("not interrupted")
except KeyboardInterrupt:
    pass
use_until(use)
assert not compiled
"""
    assert ended(start("os.setpgid(0, 0)\n" + code, tmp_path / "kernels")) == ""
