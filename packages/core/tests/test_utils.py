"""Small tools of weft.utils."""

import os
import subprocess
import sys

import pytest

import weft
from weft.utils import collect_env, set_module


def test_the_environment_is_told_as_the_doctor_tells_it():
    text = collect_env.get_pretty_env_info()
    assert "weft-core" in text
    assert "NumPy" in text
    done = subprocess.run([sys.executable, "-m", "weft.utils.collect_env"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == text.splitlines()[0]


def test_set_module_says_where_something_is():
    class Thing:
        pass

    set_module(Thing, "weft.things")
    assert Thing.__module__ == "weft.things"
    with pytest.raises(TypeError, match="should be a string, got int"):
        set_module(Thing, 3)
    assert weft.utils.set_module is set_module


def test_compiled_extensions_are_refused():
    """Peft's BOFT tries to build one, and goes on without."""
    from weft.utils import cpp_extension

    for build in (cpp_extension.load, cpp_extension.CppExtension):
        with pytest.raises(RuntimeError, match="'fast' is compiled against PyTorch's C"):
            build("fast", sources=["fast.cpp"])
    with pytest.raises(RuntimeError, match="weft has not"):
        cpp_extension.BuildExtension()


def test_a_path_is_joined_as_torchvisions_suite_asks():
    from weft._utils_internal import get_file_path_2

    assert get_file_path_2("assets", "image.png") == os.path.join("assets", "image.png")
