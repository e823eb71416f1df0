"""Compiled attention and its gradients give what NumPy's kernels give, for heads in any order in memory."""

import numpy as np
import pytest

import weft
import weft.nn
from weft.backend_cpu import compiled, libraries
from weft.ops._registry import registry

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")


def generic(name):
    return np.errstate(all="ignore")(lambda *args: registry[name].generic(np, *args))


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def masked(kind, batch, heads, length, sources):
    """The mask, what dropout leaves, and whether attention is causal."""
    mask = random(batch, heads, length, sources)
    if kind == "bool":
        mask = mask > 0
        mask[0, 0, 0] = False  # a query that sees nothing
        return mask, None, False
    if kind == "of keys":
        return mask[:, :1, :1] > -1, None, False
    if kind == "added":
        return mask[0, 0], None, False
    return None, (mask > 0) * np.float32(2) if kind == "dropout" else None, kind == "causal"


@pytest.mark.parametrize("order", ["by head", "by position"])
@pytest.mark.parametrize("kind", ["none", "causal", "bool", "of keys", "added", "dropout"])
@pytest.mark.parametrize("shape", [(5, 7, 8, 4), (150, 70, 8, 4), (70, 150, 40, 70)])
def test_attention_is_numpys(shape, kind, order, monkeypatch):
    from weft.backend_cpu.compiled.kernels import attention

    monkeypatch.setattr(attention, "MIN_SIZE", 0)
    batch, heads, (length, sources, width, value_width) = 2, 3, shape

    def drawn(rows, columns):
        by_position = random(batch, rows, heads, columns).transpose(0, 2, 1, 3)
        return by_position if order == "by position" else np.ascontiguousarray(by_position)

    query, key, value = drawn(length, width), drawn(sources, width), drawn(sources, value_width)
    grad = drawn(length, value_width)
    mask, left, causal = masked(kind, batch, heads, length, sources)
    args = (query, key, value, mask, left)
    kernel = libraries.kernel("nn::attention", weft.float32, generic("nn::attention"))
    exact, sums = generic("nn::attention")(*args, 0.4, causal)
    found, found_sums = kernel(*args, 0.4, causal)
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found_sums, sums, rtol=1e-4, atol=1e-5)
    gradient = libraries.kernel("nn::attention_gradient", weft.float32, generic("nn::attention_gradient"))
    theirs = generic("nn::attention_gradient")(grad, *args, sums, 0.4, causal)
    for ours, each in zip(gradient(grad, *args, sums, 0.4, causal), theirs, strict=True):
        np.testing.assert_allclose(ours, each, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 9, 8, 8), (1, 300, 33, 5), (4, 60, 16, 16), (8, 1, 3, 4)])
def test_few_queries_read_the_keys_of_a_cache_where_they_lie(shape, dtype):
    length, sources, width, value_width = shape
    query = random(16, length, 6, width).transpose(0, 2, 1, 3).astype(dtype)
    key, value = (random(16, 6, 400, each).astype(dtype)[:, :, 7 : 7 + sources] for each in (width, value_width))
    args = (query, key, value, None, None, 0.4, False)
    kernel = libraries.kernel("nn::attention", getattr(weft, dtype), generic("nn::attention"))
    for found, exact in zip(kernel(*args), generic("nn::attention")(*args), strict=True):
        assert found.dtype == exact.dtype
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)


def test_few_queries_of_other_layouts_are_numpys():
    arrays = [random(16, 6, 1, 8), random(16, 6, 5, 8), random(16, 6, 5, 8)]
    exact = generic("nn::attention")(*arrays, None, None, 0.4, False)[0]
    kernel = libraries.kernel("nn::attention", weft.float32, generic("nn::attention"))
    for i in range(3):
        changed = [np.repeat(each, 2, -1)[..., ::2] if i == j else each for j, each in enumerate(arrays)]
        np.testing.assert_allclose(kernel(*changed, None, None, 0.4, False)[0], exact, rtol=1e-4, atol=1e-5)
