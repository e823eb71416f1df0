"""Kernels register once, for ops that exist, and the table made from that says what is registered."""

import importlib

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries, registry
from weft.backend_cpu.kernel_table import TABLE


@pytest.fixture
def registered(monkeypatch):
    """What is registered in this test, and nothing else."""
    made = {}
    monkeypatch.setattr(registry, "registered", made)
    return made


def doubled(generic):
    return lambda x: 2 * x


doubled.__module__ = "weft.backend_cpu.compiled.kernels.doubled"


def test_a_kernel_of_a_misspelt_op_is_an_error_when_it_is_loaded(registered):
    with pytest.raises(TypeError, match=r"kernels\.doubled has a kernel for 'core::ads'.*did you mean .*'core::abs'"):
        registry.register_kernel("core::exp core::ads", dtypes="float32", min_size=0)(doubled)
    assert not registered


def test_smaller_arrays_stay_with_the_generic_kernel(registered):
    registry.register_kernel("core::abs", dtypes="float32", min_size=3)(doubled)
    kernel = registered["compiled", "core::abs", "float32"].make(np.abs)
    assert kernel(np.array([-1.0, -2.0])).tolist() == [1, 2]
    assert kernel(np.array([-1.0, -2.0, -3.0])).tolist() == [-2, -4, -6]


def test_a_kernel_that_checks_sizes_itself_gets_all_arrays(registered):
    registry.register_kernel("core::abs", dtypes="float32", min_size=3, checks_size=True)(doubled)
    assert registered["compiled", "core::abs", "float32"].make(np.abs)(np.array([-1.0])).tolist() == [-2]


def test_halves_come_on_top_from_a_size_of_their_own(registered):
    registry.register_kernel("core::abs", dtypes="float32", min_size=1 << 20, halves=True, bitwise=True)(doubled)
    found = {dtype: (each.min_size, each.bitwise) for (_, _, dtype), each in registered.items()}
    least = registry.MIN_SIZE_FUSED
    assert found == {"float32": (1 << 20, True), "float16": (least, True), "bfloat16": (least, True)}


def test_a_maker_that_has_nothing_better_leaves_the_generic_kernel(registered):
    def nothing(generic):
        return None

    nothing.__module__ = doubled.__module__
    registry.register_kernel("core::abs", dtypes="float32", min_size=3)(nothing)
    assert registered["compiled", "core::abs", "float32"].make(np.abs) is None


@pytest.mark.parametrize("library", libraries.available(), ids=lambda library: library.__name__)
def test_the_table_says_what_the_modules_register(library):
    package = libraries.package_of(library)
    for module in TABLE[package]:
        importlib.import_module(f"{library.__name__}.{module}")
    made = {key[1:]: (each.min_size, each.bitwise) for key, each in registry.registered.items() if key[0] == package}
    assert made == {key: (row.min_size, row.bitwise) for key, row in libraries.rows_of(package).items()}


@pytest.mark.skipif(not libraries.has_loops() or not registry.MIN_SIZE, reason="needs Numba, and sizes that differ")
def test_no_library_is_asked_for_a_dtype_that_it_has_no_kernel_for():
    assert libraries.kernel("core::topk", weft.float32, np.sort) is not None
    assert libraries.kernel("core::topk", weft.bool, np.sort) is None
