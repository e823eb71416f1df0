"""Errors say in the words that programs look for what was wrong."""

import pytest

import weft
from weft import nn

F = nn.functional


def parametrized(forward):
    kind = type("Map", (nn.Module,), {"forward": forward})
    return nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", kind())


@pytest.mark.parametrize(
    ("error", "call", "message"),
    [
        (TypeError, lambda: nn.Module().register_buffer(1, None), "buffer name should be a string. Got int"),
        (TypeError, lambda: nn.Module().register_parameter(None, None), "name should be a string. Got NoneType"),
        (TypeError, lambda: nn.Module().add_module(1, None), "module name should be a string. Got int"),
        (RuntimeError, lambda: nn.Linear(1, 1)(weft.ones(())), "both arguments to linear need to be at least 1D"),
        (ValueError, lambda: nn.Bilinear(0, 1, 1), "in1_features must be > 0"),
        (
            RuntimeError,
            lambda: F.fold(weft.randn(1, 12, 12), (4, 5), 2, dilation=8),
            r"calculated shape of the array of sliding blocks as \[-4, -3\], which is too small",
        ),
        (TypeError, lambda: F.interpolate(weft.ones(1, 1, 2), size=(2.0,)), "expected size to be one of int or Tuple"),
        (TypeError, lambda: F.interpolate(weft.ones(1, 1, 2), size=weft.tensor(2.0)), "expected size to be one of int"),
        (
            RuntimeError,
            lambda: F.multi_margin_loss(weft.ones(10, 0), weft.ones(10).long()),
            r"Expected non-empty vector or matrix with optional 0-dim batch size, but got: \[10, 0\]",
        ),
        (
            RuntimeError,
            lambda: F.multilabel_margin_loss(weft.ones(0), weft.ones(10).long()),
            "Expected non-empty vector or matrix",
        ),
        (
            RuntimeError,
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 4, [2])(weft.ones(2, 4), weft.tensor([0, 1, 1])),
            "Input and target should have the same size in the batch dimension",
        ),
        (
            RuntimeError,
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 4, [2])(weft.ones(1, 4), weft.tensor([4])),
            r"Target values should be in \[0, 3\]",
        ),
        (AssertionError, lambda: nn.MultiheadAttention(10, 3), "embed_dim must be divisible by num_heads"),
        (ValueError, lambda: nn.init.calculate_gain("x"), "Unsupported nonlinearity"),
        (ValueError, lambda: nn.init.dirac_(weft.ones(3, 1, 1), 2), "dim 0 must be divisible by groups"),
        (
            RuntimeError,
            lambda: nn.utils.rnn.pack_padded_sequence(weft.ones(3, 2), [3, 0]),
            "Length of all samples has to be greater than 0",
        ),
        (RuntimeError, lambda: nn.utils.rnn.pad_sequence(7), "Expected iterable for input sequences"),
        (ValueError, lambda: parametrized(lambda self, x: x[:1]), "may not change the shape of the tensor"),
        (ValueError, lambda: parametrized(lambda self, x: x.double()), "may not change the dtype of the tensor"),
        (ValueError, lambda: parametrized(lambda self, x: 1), "A parametrization must return a tensor. Got int"),
        (RuntimeError, lambda: setattr(parametrized(lambda self, x: -x), "weight", weft.ones(2, 2)), "not implement"),
        (
            RuntimeError,
            lambda: weft.func.functional_call(nn.Linear(1, 1), {"x": weft.ones(1)}, weft.ones(1), strict=True),
            r"Unexpected key\(s\): 'x'\.\s+Missing key\(s\): 'bias', 'weight'\.",
        ),
        (
            TypeError,
            lambda: weft.func.functional_call(nn.Linear(1, 1), {"weight": 5}, weft.ones(1)),
            r"5 is not an instance of torch\.Tensor",
        ),
    ],
)
def test_the_words_of_an_error(error, call, message):
    with pytest.raises(error, match=message):
        call()


def test_what_a_hook_of_the_last_operation_misses_is_said():
    class Twice(nn.Module):
        def forward(self, a):
            return a * 2 + 1

    module = Twice()
    module.register_backward_hook(lambda *args: None)
    with pytest.warns(FutureWarning, match="hook when the forward contains multiple autograd Nodes .* some grad_input"):
        module(weft.ones(1, requires_grad=True).clone())
