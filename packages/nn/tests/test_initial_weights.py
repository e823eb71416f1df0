"""Initial weights: for one seed they are PyTorch's, in the same order of parameters."""

import numpy as np
import pytest

import weft
from weft import nn

# What PyTorch 2.13 gives for seed 0: for each entry of the state dict its name, its shape, its first element, and the
# mean of all elements weighted by their position (1, 2, ...).
OBSERVED = {
    "Linear(5, 3)": [
        ("weight", (3, 5), -0.003348, -0.112439),
        ("bias", (3,), 0.016566, 0.195863),
    ],
    "Linear(5, 3, bias=False)": [
        ("weight", (3, 5), -0.003348, -0.112439),
    ],
    "Bilinear(3, 2, 2)": [
        ("weight", (2, 3, 2), -0.004323, -0.016992),
        ("bias", (2,), -0.551571, -0.438769),
    ],
    "Conv1d(4, 6, 3, groups=2)": [
        ("weight", (6, 2, 3), -0.003056, -0.063032),
        ("bias", (6,), -0.238311, 0.031098),
    ],
    "Conv2d(3, 4, (3, 2))": [
        ("weight", (4, 3, 3, 2), -0.001765, -0.000957),
        ("bias", (4,), 0.092633, 0.193044),
    ],
    "Conv3d(2, 2, 2)": [
        ("weight", (2, 2, 2, 2, 2), -0.001872, -0.003607),
        ("bias", (2,), -0.162045, -0.130737),
    ],
    "ConvTranspose1d(4, 6, 3, groups=2)": [
        ("weight", (4, 3, 3), -0.002496, -0.051465),
        ("bias", (6,), -0.194580, 0.025391),
    ],
    "ConvTranspose2d(3, 4, 2)": [
        ("weight", (3, 4, 2, 2), -0.001872, -0.022659),
        ("bias", (4,), -0.110874, 0.134489),
    ],
    "ConvTranspose3d(2, 2, 2)": [
        ("weight", (2, 2, 2, 2, 2), -0.001872, -0.003607),
        ("bias", (2,), -0.162045, -0.130737),
    ],
    "Embedding(5, 4, padding_idx=1)": [
        ("weight", (5, 4), -1.125840, 0.640140),
    ],
    "EmbeddingBag(5, 4)": [
        ("weight", (5, 4), -1.125840, 0.669179),
    ],
    "MultiheadAttention(4, 2)": [
        ("in_proj_weight", (12, 4), 0.222424, 0.000093),
        ("in_proj_bias", (12,), 0.000000, 0.000000),
        ("out_proj.weight", (4, 4), -0.003743, -0.108742),
        ("out_proj.bias", (4,), 0.000000, 0.000000),
    ],
    "MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True)": [
        ("q_proj_weight", (4, 4), 0.314555, -0.250301),
        ("k_proj_weight", (4, 3), -0.540439, -0.028105),
        ("v_proj_weight", (4, 5), -0.362112, 0.031647),
        ("in_proj_bias", (12,), 0.000000, 0.000000),
        ("bias_k", (1, 1, 4), -1.109390, -0.339648),
        ("bias_v", (1, 1, 4), 0.136684, -0.026581),
        ("out_proj.weight", (4, 4), -0.003743, -0.108742),
        ("out_proj.bias", (4,), 0.000000, 0.000000),
    ],
    "TransformerEncoderLayer(4, 2, 8)": [
        ("self_attn.in_proj_weight", (12, 4), 0.222424, 0.000093),
        ("self_attn.in_proj_bias", (12,), 0.000000, 0.000000),
        ("self_attn.out_proj.weight", (4, 4), -0.003743, -0.108742),
        ("self_attn.out_proj.bias", (4,), 0.000000, 0.000000),
        ("linear1.weight", (8, 4), 0.310188, -0.032593),
        ("linear1.bias", (8,), 0.470375, -0.226938),
        ("linear2.weight", (4, 8), -0.019481, -0.021595),
        ("linear2.bias", (4,), 0.334902, 0.168868),
        ("norm1.weight", (4,), 1.000000, 1.000000),
        ("norm1.bias", (4,), 0.000000, 0.000000),
        ("norm2.weight", (4,), 1.000000, 1.000000),
        ("norm2.bias", (4,), 0.000000, 0.000000),
    ],
    "TransformerDecoderLayer(4, 2, 8)": [
        ("self_attn.in_proj_weight", (12, 4), 0.222424, 0.000093),
        ("self_attn.in_proj_bias", (12,), 0.000000, 0.000000),
        ("self_attn.out_proj.weight", (4, 4), -0.003743, -0.108742),
        ("self_attn.out_proj.bias", (4,), 0.000000, 0.000000),
        ("multihead_attn.in_proj_weight", (12, 4), 0.235492, -0.080890),
        ("multihead_attn.in_proj_bias", (12,), 0.000000, 0.000000),
        ("multihead_attn.out_proj.weight", (4, 4), 0.310188, 0.004478),
        ("multihead_attn.out_proj.bias", (4,), 0.000000, 0.000000),
        ("linear1.weight", (8, 4), 0.013896, -0.112057),
        ("linear1.bias", (8,), -0.450029, 0.075055),
        ("linear2.weight", (4, 8), -0.040798, -0.019596),
        ("linear2.bias", (4,), 0.127848, -0.007007),
        ("norm1.weight", (4,), 1.000000, 1.000000),
        ("norm1.bias", (4,), 0.000000, 0.000000),
        ("norm2.weight", (4,), 1.000000, 1.000000),
        ("norm2.bias", (4,), 0.000000, 0.000000),
        ("norm3.weight", (4,), 1.000000, 1.000000),
        ("norm3.bias", (4,), 0.000000, 0.000000),
    ],
    "Transformer(4, 2, 1, 1, 8)": [
        ("encoder.layers.0.self_attn.in_proj_weight", (12, 4), -0.208101, 0.095174),
        ("encoder.layers.0.self_attn.in_proj_bias", (12,), 0.000000, 0.000000),
        ("encoder.layers.0.self_attn.out_proj.weight", (4, 4), 0.354153, 0.047037),
        ("encoder.layers.0.self_attn.out_proj.bias", (4,), 0.000000, 0.000000),
        ("encoder.layers.0.linear1.weight", (8, 4), 0.037859, -0.070892),
        ("encoder.layers.0.linear1.bias", (8,), 0.470375, -0.226938),
        ("encoder.layers.0.linear2.weight", (4, 8), 0.702861, -0.093656),
        ("encoder.layers.0.linear2.bias", (4,), 0.334902, 0.168868),
        ("encoder.layers.0.norm1.weight", (4,), 1.000000, 1.000000),
        ("encoder.layers.0.norm1.bias", (4,), 0.000000, 0.000000),
        ("encoder.layers.0.norm2.weight", (4,), 1.000000, 1.000000),
        ("encoder.layers.0.norm2.bias", (4,), 0.000000, 0.000000),
        ("encoder.norm.weight", (4,), 1.000000, 1.000000),
        ("encoder.norm.bias", (4,), 0.000000, 0.000000),
        ("decoder.layers.0.self_attn.in_proj_weight", (12, 4), -0.062398, 0.059509),
        ("decoder.layers.0.self_attn.in_proj_bias", (12,), 0.000000, 0.000000),
        ("decoder.layers.0.self_attn.out_proj.weight", (4, 4), -0.653145, -0.113311),
        ("decoder.layers.0.self_attn.out_proj.bias", (4,), 0.000000, 0.000000),
        ("decoder.layers.0.multihead_attn.in_proj_weight", (12, 4), -0.225823, 0.025312),
        ("decoder.layers.0.multihead_attn.in_proj_bias", (12,), 0.000000, 0.000000),
        ("decoder.layers.0.multihead_attn.out_proj.weight", (4, 4), -0.749303, -0.165779),
        ("decoder.layers.0.multihead_attn.out_proj.bias", (4,), 0.000000, 0.000000),
        ("decoder.layers.0.linear1.weight", (8, 4), 0.589492, -0.030651),
        ("decoder.layers.0.linear1.bias", (8,), 0.173654, 0.060973),
        ("decoder.layers.0.linear2.weight", (4, 8), -0.458452, 0.067829),
        ("decoder.layers.0.linear2.bias", (4,), -0.063619, 0.100177),
        ("decoder.layers.0.norm1.weight", (4,), 1.000000, 1.000000),
        ("decoder.layers.0.norm1.bias", (4,), 0.000000, 0.000000),
        ("decoder.layers.0.norm2.weight", (4,), 1.000000, 1.000000),
        ("decoder.layers.0.norm2.bias", (4,), 0.000000, 0.000000),
        ("decoder.layers.0.norm3.weight", (4,), 1.000000, 1.000000),
        ("decoder.layers.0.norm3.bias", (4,), 0.000000, 0.000000),
        ("decoder.norm.weight", (4,), 1.000000, 1.000000),
        ("decoder.norm.bias", (4,), 0.000000, 0.000000),
    ],
    "RNN(3, 4)": [
        ("weight_ih_l0", (4, 3), -0.003743, -0.014715),
        ("weight_hh_l0", (4, 4), -0.477674, 0.038211),
        ("bias_ih_l0", (4,), -0.314769, 0.057537),
        ("bias_hh_l0", (4,), -0.324090, -0.370551),
    ],
    "LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)": [
        ("weight_ih_l0", (16, 3), -0.003743, -0.045318),
        ("weight_hh_l0", (16, 2), -0.221748, 0.054789),
        ("bias_ih_l0", (16,), -0.465977, -0.032346),
        ("bias_hh_l0", (16,), 0.249658, -0.079415),
        ("weight_hr_l0", (2, 4), -0.304270, 0.025472),
        ("weight_ih_l0_reverse", (16, 3), 0.196214, -0.085984),
        ("weight_hh_l0_reverse", (16, 2), -0.450029, -0.027508),
        ("bias_ih_l0_reverse", (16,), 0.021034, 0.015744),
        ("bias_hh_l0_reverse", (16,), -0.391103, -0.005455),
        ("weight_hr_l0_reverse", (2, 4), 0.062419, -0.019308),
        ("weight_ih_l1", (16, 4), 0.165096, -0.036602),
        ("weight_hh_l1", (16, 2), 0.098190, 0.038505),
        ("bias_ih_l1", (16,), 0.377584, 0.124990),
        ("bias_hh_l1", (16,), -0.089970, 0.013085),
        ("weight_hr_l1", (2, 4), -0.341216, -0.252616),
        ("weight_ih_l1_reverse", (16, 4), 0.411239, -0.010474),
        ("weight_hh_l1_reverse", (16, 2), -0.480647, -0.004568),
        ("bias_ih_l1_reverse", (16,), 0.287515, 0.034455),
        ("bias_hh_l1_reverse", (16,), 0.016078, 0.092460),
        ("weight_hr_l1_reverse", (2, 4), 0.423265, 0.080770),
    ],
    "GRU(3, 4)": [
        ("weight_ih_l0", (12, 3), -0.003743, -0.077198),
        ("weight_hh_l0", (12, 4), -0.291870, 0.035524),
        ("bias_ih_l0", (12,), 0.093586, -0.038354),
        ("bias_hh_l0", (12,), 0.249658, -0.168831),
    ],
    "RNNCell(3, 4)": [
        ("weight_ih", (4, 3), -0.003743, -0.014715),
        ("weight_hh", (4, 4), -0.477674, 0.038211),
        ("bias_ih", (4,), -0.314769, 0.057537),
        ("bias_hh", (4,), -0.324090, -0.370551),
    ],
    "LSTMCell(3, 4)": [
        ("weight_ih", (16, 3), -0.003743, -0.045318),
        ("weight_hh", (16, 4), -0.221748, -0.021654),
        ("bias_ih", (16,), -0.304270, -0.095739),
        ("bias_hh", (16,), -0.174917, 0.155823),
    ],
    "GRUCell(3, 4)": [
        ("weight_ih", (12, 3), -0.003743, -0.077198),
        ("weight_hh", (12, 4), -0.291870, 0.035524),
        ("bias_ih", (12,), 0.093586, -0.038354),
        ("bias_hh", (12,), 0.249658, -0.168831),
    ],
    "AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0)": [
        ("head.weight", (5, 8), -0.002647, -0.023702),
        ("tail.0.0.weight", (4, 8), 0.018594, 0.018301),
        ("tail.0.1.weight", (3, 4), 0.196505, -0.022450),
        ("tail.1.0.weight", (2, 8), 0.066175, -0.045432),
        ("tail.1.1.weight", (4, 2), 0.665210, -0.320939),
    ],
    "BatchNorm2d(3)": [
        ("weight", (3,), 1.000000, 1.000000),
        ("bias", (3,), 0.000000, 0.000000),
        ("running_mean", (3,), 0.000000, 0.000000),
        ("running_var", (3,), 1.000000, 1.000000),
        ("num_batches_tracked", (), 0.000000, 0.000000),
    ],
    "InstanceNorm1d(3, affine=True)": [
        ("weight", (3,), 1.000000, 1.000000),
        ("bias", (3,), 0.000000, 0.000000),
    ],
    "GroupNorm(2, 4)": [
        ("weight", (4,), 1.000000, 1.000000),
        ("bias", (4,), 0.000000, 0.000000),
    ],
    "LayerNorm((2, 3))": [
        ("weight", (2, 3), 1.000000, 1.000000),
        ("bias", (2, 3), 0.000000, 0.000000),
    ],
    "RMSNorm(4)": [
        ("weight", (4,), 1.000000, 1.000000),
    ],
    "PReLU(3)": [
        ("weight", (3,), 0.250000, 0.250000),
    ],
}


@pytest.mark.parametrize("call", OBSERVED)
def test_initial_weights_are_those_of_pytorch(call):
    weft.manual_seed(0)
    state = eval("nn." + call, {"nn": nn}).state_dict()
    expected = OBSERVED[call]
    assert [(name, tuple(value.shape)) for name, value in state.items()] == [
        (name, shape) for name, shape, *_ in expected
    ]
    for name, _, first, weighted in expected:
        values = state[name].double().numpy().ravel()
        positions = np.arange(1, values.size + 1)
        found = [values[0], (values * positions).sum() / positions.sum()]
        np.testing.assert_allclose(found, [first, weighted], atol=3e-6, err_msg=name)
