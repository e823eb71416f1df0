"""weft.amp: which precision each function takes inside of autocast, as seen in PyTorch on a CPU; and GradScaler."""

import pytest

import weft
import weft.nn.functional as F
from weft import nn
from weft._engine.tensor import state
from weft.amp import GradScaler, custom_bwd, custom_fwd
from weft.autograd import Function

X = weft.linspace(-1, 1, 12).reshape(4, 3)
HALF = X.to(weft.bfloat16)


@pytest.mark.parametrize(
    "function",
    [
        lambda: X @ X.T,
        lambda: weft.mm(X, X.T),
        lambda: weft.bmm(X[None], X.T[None]),
        lambda: weft.addmm(HALF[:, :1], X, weft.ones(3, 3)),
        lambda: weft.einsum("ij,kj->ik", X, X),
        lambda: F.linear(X, weft.ones(2, 3)),
        lambda: F.conv1d(X[None], weft.ones(2, 4, 1)),
        lambda: F.scaled_dot_product_attention(X[None], X[None], X[None]),
        lambda: weft.nn.Linear(3, 2)(X).softmax(-1),
    ],
)
def test_products_are_computed_in_the_half_type(function):
    with weft.autocast("cpu"):
        assert function().dtype is weft.bfloat16
    with weft.autocast("cpu", dtype=weft.float16):
        assert weft.mm(X, X.T).dtype is weft.float16


@pytest.mark.parametrize(
    "function",
    [
        lambda: F.mse_loss(HALF, HALF),
        lambda: F.cross_entropy(HALF, weft.zeros(4).long()),
        lambda: F.nll_loss(HALF, weft.zeros(4).long()),
        lambda: F.binary_cross_entropy_with_logits(HALF, HALF.sigmoid()),
        lambda: F.kl_div(HALF, HALF, reduction="sum"),
        lambda: F.avg_pool3d(weft.ones(1, 1, 2, 2, 2).bfloat16(), 2),
        lambda: weft.cdist(HALF, HALF),
        lambda: weft.quantile(HALF, 0.5),
        lambda: HALF.prod(),
        lambda: weft.linalg.inv(weft.eye(3).bfloat16()),
        lambda: weft.fft.fft(HALF).real,
    ],
)
def test_losses_and_decompositions_are_computed_in_float32(function):
    with weft.autocast("cpu"):
        assert function().dtype is weft.float32


def test_joined_tensors_take_the_widest_type():
    with weft.autocast("cpu"):
        assert weft.cat([HALF, X]).dtype is weft.float32
        assert weft.stack([HALF, HALF]).dtype is weft.bfloat16


def test_everything_else_and_float64_are_left_alone():
    with weft.autocast("cpu"):
        assert (X + 1).dtype is weft.float32
        assert HALF.sum().dtype is weft.bfloat16
        assert (X.double() @ X.double().T).dtype is weft.float64


def test_autocast_nests_and_may_be_switched_off_inside():
    with weft.autocast("cpu"):
        with weft.autocast("cpu", enabled=False):
            assert (X @ X.T).dtype is weft.float32
            assert not weft.is_autocast_enabled("cpu")
        assert (X @ X.T).dtype is weft.bfloat16
        assert weft.get_autocast_dtype("cpu") is weft.bfloat16
    assert (X @ X.T).dtype is weft.float32


def test_autocast_decorates():
    @weft.autocast("cpu")
    def product():
        return X @ X.T

    assert product().dtype is weft.bfloat16


def test_gradients_have_the_parameters_dtype():
    layer = weft.nn.Linear(3, 2)
    with weft.autocast("cpu"):
        loss = layer(X).float().square().sum() + layer(X).float().sum()
    loss.backward()
    assert layer.weight.grad.dtype is weft.float32
    assert layer.weight.grad.abs().sum() > 0


def test_halves_of_parameters_are_made_once():
    layer = weft.nn.Linear(3, 2)
    with weft.autocast("cpu"):
        first = layer(X).grad_fn.edges()
        second = layer(X).grad_fn.edges()
        assert first[0] is second[0]
        weft.clear_autocast_cache()
        assert layer(X).grad_fn.edges()[0] is not first[0]


def test_other_dtypes_switch_autocast_off_with_a_warning():
    with pytest.warns(UserWarning, match="not supported"), weft.autocast("cpu", dtype=weft.float64):
        assert (X @ X.T).dtype is weft.float32


def test_custom_functions_choose_their_precision():
    seen = []

    class Product(Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=weft.float32)
        def forward(ctx, a, b):
            seen.append((a.dtype, weft.is_autocast_enabled("cpu")))
            return a * b

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad, grad

    with weft.autocast("cpu"):
        Product.apply(HALF.clone().requires_grad_(), HALF).sum().backward()
    assert seen == [(weft.float32, False)]


# GradScaler


def test_the_scaler_is_at_the_top_level_too():
    assert weft.GradScaler is GradScaler


def scaled_step(scaler, optimizer, weight, factor):
    optimizer.zero_grad()
    scaler.scale((weight * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


@pytest.fixture
def weight():
    return weft.nn.Parameter(weft.ones(2))


def test_a_scaled_step_is_the_step(weight):
    optimizer = weft.optim.SGD([weight], lr=0.5)
    scaled_step(GradScaler("cpu", init_scale=1024.0), optimizer, weight, 1.0)
    assert weight.tolist() == [0.5, 0.5]


def test_steps_with_infinite_gradients_are_left_out_and_the_scale_shrinks(weight):
    optimizer = weft.optim.SGD([weight], lr=0.5)
    scaler = GradScaler("cpu", init_scale=1024.0)
    scaled_step(scaler, optimizer, weight, float("inf"))
    assert weight.tolist() == [1.0, 1.0]
    assert scaler.get_scale() == 512.0


def test_the_scale_grows_after_some_good_steps(weight):
    optimizer = weft.optim.SGD([weight], lr=0.0)
    scaler = GradScaler("cpu", init_scale=4.0, growth_interval=2)
    for _ in range(4):
        scaled_step(scaler, optimizer, weight, 1.0)
    assert scaler.get_scale() == 16.0


def test_gradients_may_be_unscaled_for_clipping_once(weight):
    optimizer = weft.optim.SGD([weight], lr=0.5)
    scaler = GradScaler("cpu", init_scale=8.0)
    scaler.scale((weight * 3).sum()).backward()
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)


def test_the_state_of_a_scaler_is_saved_and_loaded(weight):
    scaler = GradScaler("cpu", init_scale=4.0, growth_interval=3)
    scaled_step(scaler, weft.optim.SGD([weight], lr=0.0), weight, 1.0)
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


def test_a_disabled_scaler_leaves_things_alone(weight):
    scaler = GradScaler("cpu", enabled=False)
    optimizer = weft.optim.SGD([weight], lr=1.0)
    loss = weight.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.0, 0.0]
    assert scaler.get_scale() == 1.0


@pytest.mark.parametrize(("kind", "expected"), [("LSTM", weft.bfloat16), ("GRU", weft.float32), ("RNN", weft.bfloat16)])
def test_recurrent_networks_are_in_the_precision_of_pytorchs_kernels(kind, expected):
    network = getattr(nn, kind)(3, 4)
    with weft.autocast("cpu"):
        output, state = network(weft.ones(2, 1, 3))
    assert output.dtype is expected
    assert (state[0] if kind == "LSTM" else state).dtype is expected


def test_attention_takes_a_mask_of_another_precision():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    with weft.autocast("cpu"):
        assert layer(weft.ones(1, 3, 4), src_mask=mask).dtype is weft.float32
        heads = weft.nn.functional.scaled_dot_product_attention(*[weft.ones(1, 2, 3, 4)] * 3, attn_mask=mask)
    assert heads.dtype is weft.bfloat16


def test_autocast_is_switched_on_and_off_without_a_block():
    x = weft.ones(2, 2)
    weft.set_autocast_enabled("cpu", True)
    try:
        assert weft.is_autocast_enabled("cpu")
        assert (x @ x).dtype == weft.bfloat16
        with weft.autocast("cpu", enabled=False):
            assert (x @ x).dtype == weft.float32
            weft.set_autocast_enabled("cpu", True)
            assert (x @ x).dtype == weft.bfloat16
        assert (x @ x).dtype == weft.bfloat16
    finally:
        weft.set_autocast_enabled("cpu", False)
    assert (x @ x).dtype == weft.float32
    with weft.autocast("cpu"):
        weft.set_autocast_enabled("cpu", False)
        assert (x @ x).dtype == weft.float32
    assert not weft.is_autocast_enabled("cpu")
    assert not state.intercepting  # calls are on the fast path again


def test_autocast_is_switched_for_cuda_where_no_device_is_named():
    weft.set_autocast_enabled(True)
    assert weft.is_autocast_enabled()
    weft.set_autocast_enabled(False)
    assert not weft.is_autocast_enabled()
    with pytest.raises(ValueError, match="set_autocast_enabled: Expected `device_type` of type `str`"):
        weft.set_autocast_enabled(3, True)


def test_gradients_are_unscaled_in_place_and_infinite_ones_are_found():
    found, inverse = weft.tensor(0.0), weft.tensor([0.25])
    gradients = [weft.full((2,), 4.0), weft.full((3,), 8.0, dtype=weft.float64), weft.ones(2, dtype=weft.float16)]
    assert weft._amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse) is None
    assert [each.tolist() for each in gradients] == [[1, 1], [2, 2, 2], [0.25, 0.25]]
    assert found == 0
    for value in (float("inf"), float("nan")):
        found = weft.tensor(0.0)
        weft._amp_foreach_non_finite_check_and_unscale_([weft.tensor([1.0, value]), weft.ones(1)], found, inverse)
        assert found == 1
    weft._amp_foreach_non_finite_check_and_unscale_([weft.ones(1)], found, inverse)
    assert found == 1  # stays until it is reset


@pytest.mark.parametrize(
    ("scale", "steps", "infinite", "interval", "new_scale", "new_steps"),
    [
        (4.0, 0, 0.0, 1, 8.0, 0),
        (4.0, 0, 0.0, 2, 4.0, 1),
        (4.0, 1, 0.0, 2, 8.0, 0),
        (4.0, 1, 1.0, 2, 2.0, 0),
        (3e38, 0, 0.0, 1, 3e38, 0),
    ],
)
def test_a_scale_shrinks_grows_or_waits(scale, steps, infinite, interval, new_scale, new_steps):
    scales, tracker = weft.tensor([scale]), weft.tensor(steps, dtype=weft.int32)
    assert weft._amp_update_scale_(scales, tracker, weft.tensor(infinite), 2.0, 0.5, interval) is scales
    assert scales.tolist() == weft.tensor([new_scale]).tolist() and tracker == new_steps


def test_scales_that_are_not_one_number_of_their_dtype_are_refused():
    number, counter = weft.tensor(1.0), weft.tensor(0, dtype=weft.int32)
    for call, said in (
        (lambda: weft._amp_update_scale_(number, weft.tensor(0), number, 2.0, 0.5, 1), "growth_tracker must be an int"),
        (lambda: weft._amp_update_scale_(weft.ones(2), counter, number, 2.0, 0.5, 1), "current_scale must be a 1-ele"),
        (lambda: weft._amp_foreach_non_finite_check_and_unscale_([], number, number.double()), "inv_scale must be a f"),
    ):
        with pytest.raises(RuntimeError, match=said):
            call()
    with pytest.raises(NotImplementedError, match="'Int'"):
        weft._amp_foreach_non_finite_check_and_unscale_([weft.ones(1).int()], number, number)
