"""Calls that no op foresees, and those that must not pass in silence."""

import inspect
import math
import pickle

import pytest

import weft
from weft.nn import functional as F

IMAGE = weft.arange(32.0).reshape(1, 2, 4, 4)
WEIGHT = weft.ones(2, 2, 3, 3)
ROWS = weft.ones(3, 2)
INDICES = weft.tensor([0, 2])
START = weft.tensor([0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.batch_norm(1.5, None, None), r"batch_norm\(\): argument 'input'.*float"),
        (lambda: F.batch_norm(IMAGE, None, None, "x", training=True), r"batch_norm\(\): argument 'weight'.*str"),
        (lambda: F.mse_loss([1.0], weft.ones(1)), r"mse_loss\(\): argument 'input'.*list"),
        (lambda: F.interpolate(None, 2), r"interpolate\(\): argument 'input'.*NoneType"),
        (lambda: F.dropout("x", training=False), r"dropout\(\): argument 'input'.*str"),
        (lambda: F.dropout(IMAGE, training=1), r"dropout\(\): argument 'training' must be bool, not int"),
        (lambda: F.batch_norm(IMAGE, None, None, training=1), "'training' must be bool"),
        (lambda: F.avg_pool2d(IMAGE, True), r"avg_pool2d\(\): argument 'kernel_size' must be int.*bool"),
        (lambda: F.max_pool2d(IMAGE, 2, ceil_mode="yes"), r"max_pool2d\(\): argument 'ceil_mode' must be bool"),
        (lambda: F.conv2d(IMAGE, WEIGHT, groups=1.5), r"conv2d\(\): argument 'groups' must be int.*float"),
        (lambda: F.adaptive_avg_pool2d(IMAGE, None), r"adaptive_avg_pool2d\(\): argument 'output_size'"),
        (lambda: F.embedding_bag(INDICES, ROWS, START, mode="sum", padding_idx=1.5), "'padding_idx' must be int"),
        (lambda: F.layer_norm(IMAGE, (4,), eps=None), r"layer_norm\(\): argument 'eps' must be Number"),
        (lambda: F.softplus(IMAGE, beta=None), r"softplus\(\): argument 'beta' must be Number"),
        (lambda: F.threshold(IMAGE, (1, 2), 0), r"threshold\(\): argument 'threshold' must be Number"),
        (lambda: F.kl_div(ROWS, ROWS, reduction="sum", log_target="yes"), "'log_target' must be bool"),
        (lambda: F.interpolate(IMAGE, 1.5), "interpolate: expected size to be one of int"),
        (lambda: F.nll_loss(ROWS, INDICES, ignore_index=1.5), "'ignore_index' must be int"),
    ],
)
def test_a_wrong_kind_of_argument_is_a_type_error_that_names_it(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.conv2d(IMAGE, WEIGHT, stride=2**64), "conv2d.*stride.*64 bits"),
        (lambda: F.avg_pool2d(IMAGE, 2, padding=-(2**70)), "avg_pool2d.*padding.*64 bits"),
        (lambda: F.batch_norm(IMAGE, weft.zeros(2), None, training=True), "batch_norm.*both be None"),
        (lambda: F.group_norm(weft.ones(1, 2), 2), "group_norm.*more than 1 value"),
        (lambda: F.batch_norm(IMAGE, None, None, training=True, eps=0.0), "batch_norm.*eps must be positive.*0.0"),
    ],
)
def test_a_wrong_value_is_a_value_error(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.adaptive_avg_pool1d(weft.ones(0, 2, 8), 2**62), "adaptive_avg_pool1d.*overflow"),
        (lambda: F.adaptive_max_pool2d(IMAGE, 2**40), "adaptive_max_pool2d.*(memory|overflow)"),
        (lambda: F.conv2d(weft.ones(1, 2, 0, 4), WEIGHT, padding=3), "conv2d.*empty"),
        (lambda: F.batch_norm(IMAGE.double(), weft.zeros(2), weft.ones(2)), "batch_norm.*running_mean.*float64"),
        (lambda: F.batch_norm(IMAGE, weft.zeros(2, 1), weft.ones(2)), r"batch_norm.*running_mean.*\[2, 1\]"),
        (lambda: F.bilinear(ROWS, ROWS.double(), weft.ones(1, 2, 2)), "bilinear.*float32.*float64"),
        (lambda: F.embedding_bag(INDICES, ROWS.long(), START), "embedding_bag.*weight.*int64"),
        (lambda: F.embedding_bag(INDICES, ROWS, weft.zeros(1)), "embedding_bag.*offsets.*float32"),
        (lambda: F.embedding_bag(INDICES, ROWS, START, mode="sum", per_sample_weights=INDICES), "per_sample_weights"),
        (lambda: F.layer_norm(IMAGE, (4,), weft.ones(4).double()), "layer_norm.*weight.*float32.*float64"),
        (lambda: F.group_norm(IMAGE, 1, weft.ones(2).half()), "group_norm.*weight.*float16"),
        (lambda: F.instance_norm(IMAGE, weight=weft.ones(1)), r"instance_norm.*weight.*2 elements.*\[1\]"),
        (
            lambda: F.nll_loss(ROWS, weft.tensor([0, 1, 0]), weft.ones(2).double()),
            "nll_loss.*but found Double.*weight",
        ),
        (lambda: F.kl_div(ROWS.long(), ROWS, reduction="sum"), "kl_div.*int64"),
        (lambda: F.huber_loss(ROWS, ROWS, delta=float("nan")), "huber_loss.*nan"),
        (lambda: F.conv_transpose2d(IMAGE, weft.ones(2, 2, 0, 3)), "conv_transpose2d.*may be 0"),
        (lambda: F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, dropout_p=-1), "dropout_p.*-1"),
        (lambda: F.multilabel_margin_loss(ROWS[:1], weft.tensor([[-1, -5]])), "multilabel_margin_loss.*-5"),
        (
            lambda: F.fractional_max_pool2d(IMAGE, 2, 2, _random_samples=weft.zeros(1, 2, 2, dtype=weft.float64)),
            "fractional_max_pool2d.*_random_samples.*float64",
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_not_converted(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.adaptive_avg_pool2d(IMAGE.long(), 3), r"adaptive_avg_pool2d.*int64"),
        (lambda: F.adaptive_max_pool2d(IMAGE.long(), 3), r"adaptive_max_pool.*int64"),
        (lambda: F.max_unpool2d(IMAGE.long(), IMAGE.long(), 2), r"max_unpool2d.*int64"),
        (lambda: F.mse_loss(ROWS + 1j, ROWS), r"mse_loss.*complex64"),
        (lambda: F.glu(IMAGE.bool()), r"glu.*bool"),
        (lambda: F.batch_norm(IMAGE.long(), None, None, training=True), r"batch_norm.*int64"),
    ],
)
def test_a_dtype_that_has_no_such_function_is_not_implemented(call, words):
    with pytest.raises(NotImplementedError, match=words):
        call()


@pytest.mark.parametrize("stride", [4, 5, 2**40, 2**63 - 1])
def test_a_stride_beyond_the_input_gives_one_place(stride):
    assert weft.equal(F.conv2d(IMAGE, WEIGHT, stride=stride), F.conv2d(IMAGE, WEIGHT)[..., :1, :1])
    assert weft.equal(F.avg_pool2d(IMAGE, 2, stride), F.avg_pool2d(IMAGE, 2)[..., :1, :1])
    assert weft.equal(F.max_pool2d(IMAGE, 2, stride), F.max_pool2d(IMAGE, 2)[..., :1, :1])


def test_functions_keep_their_signature_and_can_be_pickled():
    assert next(iter(inspect.signature(F.batch_norm).parameters)) == "input"
    assert pickle.loads(pickle.dumps(F.softplus)) is F.softplus


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.kl_div(ROWS, ROWS),
        lambda: F.upsample_nearest(IMAGE, 2),
        lambda: weft.nn.Softmax()(ROWS),
        lambda: F.grid_sample(IMAGE, weft.zeros(1, 1, 1, 2)),
        lambda: F.mse_loss(ROWS, weft.ones(2)),
    ],
)
def test_a_warning_names_the_line_of_the_caller(call):
    with pytest.warns(UserWarning) as found:
        call()
    assert found[0].filename == __file__


SCORES = weft.full((2, 3), 0.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.binary_cross_entropy(SCORES, SCORES - 0.6), RuntimeError, "elements of target"),
        (lambda: F.binary_cross_entropy(SCORES, SCORES + 0.6), RuntimeError, "elements of target"),
        (lambda: F.multi_margin_loss(SCORES, weft.tensor([[0], [1]])), RuntimeError, "1-D"),
        (lambda: F.soft_margin_loss(weft.ones(2, 1), weft.ones(2)), RuntimeError, "does not broadcast"),
        (
            lambda: F.ctc_loss(weft.zeros(5, 1, 4), weft.tensor([[1, 2]]), weft.tensor([5.0]), weft.tensor([2])),
            RuntimeError,
            "integral",
        ),
        (
            lambda: F.max_unpool1d(weft.ones(1, 1, 2), weft.tensor([[[0, 2]]]), 2, output_size=[1, 4]),
            ValueError,
            "1 or 3 elements",
        ),
        (
            lambda: F.max_unpool3d(weft.ones(1, 1, 2, 2, 2), weft.zeros(1, 1, 2, 2, 2, dtype=weft.int64), 2, stride=0),
            RuntimeError,
            "greater than zero",
        ),
        (
            lambda: F.max_unpool2d(weft.ones(1, 1, 2, 2), weft.zeros(1, 1, 2, 2, dtype=weft.int64), 2, padding=5),
            ValueError,
            "non-negative",
        ),
        (
            lambda: F.fractional_max_pool2d(
                weft.ones(1, 1, 5, 5), 2, output_size=3, _random_samples=weft.tensor([[[math.nan, 0.5]]])
            ),
            RuntimeError,
            "_random_samples",
        ),
    ],
)
def test_what_would_give_a_wrong_number_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_the_last_offset_is_where_the_last_bag_ends(mode):
    weight, indices = weft.tensor([[1.0], [10.0], [100.0], [1000.0]]), weft.arange(4)

    def bags(*offsets):
        return F.embedding_bag(indices, weight, weft.tensor(offsets), mode=mode, include_last_offset=True)

    expected = {"sum": [1.0, 110.0], "mean": [1.0, 55.0], "max": [1.0, 100.0]}[mode]
    assert bags(0, 1, 3).flatten().tolist() == expected
    for offsets in [(0, 3, 1), (0, 5), (4,)]:
        with pytest.raises(RuntimeError, match="offset"):
            bags(*offsets)


def test_sizes_of_an_unordered_packed_sequence_are_refused():
    for name in ("RNN", "LSTM", "GRU"):
        layer = getattr(weft.nn, name)(2, 3)
        for sizes in ([1, 2, 2], [2, 1], [4, 3], [6, -1]):
            with pytest.raises(RuntimeError, match="batch_sizes"):
                layer(weft.nn.utils.rnn.PackedSequence(weft.zeros(5, 2), weft.tensor(sizes)))
        with pytest.raises(ValueError, match="does not match weight dtype"):
            layer(weft.zeros(4, 2, 2, dtype=weft.float64))


def test_the_first_name_of_the_mean_is_deprecated():
    with pytest.warns(UserWarning, match="elementwise_mean"):
        assert F.mse_loss(SCORES, SCORES + 2, reduction="elementwise_mean").item() == 4


NUMBERS_ONLY = [
    lambda x, p: F.huber_loss(x, x + 1, delta=p),
    lambda x, p: F.smooth_l1_loss(x, x + 1, beta=p),
    lambda x, p: F.margin_ranking_loss(x, x, x, p),
    lambda x, p: F.triplet_margin_loss(x, x, x, p=p),
    lambda x, p: F.cross_entropy(x, x, label_smoothing=p),
    lambda x, p: F.layer_norm(x, (3,), None, None, p),
    lambda x, p: F.group_norm(x, 1, eps=p),
    lambda x, p: F.batch_norm(x, None, None, training=True, eps=p),
    lambda x, p: F.batch_norm(x, weft.zeros(3), weft.ones(3), None, None, True, p),
    lambda x, p: F.dropout(x, p, False),
    lambda x, p: F.softshrink(x, p),
    lambda x, p: F.normalize(x, p),
    lambda x, p: F.scaled_dot_product_attention(x, x, x, scale=p),
    lambda x, p: F.embedding(weft.tensor([0]), x.clone(), max_norm=p),
    lambda x, p: weft.layer_norm(x, (3,), None, None, p),
    lambda x, p: weft.nn.LayerNorm(3, eps=p)(x),
    lambda x, p: F.interpolate(x[None, None], scale_factor=p * 4),
    lambda x, p: F.interpolate(x[None, None], scale_factor=(1, p * 4), mode="bilinear"),
]


@pytest.mark.parametrize("call", NUMBERS_ONLY)
def test_a_tensor_that_requires_grad_is_no_number_whose_gradient_would_be_lost(call):
    x, number = weft.rand(2, 3), weft.tensor(0.5)
    assert weft.equal(call(x, number), call(x, 0.5))
    with pytest.raises(TypeError, match="must be Number, not a Tensor that requires grad"):
        call(x, number.requires_grad_())


def test_numbers_that_take_part_in_arithmetic_may_be_tensors_with_a_gradient():
    x, number = weft.rand(2, 3), weft.tensor(0.5, requires_grad=True)
    for result in (
        F.gumbel_softmax(x, number),
        F.normalize(x, eps=number),
        F.local_response_norm(x[None], 1, number),
    ):
        assert result.requires_grad
