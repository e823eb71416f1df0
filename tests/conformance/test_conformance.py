"""What is on the list of passing operators still agrees with PyTorch.

Runs where PyTorch is importable. `WEFT_CONFORMANCE` chooses, as tests/selection.py says: `all`, `K/N`, `changed`;
without it, one part of 30.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import selection
from harness import ledger, workers

LISTED = ledger.read()
NAMES = {name for column in LISTED.values() for name in column}
SETTING = os.environ.get("WEFT_CONFORMANCE", "0/30")


@pytest.fixture(scope="module")
def pool() -> Iterator[workers.Pool]:
    with workers.Pool(workers.Plan("weft")) as opened:
        yield opened


@pytest.mark.parametrize("name", selection.chosen(NAMES, SETTING, selection.modules_of_function))
def test_listed_operator_agrees_with_pytorch(name: str, pool: workers.Pool) -> None:
    columns = [column for column, names in LISTED.items() if name in names]
    tallies: dict[str, Any] = pool.run({name: columns})[name]
    failures = [f"{column}: {text}" for column, t in tallies.items() for text in (t["causes"] or {}).values()]
    assert not failures, "\n".join(failures)
