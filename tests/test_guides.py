"""The guides to ops and kernels, followed to the letter: a stranger's module and plugin, made of their code blocks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "my-kernels"
version = "1.0"
dependencies = ["weft-core"]

[tool.hatch.build.targets.wheel]
only-include = ["my_kernels.py"]

"""


def blocks(guide, language):
    """What a page shows in one language, one block after the other."""
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", (DOCS / guide).read_text(), re.DOTALL | re.MULTILINE))


def python(folder, *args):
    """Python with a folder to import from; its standard output and errors."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, *map(str, args)]
    return subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )


def run(folder, program):
    done = python(folder, "-W", "error", "-c", program)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def mylib(tmp_path_factory):
    """A folder with the module of the ops that the guide adds."""
    folder = tmp_path_factory.mktemp("ops")
    (folder / "mylib.py").write_text(blocks("adding-an-op.md", "python"))
    return folder


def plugin(folder, module):
    """Install a module as the plugin that the guide to kernels announces."""
    source = folder / "source"
    source.mkdir()
    (source / "my_kernels.py").write_text(module)
    (source / "pyproject.toml").write_text(PROJECT + blocks("adding-a-kernel.md", "toml"))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", folder / "site", source], check=True)
    return folder / "site"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return plugin(tmp_path_factory.mktemp("kernels"), blocks("adding-a-kernel.md", "python"))


OPS = """
import weft
from weft.library import Interceptor, get_op
from weft.ops._registry import registry
import mylib

class Seen(Interceptor):
    def before(self, op, args):
        names.append((op.name, *args))

names = []
added = [name for name in registry if name.startswith("mylib::")]
for name in added:
    get_op(name)
x = weft.tensor([[1.0, -3.0]], dtype=weft.float64, requires_grad=True)
with Seen():
    mylib.soft_sign(x).sum().backward()
    mylib.running_mean(x).sum().backward()
    mylib.log_cosh(x)
assert {"mylib::soft_sign", "mylib::running_mean"} <= set(added), added
assert ("mylib::soft_sign", "input") in names and ("mylib::running_mean", "input", "dim") in names, names
assert "mylib::log_cosh" not in {each for each, *_ in names}, names
expected = 1 / (1 + x.detach().abs()) ** 2 + weft.tensor([1.5, 0.5])
assert weft.allclose(x.grad, expected), (x.grad, expected)
"""


def test_the_ops_of_the_guide_run_are_differentiated_and_seen(mylib):
    run(mylib, OPS)


COMPILED = """
import numpy as np
import weft, mylib
from weft.backend_cpu import libraries

weft.exp(weft.ones(1 << 14))  # which imports Numba
libraries.compile_at_once()
kernel = libraries.kernel("mylib::soft_sign", weft.float64, lambda x: None).large
x = np.linspace(-3, 3, 10_000)
assert np.array_equal(kernel(x), x / (1 + abs(x)))
assert np.array_equal(mylib.soft_sign(weft.tensor(x)).numpy(), kernel(x))
"""


def test_the_formula_of_the_guide_is_compiled(mylib):
    pytest.importorskip("numba")
    run(mylib, COMPILED)


RUNS = """
import sys, numpy, weft, my_kernels

def note(frame, event, arg):
    if event == "call" and frame.f_code.co_filename == my_kernels.__file__:
        called.add(frame.f_code)

called = set()
table = my_kernels.weft_kernels("cpu")
x = weft.tensor([3.0, 5.0], requires_grad=True)
sys.setprofile(note)
y = weft.hypot(x, weft.tensor([4.0, 12.0]))
sys.setprofile(None)
assert table["core::hypot"].__code__ in called, called
y.sum().backward()
print(y.tolist(), x.grad.tolist())
"""


def test_the_kernel_of_the_guide_is_what_runs_on_the_cpu(kernels):
    assert run(kernels, RUNS).split() == "[5.0, 13.0] [0.6000000238418579, 0.38461539149284363]".split()


def test_its_results_are_what_the_op_declares(kernels):
    program = (
        "import weft\nfor x in weft.rand(4), weft.rand(4, dtype=weft.float64), weft.rand(4).half():\n    x.hypot(x)"
    )
    run(kernels, f"import os\nos.environ['WEFT_CHECK_KERNELS'] = '1'\n{program}")


def test_the_command_lists_its_plugin(kernels):
    listed = python(kernels, "-m", "weft", "plugins")
    assert re.search(r"weft.kernels +cpu +my-kernels +1.0 +loaded", listed.stdout), listed


def test_an_op_of_the_guide_takes_a_plugins_kernel(mylib, tmp_path):
    module = """
        import numpy
        import mylib
        from weft.plugins import hookimpl

        def soft_sign(x):
            print("a plugin's kernel")
            return x / (1 + numpy.abs(x))

        @hookimpl
        def weft_kernels(device):
            return {"mylib::soft_sign": soft_sign}
    """
    site = plugin(tmp_path, re.sub("^ {8}", "", module, flags=re.MULTILINE))
    (site / "mylib.py").write_text((mylib / "mylib.py").read_text())
    program = "import weft, mylib\nprint(mylib.soft_sign(weft.ones(2)).tolist())"
    assert run(site, program).splitlines()[-2:] == ["a plugin's kernel", "[0.5, 0.5]"]


def test_a_misspelt_op_in_the_guides_table_raises(tmp_path):
    code = blocks("adding-a-kernel.md", "python").replace("core::hypot", "core::hypott")
    site = plugin(tmp_path, code)
    program = "import weft\nweft.ones(2).hypot(weft.ones(2))"
    done = python(site, "-W", "error", "-c", program)
    assert "has a kernel for 'core::hypott', and there is no such op; did you mean 'core::hypot'" in done.stderr, done
    listed = python(site, "-m", "weft", "plugins")
    assert "core::hypott" in listed.stdout, listed


LOOP = """
import importlib.util, sys
import numpy as np
import weft

weft.ones(1)
name = "weft.backend_cpu.compiled.kernels.row_sums"
spec = importlib.util.spec_from_file_location(name, "row_sums.py")
module = sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

from weft.backend_cpu.registry import registered
generic = lambda x: x.sum(1)
kernel = registered["compiled", "mylib::row_sums", "float64"].make(generic).large
x = np.arange(60.0).reshape(5, 12)
assert kernel(x).tolist() == x.sum(1).tolist() and module.sums.signatures, module.sums.signatures
assert kernel(x[:, ::2]).tolist() == x[:, ::2].sum(1).tolist()
"""


def test_the_loop_of_the_guide_is_compiled_and_registered(tmp_path):
    pytest.importorskip("numba")
    text = (DOCS / "adding-a-kernel.md").read_text()
    (loop,) = [each for each in re.findall(r"(?:^    .*\n|^\n)+", text, re.MULTILINE) if "@register_kernel(" in each]
    (tmp_path / "row_sums.py").write_text(re.sub("^ {4}", "", loop, flags=re.MULTILINE))
    run(tmp_path, LOOP)
