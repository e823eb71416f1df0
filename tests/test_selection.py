"""Which cases of a long list a run takes."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import selection

NAMES = [f"op{number}" for number in range(400)]


def no_modules(name: str) -> set[str]:
    return set()


def test_parts_are_disjoint_and_together_the_whole() -> None:
    parts = [selection.chosen(NAMES, f"{part}/7", no_modules) for part in range(7)]
    assert sorted(name for part in parts for name in part) == sorted(NAMES)


def test_changed_takes_the_same_names_whatever_else_there_is_when_nothing_changed(monkeypatch) -> None:
    monkeypatch.setattr(selection, "changed_modules", frozenset)
    chosen = selection.chosen(NAMES, "changed", no_modules)
    assert chosen == selection.chosen(reversed(NAMES), "changed", no_modules)
    assert len(chosen) == len(NAMES) // selection.FIXED + 1


def test_changed_takes_the_names_of_a_changed_module(monkeypatch) -> None:
    monkeypatch.setattr(selection, "changed_modules", lambda: frozenset({"weft.ops.sorting"}))
    of_sorting = {"op7", "op77", "op177"}
    chosen = selection.chosen(NAMES, "changed", lambda name: {"weft.ops.sorting"} if name in of_sorting else set())
    assert of_sorting <= set(chosen)


def test_a_change_of_everything_does_not_take_everything(monkeypatch) -> None:
    monkeypatch.setattr(selection, "changed_modules", lambda: frozenset({"weft.ops.pointwise"}))
    chosen = selection.chosen(NAMES, "changed", lambda name: {"weft.ops.pointwise"})
    assert len(NAMES) // selection.MOST < len(chosen) < len(NAMES) // 4


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("sort", "weft.ops.sorting"),
        ("nn.functional.conv2d", "weft.nn.functional.convolution"),
        ("nn.functional.hinge_embedding_loss", "weft.nn.functional.loss"),
        ("index_put", "weft.ops.indexing"),
    ],
)
def test_a_function_is_found_in_the_module_that_it_is_written_in(name, module) -> None:
    assert module in selection.modules_of_function(name)


def test_a_module_of_kernels_stands_for_the_modules_of_its_ops() -> None:
    assert "weft.ops.sorting" in selection.served("weft.backend_cpu.compiled.kernels.sorting")
    assert "weft.nn.functional.convolution" in selection.served("weft.backend_cpu.onednn.convolution")
    assert selection.served("weft.nn.module") == set()


def test_the_sources_of_a_checkout_are_named_as_modules() -> None:
    assert selection.module_of("packages/core/src/weft/ops/sorting.py") == "weft.ops.sorting"
    assert selection.module_of("packages/nn/src/weft/nn/__init__.py") == "weft.nn"
