"""Programs as Python with NumPy alone: in a process that has nothing else, they give the module's numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import weft
from weft import nn
from weft.export import Dim, UserError, export

RUN = """
import sys
folder, packages = sys.argv[1:]
sys.path[:0] = [folder, packages]
import numpy
import model
with numpy.load(folder + "/calls.npz") as calls:
    count = len(calls.files)
    given = [calls[f"arr_{place}"] for place in range(count)]
numpy.savez(folder + "/results.npz", *[model.Model()(each) for each in given])
assert not {"weft", "ml_dtypes", "scipy"} & set(sys.modules)
"""


@pytest.fixture(scope="session")
def numpy_alone(tmp_path_factory):
    """A folder of packages in which there is NumPy and nothing else."""
    folder = tmp_path_factory.mktemp("packages")
    installed = Path(numpy.__file__).parent
    for each in (installed, installed.with_name("numpy.libs")):
        if each.exists():
            (folder / each.name).symlink_to(each)
    return folder


def run(folder, packages, *given):
    """Run the program in a folder on some inputs, in an interpreter that sees NumPy alone."""
    numpy.savez(folder / "calls.npz", *given)
    command = [sys.executable, "-I", "-S", "-c", RUN, str(folder), str(packages)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    with numpy.load(folder / "results.npz") as results:
        return [results[f"arr_{place}"] for place in range(len(given))]


def load(path):
    """The program as a module of this process."""
    namespace = {"__file__": str(path), "__name__": "model"}
    exec(compile(Path(path).read_text(), str(path), "exec"), namespace)
    return namespace


def mlp():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3), nn.GELU()).eval()


def test_a_program_runs_with_numpy_alone_at_sizes_that_were_not_recorded(tmp_path, numpy_alone):
    model = mlp()
    export(model, (weft.randn(4, 6),), dynamic_shapes=({0: Dim("batch")},)).to_python(tmp_path)
    given = [weft.randn(batch, 6) for batch in (1, 3, 17)]
    for found, each in zip(run(tmp_path, numpy_alone, *[each.numpy() for each in given]), given, strict=True):
        numpy.testing.assert_allclose(found, model(each).detach().numpy(), 1e-5, 1e-6)


def test_a_program_runs_wefts_kernels_where_weft_is(tmp_path):
    model, x = mlp(), weft.randn(4, 6)
    program = load(export(model, (x,)).to_python(tmp_path))
    assert "weft" in program["linear"].__module__ or not hasattr(program["linear"], "__globals__")
    numpy.testing.assert_allclose(program["Model"]()(x.numpy()), model(x).detach().numpy(), 1e-5, 1e-6)


def test_wrong_inputs_are_refused_with_what_was_wanted(tmp_path):
    model = load(export(mlp(), (weft.randn(4, 6),), dynamic_shapes=({0: Dim("batch")},)).to_python(tmp_path))["Model"]()
    with pytest.raises(ValueError, match=r"must have shape \(any, 6\), got \(4, 7\)"):
        model(numpy.zeros((4, 7), "float32"))
    with pytest.raises(TypeError, match="must have dtype float32, got float64"):
        model(numpy.zeros((4, 6)))


def test_the_same_program_gives_the_same_files_and_old_weights_go(tmp_path):
    program = export(mlp(), (weft.randn(4, 6),))
    program.to_python(tmp_path)
    first = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    program.to_python(tmp_path)
    assert first == {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    export(mlp(), (weft.randn(4, 6),)).to_python(tmp_path)
    assert len(os.listdir(tmp_path)) == 2
    assert first.keys() != set(os.listdir(tmp_path))


def test_random_draws_are_refused_with_their_lines(tmp_path):
    program = export(nn.Sequential(nn.Linear(6, 5), nn.Dropout(0.5)).train(), (weft.randn(4, 6),))
    with pytest.raises(UserError, match=r"nn::dropout \(test_to_python.py:\d+\): it draws random numbers"):
        program.to_python(tmp_path)
    assert not os.listdir(tmp_path)


class Options(nn.Module):
    def forward(self, x, y, scale, *, mode):
        return x * scale + y[: x.shape[0]].sum() if mode == "sum" else x


def test_sizes_and_options_that_do_not_agree_are_refused(tmp_path):
    rows = Dim("rows")
    shapes = {"x": {0: rows}, "y": {0: 2 * rows}, "scale": None, "mode": None}
    program = export(Options(), (weft.ones(3, 2), weft.ones(6), 0.5), {"mode": "sum"}, dynamic_shapes=shapes)
    model = load(program.to_python(tmp_path))["Model"]()
    x, y = numpy.ones((4, 2), "f4"), numpy.ones(8, "f4")
    assert model(x, y, 0.5, mode="sum").tolist() == [[4.5, 4.5]] * 4
    for args, mode, message in [
        ((x, y[:7], 0.5), "sum", r"y.shape\[0\] must be 2\*rows with rows = 4, got 7"),
        ((x, y, 1.5), "sum", "scale was exported as 0.5, got 1.5"),
        ((x, y, 0.5), "mean", "mode was exported as 'sum', got 'mean'"),
    ]:
        with pytest.raises(ValueError, match=message):
            model(*args, mode=mode)


class Names(nn.Module):
    """Its names are those that the module uses itself."""

    def __init__(self):
        super().__init__()
        self.numpy = nn.Linear(3, 3)

    def forward(self, weights, numpy, *, linear, outputs):
        return {"self": self.numpy(weights) + numpy, "rest": [linear * outputs]}


def test_names_of_the_program_are_no_matter(tmp_path):
    model, x = Names(), weft.randn(2, 3)
    program = load(export(model, (x, x), {"linear": x, "outputs": x}).to_python(tmp_path))
    array = x.numpy()
    found = program["Model"]()(array, array, linear=array, outputs=array)
    expected = model(x, x, linear=x, outputs=x)
    numpy.testing.assert_allclose(found["self"], expected["self"].detach().numpy(), 1e-5, 1e-6)
    numpy.testing.assert_array_equal(found["rest"][0], expected["rest"][0].numpy())


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", weft.zeros(()))

    def forward(self, x):
        self.calls += 1
        x[:, 0] = 0
        return x * self.calls


def test_writes_to_buffers_and_inputs_are_done(tmp_path):
    model = load(export(Counter(), (weft.ones(2, 2),)).to_python(tmp_path))["Model"]()
    given = numpy.ones((2, 2), "float32")
    assert model(given).tolist() == [[0, 1], [0, 1]]
    assert model(given).tolist() == [[0, 2], [0, 2]]
    assert given.tolist() == [[0, 1], [0, 1]]


def test_dtypes_that_numpy_lacks_are_refused(tmp_path):
    program = export(nn.Linear(3, 2).bfloat16(), (weft.ones(1, 3).bfloat16(),))
    with pytest.raises(UserError, match=r"weight: NumPy has no weft.bfloat16; convert the model to float32"):
        program.to_python(tmp_path)


class Branches(nn.Module):
    def forward(self, x):
        if x.shape[0] > 8 or x.shape[0] % 47 == 0:
            return x.sin()
        return x.cos() if x.shape[0] + x.shape[1] / 2 > 1 else x.tan()


def test_sizes_at_which_the_program_branches_are_refused(tmp_path):
    dims = {0: Dim("rows"), 1: 2 * Dim("pairs", max=50)}
    model = load(export(Branches(), (weft.ones(4, 6),), dynamic_shapes=(dims,)).to_python(tmp_path))["Model"]()
    numpy.testing.assert_allclose(model(numpy.ones((8, 4), "f4")), numpy.cos(numpy.ones((8, 4))), 1e-6)
    for shape, message in [
        ((9, 4), "rows must be 0 to 8, got 9"),
        ((3, 102), "pairs must be 0 to 50, got 51"),
        ((0, 2), "exported for"),
    ]:
        with pytest.raises(ValueError, match=message):
            model(numpy.ones(shape, "f4"))
