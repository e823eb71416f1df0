"""Where memory ends: an exception that says so, and a process that goes on."""

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("resource")

FULL = os.environ.get("WEFT_TEST_CONCURRENCY") == "full"

BEGIN = """
import io, os, random, resource, sys
import weft

def limited(work, room):
    # Do some work with so many more bytes of addresses than there are; whether there was memory for it.
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + room, before[1]))
    try:
        work()
        return True
    except (MemoryError, RuntimeError) as error:
        assert isinstance(error, MemoryError) or "memory" in str(error).lower(), repr(error)
        return False
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
"""


def in_process(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | environment,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])
    return done.stdout


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="a system without /proc")
@pytest.mark.parametrize("libraries", ["none", "onednn,numba"])
def test_work_that_memory_does_not_suffice_for_ends_in_an_exception_and_can_be_done_later(libraries):
    code = f"""
    def work(size=200):
        weft.manual_seed(0)
        x = weft.rand(size, size).requires_grad_()
        y = ((x @ x).softmax(1).exp() + x.sort()[0].cumsum(0)).sum() + weft.cat([x, x]).var()
        y.backward()
        image, weight = weft.rand(4, 8, size // 10, 60).requires_grad_(), weft.rand(16, 8, 3, 3)
        weft.conv2d(image, weight).relu().sum().backward()
        file = io.BytesIO()
        weft.save([x, image.grad], file)
        file.seek(0)
        return x.grad, image.grad, weft.load(file)[0], weft.randn(300000), x[x > 0.5]

    expected = work()
    chance, fitted = random.Random(0), 0
    for _ in range({300 if FULL else 8}):
        fitted += limited(lambda: work(chance.randrange(200, 1500)), int(60e6 * chance.random()))
        assert weft.is_grad_enabled()
    assert fitted < {300 if FULL else 8}
    assert all(weft.equal(a, b) for a, b in zip(work(), expected))
    """
    in_process(code, WEFT_CPU_LIBRARIES=libraries, OMP_WAIT_POLICY="passive")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="a system without /proc")
def test_a_result_larger_than_memory_is_an_error_of_its_op_and_leaves_operands_as_they_are():
    code = """
    x = weft.ones(1 << 14)
    calls = [
        lambda: x[:, None] * x,
        lambda: x.repeat(1 << 14),
        lambda: weft.outer(x, x),
        lambda: weft.zeros(1 << 28) + 1,
        lambda: weft.ones(1 << 28),
        lambda: weft.rand(1 << 28),
        lambda: weft.cat([x] * (1 << 14)),
        lambda: weft.stack([x] * (1 << 14)),
        lambda: x.expand(1 << 14, -1).contiguous(),
        lambda: x.expand(1 << 14, -1).exp(),
        lambda: weft.eye(1 << 14),
        lambda: weft.cdist(x[:, None], x[:, None]),
    ]
    for number, call in enumerate(calls):
        assert not limited(call, 200_000_000), number
        assert x.sum() == 1 << 14
    """
    in_process(code)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="a system without /proc")
def test_kernels_that_there_is_no_memory_to_compile_are_compiled_when_there_is(tmp_path):
    pytest.importorskip("numba")
    code = """
    x = weft.linspace(-3, 3, 300_000)
    powers = x.neg().exp()  # by now the compiler itself is there
    assert not limited(lambda: x.sigmoid(), 40_000_000)
    assert weft.allclose(x.sigmoid(), 1 / (1 + powers))
    """
    in_process(code, WEFT_CPU_PATIENCE="0", NUMBA_CACHE_DIR=str(tmp_path))
