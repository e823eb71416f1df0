"""``import weft`` is light, and its portions come on first use."""

import subprocess
import sys

import pytest

import weft
from weft._lazy import load, names


def python(code):
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_loads_no_plugin_no_portion_and_no_machinery_for_them():
    heavy = ("pluggy", "importlib.metadata", "weft.plugins", "weft.nn", "weft.optim", "weft.utils.data", "weft.vision")
    code = f"import weft, sys; print([m for m in {heavy} if m in sys.modules])"
    assert python(code) == "[]"


def test_import_loads_no_backend():
    code = "import weft, sys; print([m for m in sys.modules if m.startswith('weft.backend_')])"
    assert python(code) == "[]"


def test_a_name_that_nobody_has_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'weft' has no attribute 'tensro'$"):
        weft.tensro


def test_private_names_are_refused_without_a_search():
    code = (
        "import weft, sys\n"
        "try: weft.__wrapped__\n"
        "except AttributeError: print('weft.plugins' in sys.modules, 'pluggy' in sys.modules)"
    )
    assert python(code) == "False False"


@pytest.mark.parametrize(
    ("name", "distribution"),
    [("nn", "weft-nn"), ("optim", "weft-nn"), ("text", "weft-text"), ("vision", "weft-vision")],
)
def test_a_missing_portion_says_what_to_install(monkeypatch, name, distribution):
    monkeypatch.setattr("weft._lazy.of_portions", dict)
    monkeypatch.setattr("weft._lazy.importlib.import_module", missing)
    with pytest.raises(AttributeError, match=f"'weft' has no attribute '{name}'; .*: pip install {distribution}$"):
        load(name)


def test_a_missing_portion_of_a_shared_folder_says_what_to_install(monkeypatch):
    monkeypatch.setattr("weft._lazy.importlib.import_module", missing)
    with pytest.raises(AttributeError, match=r"'weft.utils' has no attribute 'data'; .*: pip install weft-nn$"):
        load("data", "weft.utils")


def missing(name):
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_what_a_portion_cannot_import_is_named_and_not_mistaken_for_the_portion(monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'PIL'", name="PIL")

    monkeypatch.setattr("weft._lazy.of_portions", dict)
    monkeypatch.setattr("weft._lazy.importlib.import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="PIL"):
        load("vision")


def test_dir_lists_names_without_importing_them():
    code = "import weft, sys; names = dir(weft); print('utils' in names, 'weft.backend_cpu' in sys.modules)"
    assert python(code) == "True False"
    assert not any(name.startswith("_") for name in names())


def test_a_function_of_a_missing_portion_says_what_to_install(monkeypatch):
    monkeypatch.setattr("weft._lazy.of_portions", dict)
    with pytest.raises(AttributeError, match=r"'weft' has no attribute 'conv2d'; .*: pip install weft-nn$"):
        load("conv2d")
    with pytest.raises(AttributeError, match=r"'prelu'; .*: pip install weft-nn$"):
        weft.ones(2).prelu(weft.ones(1))
    assert "conv2d" not in names()


def test_names_that_are_imported_on_first_use_are_those_of_their_modules():
    code = (
        "import weft\n"
        "from importlib import import_module\n"
        "from inspect import unwrap\n"
        "from weft._lazy import HOMES\n"
        "def real(value): return unwrap(value) if callable(value) else value\n"  # some may be overridden, once one is
        "pairs = {name: (getattr(weft, name), getattr(import_module(home), name)) for name, home in HOMES.items()}\n"
        "print([name for name, (found, own) in pairs.items() if real(found) is not real(own)])\n"
        "print(sorted(HOMES.keys() - set(dir(weft))))"
    )
    assert python(code) == "[]\n[]"
