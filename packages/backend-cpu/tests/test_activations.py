"""Compiled activation functions and their gradients give what NumPy's kernels give, in the layout of their input."""

import numpy as np
import pytest

import weft
import weft.nn
from weft.backend_cpu import compiled, libraries
from weft.library.formulas import formula_of
from weft.ops._registry import registry

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

NUMBERS = {
    "nn::threshold": (0.1, 2.0),
    "core::threshold_backward": (0.1,),
    "nn::hardtanh": (-1, 1),
    "nn::leaky_relu": (0.2,),
    "nn::shrink_backward": (0.5,),
    "nn::elu": (1.5, 1.25, 0.5),
    "nn::softplus": (2.0, 3.0),
    "nn::gelu": ("tanh",),
}
FORMULAS = {name: formula for name in registry if (formula := formula_of(name)) is not None and name != "nn::shrink"}
NAMES = [name for name, formula in FORMULAS.items() if formula.count == 1 or not formula.broadcasts]
CASES = [(name, NUMBERS.get(name, NUMBERS.get(name.removesuffix("_backward"), ()))) for name in NAMES]
CASES += [
    ("nn::shrink", (0.5, True)),
    ("nn::shrink", (0.5, False)),
    ("nn::gelu", ("none",)),
    ("nn::gelu_backward", ("none",)),
]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 100.0, -100.0, 3.0, -3.0, 0.5, -0.5]


def kernels(name, element):
    """NumPy's kernel of an op, and the compiled one."""
    declaration = registry[name]
    generic = getattr(np, declaration.generic) if isinstance(declaration.generic, str) else None
    generic = generic or (lambda *args: declaration.generic(np, *args))
    return generic, libraries.kernel(name, element, generic)


def operands(name, dtype, shape=(7, 3, 5, 4)):
    random = np.random.default_rng(1)
    input = random.normal(size=shape) * 2
    if not name.startswith("core::t") and not name.startswith("core::s"):  # those get results between -1 and 1
        input.flat[: len(SPECIAL)] = SPECIAL
    grad = [random.normal(size=shape)] if name.endswith("_backward") else []
    return [each.astype(dtype) for each in (*grad, input)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "numbers"), CASES, ids=str)
def test_an_activation_is_numpys(name, numbers, dtype):
    generic, compiled_kernel = kernels(name, getattr(weft, dtype))
    arrays = operands(name, dtype)
    with np.errstate(all="ignore"):
        exact = generic(*[each.astype(float) for each in arrays], *numbers)
        one_of_each = generic(*arrays, *numbers)
        found = compiled_kernel.large(*arrays, *numbers)
    assert found.dtype == dtype
    tolerance = {"rtol": 2e-6, "atol": 2e-6} if dtype == "float32" else {"rtol": 1e-13, "atol": 1e-13}
    finite = np.isfinite(one_of_each)
    np.testing.assert_allclose(found[finite], exact[finite], **tolerance)
    plain = np.isfinite(arrays[-1])
    np.testing.assert_array_equal(found[~finite & plain], one_of_each[~finite & plain])


@pytest.mark.parametrize("name", ["nn::gelu", "nn::silu_backward"])
def test_the_layout_of_the_input_stays(name):
    _, kernel = kernels(name, weft.float32)
    arrays = [each.transpose(0, 3, 1, 2) for each in operands(name, "float32")]
    numbers = ("none",) if name == "nn::gelu" else ()
    found = kernel.large(*arrays, *numbers)
    assert found.strides == arrays[-1].strides
    plain = kernel.large(*[np.ascontiguousarray(each) for each in arrays], *numbers)
    np.testing.assert_array_equal(found, plain)


def test_strided_and_empty_inputs_are_taken():
    generic, kernel = kernels("nn::silu", weft.float32)
    array = np.linspace(-3, 3, 40, dtype=np.float32)[::3]
    np.testing.assert_allclose(kernel.large(array), generic(array), rtol=1e-6)
    assert kernel.large(np.empty((0, 3), np.float32)).shape == (0, 3)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_glu_is_numpys_along_each_dimension(dim):
    shape = (4, 6, 8)
    arrays = operands("core::s", "float32", shape)
    generic, kernel = kernels("nn::glu", weft.float32)
    exact = generic(*arrays, dim)
    np.testing.assert_allclose(kernel.large(*arrays, dim), exact, rtol=1e-6, atol=1e-6)
    generic, kernel = kernels("nn::glu_backward", weft.float32)
    np.testing.assert_allclose(kernel.large(exact, *arrays, dim), generic(exact, *arrays, dim), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 3, 1, 1)])
def test_prelu_takes_one_slope_or_one_for_each_channel(shape):
    grad, input = operands("nn::prelu_backward", "float32")
    weight = np.linspace(0.1, 0.5, np.prod(shape), dtype="float32").reshape(shape)
    for name, arrays in (("nn::prelu", (input, weight)), ("nn::prelu_backward", (grad, input, weight))):
        generic, compiled_kernel = kernels(name, weft.float32)
        for each in (arrays, [array.transpose(0, 2, 3, 1) for array in arrays]):
            np.testing.assert_array_equal(compiled_kernel.large(*each), generic(*each))
