"""What is on the list of passing operators still agrees with PyTorch.

Runs where PyTorch is importable. `WEFT_CONFORMANCE` chooses: `all`, `K/N` (the K-th of N parts), or nothing: one part
of 30, another one each day, so that a month sees all of them.
"""

import datetime
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parent))

from harness import ledger, workers

LISTED = ledger.read()
DAYS = 30


def chosen() -> list[str]:
    """Names on the list that this run checks."""
    names = sorted({name for column in LISTED.values() for name in column})
    choice = os.environ.get("WEFT_CONFORMANCE", f"{datetime.date.today().toordinal() % DAYS}/{DAYS}")
    if choice == "all":
        return names
    part, parts = map(int, choice.split("/"))
    return names[part % parts :: parts]


@pytest.fixture(scope="module")
def pool() -> Iterator[workers.Pool]:
    with workers.Pool(workers.Plan("weft")) as opened:
        yield opened


@pytest.mark.parametrize("name", chosen())
def test_listed_operator_agrees_with_pytorch(name: str, pool: workers.Pool) -> None:
    columns = [column for column, names in LISTED.items() if name in names]
    tallies: dict[str, Any] = pool.run({name: columns})[name]
    failures = [f"{column}: {text}" for column, t in tallies.items() for text in (t["causes"] or {}).values()]
    assert not failures, "\n".join(failures)
