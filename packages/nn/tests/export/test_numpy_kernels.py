"""Kernels stand alone: the source of each declared op's kernel, without weft, computes what the op computes."""

from __future__ import annotations

import types

import numpy
import pytest

import weft
from weft.export._kernel_sources import KernelSources, NotStandalone
from weft.export._numpy_kernels import DRAWS, Array, NumpyKernels
from weft.library import Interceptor
from weft.ops._registry import registry
from weft.testing._samples import function_of, sample_inputs, sample_names

# Memory that nobody has written to.
EMPTY = ("core::empty", "core::empty_like", "core::empty_strided", "core::new_empty", "core::new_empty_strided")
# Begins at random, and is an iteration over tensors.
NOT_STANDALONE = {"core::linalg_lobpcg"}
READS = {"core::item", "core::numpy", "core::tolist", "core::require_between"}
OWN = ("core::", "nn::", "vision::")  # others may have declared ops in this process


class Calls(Interceptor):
    """Keeps the calls of ops, as arrays, with their results."""

    def __init__(self):
        self.found = []

    def after(self, op, args, result):
        if not op.name.endswith("_") and op.name not in EMPTY:
            self.found.append((op, {name: noted(value) for name, value in args.items()}, noted(result)))


def noted(value):
    if isinstance(value, weft.Tensor):
        return weft.resolve_conj(value).detach().numpy().copy()
    if type(value) in (tuple, list):
        return type(value)([noted(each) for each in value])
    return value


def calls(dtype, names):
    """Calls of ops in the samples of functions, as far as these take the dtype."""
    found = []
    for name in names:
        with Calls() as seen:
            try:
                for args, kwargs in sample_inputs(name, dtype):
                    function_of(name)(*args, **kwargs)
            except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError):
                pass
        found += seen.found
    return found


def as_arrays(value, given):
    """The argument with `Array` in the place of arrays, which are collected."""
    if isinstance(value, numpy.ndarray):
        given.append(value)
        return Array(f"given[{len(given) - 1}]", weft.from_numpy(value).dtype, value.ndim)
    if type(value) in (tuple, list):
        return type(value)([as_arrays(each, given) for each in value])
    return value


def assert_same(name, found, expected):
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected), name
        for one, other in zip(found, expected):
            assert_same(name, one, other)
    elif isinstance(expected, numpy.ndarray):
        assert numpy.asarray(found).dtype == expected.dtype, name
        tolerance = 0 if expected.dtype.kind in "iub" else 1e-5
        numpy.testing.assert_allclose(found, expected, tolerance, tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", [weft.float32, weft.int64, weft.complex64, weft.float16], ids=str)
def test_sources_of_kernels_compute_what_ops_compute(dtype):
    names = [name for name in sample_names() if "::" not in name or name.startswith(OWN)]
    if dtype is not weft.float32:
        names = [name for name in names if name.startswith("core::")]
    kernels, lines, expected, refused = NumpyKernels(KernelSources(["given"])), [], [], {}
    for op, args, result in calls(dtype, names):
        given = []
        args = {name: as_arrays(value, given) for name, value in args.items()}
        of = weft.from_numpy(result).dtype if isinstance(result, numpy.ndarray) else None
        try:
            lines.append(f"    lambda given: {kernels.call(op, args, of)},")
            expected.append((op.name, given, result))
        except NotStandalone as error:
            refused[op.name] = str(error)
    text = kernels.sources.finished("", "\n".join(["CALLS = [", *lines, "]"]))
    namespace = {}
    exec(compile(text, "<kernels>", "exec"), namespace)
    with numpy.errstate(all="ignore"):
        for call, (name, given, result) in zip(namespace["CALLS"], expected, strict=True):
            assert_same(name, call(given), result)
    assert refused.keys() <= DRAWS | READS
    least = {weft.float32: 250, weft.int64: 100, weft.complex64: 50, weft.float16: 110}
    assert len({name for name, _, _ in expected}) >= least[dtype]


def test_the_source_of_every_kernel_stands_alone():
    sample_names()  # which loads all
    sources, refused = KernelSources(), set()
    for name, declaration in registry.items():
        own = name.startswith(OWN) and isinstance(declaration.generic, types.FunctionType)
        if own and name not in DRAWS | {"core::fill"}:
            try:
                sources.kernel(declaration.generic, declaration.short)
            except NotStandalone:
                refused.add(name)
    text = sources.finished("")
    imported = {
        line.split()[1].partition(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))
    }
    assert imported <= {"builtins", "functools", "itertools", "math", "numpy", "operator", "typing", "warnings"}
    exec(compile(text, "<kernels>", "exec"), {})
    assert refused == {name for name in NOT_STANDALONE if name in registry}
