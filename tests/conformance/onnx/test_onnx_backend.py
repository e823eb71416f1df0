"""ONNX's own cases: what passes is listed, and the list may only grow (see cases.py).

A run takes the cases of a part of the operators, or what ``WEFT_CONFORMANCE`` says (see ../../selection.py).
"""

import os

import pytest

pytest.importorskip("onnx", reason="ONNX is installed in the conformance environment only")

from tests import selection
from tests.conformance.onnx import cases

pytestmark = pytest.mark.filterwarnings("ignore")  # of NumPy where ONNX computes what it expects

SETTING = os.environ.get("WEFT_CONFORMANCE", "changed")
FLOOR = 2011  # of 2,024 cases of the version that the list was made with
KNOWN = cases.listed()
CHOSEN = selection.chosen(cases.modules(), SETTING, lambda module: set())


@pytest.mark.parametrize("module", CHOSEN)
def test_listed_cases_pass(module):
    for case in cases.cases_of(module):
        if case.name in KNOWN:
            cases.check(case)


@pytest.mark.parametrize("name", selection.chosen(cases.stored_cases(), SETTING, lambda name: set()))
def test_listed_stored_cases_pass(name):
    if name in KNOWN:
        cases.check(cases.stored_cases()[name])


def test_the_list_only_grows():
    assert len(KNOWN) >= FLOOR
    if SETTING == "all":
        names = {case.name for module in cases.modules() for case in cases.cases_of(module)} | {*cases.stored_cases()}
        assert not KNOWN - names, "cases that are no more: take them from the list"
        print(f"{len(KNOWN)} of {len(names)} cases of onnx.backend.test pass")
