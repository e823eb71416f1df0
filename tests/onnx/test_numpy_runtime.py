"""Programs as Python with NumPy alone give what weft gives: modules, ops and models.

`WEFT_ONNX` chooses: `all`, `K/N`, or `changed` (default), see tests/selection.py.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

pytest.importorskip("onnx")  # what the cases are made for
pytest.importorskip("onnxruntime")

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import models
import modules
import ops
import selection
from agreement import TOLERANCE, Wrapped, program_of, relative, sizes_of

import weft
from weft.utils._pytree import tree_leaves, tree_map

SETTING = os.environ.get("WEFT_ONNX", "changed")

RUN = """
import sys
folder, packages, count = sys.argv[1:]
sys.path[:0] = [folder, packages]
import numpy
import model
program = model.Model()
for place in range(int(count)):
    with numpy.load(f"{folder}/given-{place}.npz") as given:
        results = program(*given.values())
    leaves = []
    def collect(value):
        if isinstance(value, (tuple, list, dict)):
            for each in value.values() if isinstance(value, dict) else value:
                collect(each)
        else:
            leaves.append(value)
    collect(results)
    numpy.savez(f"{folder}/results-{place}.npz", *leaves)
assert not {"weft", "ml_dtypes", "scipy"} & set(sys.modules)
"""


ALWAYS = ["Decoder as GPT-2", "digits"]


def chosen(names: Any) -> list[str]:
    found = selection.chosen(names, SETTING, lambda name: {selection.declaring_module(name)})
    return found[::4] if SETTING == "changed" else found  # the same programs are tried as files in ONNX's format


def load(path: str) -> Any:
    """The program of a file, with NumPy's kernels: it takes weft's where weft was imported."""
    space: dict[str, Any] = {"__file__": path, "__name__": "model"}
    hidden = sys.modules.pop("weft")
    try:
        exec(compile(Path(path).read_text(encoding="utf-8"), path, "exec"), space)
    finally:
        sys.modules["weft"] = hidden
    return space["Model"]()


def arrays(value: Any) -> Any:
    return tree_map(lambda each: each.detach().numpy() if isinstance(each, weft.Tensor) else each, value)


def results(module: Any, given: Any) -> list[Any]:
    with weft.no_grad():
        return [each.numpy() for each in tree_leaves(module(*given)) if isinstance(each, weft.Tensor)]


def assert_agrees(module: Any, case: Any, folder: Path) -> None:
    """A module's program gives the same at all sizes."""
    program = load(program_of(module, case.inputs, case.fixed).to_python(folder))
    for sizes in sizes_of(case.fixed):
        weft.manual_seed(sum(sizes))
        given = case.inputs(*sizes)
        expected = results(module, given)
        found = [each for each in tree_leaves(program(*arrays(given))) if isinstance(each, numpy.ndarray)]
        for one, other in zip(found, expected, strict=True):
            assert relative(one, other) <= TOLERANCE


@pytest.mark.parametrize("name", chosen(modules.CASES.keys() - modules.REFUSED.keys()))
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_a_module_agrees(name: str, tmp_path: Path) -> None:
    for case in modules.CASES[name]:
        weft.manual_seed(0)
        assert_agrees(case.make().eval(), case, tmp_path)


@pytest.mark.parametrize("name", chosen(ops.CASES))
@pytest.mark.filterwarnings("ignore:The reduce argument")
def test_an_op_agrees(name: str, tmp_path: Path) -> None:
    for case in ops.CASES[name]:
        weft.manual_seed(0)
        assert_agrees(Wrapped(case.function), case, tmp_path)


@pytest.mark.parametrize("name", [selection.drawn("a model", ALWAYS)] if SETTING == "changed" else chosen(models.CASES))
def test_a_model_agrees_where_there_is_numpy_alone(name: str, tmp_path: Path) -> None:
    weft.manual_seed(0)
    case = models.CASES[name]
    module = case.make().eval()
    program_of(module, case.inputs, case.fixed).to_python(tmp_path)
    packages = tmp_path / "packages"
    packages.mkdir()
    for each in (Path(numpy.__file__).parent, Path(numpy.__file__).parent.with_name("numpy.libs")):
        if each.exists():
            (packages / each.name).symlink_to(each)
    given = [case.inputs(*sizes) for sizes in sizes_of(case.fixed)]
    for place, each in enumerate(given):
        numpy.savez(tmp_path / f"given-{place}.npz", *arrays(each))
    command = [sys.executable, "-I", "-S", "-c", RUN, str(tmp_path), str(packages), str(len(given))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    for place, each in enumerate(given):
        with numpy.load(tmp_path / f"results-{place}.npz") as found:
            for one, other in zip(found.values(), results(module, each), strict=True):
                assert relative(one, other) <= TOLERANCE
    assert (tmp_path / "model.py").stat().st_size < 300_000
