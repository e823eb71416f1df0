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


# Ops whose kernels look at the sizes of all arrays, called with a first array that is too small to import Numba for.
SMALL_FIRST = """
import hashlib, sys, weft
import numpy as np
import weft.nn.functional as F

if sys.argv[1] == "imported":
    weft.full((300, 300), 2.0).exp()
    assert "numba" in sys.modules
weft.manual_seed(0)

def gradients(out, *inputs):
    return weft.autograd.grad(out, inputs, weft.linspace(0, 1, out.numel()).view(out.shape))

image = weft.randn(2, 4, 5, 4, requires_grad=True)
grid = (weft.rand(2, 6, 8, 2) * 2 - 1).requires_grad_()
sampled = F.grid_sample(image, grid, align_corners=False)
found = [sampled, *gradients(sampled, image, grid)]
found += [F.interpolate(image, size=(20, 25), mode=mode) for mode in ("bilinear", "bicubic")]
wide, weight = weft.randn(1, 1, 22, 22, requires_grad=True), weft.randn(7, 3, requires_grad=True)
found += gradients(F.avg_pool2d(wide, 5, 3), wide)
found += [F.embedding_bag(weft.randint(0, 7, (40, 50)), weight, mode="mean")]
numbers = np.random.RandomState(0)
index, source = map(weft.from_numpy, (numbers.randint(0, 7, 20000), numbers.randn(20000).astype(np.float32)))
found += [weft.zeros(7).scatter_add(0, index, source), weft.zeros(7).scatter_reduce(0, index, source, "sum")]
found += [weft.zeros(7).index_add(0, index, source), weft.zeros(7).index_put((index,), source, accumulate=True)]
print(*[hashlib.md5(each.detach().numpy().tobytes()).hexdigest() for each in found], "numba" in sys.modules)
"""


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="of the extra [compile]")
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


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="of the extra [compile]")
@pytest.mark.skipif(not registry.MIN_SIZE, reason="every call takes the compiled kernel")
def test_results_do_not_depend_on_whether_numba_is_imported_already():
    if not any(each.__name__.endswith("compiled") for each in libraries.available()):
        pytest.skip("the compiled loops are turned off")
    printed = []
    for state in ("imported", "not"):
        line = [sys.executable, "-c", SMALL_FIRST, state]
        printed.append(subprocess.run(line, capture_output=True, text=True, timeout=300, check=True).stdout.split())
    assert printed[0][-1] == "True" and printed[1][-1] == "False"
    assert printed[0][:-1] == printed[1][:-1]
