"""The packages as users get them: wheels, installed by subset into bare environments.

A bare environment is a real one, with nothing but links to NumPy, ml_dtypes, pluggy and Pillow from the environment
that runs the tests, so that no test needs a package index.
"""

import itertools
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {path.parent.name: path.parent for path in sorted(ROOT.glob("packages/*/pyproject.toml"))}
DEPENDENCIES = ("numpy", "ml_dtypes", "pluggy", "pillow")
GRADIENT = """
import weft
x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 4.0, 6.0], x.grad
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheel of each package, by folder name; the meta distribution is ``weft``."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run([sys.executable, ROOT / "scripts" / "build_wheels.py", folder], check=True, capture_output=True)
    return {path.name.partition("-")[0].removeprefix("weft_").replace("_", "-"): path for path in folder.iterdir()}


@pytest.fixture
def bare(tmp_path, wheels):
    """A function that makes an environment with the named packages, and returns it."""
    return lambda *names: Bare(tmp_path / "environment", [wheels[name] for name in names])


class Bare:
    """A virtual environment with some wheels and what they depend on, and nothing else."""

    def __init__(self, folder, wheels):
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        self.folder = folder.parent
        purelib = sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
        for name in DEPENDENCIES:
            link_distribution(name, Path(purelib))
        self.pip("install", "--no-deps", "--no-index", *wheels)

    def pip(self, *arguments):
        command = [sys.executable, "-m", "pip", "--python", self.python, "--quiet", *arguments]
        subprocess.run([*command, "--disable-pip-version-check"], check=True, cwd=self.folder)

    def run(self, code):
        """Run code; what it printed. It must neither fail nor warn."""
        command = [self.python, "-I", "-W", "error", "-c", code]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def error(self, code):
        """Run code that must fail; the last line of its traceback."""
        command = [self.python, "-I", "-c", code]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        assert result.returncode != 0, f"did not fail: {code}"
        return result.stderr.strip().splitlines()[-1]


def link_distribution(name, folder):
    """Link an installed distribution's top-level files and folders into another site-packages."""
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed here")
    for part in {file.parts[0] for file in installed.files} - {"..", "__pycache__"}:
        if not (folder / part).exists():
            (folder / part).symlink_to(installed.locate_file(part))


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def test_every_package_builds_a_pure_wheel_of_one_version(wheels):
    assert set(wheels) == {"weft", *PACKAGES}
    assert all(wheel.name.endswith("-py3-none-any.whl") for wheel in wheels.values())
    assert len({metadata(wheel)["Version"] for wheel in wheels.values()}) == 1


def test_every_wheel_names_its_license_and_its_readme(wheels):
    for wheel in wheels.values():
        assert metadata(wheel)["License-Expression"] == "Apache-2.0"
        assert metadata(wheel)["License-File"] == "LICENSE"
        assert metadata(wheel).get_payload().startswith("# weft")
    texts = {(folder / "LICENSE").read_text() for folder in (ROOT, *PACKAGES.values())}
    assert len(texts) == 1


def test_no_two_wheels_ship_the_same_file(wheels):
    for one, other in itertools.combinations(wheels, 2):
        assert not contents(wheels[one]) & contents(wheels[other]), (one, other)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_ships_every_source_and_no_editor_stub_of_the_namespace(wheels, name):
    source = PACKAGES[name] / "src"
    made = re.compile(r"(^|/)(\.|__pycache__/)|\.(so|pyd)$")  # by tools, beside the sources
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    wanted = {file for file in files if not made.search(file)} - {"weft/__init__.pyi"}
    assert contents(wheels[name]) == wanted


def test_every_portion_is_marked_as_typed(wheels):
    for name in PACKAGES:
        tops = {"weft"} if name == "core" else {str(Path(file).parent) for file in contents(wheels[name])}
        roots = {top for top in tops if not any(top.startswith(f"{other}/") for other in tops)}
        assert {f"{root}/py.typed" for root in roots} <= contents(wheels[name])


def test_the_meta_distribution_is_nothing_but_dependencies(wheels):
    assert contents(wheels["weft"]) == set()
    required = metadata(wheels["weft"]).get_all("Requires-Dist")
    always = {re.match(r"[\w-]+", line)[0] for line in required if "extra ==" not in line}
    assert always == {"weft-core", "weft-backend-cpu", "weft-nn"}
    extras = {"all", "compile", "cuda", "distributed", "fast", "scientific", "text", "transformers", "vision"}
    assert set(metadata(wheels["weft"]).get_all("Provides-Extra")) == extras


def test_the_installs_of_text_require_neither_scipy_nor_a_compiler(wheels):
    def required(name, extra):
        """Names that a package requires, and what those of weft's among them require."""
        found = set()
        for line in metadata(wheels[name]).get_all("Requires-Dist") or ():
            other, _, marker = line.partition(";")
            if "extra" not in marker or f"'{extra}'" in marker.replace('"', "'"):
                other = re.match(r"[\w-]+", other)[0]
                ours = other.removeprefix("weft-")
                found |= required(ours, None) if ours in wheels else {other}
        return found

    assert required("weft", "text") == {"numpy", "ml-dtypes", "pluggy"}
    assert required("weft", "transformers") == {"numpy", "ml-dtypes", "pluggy", "transformers"}


def test_core_and_a_backend_alone_compute_gradients(bare):
    environment = bare("core", "backend-cpu")
    environment.run(GRADIENT)
    portions = {"nn": "nn", "optim": "nn", "fx": "nn", "distributions": "nn", "text": "text", "vision": "vision"}
    for name, package in portions.items():
        assert f"install it with: pip install weft-{package}" in environment.error(f"import weft; weft.{name}")
    assert "install it with: pip install weft-nn" in environment.error("import weft; weft.utils.data")
    environment.run("import weft; assert not weft.distributed.is_available() and not weft.distributed.is_initialized()")
    asked = environment.error("import weft; weft.distributed.all_reduce")
    assert "install it with: pip install weft-distributed" in asked


ACTIVATIONS = """
import weft
x = weft.linspace(-4, 4, 60000).reshape(200, 300).requires_grad_()
y = weft.nn.functional.gelu(x).softmax(-1)
(y * y.detach().tanh()).sum().backward()
print(y.sum().item(), y.amax().item(), x.grad.abs().sum().item())
"""
PREBUILT = """
import weft
from weft.backend_cpu.compiled import prebuilt
print(prebuilt.describe())
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_prebuilt_kernels_run_where_there_is_neither_numba_nor_a_compiler(bare, wheels, tmp_path, monkeypatch):
    pytest.importorskip("numba")
    build = [
        sys.executable,
        ROOT / "scripts" / "build_wheels.py",
        tmp_path / "made",
        "--compiled",
        "--only",
        "backend-cpu",
    ]
    some = ["--levels", "x86-64-v2", "--dtypes", "float32", "--work", "activations", "--processes", "1"]
    subprocess.run([*build, "--", *some], check=True, capture_output=True)
    (wheel,) = (tmp_path / "made").iterdir()
    assert not wheel.name.endswith("-none-any.whl")
    environment = bare("core", "backend-cpu", "nn")
    wanted = environment.run(ACTIVATIONS).split()
    assert environment.run(PREBUILT) == "None\n"
    environment.pip("install", "--no-deps", "--no-index", "--force-reinstall", wheel)
    monkeypatch.setenv("PATH", "")
    assert re.match(r"\d{2,} kernels for x86-64-v2, compiled by Numba", environment.run(PREBUILT))
    found = environment.run(ACTIVATIONS).split()
    assert found != wanted  # other loops ran
    assert [float(each) for each in found] == pytest.approx([float(each) for each in wanted], rel=1e-3)


def test_core_alone_says_that_no_backend_is_installed(bare):
    message = bare("core").error("import weft; weft.ones(2)")
    assert "RuntimeError" in message
    assert "pip install weft-backend-cpu" in message


def test_removing_one_plugin_leaves_the_rest_working(bare):
    environment = bare(*PACKAGES)
    works = {
        "backend-cuda": "import weft; weft.backend_cuda; weft.cuda.is_available()",
        "text": "import weft; weft.text",
        "vision": "import weft; weft.vision.transforms",
        "distributed": "import weft; weft.distributed.init_process_group(); weft.distributed.barrier()",
        "nn": "import weft; weft.nn.Linear(2, 1)(weft.ones(3, 2)).sum().backward(); weft.optim; weft.utils.data",
        "backend-cpu": GRADIENT,
    }
    for code in works.values():
        environment.run(code)
    for name in list(works):  # in an order in which nothing that is left depends on what goes
        environment.pip("uninstall", "--yes", f"weft-{name}")
        del works[name]
        for code in works.values():
            environment.run(code)
    environment.run("import weft; weft.__version__")
