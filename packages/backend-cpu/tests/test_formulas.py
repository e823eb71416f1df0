"""An op that is declared with a formula has a compiled kernel, without a word of the backend's."""

import numpy as np
import pytest

import weft
from weft import Tensor
from weft.backend import destination
from weft.backend_cpu import compiled, libraries
from weft.backend_cpu.registry import MIN_SIZE_FUSED
from weft.library import op, pointwise
from weft.library.formulas import Formula, exp, formula_of, minimum, where

pytestmark = pytest.mark.skipif(compiled not in libraries.available() or not compiled.has_numba(), reason="needs Numba")


def large(generic, name, dtype=weft.float32):
    """The compiled kernel of an op, in the place of a generic one."""
    kernel = libraries.kernel(name, dtype, generic)
    return kernel.large


@pytest.fixture(scope="module")
def soft_cap():
    @op(
        "soft_cap",
        "soft_cap_",
        result="same",
        dtypes="float",
        compute_dtype="float32",
        vmap="elementwise",
        namespace="own",
    )
    def soft_cap(input: Tensor, cap: float, side: str = "both") -> Tensor:
        """``input``, of which what is beyond a cap counts less and less, and is 1 at most."""
        return soft_cap.op(input, float(cap), side)

    @soft_cap.formula
    def _(input, cap, side):
        above = where(input > cap, cap + 1 - exp(minimum(cap - input, 0)), input)
        if side == "above":
            return above
        return where(input < -cap, exp(minimum(cap + input, 0)) - (cap + 1), above)

    return soft_cap


def called(*args):
    raise AssertionError("the generic kernel ran")


@pytest.mark.parametrize("side", ["above", "both"])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.bfloat16], ids=str)
def test_an_op_declared_here_runs_compiled_and_has_numpys_result(soft_cap, dtype, side):
    weft.exp(weft.ones(1 << 14))  # which imports Numba
    kernel = large(called, "own::soft_cap", dtype)
    x = weft.linspace(-5, 5, 12_000).to(dtype)
    found = weft.backend.tensor_from_array(kernel(x._array, 1.5, side))
    wide = x.double().numpy()
    expected = formula_of("own::soft_cap")(np, wide, 1.5, side)
    weft.testing.assert_close(found, weft.tensor(expected).to(dtype))
    weft.testing.assert_close(soft_cap(x, 1.5, side), found, rtol=0, atol=0)


def test_every_layout_is_compiled(soft_cap):
    kernel = large(called, "own::soft_cap")
    x = np.linspace(-5, 5, 60_000, dtype=np.float32).reshape(3, 10, 20, 100)
    expected = kernel(x, 1.5, "both")
    for turn in ((3, 2, 1, 0), (0, 3, 1, 2)):
        turned = x.transpose(turn).copy().transpose(np.argsort(turn))
        found = kernel(turned, 1.5, "both")
        assert found.strides == turned.strides
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(kernel(x[..., ::2], 1.5, "both"), expected[..., ::2])


def test_small_arrays_stay_with_the_generic_kernel(soft_cap):
    if not MIN_SIZE_FUSED:
        pytest.skip("all sizes are compiled")
    kernel = libraries.kernel("own::soft_cap", weft.float32, lambda *args: "generic")
    assert kernel(np.zeros(MIN_SIZE_FUSED - 1, np.float32), 1.5, "both") == "generic"


def test_in_place_it_writes_into_the_tensor(soft_cap):
    x = weft.linspace(-5, 5, 12_000)
    expected, place = soft_cap(x, 1.5), x.data_ptr()
    assert x.soft_cap_(1.5) is x
    assert x.data_ptr() == place
    assert weft.equal(x, expected)
    assert destination.array is None


def test_arrays_of_several_shapes_are_broadcast():
    @pointwise(result="float", dtypes="int float", formula=True, gradient=None, namespace="own")
    def damped(input, other):
        """``input * exp(-|other|)``."""
        return input * exp(-abs(other))

    kernel = large(called, "own::damped")
    x, row = np.linspace(-3, 3, 40_000, dtype=np.float32).reshape(200, 200), np.linspace(0, 1, 200, dtype=np.float32)
    for other in (x, row, row[:, None], 0.5):
        expected = formula_of("own::damped")(np, x, other)
        np.testing.assert_allclose(kernel(x, other), expected, rtol=1e-6)
        np.testing.assert_allclose(damped(weft.tensor(x), weft.as_tensor(other)).numpy(), expected, rtol=1e-6)


def test_more_arrays_than_a_loop_takes_stay_with_the_generic_kernel():
    from weft.backend_cpu.compiled.kernels.formulas import formula_kernel

    sums = Formula("own::sums", lambda a, b, c, d: a + b + c + d, ["a", "b", "c", "d"], [], broadcasts=False)
    kernel = formula_kernel(sums).make(lambda *args: "generic")
    x = np.zeros(1 << 14, np.float32)
    assert kernel(x, x, x, x) == "generic"


def test_integers_stay_with_the_generic_kernel():
    assert libraries.kernel("core::relu", weft.int32, called) is None
