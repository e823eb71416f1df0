"""torchvision's own Python source, unchanged, computes on weft what it computes on PyTorch.

Its package is imported in a process in which torch is weft. A part of the areas always, all of them with
``WEFT_CONFORMANCE=all``.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

HERE = Path(__file__).parent
ALWAYS = """
operators drawings transforms_v2:bytes transforms_v2:sample functionals:bytes functionals:boxes features:resnet18
models:mobilenet_v3_small
""".split()
ALL = "operators drawings transforms_v2 transforms_v1 functionals features models".split()
AREAS = ALL if os.environ.get("WEFT_CONFORMANCE") == "all" else ALWAYS
FEW = 0.01  # of the pixels of bytes, in which a float is rounded
WITHOUT_OPERATORS = """
import torch, torchvision, weft
assert torch is weft and "weft" not in torchvision.__file__
assert torchvision.models.resnet18()(torch.rand(2, 3, 64, 64)).shape == (2, 1000)
try:
    torchvision.ops.nms(torch.ones(1, 4), torch.ones(1), 0.5)
except RuntimeError as error:
    assert "Couldn't load custom C++ ops" in str(error)
else:
    raise AssertionError("nms ran")
x, boxes = torch.rand(1, 2, 8, 8), torch.tensor([[0, 1.0, 2.0, 6.0, 7.0]])
for _ in range(4):  # as it is, recorded, replayed
    found = torchvision.ops.roi_align(x, boxes, (3, 2), 0.5, 2)
    assert torch.allclose(found, weft.vision.ops.roi_align(x, boxes, (3, 2), 0.5, 2))
"""


def python(on_weft, *args):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    environment.pop("WEFT_AS_TORCH", None)
    if on_weft:
        environment["WEFT_AS_TORCH"] = "torch"
    return subprocess.Popen([sys.executable, *args], env=environment, stderr=subprocess.PIPE, text=True)


def finish(process):
    said = process.communicate()[1]
    assert process.returncode == 0, said


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What all areas give on PyTorch and on weft."""
    folder = tmp_path_factory.mktemp("source")
    files = folder / "torch", folder / "weft"
    programs = [python(index, str(HERE / "source_cases.py"), str(file), *AREAS) for index, file in enumerate(files)]
    for each in programs:
        finish(each)
    return [pickle.loads(file.read_bytes()) for file in files]


def test_the_package_imports_without_its_operators():
    finish(python(True, "-c", WITHOUT_OPERATORS))


@pytest.mark.parametrize("area", AREAS)
def test_results_are_pytorchs(results, area):
    name, _, only = area.partition(":")
    expected, found = results
    cases = [each for each in expected if each.startswith(f"{name}:") and only in each]
    wrong = {case: said for case in cases if (said := difference(expected[case], found[case])) is not None}
    assert cases
    assert not wrong


def difference(expected, found):
    """Say how two results differ; None if they do not, by more than the last digits."""
    if type(expected) is not type(found):
        return f"{expected!r:.80} and {found!r:.80}"
    if isinstance(expected, dict):
        if list(expected) != list(found):
            return f"{list(expected)} and {list(found)}"
        return difference(list(expected.values()), list(found.values()))
    if isinstance(expected, list) or (isinstance(expected, tuple) and len(expected) == 2):
        if len(expected) != len(found):
            return f"{len(expected)} and {len(found)}"
        return next((said for pair in zip(expected, found) if (said := difference(*pair)) is not None), None)
    if isinstance(expected, tuple):
        kind, dtype, values = expected
        return difference([kind, dtype], list(found[:2])) or apart(values, found[2], dtype)
    if isinstance(expected, np.ndarray):
        return apart(expected, found, "uint8")
    return None if expected == found or expected == pytest.approx(found) else f"{expected} and {found}"


def apart(expected, found, dtype):
    """Say by how much two arrays differ; None if it is little."""
    if expected.shape != found.shape:
        return f"shapes {expected.shape} and {found.shape}"
    if not expected.size or np.array_equal(expected, found, equal_nan=True):
        return None
    if dtype == "uint8":
        gap = np.abs(expected.astype(int) - found.astype(int))
        return None if gap.max() <= 2 and (gap > 0).mean() <= FEW else f"bytes by {gap.max()}, {(gap > 0).mean():.2%}"
    limit = 1e-5 * max(1, np.nan_to_num(np.abs(expected)).max())
    close = np.isclose(expected, found, rtol=0, atol=limit, equal_nan=True)
    return None if close.all() else f"by {np.nanmax(np.abs(expected - found))} of {limit}"
