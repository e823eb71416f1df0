"""AdaptiveLogSoftmaxWithLoss."""

import numpy as np
import pytest

import weft
from weft import nn


def layer():
    return nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10], div_value=2.0, head_bias=True)


def test_probabilities_of_all_classes_sum_to_one():
    log_probabilities = layer().log_prob(weft.randn(4, 16))
    assert log_probabilities.shape == (4, 20)
    np.testing.assert_allclose(log_probabilities.exp().sum(1).detach().numpy(), np.ones(4), rtol=1e-5)


def test_the_output_is_the_log_probability_of_the_target():
    model, input, target = layer(), weft.randn(6, 16), weft.tensor([1, 6, 15, 3, 19, 9])
    output, loss = model(input, target)
    expected = model.log_prob(input).gather(1, target.unsqueeze(1)).squeeze(1)
    np.testing.assert_allclose(output.detach().numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert loss.item() == pytest.approx(-output.mean().item())
    assert model(input[0], target[0]).output.item() == pytest.approx(output[0].item(), rel=1e-4)


def test_predict_is_the_likeliest_class():
    model, input = layer(), weft.randn(6, 16)
    assert model.predict(input).tolist() == model.log_prob(input).argmax(1).tolist()


@pytest.mark.parametrize("cutoffs", [[], [5, 5], [10, 5], [0, 5], [20]], ids=str)
def test_cutoffs_are_checked(cutoffs):
    with pytest.raises(ValueError, match="cutoffs"):
        nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs)


@pytest.mark.parametrize("target", [[1, 2, 20, 0], [-1, 0, 0, 0], [1, 2]], ids=str)
def test_targets_are_checked(target):
    with pytest.raises(RuntimeError, match=r"Target values|Input and target"):
        layer()(weft.randn(4, 16), weft.tensor(target))
