"""Dropout's masks are PyTorch's, and it does nothing in evaluation."""

import pytest

import weft
from weft.nn import functional as F


def test_dropout_draws_pytorchs_mask():
    weft.manual_seed(0)
    kept = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1]  # observed in PyTorch
    assert F.dropout(weft.ones(12), 0.3).tolist() == pytest.approx([each / 0.7 for each in kept])


def test_dropout2d_drops_pytorchs_channels():
    weft.manual_seed(0)
    result = F.dropout2d(weft.ones(2, 4, 1, 2), 0.5)
    assert result[:, :, 0, 0].tolist() == [[0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 2.0, 2.0]]
    assert weft.equal(result[..., 0], result[..., 1])


def test_alpha_dropout_has_pytorchs_values():
    weft.manual_seed(0)
    expected = [-0.910642, -0.910642, 1.470377, -0.910642, -0.910642, -0.910642]
    assert F.alpha_dropout(weft.ones(6), 0.4, True).tolist() == pytest.approx(expected, abs=1e-6)


def test_alpha_dropout_keeps_mean_and_variance():
    weft.manual_seed(1)
    result = F.alpha_dropout(weft.randn(200_000), 0.3, True)
    assert float(result.mean()) == pytest.approx(0.0, abs=0.02)
    assert float(result.var()) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("function", "ndim"),
    [
        (F.dropout, 1),
        (F.dropout1d, 3),
        (F.dropout2d, 4),
        (F.dropout3d, 5),
        (F.alpha_dropout, 1),
        (F.feature_alpha_dropout, 2),
    ],
)
def test_dropout_is_identity_in_evaluation(function, ndim):
    x = weft.ones([2] * ndim)
    assert function(x, 0.5, False) is x


def test_the_gradient_is_the_mask():
    x = weft.ones(50, requires_grad=True)
    result = F.dropout(x, 0.5)
    result.sum().backward()
    assert weft.equal(x.grad, result.detach())


def test_dropout_of_everything_is_zero():
    assert F.dropout(weft.ones(3), 1.0).tolist() == [0.0, 0.0, 0.0]


def test_inplace_dropout_writes_into_its_input():
    x = weft.ones(20)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert 0.0 in x.tolist()


def test_a_probability_above_1_is_refused():
    with pytest.raises(ValueError, match=r"dropout.*1\.5"):
        F.dropout(weft.ones(2), 1.5)
