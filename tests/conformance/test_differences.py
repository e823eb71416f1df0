"""What does not pass is listed with its reason, and nothing that passes is."""

import tomllib
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import sys

sys.path.insert(0, str(Path(__file__).parent))

from harness import columns, entries, ledger, other_devices  # noqa: F401  # the last adds columns

LISTED = tomllib.loads((Path(__file__).parent / "differences.toml").read_text(encoding="utf-8"))
LISTED.pop("programs")  # see test_programs.py


def test_columns_and_names_exist():
    names = set(entries.names([]))
    for column, reasons in LISTED.items():
        assert column in columns.COLUMNS
        assert set(reasons) <= names, column


def test_nothing_that_passes_is_listed_as_different():
    passing = ledger.read()
    assert {column: set(reasons) & set(passing.get(column, [])) for column, reasons in LISTED.items()} == {
        column: set() for column in LISTED
    }
