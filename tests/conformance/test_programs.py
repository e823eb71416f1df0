"""Random programs do the same on PyTorch and on weft: indexing, views and gradients, ``out=``, promotion, all mixed
with other functions, and function transforms.

`WEFT_PROGRAMS` is how many of each kind there are; the seed is fixed, so that one commit has one verdict. What differs
on purpose is in differences.toml.
"""

import os
import random
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
pytest.importorskip("hypothesis", reason="installed in the conformance environment")
sys.path.insert(0, str(Path(__file__).parent))

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from programs import indexing, interpreter, mixed, out, promotion, transforms, views

import weft

KINDS = [indexing, views, out, promotion, mixed, transforms]
COUNT = int(os.environ.get("WEFT_PROGRAMS", "300"))
fixed = settings(
    max_examples=COUNT,
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


@pytest.fixture(autouse=True)
def one_thread():
    """PyTorch's threads would cost these small tensors more than they save."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.rpartition(".")[2])
def test_random_programs_agree_with_pytorch(kind: ModuleType) -> None:
    @settings(fixed, max_examples=max(COUNT // getattr(kind, "COST", 1), 1))
    @given(st.randoms(use_true_random=False))
    def agree(source: random.Random) -> None:
        interpreter.check(weft, kind, source)

    agree()


@pytest.mark.parametrize("entry", interpreter.LISTED, ids=lambda entry: entry["reason"][:60])
def test_what_is_listed_as_different_still_differs(entry: dict[str, str]) -> None:
    run = interpreter.Run(weft)
    with warnings.catch_warnings(), pytest.raises(interpreter.Difference) as found:
        warnings.simplefilter("ignore")
        for line in entry["example"].strip().splitlines():
            run.run(line)
    assert interpreter.matches(entry, found.value), str(found.value)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("y = torch.ones(2, 3).t().contiguous()", "strides"),
        ("y = torch.ones(2) * 2", "values"),
        ("y = torch.ones(2, dtype=torch.float64)", "dtype"),
        ("y = torch.ones(3)", "shape"),
        ("y = torch.ones(2).requires_grad_()", "requires_grad"),
        ("y = torch.ones(2).foo", "raises"),
        ("y = 3", "type"),
    ],
)
def test_a_library_with_one_fault_is_found_out(line: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = {"strides": "y = torch.ones(2, 3).t()"}.get(what, "y = torch.ones(2)")
    run = interpreter.Run(torch)
    faulty = run.spaces[1]
    attempt = interpreter.attempt
    monkeypatch.setattr(
        interpreter,
        "attempt",
        lambda code, space: attempt(compile(line, "", "exec") if space is faulty else code, space),
    )
    with pytest.raises(interpreter.Difference) as found:
        run.run(right)
    assert found.value.what == what
