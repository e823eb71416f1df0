"""Loss modules: that each hands its options to the right formula."""

import math

import numpy as np
import pytest

import weft
from weft import nn

A, B = np.array([[1.0, -2.0, 0.5], [0.3, 3.0, -1.0]]), np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 1.0]])
ABS = np.abs(A - B)


def softplus(x):
    return np.log1p(np.exp(x))


def log_softmax(x):
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


ELEMENTWISE = [
    (lambda **o: nn.L1Loss(**o), ABS),
    (lambda **o: nn.MSELoss(**o), ABS**2),
    (lambda **o: nn.SmoothL1Loss(beta=2.0, **o), np.where(ABS < 2, ABS**2 / 4, ABS - 1)),
    (lambda **o: nn.HuberLoss(delta=2.0, **o), np.where(ABS < 2, ABS**2 / 2, 2 * (ABS - 1))),
    (lambda **o: nn.PoissonNLLLoss(**o), np.exp(A) - B * A),
    (lambda **o: nn.BCEWithLogitsLoss(**o), softplus(A) - B * A),
    (lambda **o: nn.SoftMarginLoss(**o), softplus(-A * B)),
    (lambda **o: nn.KLDivLoss(log_target=True, **o), np.exp(B) * (B - A)),
]


@pytest.mark.parametrize(("make", "expected"), ELEMENTWISE)
@pytest.mark.parametrize(("reduction", "reduce"), [("none", lambda values: values), ("sum", np.sum), ("mean", np.mean)])
@pytest.mark.filterwarnings("ignore:.*batchmean")
def test_elementwise_losses_are_their_formulas(make, expected, reduction, reduce):
    loss = make(reduction=reduction)(weft.tensor(A), weft.tensor(B))
    np.testing.assert_allclose(loss.numpy(), reduce(expected), rtol=1e-6)


def test_cross_entropy_weighs_ignores_and_smooths():
    log_probabilities = log_softmax(A)
    target, weight = weft.tensor([2, 0]), weft.tensor([1.0, 2.0, 3.0], dtype=weft.float64)
    weighted = nn.CrossEntropyLoss(weight=weight)(weft.tensor(A), target).item()
    expected = -(3 * log_probabilities[0, 2] + log_probabilities[1, 0]) / 4
    assert weighted == pytest.approx(expected)
    assert nn.CrossEntropyLoss(ignore_index=2)(weft.tensor(A), target).item() == pytest.approx(-log_probabilities[1, 0])
    smoothed = nn.CrossEntropyLoss(label_smoothing=0.3)(weft.tensor(A), target).item()
    picked = (log_probabilities[0, 2] + log_probabilities[1, 0]) / 2
    assert smoothed == pytest.approx(-(0.7 * picked + 0.3 * log_probabilities.mean()))


def test_cross_entropy_takes_probabilities():
    probabilities = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    loss = nn.CrossEntropyLoss()(weft.tensor(A), weft.tensor(probabilities))
    assert loss.item() == pytest.approx(-(probabilities * log_softmax(A)).sum() / 2)


def test_nll_picks_the_target():
    loss = nn.NLLLoss(reduction="none")(weft.tensor(A), weft.tensor([2, 0]))
    assert loss.tolist() == [-0.5, -0.3]


def test_bce_of_probabilities():
    loss = nn.BCELoss()(weft.tensor([0.25, 1.0]), weft.tensor([1.0, 1.0]))
    assert loss.item() == pytest.approx(math.log(4) / 2, rel=1e-5)


def test_positive_weight_counts_positives_more():
    loss = nn.BCEWithLogitsLoss(pos_weight=weft.tensor([3.0]))
    assert loss(weft.zeros(1), weft.ones(1)).item() == pytest.approx(3 * math.log(2), rel=1e-5)


def test_gaussian_nll():
    loss = nn.GaussianNLLLoss(full=True)(weft.tensor([1.0]), weft.tensor([3.0]), weft.tensor([2.0]))
    assert loss.item() == pytest.approx(0.5 * (math.log(2) + 4 / 2 + math.log(2 * math.pi)), rel=1e-5)


def test_margin_losses():
    x, y = weft.tensor([0.5, 0.2]), weft.tensor([1.0, -1.0])
    assert nn.HingeEmbeddingLoss(margin=1.0)(x, y).item() == pytest.approx((0.5 + 0.8) / 2)
    assert nn.MarginRankingLoss(margin=0.1)(x, x.flip(0), y).item() == pytest.approx((0 + 0) / 2)
    scores = weft.tensor([[0.1, 0.2, 0.4, 0.8]])
    assert nn.MultiMarginLoss()(scores, weft.tensor([3])).item() == pytest.approx((0.3 + 0.4 + 0.6) / 4, rel=1e-5)
    assert nn.MultiLabelMarginLoss()(scores, weft.tensor([[3, 0, -1, 1]])).item() == pytest.approx(0.85, rel=1e-5)


def test_cosine_embedding():
    x, y = weft.tensor([[1.0, 0.0], [1.0, 0.0]]), weft.tensor([[0.0, 1.0], [1.0, 0.0]])
    loss = nn.CosineEmbeddingLoss(margin=0.25, reduction="none")(x, y, weft.tensor([1, -1]))
    np.testing.assert_allclose(loss.numpy(), [1.0, 0.75], rtol=1e-5)


def test_triplet_losses():
    anchor, positive, negative = weft.tensor([[0.0, 0.0]]), weft.tensor([[3.0, 4.0]]), weft.tensor([[0.0, 1.0]])
    assert nn.TripletMarginLoss(margin=2.0)(anchor, positive, negative).item() == pytest.approx(6.0, rel=1e-4)
    by_distance = nn.TripletMarginWithDistanceLoss(
        distance_function=lambda first, second: (first - second).abs().sum(-1), margin=2.0
    )
    assert by_distance(anchor, positive, negative).item() == pytest.approx(8.0)


def test_multilabel_soft_margin():
    loss = nn.MultiLabelSoftMarginLoss()(weft.tensor(A), weft.tensor(B))
    assert loss.item() == pytest.approx((softplus(A) - B * A).mean(), rel=1e-6)


def test_weights_move_with_the_module_but_are_no_parameters():
    loss = nn.CrossEntropyLoss(weight=weft.ones(3))
    assert list(loss.state_dict()) == ["weight"]
    assert list(loss.parameters()) == []
    assert loss.double().weight.dtype is weft.float64


@pytest.mark.parametrize(
    ("options", "reduction"),
    [({"size_average": False}, "sum"), ({"reduce": False}, "none"), ({"reduce": True}, "mean")],
    ids=str,
)
def test_older_arguments_mean_a_reduction(options, reduction):
    with pytest.warns(UserWarning, match=f"reduction='{reduction}'"):
        assert nn.MSELoss(**options).reduction == reduction


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.MultiMarginLoss(p=3),
        lambda: nn.MultiMarginLoss(weight=weft.ones(2, 2)),
        lambda: nn.TripletMarginLoss(margin=0),
        lambda: nn.TripletMarginWithDistanceLoss(margin=-1),
    ],
)
def test_wrong_options_are_refused(make):
    with pytest.raises(ValueError):
        make()
