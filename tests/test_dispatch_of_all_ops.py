"""Every op under a mode of ``__torch_dispatch__``: what it is shown as computes the same, forward and backward."""

import pytest

import weft
from weft.testing import _core_samples as _core_samples
from weft.testing import assert_close
from weft.testing._samples import function_of, sample_inputs, sample_names
from weft.utils._python_dispatch import TorchDispatchMode
from weft.utils._pytree import tree_leaves, tree_map_only


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def tensors(tree):
    return [each for each in tree_leaves(tree) if isinstance(each, weft.Tensor)]


def run(function, args, kwargs):
    """The results, and the gradients of what they sum to."""
    weft.manual_seed(0)
    inputs = tree_map_only(
        weft.Tensor, lambda each: each.detach().clone().requires_grad_(each.is_floating_point()), (args, kwargs)
    )
    found = tensors(function(*inputs[0], **inputs[1]))
    results = [each for each in found if each.requires_grad and each.is_floating_point()]
    leaves = [each for each in tensors(inputs) if each.requires_grad]
    grads = []
    if results and leaves:
        grads = weft.autograd.grad([each.sum() for each in results], leaves, allow_unused=True)
    return [*(each.detach() for each in found), *(each for each in grads if each is not None)]


@pytest.mark.parametrize("name", sample_names())
def test_an_op_computes_the_same_under_a_mode(name):
    function = function_of(name)
    for args, kwargs in list(sample_inputs(name, weft.float32))[:4]:
        try:
            expected = run(function, args, kwargs)
        except (RuntimeError, TypeError, NotImplementedError, ValueError, IndexError):
            continue  # not of this dtype, or without a gradient
        with Passing():
            found = run(function, args, kwargs)
        assert_close(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
