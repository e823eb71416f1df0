"""Counts of floating-point operations: PyTorch 2.13's own for the same programs."""

import pytest

import weft
from weft import nn
from weft.utils.flop_counter import FlopCounterMode, register_flop_formula


def counted(function, **options):
    with FlopCounterMode(display=False, **options) as counter:
        function()
    return counter


def by_name(counter, module="Global"):
    return {str(op): count for op, count in counter.get_flop_counts()[module].items()}


def mlp():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    model(weft.randn(5, 8)).sum().backward()


def cnn():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=2, stride=2), nn.Flatten(), nn.Linear(72, 4)
    )
    model(weft.randn(2, 3, 8, 8)).sum().backward()


def attention():
    x = weft.randn(2, 5, 8)
    nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0].sum().backward()


def fused_attention():
    q, k, v = (weft.randn(2, 4, length, width, requires_grad=True) for length, width in ((6, 8), (5, 8), (5, 3)))
    nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()


def encoder():
    nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(weft.randn(2, 5, 8)).sum().backward()


def transposed():
    nn.ConvTranspose2d(3, 8, 3)(weft.randn(2, 3, 8, 8, requires_grad=True)).sum().backward()


def volumes():
    nn.Conv3d(4, 8, 3)(weft.randn(2, 4, 8, 8, 5)).sum().backward()


def matrices():
    weft.addmm(weft.ones(3, 5), weft.ones(3, 4), weft.ones(4, 5))
    weft.baddbmm(weft.ones(2, 3, 5), weft.ones(2, 3, 4), weft.ones(2, 4, 5))
    weft.ones(3, 4) @ weft.ones(4)


@pytest.mark.parametrize(
    ("program", "total"),
    [
        (mlp, 4480),
        (cnn, 155520),
        (attention, 16320),
        (encoder, 32480),
        (fused_attention, 480 * (8 + 3) + 480 * (3 * 8 + 2 * 3)),
        (transposed, 165888),
        (volumes, 746496),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_totals_are_pytorchs(program, total):
    assert counted(program).get_total_flops() == total


def test_operations_are_counted_by_their_names():
    assert by_name(counted(mlp)) == {"aten.addmm": 1920, "aten.mm": 2560}
    assert by_name(counted(cnn)) == {
        "aten.convolution": 65664,
        "aten.addmm": 1152,
        "aten.mm": 2304,
        "aten.convolution_backward": 86400,
    }
    assert by_name(counted(matrices)) == {"aten.addmm": 120, "aten.baddbmm": 240}


def test_modules_get_what_they_do_forward_and_backward():
    counter = counted(mlp)
    assert by_name(counter, "Sequential.0") == {"aten.addmm": 1280, "aten.mm": 1280}
    assert by_name(counter, "Sequential.2") == {"aten.addmm": 640, "aten.mm": 1280}
    assert by_name(counter, "Sequential") == by_name(counter, "Global")


def test_what_is_outside_of_modules_is_counted_globally():
    counter = counted(lambda: weft.ones(2, 3) @ weft.ones(3, 4))
    assert list(counter.get_flop_counts()) == ["Global"]
    assert counter.get_total_flops() == 48


def test_nothing_is_counted_after_the_block():
    counter = counted(mlp)
    mlp()
    assert counter.get_total_flops() == 4480
    assert counted(lambda: None).get_total_flops() == 0


def test_counters_in_each_other_both_count():
    with FlopCounterMode(display=False) as outer:
        inner = counted(mlp)
        mlp()
    assert (inner.get_total_flops(), outer.get_total_flops()) == (4480, 8960)


def test_a_formula_of_ones_own_is_used():
    mapping = {weft.ops.aten.exp: lambda shape, out_shape=None: 10 * shape.numel()}
    assert by_name(counted(lambda: weft.ones(3).exp(), custom_mapping=mapping)) == {"aten.exp": 30}
    assert callable(register_flop_formula([])(lambda: None))


def test_the_table_is_printed_at_the_end(capsys):
    with FlopCounterMode():
        mlp()
    table = capsys.readouterr().out
    assert table.splitlines()[0].split() == ["Module", "FLOP", "%", "Total"]
    assert "Global" in table
    assert "4.480K  100.00%" in table
    assert "aten.addmm" in table
