"""Forks while other threads hold locks: the child has one thread, and waits for none that it does not have."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")

FORKS = 500 if os.environ.get("WEFT_TEST_CONCURRENCY") == "full" else 8

BEGIN = """
import faulthandler, os, sys, threading, warnings
import weft
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: a fork with threads

def forked(work, seconds=25):
    # Whether a child that does some work ends well, and within some time.
    child = os.fork()
    if not child:
        status = 1
        try:
            faulthandler.dump_traceback_later(seconds, exit=True)  # which shows where it hangs
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def work():
    x = weft.rand(64, 64, requires_grad=True)
    weft.manual_seed(3)
    with weft.no_grad():
        assert not (x * 2).requires_grad
    loss = (x @ x).softmax(1).sum() + weft.randn(5).sum() + weft.ones(20000, requires_grad=True).exp().sum()
    loss.backward()
    assert x.grad.shape == (64, 64)
    weft.set_num_threads(1)
    assert (weft.ones(200, 200) @ weft.ones(200, 200))[0, 0] == 200
    weft.conv2d(weft.ones(1, 2, 9, 9), weft.ones(3, 2, 3, 3)).relu()
    weft.save({"x": x}, os.devnull)
    weft.plugins.status()
    if hasattr(weft, "nn"):
        weft.nn.Linear(3, 3)(weft.ones(2, 3))
"""


def in_process(code, **environment):
    """What a new process that runs some code prints."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120 if FORKS < 100 else 3000,
        env=os.environ | {"OMP_WAIT_POLICY": "passive"} | environment,  # more threads than processors: no spinning
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("libraries", ["none", "onednn,numba"])
def test_a_child_takes_every_lock_that_another_thread_held(libraries):
    code = """
    from weft import _processes
    from weft._engine.tensor import state
    work()
    owners = [(owner, name) for owner, name, _ in _processes.renewed.locks()] + [(state, "lock")]
    assert {type(owner).__name__ for owner, _ in owners} >= {"Registry", "Plugin", "module", "State"}
    held, done = threading.Event(), threading.Event()

    def hold():
        for owner, name in owners:
            getattr(owner, name).acquire()
        held.set()
        done.wait()

    def take():
        for owner, name in owners:
            assert getattr(owner, name).acquire(timeout=10), name
            getattr(owner, name).release()
        work()

    threading.Thread(target=hold, daemon=True).start()
    held.wait()
    assert forked(take) == 0
    done.set()
    """
    in_process(code, WEFT_CPU_LIBRARIES=libraries)


@pytest.mark.parametrize("libraries", ["none", "onednn,numba"])
def test_a_fork_waits_for_what_may_not_be_copied_half_done(libraries):
    code = """
    from weft import _processes
    import time
    work()
    generator = weft.Generator()
    for owner, name, _ in _processes.outer.locks() + _processes.inner.locks():
        lock, held, order = getattr(owner, name), threading.Event(), []

        def hold():
            with lock:
                held.set()
                time.sleep(0.1)
                order.append("released")

        def take():
            assert order == ["released"]
            with lock:
                work()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        assert forked(take) == 0
        thread.join()
        with lock:
            assert forked(take) == 0  # by the thread that has it
        assert not _processes._held.locks
    """
    in_process(code, WEFT_CPU_LIBRARIES=libraries)


def test_a_module_that_another_thread_imports_is_whole_in_the_child(tmp_path):
    (tmp_path / "numba").mkdir()  # one of the packages that are imported late; not the real one
    (tmp_path / "numba" / "__init__.py").write_text(
        "import sys, time\nsys.begun.set()\ntime.sleep(0.3)\nwhole = True\n"
    )
    code = """
    sys.begun = threading.Event()
    thread = threading.Thread(target=lambda: __import__("numba"))
    thread.start()
    sys.begun.wait()

    def use():
        import numba
        assert numba.whole

    assert forked(use, 20) == 0
    thread.join()
    """
    in_process(f"sys.path.insert(0, {str(tmp_path)!r})\n" + textwrap.dedent(code), WEFT_CPU_LIBRARIES="none")


def test_a_thread_without_gradients_is_none_of_the_childs():
    code = """
    from weft._engine.tensor import state
    inside, done = threading.Event(), threading.Event()

    def hold():
        with weft.no_grad():
            inside.set()
            done.wait()

    threading.Thread(target=hold, daemon=True).start()
    inside.wait()

    def count():
        assert state.unrecorded == 0
        with weft.no_grad():
            assert state.unrecorded == 1 and not (weft.ones(2, requires_grad=True) * 2).requires_grad
        assert (weft.ones(2, requires_grad=True) * 2).requires_grad

    assert forked(count) == 0
    done.set()
    """
    in_process(code)


@pytest.mark.parametrize("libraries", ["none", "onednn,numba"])
def test_forks_under_load_do_not_hang(libraries):
    code = f"""
    import io, itertools
    stop = threading.Event()
    work()
    leaf = weft.ones(50, requires_grad=True)
    shared = weft.Generator()

    def repeat(function):
        def run():
            for number in itertools.count():
                if stop.is_set():
                    return
                function(number)
        return run

    def switch(number):
        with weft.no_grad(), weft.device("cpu"), weft.inference_mode():
            weft.zeros(3)

    loads = [
        lambda number: weft.rand(30000),
        lambda number: (weft.manual_seed(number), weft.randn(100, generator=shared)),
        lambda number: (leaf * 2).sum().backward(),
        lambda number: weft.save({{"x": leaf}}, io.BytesIO()),
        switch,
        lambda number: weft.conv2d(weft.ones(1, 2, 8 + number % 50, 20), weft.ones(3, 2, 3, 3)),
        lambda number: weft.ones(100 + number % 90, 100) @ weft.ones(100, 100),
    ]
    threads = [threading.Thread(target=repeat(load)) for load in loads]
    for each in threads:
        each.start()
    try:
        for number in range({FORKS}):
            status = forked(work)
            assert status == 0, (number, status)
    finally:
        stop.set()
    for each in threads:
        each.join()
    """
    in_process(code, WEFT_CPU_LIBRARIES=libraries)
