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


def test_a_folder_that_cannot_be_written_to_is_replaced(tmp_path, monkeypatch):
    from weft._utils_internal import get_writable_path

    assert get_writable_path(str(tmp_path)) == str(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = get_writable_path(str(tmp_path / "missing"))
    assert os.path.isdir(made) and made.endswith("missing")


def test_optional_modules_are_looked_for_and_dtypes_have_short_names():
    """PyTorch's test classes import both."""
    from weft.utils._dtype_abbrs import dtype_abbrs
    from weft.utils._import_utils import _check_module_exists, dill_available, import_dill

    assert _check_module_exists("numpy") and not _check_module_exists("no_such_module")
    assert (import_dill() is not None) == dill_available()
    assert dtype_abbrs[weft.float32] == "f32"


def test_a_function_that_is_decorated_with_a_device_makes_its_tensors_there():
    from weft.utils._device import set_device

    assert set_device("meta")(lambda: weft.empty(3))().is_meta
    assert not weft.empty(3).is_meta


def test_calls_are_captured_in_short_forms():
    from weft.utils import _traceback

    with _traceback.report_compile_source_on_error():
        captured = _traceback.CapturedTraceback.extract()
    assert captured.summary()[-1].name == "test_calls_are_captured_in_short_forms"
    assert _traceback.CapturedTraceback.format_all([captured]) == [captured.format()]
    assert _traceback.shorten_filename("/one/two/three.py", base="/one/four") == "two/three.py"
    try:
        raise ValueError
    except ValueError as error:
        assert _traceback.format_traceback_short(error.__traceback__).endswith("captured_in_short_forms")
    captured.cleanup()
    assert captured.format() == []


def test_versions_of_modules_are_compared_as_far_as_asked():
    from types import SimpleNamespace

    from weft.serialization import check_module_version_greater_or_equal as at_least

    assert at_least(SimpleNamespace(__name__="m", __version__="2.0.1"), (2, 0))
    assert not at_least(SimpleNamespace(__name__="m", __version__="1.9"), (2, 0))
    odd = SimpleNamespace(__name__="m", __version__="odd")
    with pytest.raises(RuntimeError, match="'m' module version string is malformed 'odd'"):
        at_least(odd, (1, 0))
    with pytest.warns(UserWarning, match="continuing assuming"):
        assert at_least(odd, (1, 0), error_if_malformed=False)
