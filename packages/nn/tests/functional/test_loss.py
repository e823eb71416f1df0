"""Losses: closed forms and PyTorch's values, derivatives, wrong calls."""

import math

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F

double = weft.float64
LOGITS = [[0.2, -0.4, 0.7], [1.0, 0.3, -2.0]]


def logits():
    return weft.tensor(LOGITS, dtype=double, requires_grad=True)


def test_cross_entropy_of_equal_logits_is_the_logarithm_of_their_number():
    assert float(F.cross_entropy(weft.zeros(3, 8), weft.tensor([0, 3, 7]))) == pytest.approx(math.log(8))


def test_cross_entropy_is_the_negated_log_probability():
    target = weft.tensor([2, 0])
    rows = [math.log(sum(map(math.exp, row))) - row[c] for row, c in zip(LOGITS, (2, 0))]
    assert F.cross_entropy(logits(), target, reduction="none").tolist() == pytest.approx(rows)
    assert float(F.cross_entropy(logits(), target, reduction="sum").detach()) == pytest.approx(sum(rows))


def test_cross_entropy_takes_weights_smoothing_and_probabilities():
    target, weight = weft.tensor([2, 0]), weft.tensor([1.0, 2.0, 3.0], dtype=double)
    smooth = F.cross_entropy(logits().detach(), target, weight=weight, label_smoothing=0.1)
    assert float(smooth) == pytest.approx(0.709268, abs=1e-6)
    by_class = F.cross_entropy(logits().detach(), target)
    by_probability = F.cross_entropy(logits().detach(), F.one_hot(target, 3).double())
    assert float(by_class) == pytest.approx(float(by_probability))


def test_cross_entropy_of_pixels_is_that_of_rows():
    x, target = weft.randn(2, 5, 3, 4), weft.randint(5, (2, 3, 4))
    rows = F.cross_entropy(x.permute(0, 2, 3, 1).reshape(-1, 5), target.flatten())
    assert float(F.cross_entropy(x, target)) == pytest.approx(float(rows), rel=1e-5)


def test_ignored_classes_count_nothing():
    x = logits()
    loss = F.cross_entropy(x, weft.tensor([2, -100]))
    assert float(loss.detach()) == pytest.approx(float(F.cross_entropy(x[:1], weft.tensor([2])).detach()))
    loss.backward()
    assert x.grad[1].tolist() == [0.0, 0.0, 0.0]


def test_the_mean_over_no_sample_is_nan():
    assert F.nll_loss(weft.zeros(2, 3), weft.tensor([-100, -100])).isnan()


PYTORCHS = {
    "smooth_l1_loss": 0.215,
    "huber_loss": 0.215,
    "poisson_nll_loss": 0.584825,
    "soft_margin_loss": 0.418148,
    "hinge_embedding_loss": 1.1,
    "binary_cross_entropy_with_logits": 0.018148,
    "multilabel_soft_margin_loss": 0.018148,
}


@pytest.mark.parametrize("name", PYTORCHS)
def test_loss_of_signs_has_pytorchs_value_and_derivatives(name):
    x, loss = logits(), getattr(F, name)
    target = x.detach().sign()
    assert float(loss(x, target).detach()) == pytest.approx(PYTORCHS[name], abs=1e-6)
    assert gradcheck(lambda x: loss(x * 0.9, target), (x,))  # at 1 from its target a loss has a kink
    assert gradgradcheck(lambda x: loss(x * 0.9, target), (x,))


def test_losses_of_two_distributions_have_pytorchs_values():
    x, other = logits().detach(), weft.full((2, 3), 0.3, dtype=double)
    assert float(F.kl_div(x.log_softmax(1), other.softmax(1), reduction="batchmean")) == pytest.approx(
        0.333867, abs=1e-6
    )
    variance = weft.full((2, 1), 0.5, dtype=double)
    assert float(F.gaussian_nll_loss(x, other, variance, full=True)) == pytest.approx(1.645698, abs=1e-6)
    assert float(F.binary_cross_entropy(x.sigmoid(), other)) == pytest.approx(0.794814, abs=1e-6)


def test_margin_losses_have_pytorchs_values():
    x, other = logits().detach(), weft.full((2, 3), 0.3, dtype=double)
    assert float(F.multi_margin_loss(x, weft.tensor([2, 0]))) == pytest.approx(0.133333, abs=1e-6)
    assert float(F.multilabel_margin_loss(x, weft.tensor([[2, -1, 0], [0, 1, -1]]))) == pytest.approx(
        0.083333, abs=1e-6
    )
    assert float(F.cosine_embedding_loss(x, other, weft.tensor([1, -1]))) == pytest.approx(0.326238, abs=1e-6)
    assert float(F.triplet_margin_loss(x, other, -other)) == pytest.approx(0.935728, abs=1e-6)
    with_distance = F.triplet_margin_with_distance_loss(x, other, -other)
    assert float(with_distance) == pytest.approx(0.935728, abs=1e-6)
    assert float(F.margin_ranking_loss(x[0], x[1], weft.ones(3), 0.5)) == pytest.approx((1.3 + 1.2 + 0.0) / 3)


def test_binary_cross_entropy_is_finite_where_it_is_certain_and_wrong():
    x = weft.tensor([0.0, 1.0], requires_grad=True)
    loss = F.binary_cross_entropy(x, weft.tensor([1.0, 0.0]))
    assert float(loss.detach()) == 100.0
    loss.backward()
    assert x.grad.isfinite().all()


def test_binary_cross_entropy_with_logits_does_not_overflow():
    loss = F.binary_cross_entropy_with_logits(weft.tensor([1000.0, -1000.0]), weft.tensor([0.0, 0.0]), reduction="none")
    assert loss.tolist() == [1000.0, 0.0]


def test_mse_and_l1_are_means_of_differences():
    a, b = weft.tensor([1.0, 3.0]), weft.tensor([1.0, 1.0])
    assert float(F.mse_loss(a, b)) == 2.0
    assert float(F.l1_loss(a, b)) == 1.0
    assert float(F.mse_loss(a, b, weight=weft.tensor([1.0, 3.0]))) == 3.0


def test_broadcasting_a_target_warns():
    with pytest.warns(UserWarning, match="mse_loss.*target size"):
        F.mse_loss(weft.ones(2, 1), weft.ones(2))


# Connectionist temporal classification


def sequences():
    return weft.arange(30.0, dtype=double).sin().reshape(5, 2, 3).log_softmax(-1)


TARGETS = weft.tensor([[1, 2], [1, 1]])


def test_ctc_loss_has_pytorchs_values_and_gradient():
    x = sequences().requires_grad_()
    loss = F.ctc_loss(x, TARGETS, weft.tensor([5, 4]), weft.tensor([2, 2]), reduction="none")
    assert loss.tolist() == pytest.approx([1.670524, 2.439154], abs=1e-6)
    loss.sum().backward()
    expected = [-0.037902, -0.389955, 0.427857, 0.314766, -0.506033, 0.191267]
    assert x.grad[0].flatten().tolist() == pytest.approx(expected, abs=1e-6)
    assert x.grad[4, 1].tolist() == [0.0, 0.0, 0.0]  # beyond the second sequence's length


def test_ctc_loss_sums_over_all_alignments():
    x = sequences()[:2, :1]  # two steps, one label: "1 blank", "blank 1", "1 1"
    p = x.exp()[:, 0]
    total = p[0, 1] * p[1, 0] + p[0, 0] * p[1, 1] + p[0, 1] * p[1, 1]
    loss = F.ctc_loss(x, weft.tensor([[1]]), [2], [1], reduction="sum")
    assert float(loss) == pytest.approx(-math.log(float(total)))


def test_ctc_loss_takes_targets_one_after_the_other():
    lengths = weft.tensor([5, 4]), weft.tensor([2, 2])
    assert weft.equal(F.ctc_loss(sequences(), TARGETS, *lengths), F.ctc_loss(sequences(), TARGETS.flatten(), *lengths))


def test_ctc_loss_without_an_alignment_is_infinite_or_zero():
    arguments = sequences(), TARGETS, [2, 2], [2, 2]  # 1, 1 needs a blank between
    assert F.ctc_loss(*arguments, reduction="none")[1] == math.inf
    assert F.ctc_loss(*arguments, reduction="none", zero_infinity=True)[1] == 0


def test_kl_div_of_half_precision_is_rounded_once():
    x = weft.tensor([-0.3008, -1.3438], dtype=weft.bfloat16)
    y = weft.tensor([0.7656, 0.2334], dtype=weft.bfloat16)
    exact = float(F.kl_div(x.double(), y.double(), reduction="sum"))  # its terms almost cancel
    found = F.kl_div(x, y, reduction="sum")
    assert found.dtype is weft.bfloat16
    assert float(found) == pytest.approx(exact, rel=0.01)


def test_margin_ranking_loss_of_integers_is_floating():
    ones = weft.ones(2, 2, dtype=weft.int64)
    assert F.margin_ranking_loss(ones, ones * 3, ones).item() == 2.0


def test_linear_cross_entropy_with_options_computes_half_precision_in_single():
    weft.manual_seed(0)
    x, w = weft.randn(16, 8).half(), weft.randn(5, 8).half()
    target = weft.arange(16) % 5
    expected = F.cross_entropy(x.float() @ w.float().t(), target).half()
    assert F.linear_cross_entropy(x, w, target, options=weft.nn.LinearCrossEntropyOptions()).item() == expected.item()
    options = weft.nn.LinearCrossEntropyOptions(acc_policy="compact", acc_dtype=weft.float32)
    assert F.linear_cross_entropy(x, w, target, options=options).item() == expected.item()


def test_linear_cross_entropy_warns_where_options_are_ignored():
    options = weft.nn.LinearCrossEntropyOptions()
    with pytest.warns(UserWarning, match="linear_cross_entropy.*options"):
        F.linear_cross_entropy(weft.ones(2, 3), weft.ones(4, 3), weft.ones(2, 4), options=options)


@pytest.mark.parametrize(
    "options", [{"acc_policy": "best"}, {"chunking_method": "aspect_ratio:x"}, {"batch_chunk_size": 0}]
)
def test_linear_cross_entropy_options_are_checked(options):
    with pytest.raises(ValueError, match=f"LinearCrossEntropyOptions.*{next(iter(options))}"):
        weft.nn.LinearCrossEntropyOptions(**options)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: F.cross_entropy(weft.ones(4, 3), weft.zeros(5, dtype=weft.int64)), ValueError, r"cross_entropy.*4.*5"),
        (lambda: F.cross_entropy(weft.ones(2, 3), weft.tensor([0, 3])), IndexError, "cross_entropy.*3"),
        (lambda: F.cross_entropy(weft.ones(2, 3), weft.tensor([0, -1])), IndexError, "cross_entropy.*-1"),
        (lambda: F.nll_loss(weft.ones(2, 3), weft.tensor([0.0, 1.0])), RuntimeError, "nll_loss.*Long or Byte.*float32"),
        (lambda: F.nll_loss(weft.ones(2, 3), weft.tensor([0, 1]), weft.ones(2)), RuntimeError, "nll_loss.*3 classes"),
        (
            lambda: F.mse_loss(weft.ones(2), weft.ones(2), reduction="max"),
            ValueError,
            "mse_loss: max is not a",
        ),
        (lambda: F.binary_cross_entropy(weft.ones(2), weft.ones(3)), ValueError, r"\(3,\).*\(2,\)"),
        (lambda: F.binary_cross_entropy(weft.full((1,), 2.0), weft.ones(1)), RuntimeError, "between 0 and 1"),
        (lambda: F.ctc_loss(sequences(), TARGETS + 5, [5, 5], [2, 2]), RuntimeError, "ctc_loss.*labels"),
        (lambda: F.ctc_loss(sequences(), TARGETS, [6, 5], [2, 2]), RuntimeError, "ctc_loss.*input_lengths.*5"),
        (lambda: F.huber_loss(weft.ones(1), weft.ones(1), delta=0), RuntimeError, "huber_loss.*delta"),
        (lambda: F.multi_margin_loss(weft.ones(1, 2), weft.tensor([0]), p=3), ValueError, "multi_margin_loss.*p=3"),
        (
            lambda: F.multi_margin_loss(weft.ones(1, 2), weft.ones(1), weight=weft.tensor(1.0)),
            ValueError,
            "multi_margin_loss.*weight",
        ),
    ],
)
def test_wrong_call_is_explained(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("narrow", [weft.float32, weft.bfloat16, weft.float16])
def test_losses_of_two_dtypes_have_the_dtype_of_one_of_them(narrow):
    input = weft.tensor([0.5, -1.0, 2.0])
    target = weft.tensor([1.0, 0.0, 1.0])
    for reduction in ("none", "mean", "sum"):
        for loss in (F.huber_loss, F.soft_margin_loss):
            wide = loss(input.double(), target.double(), reduction=reduction)
            for a, b in ((narrow, weft.float64), (weft.float64, narrow)):
                result = loss(input.to(a), target.to(b), reduction=reduction)
                assert result.dtype is a
                assert weft.allclose(result.double(), wide, rtol=1e-2)
        wide = F.binary_cross_entropy_with_logits(input.double(), target.double(), reduction=reduction)
        result = F.binary_cross_entropy_with_logits(input.double(), target.to(narrow), reduction=reduction)
        assert result.dtype is narrow
        assert weft.allclose(result.double(), wide, rtol=1e-2)


def test_losses_whose_dtype_is_integral_are_refused():
    numbers, integers = weft.tensor([0.5, -1.0]), weft.tensor([1, 0])
    for loss in (F.huber_loss, F.soft_margin_loss):
        assert loss(numbers, integers).dtype is weft.float32
        with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
            loss(integers, numbers)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        F.binary_cross_entropy_with_logits(numbers, integers)


def test_the_mean_of_weighted_huber_losses_is_a_plain_one():
    input, target, weight = weft.tensor([1.0, 2.0]), weft.tensor([1.5, 4.0]), weft.tensor([1.0, 3.0])
    assert F.huber_loss(input, target, weight=weight).item() == (0.125 + 3 * 1.5) / 2
    assert F.mse_loss(input, target, weight=weight).item() == (0.25 + 3 * 4) / 4


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_infinite_ctc_losses_that_count_as_zero_have_no_gradient(reduction):
    scores = weft.randn(12, 2, 6).log_softmax(2).requires_grad_()
    targets = weft.randint(1, 6, (2, 7))
    loss = F.ctc_loss(scores, targets, [12, 3], [4, 7], reduction=reduction, zero_infinity=True)  # 7 labels in 3 steps
    loss.sum().backward()
    assert weft.isfinite(loss).all()
    assert weft.isfinite(scores.grad).all()
    assert not scores.grad[:, 1].any()
    assert scores.grad[:, 0].any()


@pytest.mark.parametrize("loss", [F.nll_loss, F.cross_entropy])
def test_weights_of_classes_that_require_grad_are_refused(loss):
    weight = weft.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'weight'"):
        loss(weft.zeros(2, 3), weft.tensor([0, 1]), weight)
    with weft.no_grad():
        loss(weft.zeros(2, 3), weft.tensor([0, 1]), weight)


def test_nan_is_no_excess_over_a_margin():
    scores = weft.tensor([[0.0, math.nan, 2.0]], requires_grad=True)
    loss = F.multi_margin_loss(scores, weft.tensor([0]))
    loss.backward()
    assert loss.item() == 1.0
    assert weft.allclose(scores.grad, weft.tensor([[-1 / 3, 0.0, 1 / 3]]))


def test_a_variance_without_bounds_makes_a_loss_of_infinity():
    loss = F.gaussian_nll_loss(weft.tensor([1.0, 1.0]), weft.zeros(2), weft.tensor([math.inf, 0.0]), reduction="none")
    assert loss[0].item() == math.inf
    assert loss[1].item() == pytest.approx(0.5 * (math.log(1e-6) + 1e6))


@pytest.mark.parametrize("weight", [weft.ones(3).half(), weft.ones(3).double(), weft.ones(3, dtype=weft.int64)])
@pytest.mark.parametrize("loss", [F.multi_margin_loss, F.nll_loss, F.cross_entropy])
def test_weights_of_classes_need_the_dtype_of_the_input(loss, weight):
    with pytest.raises(RuntimeError, match="expected scalar type Float but found"):
        loss(weft.ones(2, 3), weft.tensor([0, 1]), weight=weight)
