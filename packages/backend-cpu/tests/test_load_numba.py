"""Numba is imported by the first large array, and by nothing before it."""

import importlib.util
import subprocess
import sys

import pytest

import weft
from weft.backend_cpu import libraries, registry

PROGRAM = """
import sys, weft
small = weft.ones(4, 4)
((small.exp() + small) @ small).softmax(-1).sum()
before = "numba" in sys.modules
large = weft.full((300, 300), 2.0)
correct = bool((large.exp().log() - large).abs().max() < 1e-5) and bool((large * large == 4).all())
print(before, "numba" in sys.modules, correct)
"""


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="of the extra [fast]")
@pytest.mark.skipif(not registry.MIN_SIZE, reason="every call takes the compiled kernel")
def test_numba_waits_for_a_large_array():
    if not any(each.__name__.endswith("compiled") for each in libraries.available()):
        pytest.skip("the compiled loops are turned off")
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert run.stdout.split() == ["False", "True", "True"], run.stderr


def test_ops_that_ask_again_for_their_kernels_give_the_same_results():
    x = weft.linspace(0, 1, 5)
    before = (x * x).tolist()
    weft.backend.invalidate_kernels()
    assert (x * x).tolist() == before
