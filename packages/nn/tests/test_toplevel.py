"""PyTorch's functions of neural networks at the top level; expected values are PyTorch's, or those of the modules."""

import importlib
import inspect

import numpy as np
import pytest

import weft
from weft import nn
from weft._lazy import distribution_of, of_portions
from weft.nn import functional as F
from weft.nn import toplevel

HOMES = of_portions()
NAMES = sorted(name for name, home in HOMES.items() if home in (F.__name__, toplevel.__name__))


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_found_in_weft_and_documented(name):
    function = getattr(weft, name)
    assert inspect.unwrap(function) is inspect.unwrap(getattr(importlib.import_module(HOMES[name]), name))
    assert inspect.getdoc(function)


def test_each_name_says_what_brings_it_where_nn_is_not_installed():
    public = [name for name in NAMES if not name.startswith("_")]
    assert {name: distribution_of(name) for name in public} == dict.fromkeys(public, "weft-nn")


@pytest.fixture
def x():
    return weft.arange(6.0).reshape(1, 2, 3)


def test_losses_take_a_number_as_reduction(x):
    logits, target = x[0], weft.ones(2, 3)
    one_by_one = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    assert weft.equal(weft.binary_cross_entropy_with_logits(logits, target), one_by_one)
    assert weft.equal(weft.binary_cross_entropy_with_logits(logits, target, None, None, 1), one_by_one.mean())
    assert weft.equal(weft.binary_cross_entropy_with_logits(logits, target, reduction=2), one_by_one.sum())


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: weft.kl_div(x, x), [[[0, -1, -2.6137], [-5.7042, -10.4548, -16.9528]]]),
        (lambda x: weft.kl_div(x, x, 2, log_target=True), 0),
        (lambda x: weft.cosine_embedding_loss(x[0], x[0], weft.tensor([1.0, -1.0])), [0, 1]),
        (lambda x: weft.hinge_embedding_loss(x, weft.ones(1, 2, 3), 1.0, 2), 15),
        (lambda x: weft.margin_ranking_loss(x, x * 2, weft.ones(1, 2, 3), 0.0, 1), 2.5),
        (lambda x: weft.poisson_nll_loss(x, x, False, False, 1e-8, 0)[0, 0], [0, 1, 0.6137]),
        (lambda x: weft.triplet_margin_loss(x[0], x[0] + 1, x[0] + 1), [1, 1]),
    ],
)
def test_losses_agree_with_pytorch(x, call, expected):
    close(call(x), expected)


def test_a_word_as_reduction_is_refused(x):
    with pytest.raises(TypeError, match=r"must be int.*nn\.functional\.kl_div"):
        weft.kl_div(x, x, "mean")


def test_dropout_agrees_with_the_modules_for_the_same_seed():
    ones = weft.ones(4, 3, 5)
    pairs = [(weft.dropout, F.dropout), (weft.feature_dropout, F.dropout1d), (weft.alpha_dropout, F.alpha_dropout)]
    for function, module in [*pairs, (weft.feature_alpha_dropout, F.feature_alpha_dropout)]:
        weft.manual_seed(0)
        found = function(ones, 0.4, True)
        weft.manual_seed(0)
        assert weft.equal(found, module(ones, 0.4, True))
    assert weft.dropout(ones, 0.5, False) is ones
    assert weft.dropout_(ones, 1.0, True) is ones and not ones.any()


@pytest.mark.parametrize("name", ["dropout", "dropout_", "feature_dropout", "alpha_dropout"])
def test_a_probability_beyond_one_is_refused(name):
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        getattr(weft, name)(weft.ones(2, 2), 1.5, True)


def test_native_dropout_gives_the_mask_of_what_stays():
    weft.manual_seed(0)
    output, mask = weft.native_dropout(weft.ones(5), 0.5, True)
    assert output.tolist() == [0, 0, 2, 0, 0] and weft.equal(mask, output > 0)
    output, mask = weft.native_dropout(weft.ones(5), 0.5, False)
    assert output.tolist() == [1] * 5 and mask.all()
    assert weft.native_dropout(weft.ones(2), 1.0, None)[0].tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="native_dropout"):
        weft.native_dropout(weft.ones(2, dtype=weft.int32), 0.5, True)


def test_native_norms_give_means_and_inverse_deviations(x):
    _, mean, inverse = weft.native_layer_norm(x, [3], None, None, 1e-5)
    close(mean, [[[1], [4]]])
    close(inverse, [[[1.2247], [1.2247]]])
    result, mean, inverse = weft.native_group_norm(x, None, None, 1, 2, 3, 1, 1e-5)
    close(result, [[[-1.4638, -0.8783, -0.2928], [0.2928, 0.8783, 1.4638]]])
    close(mean, [[2.5]])
    close(inverse, [[0.5855]])
    result, mean, inverse = weft.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    close(result[0, 0], [-1.2247, 0, 1.2247])
    close(mean, [1, 4])
    close(inverse, [1.2247, 1.2247])
    assert [each.shape for each in weft.native_batch_norm(x, None, None, mean, mean, False, 0.1, 1e-5)[1:]] == [
        (0,),
        (0,),
    ]


def test_only_the_result_of_a_native_norm_has_a_gradient(x):
    outputs = weft.native_layer_norm(x.requires_grad_(), [3], None, None, 1e-5)
    assert [each.requires_grad for each in outputs] == [True, False, False]


def test_running_statistics_move_towards_the_batch(x):
    mean, variance = weft.zeros(2), weft.ones(2)
    found = weft.batch_norm_update_stats(x, mean, variance, 0.1)
    close(found[0], [1, 4])
    close(found[1], [0.6667, 0.6667])
    close(mean, [0.1, 0.4])
    close(variance, [1, 1])


def test_norms_take_weight_and_bias_before_the_statistics(x):
    mean, variance, weight, bias = weft.ones(2), weft.ones(2) * 4, weft.ones(2) * 2, weft.ones(2)
    found = weft.batch_norm(x, weight, bias, mean, variance, False, 0.1, 1e-5, True)
    assert weft.equal(found, F.batch_norm(x, mean, variance, weight, bias))
    found = weft.instance_norm(x, weight, bias, None, None, True, 0.1, 1e-5, True)
    assert weft.equal(found, F.instance_norm(x, weight=weight, bias=bias))
    assert weft.equal(weft.layer_norm(x, (3,), cudnn_enable=False), F.layer_norm(x, (3,)))
    assert weft.equal(weft.group_norm(x, 2, weight, bias, 1e-5, False), F.group_norm(x, 2, weight, bias))


def test_embedding_takes_the_table_first_and_ignores_a_negative_padding():
    table = weft.eye(4, requires_grad=True)
    for padding, first in ((0, 0), (-1, 1), (-4, 1), (9, 1)):
        table.grad = None
        weft.embedding(table, weft.tensor([0, 1]), padding).sum().backward()
        assert table.grad[:2, 0].tolist() == [first, 1]


def test_embedding_renorm_shrinks_the_rows_that_are_named():
    table = weft.eye(3) * 3
    assert weft.embedding_renorm_(table, weft.tensor([0, 1]), 1.0, 2.0) is table
    close(table.diagonal(), [1, 1, 3])
    with pytest.raises(IndexError):
        weft.embedding_renorm_(table, weft.tensor([7]), 1.0, 2.0)


def test_embedding_bag_says_which_rows_are_in_which_bag():
    indices, offsets = weft.tensor([0, 1, 2, 3]), weft.tensor([0, 2])
    summed, bag, size, _ = weft.embedding_bag(weft.eye(4), indices, offsets)
    assert summed.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]] and bag.tolist() == [] and size.tolist() == [0, 0]
    mean, bag, size, _ = weft.embedding_bag(weft.eye(4), indices, offsets, False, 1)
    assert mean[0].tolist() == [0.5, 0.5, 0, 0] and bag.tolist() == [0, 0, 1, 1] and size.tolist() == [2, 2]
    greatest = weft.embedding_bag(weft.eye(4), indices, offsets, False, 2)
    assert greatest[3].tolist() == [[0, 1, 0, 0], [2, 2, 2, 3]]
    padded = weft.embedding_bag(weft.eye(4), weft.tensor([0, 1, 2, 1]), offsets, False, 1, padding_idx=1)
    assert padded[0].tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]] and padded[2].tolist() == [1, 1]
    tied = weft.embedding_bag(weft.ones(4, 1), indices, weft.tensor([0, 0, 2]), False, 2, padding_idx=2)
    assert tied[3].tolist() == [[0], [0], [3]] and tied[2].tolist() == [0, 2, 1]
    summed = weft.embedding_bag(weft.eye(4), indices, weft.tensor([0, 2, 4]), False, 0, False, None, True)
    assert summed[0].shape == (2, 4) and summed[2].tolist() == [0, 0, 0]  # one for the end, as in PyTorch
    with pytest.raises(RuntimeError, match="mode"):
        weft.embedding_bag(weft.eye(4), indices, offsets, False, 5)


def test_grids_are_sampled_by_numbers_for_modes():
    image, grid = weft.arange(4.0).reshape(1, 1, 2, 2), weft.full((1, 2, 2, 2), 0.3)
    for number, mode in enumerate(("bilinear", "nearest", "bicubic")):
        assert weft.equal(
            weft.grid_sampler(image, grid, number, 1, False), F.grid_sample(image, grid, mode, "border", False)
        )
    with pytest.raises(ValueError, match="padding_mode"):
        weft.grid_sampler(image, grid, 0, 3, False)
    with pytest.raises(RuntimeError, match="5 dimensions"):
        weft.grid_sampler_3d(image, grid, 0, 0, False)


def test_convolution_is_of_as_many_dimensions_as_its_weight(x):
    assert weft.convolution(x, weft.ones(1, 2, 2), None, [1], [0], [1], False, [0], 1).tolist() == [[[8, 12]]]
    assert weft.convolution(x, weft.ones(2, 1, 2), None, [1], [0], [1], True, [0], 1).tolist() == [[[3, 8, 12, 7]]]
    with pytest.raises(RuntimeError, match="3, 4 or 5 dimensions"):
        weft.convolution(x, weft.ones(2, 1), None, [1], [0], [1], False, [0], 1)


def test_what_core_has_as_a_method_is_this_function():
    x = weft.tensor([-1.0, 0.2, 1.0])
    assert x.prelu(weft.tensor([0.25])).tolist() == pytest.approx([-0.25, 0.2, 1])
    assert x.hardshrink(0.5).tolist() == [-1, 0, 1]
    assert weft.threshold(x, 0.5, 7, out=weft.empty(3)).tolist() == [7, 7, 1]


MODULES = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN, "rnn_relu": nn.RNN}


def module_and_state(name, batch, **options):
    weft.manual_seed(0)
    options |= {"nonlinearity": name.removeprefix("rnn_")} if name.startswith("rnn_") else {}
    module = MODULES[name](2, 5, num_layers=2, **options).eval()
    directions = 2 if options.get("bidirectional") else 1
    state = weft.randn(2 * directions, batch, 5)
    return module, (state, state * 0.5) if name == "lstm" else state


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "batch_first": True}, {"bias": False}])
def test_a_recurrent_network_agrees_with_its_module(name, options):
    module, state = module_and_state(name, 4 if options.get("batch_first") else 3, **options)
    steps = weft.randn(4, 3, 2)
    flags = options.get("bidirectional", False), options.get("batch_first", False)
    weights = list(module.parameters())
    found = getattr(weft, name)(steps, state, weights, options.get("bias", True), 2, 0.0, False, *flags)
    output, last = module(steps, state)
    expected = (output, *(last if name == "lstm" else (last,)))
    assert all(weft.equal(*pair) for pair in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", MODULES)
def test_packed_sequences_come_with_the_size_of_the_batch_at_each_step(name):
    module, state = module_and_state(name, 3)
    packed = nn.utils.rnn.PackedSequence(weft.randn(6, 2), weft.tensor([3, 2, 1]))
    function = getattr(weft, name)
    found = function(packed.data, packed.batch_sizes, state, list(module.parameters()), True, 2, 0.0, False, False)
    output, last = module(packed, state)
    assert weft.equal(found[0], output.data)
    assert weft.equal(found[1], last[0] if name == "lstm" else last)


def test_a_cell_agrees_with_its_module():
    x, h, c = weft.randn(3, 2), weft.randn(3, 5), weft.randn(3, 5)
    for function, cell in ((weft.gru_cell, nn.GRUCell(2, 5)), (weft.rnn_tanh_cell, nn.RNNCell(2, 5))):
        assert weft.equal(function(x, h, *cell.parameters()), cell(x, h))
    assert weft.equal(weft.lstm_cell(x, (h, c), *(cell := nn.LSTMCell(2, 5)).parameters())[1], cell(x, (h, c))[1])
    relu = nn.RNNCell(2, 5, bias=False, nonlinearity="relu")
    assert weft.equal(weft.rnn_relu_cell(x, h, *relu.parameters()), relu(x, h))


FLAGS = (True, 1, 0.0, False, False, False)  # has_biases, num_layers, dropout, train, bidirectional, batch_first


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda s, p: weft.gru(s, weft.zeros(1, 3, 5), p[:3], True, 1, 0.0, False, False, False),
            RuntimeError,
            "4 param",
        ),
        (
            lambda s, p: weft.gru(s, weft.zeros(1, 2, 5), p, True, 1, 0.0, False, False, False),
            RuntimeError,
            "initial state",
        ),
        (lambda s, p: weft.lstm(s, (s,), p, True, 1, 0.0, False, False, False), RuntimeError, "two hidden states"),
        (lambda s, p: weft.gru(s, weft.zeros(1, 3, 5), p, True, 1, 0.0, False, False), TypeError, "batch_first"),
        (lambda s, p: weft.gru_cell(s[0], weft.zeros(3, 4), *p), RuntimeError, "w_ih must have shape"),
        (lambda s, p: weft.lstm_cell(s[0], [s[0]], *p), RuntimeError, "two hidden states"),
    ],
)
def test_what_does_not_fit_a_recurrent_network_is_refused(call, error, message):
    parameters = list(nn.GRU(2, 5).parameters())
    with pytest.raises(error, match=message):
        call(weft.zeros(4, 3, 2), parameters)


def test_batch_norms_without_running_statistics_normalize_each_batch_in_evaluation():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.InstanceNorm1d(3, track_running_stats=True)).eval()
    assert weft.func.replace_all_batch_norm_modules_(net) is net
    assert net[0].running_mean is None and net[1].running_mean is not None
    batch = weft.randn(8, 3) * 4 + 2
    close(net[0](batch).mean(0), [0, 0, 0])
