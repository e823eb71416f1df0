"""SciPy serves kernels that NumPy cannot, is imported when first asked for, and may be missing."""

import os
import subprocess
import sys

import numpy as np
import pytest

import weft
from weft.backend import scientific

WITHOUT_SCIPY = "import sys; sys.modules['scipy'] = sys.modules['scipy.special'] = None; import weft; "


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "WEFT_CPU_LEAST"}  # Numba imports SciPy


def python(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_kernel_reaches_scipy_through_its_array_namespace():
    special = pytest.importorskip("scipy.special")
    weft.zeros(1)
    assert scientific(np, "special", "test") is special


def test_making_a_tensor_does_not_import_scipy():
    assert python("import sys, weft; weft.ones(2).exp(); print('scipy' in sys.modules)") == "False"


def test_without_scipy_the_error_names_the_op_and_the_command():
    code = "import numpy; from weft.backend import scientific; weft.ones(1)\ntry: scientific(numpy, 'special', 'glow')"
    message = python(WITHOUT_SCIPY + code + "\nexcept ImportError as error: print(error)")
    assert message == (
        'glow: needs scipy.special, which is not installed. Install it with: pip install "weft-backend-cpu[scientific]"'
    )


def test_arrays_of_no_backend_in_use_are_refused():
    with pytest.raises(NotImplementedError, match="glow: no backend in use computes with math"):
        import math

        scientific(math, "special", "glow")
