"""Install small distributions named torch, torchvision and torchtext that are weft.

Libraries of PyTorch's require a distribution of that name, which an installer would otherwise download. These have
PyTorch's versions with the local label ``+weft``, so that requirements are met, and packages that give weft's own
modules: plain ``python`` then runs their programs. Where PyTorch itself is installed nothing is done.
"""

import argparse
import base64
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import DistributionFinder, MetadataPathFinder
from pathlib import Path

from _weft_as_torch import DISTRIBUTIONS, ROOTS, VERSIONS

LABEL = "+weft"
PACKAGE = '''"""{own} by PyTorch's name; `weft provide-torch` installed it, and with --remove takes it away."""

import importlib
import sys

import _weft_as_torch

_weft_as_torch.install()
del sys.modules[__name__]  # it is looked for again, and found to be {own}
importlib.import_module(__name__)
'''
METADATA = """Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: {own} by PyTorch's name
{requirements}
Installed by `weft provide-torch`: no part of PyTorch.
"""
COMMANDS = {"torch": "[console_scripts]\ntorchrun = torch.distributed.run:main\n"}
WHEEL = "Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``weft provide-torch``."""
    parser.add_argument("--remove", action="store_true", help="take away what this command installed")
    parser.add_argument("--wheels", type=Path, metavar="FOLDER", help="only write the wheels, into this folder")


def run(args: argparse.Namespace) -> int:
    """Install, remove or write the distributions; 1 if that cannot be done."""
    names = [name for name in VERSIONS if importlib.util.find_spec(ROOTS[name]) is not None]
    if args.wheels is not None:
        args.wheels.mkdir(parents=True, exist_ok=True)
        for name in names:
            print(write_wheel(name, args.wheels))
        return 0
    there = {name: version for name in VERSIONS if (version := installed(name)) is not None}
    ours = [name for name, version in there.items() if version.endswith(LABEL)]
    if args.remove:
        return remove(ours)
    foreign = [f"{name} {version}" for name, version in there.items() if name not in ours]
    if foreign:
        return fail(
            f"{', '.join(foreign)} is installed in {sys.prefix}: PyTorch's own stays what its name means there. "
            "Remove it first, make another environment, or run programs with `weft run`, which needs no such names"
        )
    for name in names:
        print(f"installing {name} {VERSIONS[name]}, which is {ROOTS[name]}, into {sys.prefix}")
    with tempfile.TemporaryDirectory() as folder:
        wheels = [str(write_wheel(name, Path(folder))) for name in names]
        return install(["install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", *wheels])


def remove(names: list[str]) -> int:
    """Uninstall what this command installed."""
    if not names:
        print(f"nothing to remove: no distribution of `weft provide-torch` is in {sys.prefix}")
        return 0
    print(f"removing {', '.join(names)} from {sys.prefix}")
    return install(["uninstall", "--quiet", *names])


def install(words: list[str]) -> int:
    """Have pip, or uv where that is not installed, do something in this environment."""
    if importlib.util.find_spec("pip") is not None:
        confirmed = ["--yes"] if words[0] == "uninstall" else []
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", words[0], *confirmed, *words[1:]]
        return subprocess.call(pip)
    uv = shutil.which("uv")
    if uv is None:
        return fail("it takes pip or uv to do this; neither is there. --wheels writes what to install")
    return subprocess.call([uv, "pip", words[0], "--python", sys.executable, *words[1:]])


def fail(reason: str) -> int:
    """Say why nothing was done."""
    print(f"weft provide-torch: {reason}", file=sys.stderr)
    return 1


def installed(name: str) -> str | None:
    """The version of a distribution on the path, whatever ``WEFT_AS_TORCH`` shows of it."""
    for found in MetadataPathFinder.find_distributions(DistributionFinder.Context(name=name)):
        return found.version
    return None


def write_wheel(name: str, folder: Path) -> Path:
    """Write the wheel of one of the distributions.

    Returns
    -------
    Path
        ``torch-2.13.0+weft-py3-none-any.whl`` in the folder.
    """
    version, own = VERSIONS[name], ROOTS[name]
    information = f"{name}-{version}.dist-info"
    required = {
        "weft-core": True,
        "weft-nn": importlib.util.find_spec("weft.nn") is not None,
        DISTRIBUTIONS[name]: True,
    }
    requirements = "".join(f"Requires-Dist: {each}\n" for each, wanted in required.items() if wanted)
    packages = [root for root in ROOTS if root == name or (root not in VERSIONS and name == "torch")]
    files = {
        **{f"{package}/__init__.py": PACKAGE.format(own=ROOTS[package]) for package in packages},
        f"{information}/METADATA": METADATA.format(name=name, version=version, own=own, requirements=requirements),
        f"{information}/WHEEL": WHEEL,
    }
    if name in COMMANDS:
        files[f"{information}/entry_points.txt"] = COMMANDS[name]
    record = "".join(f"{path},{digest(text)},{len(text.encode())}\n" for path, text in files.items())
    files[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n"
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), text)
    return wheel


def digest(text: str) -> str:
    """A file's entry in RECORD."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
