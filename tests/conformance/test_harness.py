"""The harness finds what is wrong: libraries that are PyTorch but for one fault."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")
sys.path.insert(0, str(Path(__file__).parent))

import torch
from harness import columns, other_devices, workers  # noqa: F401  # the second adds columns
from harness.translate import Library, Translator

FAULTY = """
import os, sys, time, torch
def __getattr__(name): return getattr(torch, name)
"""
FAULTS = {
    "values differ": "def add(a, b, *, alpha=1): return torch.add(a, b, alpha=alpha) * 1.001 // 1",
    "dtype float64 instead of float32": "def add(a, b, *, alpha=1): return torch.add(a, b, alpha=alpha).double()",
    "shape differs": "def add(a, b, *, alpha=1): return torch.add(a, b, alpha=alpha)[None]",
    "memory of other arguments": "def add(a, b, *, alpha=1): return a.copy_(torch.add(a, b, alpha=alpha)[:])",
    "tuple instead of a tensor": "def add(a, b, *, alpha=1): return (torch.add(a, b, alpha=alpha),)",
}


@pytest.fixture
def library(tmp_path, monkeypatch, request):
    """Name of a module that is PyTorch but for the lines given."""
    name = f"faulty_{abs(hash(request.node.name))}"
    monkeypatch.syspath_prepend(tmp_path)

    def write(fault: str) -> str:
        (tmp_path / f"{name}.py").write_text(FAULTY + fault, encoding="utf-8")
        return name

    return write


def run(library: str, column: str, name: str) -> columns.Tally:
    return columns.run(columns.COLUMNS[column], name, Library(library), {"float32"}, 1)


@pytest.mark.parametrize("cause", FAULTS)
def test_wrong_result_is_found_and_named(library, cause):
    tally = run(library(FAULTS[cause]), "forward", "add")
    assert tally.status == "fail"
    assert cause in tally.causes


def test_missing_function_is_named(library):
    name = library(
        "def __getattr__(name):\n    if name == 'add': raise AttributeError(name)\n    return getattr(torch, name)"
    )
    assert list(run(name, "forward", "add").causes) == [f"missing: {name} has no attribute 'add'"]


def test_wrong_gradient_is_found(library):
    fault = """
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.exp()
    @staticmethod
    def backward(ctx, grad): return grad
def exp(x): return Wrong.apply(x)
"""
    name = library(fault)
    assert run(name, "forward", "exp").status == "pass"
    assert list(run(name, "gradient", "exp").causes) == ["values differ"]


def test_infinities_that_rest_on_a_rounding_error_alone_are_not_judged(library):
    case = columns.Case(Library("torch"), columns.entries.by_name()["cov"][0], "float64")
    compare = case.comparison().where_settled
    expected = torch.tensor([1.0, torch.inf, torch.inf], dtype=torch.float64)
    others = [expected, torch.tensor([1.0, -torch.inf, torch.inf], dtype=torch.float64)]
    compare(expected, torch.tensor([1.0, -torch.inf, torch.inf], dtype=torch.float64), others)
    for wrong in ([1.0, torch.inf, -torch.inf], [2.0, torch.inf, torch.inf]):
        with pytest.raises(columns.Mismatch, match="values differ"):
            compare(expected, torch.tensor(wrong, dtype=torch.float64), others)


def test_accepting_a_wrong_call_is_found(library):
    tally = run(library("def cat(*args, **kwargs): return None"), "errors", "cat")
    assert any(cause.startswith("no error instead of") for cause in tally.causes)


def test_hang_costs_its_column_only(library):
    name = library("def exp(*args, **kwargs): time.sleep(60)")
    with workers.Pool(workers.Plan(name, limit=2.0)) as pool:
        results = pool.run({"exp": ["forward"], "add": ["forward"]})
    assert results["exp"]["forward"]["causes"] == {"more than 2 s": "more than 2 s"}
    assert results["add"]["forward"]["status"] == "pass"


def test_crash_costs_its_column_only(library):
    name = library("def exp(*args, **kwargs): os._exit(3)")
    with workers.Pool(workers.Plan(name)) as pool:
        results = pool.run({"exp": ["forward", "method"]})
    assert results["exp"]["forward"]["causes"] == {"the process ended with code 3": "the process ended with code 3"}
    assert results["exp"]["method"]["status"] == "pass"


def test_a_library_that_starts_threads_is_run_on_one(library):
    count = "raise ZeroDivisionError(f'{torch.get_num_threads()} threads')"
    name = library(f"torch.set_num_threads(2)\ndef exp(*args, **kwargs): {count}")
    with workers.Pool(workers.Plan(name)) as pool:
        (cause,) = pool.run({"exp": ["forward"]})["exp"]["forward"]["causes"].values()
    assert "1 threads" in cause


def test_library_that_cannot_be_imported_is_the_cause(library):
    with workers.Pool(workers.Plan(library("raise ImportError('broken')"))) as pool:
        (cause,) = pool.run({"exp": ["forward"]})["exp"]["forward"]["causes"]
    assert "ImportError: broken" in cause


def test_translation_keeps_geometry_sharing_and_identity():
    base = torch.arange(12.0).reshape(3, 4)
    view, same = base.t()[1:], base[0]
    translator = Translator(Library("torch"))
    first, second, third = translator([view, same, view])
    assert first is third
    assert (first.shape, first.stride(), first.storage_offset()) == (view.shape, view.stride(), 1)
    second.add_(100)
    assert first[0, 0] == view[0, 0] + 100
    assert base[0, 0] == 0


@pytest.mark.parametrize(("found", "passes"), [(13.64, True), (torch.inf, True), (14.0, False), (torch.nan, False)])
def test_where_pytorch_overflows_the_exact_value_passes_as_well(found, passes):
    from harness import entries
    from harness.compare import Comparison, Mismatch

    compare = Comparison(Library("torch"), entries.by_name()["nn.functional.soft_margin_loss"][0])
    half = torch.float16
    arguments = torch.tensor(torch.inf, dtype=half), torch.tensor(found, dtype=half), lambda: torch.tensor(13.6404)
    if passes:
        compare(*arguments)
    else:
        with pytest.raises(Mismatch, match="values differ"):
            compare(*arguments)


def test_seeds_draw_different_samples():
    from harness import entries

    (entry,) = entries.by_name()["exp"]
    draws = [next(entries.samples(entry, "float32", False, seed)).input for seed in (0, 0, 1)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
