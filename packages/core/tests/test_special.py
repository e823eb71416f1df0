"""The module `weft.special`: its names, and that importing weft does not import it."""

import inspect
import os
import subprocess
import sys

import pytest

import weft
from weft import special


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("psi", "digamma"),
        ("expit", "sigmoid"),
        ("gammaln", "lgamma"),
        ("gammainc", "igamma"),
        ("gammaincc", "igammac"),
        ("multigammaln", "mvlgamma"),
        ("logsumexp", "logsumexp"),
        ("round", "round"),
        ("log_softmax", "log_softmax"),
    ],
)
def test_functions_of_the_top_level_have_names_here(name, same):
    # Once a subclass has __torch_function__, the functions of weft ask it first.
    assert getattr(special, name) is inspect.unwrap(getattr(weft, same), stop=lambda f: f is getattr(special, name))


def test_every_public_function_is_documented():
    assert [name for name in special.__all__ if not (getattr(special, name).__doc__ or "").strip()] == []


def test_functions_that_are_only_here_are_not_at_the_top_level():
    assert not hasattr(weft, "i1e")
    assert not hasattr(weft, "airy_ai")


def test_the_module_is_imported_when_it_is_first_asked_for():
    code = (
        "import sys, weft; before = 'weft.special' in sys.modules; weft.special.erfcx(weft.ones(1));"
        "print(before, 'weft.special' in sys.modules, 'scipy' in sys.modules)"
    )
    environment = os.environ | {"WEFT_CPU_LIBRARIES": "none"}  # Numba imports a part of SciPy
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["False", "True", "False"]
