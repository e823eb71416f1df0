"""One namespace, ``weft``, from six distributions."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft._lazy import load

PORTIONS = ("backend_cpu", "backend_cuda", "distributions", "fx", "nn", "optim", "text", "vision")


def python(code):
    """What a fresh process prints."""
    return subprocess.check_output([sys.executable, "-W", "error", "-c", code], text=True).strip()


def test_importing_weft_imports_neither_portions_nor_the_scan_for_plugins():
    code = "import weft, sys; print(*sorted(sys.modules))"
    loaded = set(python(code).split())
    assert "weft" in loaded
    assert not loaded & {f"weft.{name}" for name in (*PORTIONS, "utils.data")}
    assert not loaded & {"importlib.metadata", "pluggy", "weft.plugins", "cupy", "scipy", "PIL"}


@pytest.mark.parametrize("name", PORTIONS)
def test_a_portion_comes_as_an_attribute_without_an_import_of_its_own(name):
    assert python(f"import weft; print(weft.{name}.__name__)") == f"weft.{name}"
    assert python(f"from weft import {name}; print({name}.__name__)") == f"weft.{name}"


def test_shared_folders_hold_what_two_distributions_ship():
    assert python("import weft; print(weft.utils.data.__name__)") == "weft.utils.data"
    assert len(list(weft.utils.__path__)) > 0


def test_dir_lists_portions_before_they_are_imported():
    assert set(PORTIONS) | {"Tensor", "tensor", "utils"} <= set(python("import weft; print(*dir(weft))").split())


def test_names_of_portions_are_read_without_importing_the_portions():
    code = (
        "import weft, sys; print('conv2d' in dir(weft), 'weft.nn' in sys.modules, 'weft._portions.nn' in sys.modules)"
    )
    assert python(code) == "True False True"
    assert python("import weft, sys; print('weft._portions' in sys.modules)") == "False"


def test_a_function_whose_portion_is_gone_says_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    assert "conv2d" in dir(weft)  # the names of portions have been read
    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(AttributeError, match=r"'weft' has no attribute 'conv2d'; .*: pip install weft-nn$"):
        load("conv2d")


def test_a_misspelt_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="module 'weft' has no attribute 'tensro'"):
        weft.tensro
    with pytest.raises(AttributeError, match=r"module 'weft\.utils' has no attribute 'dta'"):
        weft.utils.dta
    assert not hasattr(weft, "_tensro")


def test_what_a_portion_lacks_is_not_mistaken_for_a_missing_portion(tmp_path, monkeypatch):
    portion = tmp_path / "weft" / "halfway"
    portion.mkdir(parents=True)
    (portion / "__init__.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.setattr(weft, "__path__", [*weft.__path__, str(portion.parent)])
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        weft.halfway


def test_pickled_classes_bear_the_public_namespace():
    layer = pickle.loads(pickle.dumps(weft.nn.Linear(2, 3)))
    assert layer.weight.shape == (3, 2)
    assert type(layer).__module__.startswith("weft.nn")


def test_no_package_uses_what_is_private_to_numpy():
    spellings = r"\bnumpy\._[a-z]", r"\bnp\._[a-z]", "from numpy import _", "__cpu_features__", r"\b_implementation\b"
    private = re.compile("|".join(spellings))
    sources = Path(__file__).resolve().parent.parent.glob("packages/*/src/**/*.py")
    used = {
        f"{path.name}: {line.strip()}"
        for path in sources
        for line in path.read_text(encoding="utf-8").splitlines()
        if private.search(line)
    }
    # Names that are in files, and the table that NumPy's C headers look up in the same way.
    known = {each for each in used if each.startswith(("_names.py", "cifar.py")) or "_ARRAY_API" in each}
    assert used == known
