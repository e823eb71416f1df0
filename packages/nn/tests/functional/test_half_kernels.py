"""Half-precision tensors reach an op's kernel of half precision: no function converts them before."""

import pytest

import weft
from weft.backend import invalidate_kernels
from weft.nn import functional as F
from weft.plugins import backend


@pytest.fixture
def taken(monkeypatch):
    """The dtypes of the arrays that ops got, by the op's name, of those whose halves are computed in float32."""
    found = {}

    def half_kernel(name, element, generic):
        def kernel(*args):
            found[name] = [each.dtype.name for each in args if hasattr(each, "dtype")]
            return generic(*args)

        return kernel

    monkeypatch.setattr(backend("cpu"), "half_kernel", half_kernel)
    invalidate_kernels()
    yield found
    monkeypatch.undo()
    invalidate_kernels()


CALLS = {
    "attention": lambda x, w: F.scaled_dot_product_attention(x, x, x),
    "cross_entropy": lambda x, w: F.cross_entropy(x[0], weft.tensor([0, 1, 2])),
    "layer_norm": lambda x, w: F.layer_norm(x, (3,), w, w),
    "rms_norm": lambda x, w: F.rms_norm(x, (3,), w),
    "group_norm": lambda x, w: F.group_norm(x, 3, w, w),
    "batch_norm_training": lambda x, w: F.batch_norm(x, None, None, w, w, training=True),
    "conv1d": lambda x, w: F.conv1d(x, x[:, :, :1]),
}
PARAMETERS = ("layer_norm", "rms_norm", "group_norm", "batch_norm_training")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16], ids=str)
def test_an_op_and_its_gradient_get_half_arrays(taken, name, dtype):
    x, weight = weft.randn(2, 3, 3, dtype=dtype, requires_grad=True), weft.ones(3, dtype=dtype)
    CALLS[name](x, weight).sum().backward()
    assert set(taken[f"nn::{name}"]) <= {dtype.name, "int64"}
    gradient = next(
        each for each in taken if each.startswith(f"nn::{name.removesuffix('_training')}") and "grad" in each
    )
    assert taken[gradient][:2] == [dtype.name] * 2


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_parameters_in_float32_have_gradients_in_float32(taken, name, create_graph):
    x, weight = weft.randn(2, 3, 3, dtype=weft.bfloat16, requires_grad=True), weft.rand(3, requires_grad=True)
    result = CALLS[name](x, weight)
    assert result.dtype is weft.bfloat16
    assert taken[f"nn::{name}"][:2] == ["bfloat16", "float32"]
    grads = weft.autograd.grad(result.float().square().sum(), (x, weight), create_graph=create_graph)
    assert [each.dtype for each in grads] == [weft.bfloat16, weft.float32]


@pytest.mark.parametrize("name", ["cross_entropy", "rms_norm", "group_norm"])
def test_the_gradient_is_rounded_once_and_its_statistics_never(name):
    wide, grads = weft.randn(2, 3, 3).bfloat16(), []
    for dtype in (weft.bfloat16, weft.float32):
        x = wide.to(dtype).detach().requires_grad_()
        result = CALLS[name](x, weft.ones(3, dtype=dtype))
        grads += weft.autograd.grad((result * 3).sum(), x)
    assert weft.equal(grads[0], grads[1].bfloat16())
