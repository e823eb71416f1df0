"""The example of a third party's backend: installed as a stranger would, and put through the public suite."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "third_party_backend"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the example installed by pip, from a copy: a build leaves nothing in the repository."""
    folder = tmp_path_factory.mktemp("third_party")
    source = shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", folder / "site", source]
    subprocess.run(command, check=True)
    return folder


def python(site, *args):
    """What Python prints with the example installed."""
    path = os.pathsep.join(filter(None, [str(site / "site"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-W", "error", *map(str, args)]
    done = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    return done.stdout


def test_the_device_is_there_once_its_package_is_installed(site):
    assert "tensor([1., 1.], device='traced:0')" in python(
        site, "-c", "import weft; print(weft.ones(2, device='traced'))"
    )


def test_the_command_lists_it(site):
    lines = [line.split() for line in python(site, "-m", "weft", "plugins", "--no-load").splitlines()]
    assert ["weft.backends", "traced", "weft-traced", "0.1.0", "not", "loaded"] in lines


def test_it_passes_the_public_suite(site):
    options = ["-q", "-c", os.devnull, "--rootdir", site, "-p", "no:cacheprovider", "-W", "error"]
    output = python(site, "-m", "pytest", *options, site / "source" / "test_traced.py")
    assert "passed" in output
    assert "failed" not in output


def test_what_the_readme_shows_is_what_the_package_has(site):
    readme = (EXAMPLE / "README.md").read_text()
    for line in (EXAMPLE / "weft_traced.py").read_text().split('"""', 2)[2].splitlines():
        assert line in readme, line
