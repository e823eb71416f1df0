"""`weft.masked`: each operation is that of the elements which the mask lets in, taken out one row at a time."""

import math

import numpy as np
import pytest

import weft
from weft import masked
from weft.autograd import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)
VALUES = RNG.standard_normal((4, 6))
MASK = np.array(
    [
        [True, False, True, True, False, True],
        [False, False, True, False, False, False],
        [True] * 6,
        [False, True, True, False, True, True],
    ]
)
REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "mean": np.mean,
    "amax": np.max,
    "amin": np.min,
    "norm": np.linalg.norm,
    "logsumexp": lambda row: np.log(np.sum(np.exp(row))),
}
NORMALIZATIONS = ["softmax", "log_softmax", "softmin", "cumsum", "cumprod"]


def tensors(requires_grad=False):
    return weft.tensor(VALUES, requires_grad=requires_grad), weft.tensor(MASK)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_is_that_of_the_elements_let_in(name):
    x, mask = tensors()
    options = {"dim": 1, "mask": mask}
    expected = [REDUCTIONS[name](row[inside]) for row, inside in zip(VALUES, MASK)]
    np.testing.assert_allclose(getattr(masked, name)(x, **options).numpy(), expected)
    whole = getattr(masked, name)(x, mask=mask)
    np.testing.assert_allclose(whole.numpy(), REDUCTIONS[name](VALUES[MASK]))
    assert getattr(masked, name)(x, keepdim=True, **options).shape == (4, 1)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_without_a_mask_is_the_plain_one(name):
    np.testing.assert_allclose(getattr(masked, name)(tensors()[0]).numpy(), REDUCTIONS[name](VALUES.reshape(-1)))


@pytest.mark.parametrize("correction", [0, 1, 2])
def test_variance_divides_by_the_elements_let_in_less_the_correction(correction):
    x, mask = tensors()
    rows = [0, 2, 3]  # the other has one element
    expected = [np.var(VALUES[row][MASK[row]], ddof=correction) for row in rows]
    got = masked.var(x, 1, correction=correction, mask=mask)
    np.testing.assert_allclose(got.numpy()[rows], expected)
    deviation = masked.std(x, 1, correction=correction, mask=mask)
    np.testing.assert_allclose(deviation.numpy()[rows], np.sqrt(expected))


def test_median_is_the_lower_one_of_the_elements_let_in():
    x, mask = tensors()
    expected = [np.sort(row[inside])[(inside.sum() - 1) // 2] for row, inside in zip(VALUES, MASK)]
    np.testing.assert_allclose(masked.median(x, 1, mask=mask).numpy(), expected)


def test_arguments_of_extremes_are_positions_in_the_whole_row():
    x, mask = tensors()
    largest = np.where(MASK, VALUES, -np.inf).argmax(1)
    assert masked.argmax(x, 1, mask=mask, dtype=weft.int64).tolist() == largest.tolist()
    smallest = np.where(MASK, VALUES, np.inf).argmin(1)
    assert masked.argmin(x, 1, mask=mask, dtype=weft.int64).tolist() == smallest.tolist()


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_normalization_is_that_of_the_elements_let_in(name):
    x, mask = tensors()
    got = getattr(masked, name)(x, 1, mask=mask)
    plain = {"cumsum": weft.cumsum, "cumprod": weft.cumprod, "log_softmax": weft.log_softmax}.get(name, weft.softmax)
    sign = -1 if name == "softmin" else 1
    for row in range(4):
        some = x[row][mask[row]]
        assert weft.allclose(got[row][mask[row]], plain(sign * some, 0))


def test_softmax_is_0_where_the_mask_leaves_out_and_nan_where_it_leaves_out_all():
    x = weft.zeros(2, 3)
    mask = weft.tensor([[True, False, True], [False, False, False]])
    got = masked.softmax(x, 1, mask=mask)
    assert got[0].tolist() == [0.5, 0.0, 0.5]
    assert got[1].isnan().all()


def test_normalize_makes_vectors_of_norm_1():
    x, mask = tensors()
    lengths = masked.norm(masked.normalize(x, 2.0, 1, mask=mask), 2.0, 1)
    np.testing.assert_allclose(lengths.numpy(), np.ones(4))


def test_logaddexp_takes_the_other_where_one_is_left_out():
    x, y = weft.tensor([0.0, 1.0, 2.0]), weft.tensor([0.0, 5.0, 6.0])
    got = masked.logaddexp(
        x, y, input_mask=weft.tensor([True, False, True]), other_mask=weft.tensor([True, True, False])
    )
    np.testing.assert_allclose(got.numpy(), [math.log(2), 5.0, 2.0], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "of_nothing"),
    [("sum", 0.0), ("prod", 1.0), ("amax", -math.inf), ("amin", math.inf), ("mean", math.nan), ("var", math.nan)],
)
def test_a_reduction_of_nothing_is_its_identity(name, of_nothing):
    got = getattr(masked, name)(weft.ones(3), mask=weft.zeros(3, dtype=weft.bool))
    np.testing.assert_equal(got.item(), of_nothing)


def test_extremes_of_no_integers_are_the_limits_of_the_dtype():
    none = weft.zeros(2, dtype=weft.bool)
    assert masked.amax(weft.ones(2, dtype=weft.int8), mask=none).item() == -128
    assert masked.amin(weft.ones(2, dtype=weft.uint8), mask=none).item() == 255


def test_integers_are_summed_as_int64_and_keep_their_dtype_in_running_sums():
    x = weft.tensor([100, 100], dtype=weft.int8)
    assert masked.sum(x).dtype is weft.int64
    assert masked.cumsum(x, 0).dtype is weft.int8
    assert masked.amax(x, dtype=weft.float32).dtype is weft.float32


def test_a_mask_of_fewer_dimensions_broadcasts():
    x, mask = tensors()
    assert weft.equal(masked.sum(x, 1, mask=mask[0]), masked.sum(x, 1, mask=mask[0].expand(4, 6)))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "amin", "norm", "logsumexp", "var", "std"])
def test_gradients_of_reductions_agree_with_differences(name):
    x, mask = tensors(requires_grad=True)
    mask[1] = True  # a variance needs two elements

    def call(x):
        return getattr(masked, name)(x, dim=1, mask=mask)

    assert gradcheck(call, (x,)) and gradgradcheck(call, (x,))


@pytest.mark.parametrize("name", ["softmax", "cumsum", "cumprod"])
def test_gradients_of_normalizations_agree_with_differences(name):
    x, mask = tensors(requires_grad=True)
    assert gradcheck(lambda x: getattr(masked, name)(x, 1, mask=mask), (x,))


def test_elements_left_out_have_no_gradient():
    x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
    masked.mean(x, mask=weft.tensor([True, False, True])).backward()
    assert x.grad.tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (IndexError, lambda: masked.sum(weft.ones(2), mask=weft.ones(1, 2, dtype=weft.bool))),
        (RuntimeError, lambda: masked.sum(weft.ones(2), mask=weft.ones(3, dtype=weft.bool))),
        (IndexError, lambda: masked.sum(weft.ones(2), 1)),
        (RuntimeError, lambda: masked.sum(weft.ones(2, 2), (0, 0))),
        (ValueError, lambda: masked.mean(weft.ones(2, dtype=weft.int64))),
        (ValueError, lambda: masked.median(weft.ones(2, dtype=weft.int64), mask=weft.zeros(2, dtype=weft.bool))),
        (NotImplementedError, lambda: masked.amax(weft.ones(2, dtype=weft.bool), mask=weft.ones(2, dtype=weft.bool))),
        (AssertionError, lambda: masked.var(weft.ones(2), 0, True, correction=1)),
        (TypeError, lambda: masked.sum([1.0])),
    ],
)
def test_a_wrong_call_is_refused(error, call):
    with pytest.raises(error, match="masked"):
        call()


def test_the_module_is_imported_when_first_asked_for():
    assert weft.masked is masked
    assert set(masked.__all__) <= set(dir(masked))


@pytest.mark.parametrize("dim", [None, (0,)])
def test_normalizations_take_one_dimension(dim):
    with pytest.raises(TypeError, match=r"masked\.softmax.*dim"):
        masked.softmax(weft.ones(3), dim)
