"""Libraries that are installed and do not work are done without."""

import os
import subprocess
import sys
import textwrap

import pytest

WORK = """
import sys, warnings
import weft
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = weft.ones(200, 300)
    assert x.exp().sum().item() == x[0, 0].exp().item() * 60000 or x.exp().sum() > 160000
    assert (x + x).sum() == 120000 and x.sum(0)[0] == 200 and x.softmax(1).shape == (200, 300)
    assert (x @ x.T)[0, 0] == 300 and weft.ones(1000, 1000).mv(weft.ones(1000))[0] == 1000
    assert weft.outer(weft.ones(300), weft.ones(300)).sum() == 90000
    assert x.bfloat16().relu().sum() == 60000 and x.cumsum(0)[-1, 0] == 200 and x.sort()[0][0, 0] == 1
    weft.manual_seed(0)
    drawn = weft.rand(200000), weft.randn(200000), weft.empty(200000).exponential_(), weft.randperm(100000)
    weft.multinomial(weft.ones(20000), 5), weft.bernoulli(x * 0.5), weft.randint(9, (50000,))
    if hasattr(weft, "nn"):
        net = weft.nn.LSTM(20, 20)
        optimizer = weft.optim.Adam(net.parameters())
        net(weft.ones(50, 40, 20))[0].sum().backward()
        optimizer.step()
        weft.conv2d(weft.ones(2, 8, 40, 40), weft.ones(8, 8, 3, 3)).sum()
        weft.nn.functional.dropout(x)
told = [str(each.message) for each in caught if "does not work" in str(each.message)]
"""


def in_process(code, *folders, **environment):
    """What a new process that runs some code prints, with folders in front of all others."""
    paths = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", WORK + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths, "WEFT_CPU_PATIENCE": "0"} | environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


TOLD = """
    from weft.plugins import backend
    assert len(told) == 1 and "{name}" in told[0], told
    assert "does not work" in backend("cpu").describe()["{name}"]
"""


@pytest.mark.parametrize("package", ["numba", "llvmlite"])
@pytest.mark.parametrize("error", ["ImportError('other version')", "OSError('no file')", "AttributeError('x')"])
def test_a_numba_that_does_not_import_is_said_once_and_done_without(tmp_path, package, error):
    pytest.importorskip("numba")
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(f"raise {error}")
    in_process(TOLD.format(name="numba"), tmp_path, WEFT_CPU_LIBRARIES="onednn,numba")


def test_the_doctor_names_a_numba_that_does_not_import_without_a_warning(tmp_path):
    pytest.importorskip("numba")
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('other version')")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "weft", "doctor"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths, "WEFT_CPU_LIBRARIES": "onednn,numba"},
    )
    assert "installed, and does not work: ImportError: other version" in done.stdout
    assert not done.stderr


def test_a_onednn_that_does_not_load_is_said_once_and_done_without(tmp_path):
    (tmp_path / "libdnnl.so.3").write_bytes(b"no library")
    in_process(TOLD.format(name="onednn"), WEFT_CPU_LIBRARIES="onednn", WEFT_ONEDNN=str(tmp_path / "libdnnl.so.3"))


def test_a_library_that_is_turned_off_is_not_told_of(tmp_path):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('other version')")
    in_process("assert not told", tmp_path, WEFT_CPU_LIBRARIES="none")


def test_every_kernel_of_the_backend_is_for_an_op_that_exists():
    from weft.backend import check_kernel_names
    from weft.backend_cpu import NUMPY_KERNELS, SMALL_ARRAYS, libraries

    check_kernel_names([*NUMPY_KERNELS, *SMALL_ARRAYS], "the CPU backend")
    for package in libraries.LIBRARIES.values():
        check_kernel_names(libraries.modules_of(package), package)
