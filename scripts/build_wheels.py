"""Build the wheel of every package and of the meta distribution that names them.

python scripts/build_wheels.py [FOLDER] [--compiled] [--only core ...] [-- arguments of make_prebuilt.py]

The wheels are pure Python. With ``--compiled`` core's holds the engine compiled by mypyc, and on Linux and x86-64 the
CPU backend's its kernels compiled by Numba; the two belong to this platform and this Python. Needs hatchling (and for
``--compiled`` hatch-mypyc, setuptools, a C compiler, Numba and what weft requires) in the environment it runs in:
``./dev wheels`` and tox see to that.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PREBUILT = ROOT / "scripts" / "make_prebuilt.py"
COMPILED = ("core", "backend-cpu")


def projects() -> dict[str, Path]:
    """Folders that make a distribution, by the name that ``--only`` takes; the root is ``weft``."""
    packages = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
    return {path.name: path for path in packages} | {"weft": ROOT}


def build(project: Path, folder: Path) -> None:
    """Build the project's wheel into ``folder``."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.resolve())]
    result = subprocess.run(command, cwd=project, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise SystemExit(f"{result.stdout}\nbuild_wheels: {project.name} does not build; its output is above")


def has_levels() -> bool:
    """Whether kernels can be compiled ahead of time for this platform."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def build_compiled(project: Path, folder: Path, kernels: list[str]) -> None:
    """Build from a copy, because extension modules are left beside the sources."""
    with tempfile.TemporaryDirectory() as copy:
        tree = Path(copy) / project.name
        shutil.copytree(project, tree, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
        if project.name == "backend-cpu":
            into = tree / "src" / "weft" / "backend_cpu" / "compiled" / "prebuilt"
            for file in into.glob("*.json"):
                file.unlink()
            subprocess.run([sys.executable, PREBUILT, "--into", into, *kernels], check=True)
        os.environ["HATCH_BUILD_HOOKS_ENABLE"] = "true"
        build(tree, folder)
        del os.environ["HATCH_BUILD_HOOKS_ENABLE"]


def main() -> None:
    """Read the command line and build what it names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist", help="where to (default: dist)")
    parser.add_argument("--compiled", action="store_true", help="compile core's engine and the CPU's kernels")
    parser.add_argument("--only", nargs="+", choices=sorted(projects()), help="these projects alone")
    given, kernels = sys.argv[1:], []
    if "--" in given:
        given, kernels = given[: given.index("--")], given[given.index("--") + 1 :]
    options = parser.parse_args(given)
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ.pop("HATCH_BUILD_HOOKS_ENABLE", None)
    for name in options.only or projects():
        if options.compiled and name in COMPILED and (name == "core" or has_levels()):
            build_compiled(projects()[name], options.folder, kernels)
        else:
            build(projects()[name], options.folder)
    for wheel in sorted(options.folder.glob("*.whl")):
        print(wheel)


if __name__ == "__main__":
    main()
