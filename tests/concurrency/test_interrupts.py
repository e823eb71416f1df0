"""Ctrl+C at any moment: what was interrupted can be done again, and nothing is left half done."""

import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without timers for signals")

FULL = os.environ.get("WEFT_TEST_CONCURRENCY") == "full"
TIMES = 3000 if FULL else 40

BEGIN = """
import os, random, signal, sys, threading, warnings
import weft
from weft import _processes
from weft._engine.tensor import local, state

class Interrupt(KeyboardInterrupt):
    pass

def interrupt(*args):
    raise Interrupt

def interrupted(work, seconds):
    # Do some work, or as much of it as there is time for; whether it ended.
    signal.signal(signal.SIGALRM, interrupt)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            work()
            return True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupt:
        return False

def try_often(work, check, times, longest):
    chance, ended = random.Random(0), 0
    for number in range(times):
        ended += interrupted(work, 1e-6 + longest * chance.random())
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert local.grad_enabled, number
        assert local.backward_pass is None and local.inference is False and state.intercepting == 0, number
        locks = [(owner, name) for owner, name, _ in _processes.renewed.locks() + _processes.outer.locks()]
        for owner, name in [*locks, (state, "lock"), (state, "accumulating")]:
            holder = threading.Thread(target=lambda: taken.append(getattr(owner, name).acquire(timeout=20)) or
                                      getattr(owner, name).release())
            taken = []
            holder.start()
            holder.join()
            assert taken == [True], (number, name)
        check()
    assert ended < times
    return ended
"""


def in_process(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300 if not FULL else 3000,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("libraries", ["none", "onednn,numba"] if FULL else ["none"])
def test_kernels_and_backward_compute_the_same_after_an_interrupt(libraries):
    code = f"""
    def work():
        weft.manual_seed(0)
        x, y = weft.rand(40, 40).requires_grad_(), weft.rand(20000)
        for _ in range(3):
            h = x
            for _ in range(10):
                h = (h @ x).softmax(1) * 2 + h
            h.sum().backward()
            y = (y + 1).exp().log()
            weft.conv2d(weft.ones(1, 2, 9, 9), weft.ones(3, 2, 3, 3)).relu().sum()
        return x.grad, y

    expected = work()

    def check():
        found = work()
        assert all(weft.equal(a, b) for a, b in zip(found, expected))

    print(try_often(work, check, {TIMES}, 0.02))
    """
    in_process(code, WEFT_CPU_LIBRARIES=libraries)


def test_files_are_whole_after_an_interrupt(tmp_path):
    code = f"""
    path = os.path.join({str(tmp_path)!r}, "x.pt")
    number = 0

    def work():
        global number
        number += 1
        weft.save({{"x": weft.full((3000,), float(number)), "n": number}}, path)
        weft.load(path)

    work()

    def check():
        loaded = weft.load(path)
        assert loaded["n"] in (number, number - 1) and (loaded["x"] == loaded["n"]).all()
        assert os.listdir({str(tmp_path)!r}) == ["x.pt"], os.listdir({str(tmp_path)!r})
        work()

    print(try_often(work, check, {TIMES}, 0.004))
    """
    in_process(code, WEFT_CPU_LIBRARIES="none")


def test_a_kernel_whose_compilation_was_interrupted_is_compiled_all_the_same(tmp_path):
    pytest.importorskip("numba")
    chance = random.Random(0)
    for number in range(60 if FULL else 2):
        code = f"""
        x = weft.arange(30000.0).reshape(100, 300) / 30000
        image = weft.arange(2 * 4 * 40 * 40.0).reshape(2, 4, 40, 40)

        def work():
            return x.erf(), weft.nn.functional.avg_pool2d(image, 3, 2, 1)

        interrupted(work, {chance.uniform(0.3, 3)})
        found = work()
        weft.save(found, {str(tmp_path / "found.pt")!r})
        """
        in_process(
            code,
            WEFT_CPU_LIBRARIES="numba",
            WEFT_CPU_PATIENCE="0",
            NUMBA_CACHE_DIR=str(tmp_path / f"cache{number % 2}"),
        )
        found = Path(tmp_path / "found.pt").read_bytes()
        if number == 0:
            first = found
        assert found == first
