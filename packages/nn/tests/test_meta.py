"""Modules, initialisation and optimizers on the device meta: how libraries make a model before they load it.

`transformers` (``from_pretrained``), `accelerate` (``init_empty_weights``) and `torchtune` do.
"""

import copy

import pytest

import weft
from weft import nn
from weft.nn import functional as F

MODULES = {
    "Linear": (lambda: nn.Linear(3, 4), [(2, 3)]),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 5), [(2, 3), (2, 4)]),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, padding=1), [(2, 4, 8)]),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, stride=2, groups=2), [(2, 4, 8, 8)]),
    "Conv2d depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4, padding_mode="circular"), [(2, 4, 8, 8)]),
    "Conv3d": (lambda: nn.Conv3d(2, 3, 2, dilation=2), [(1, 2, 5, 6, 7)]),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 2, 3, stride=2), [(2, 4, 5, 5)]),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), [(2, 4, 5, 5)]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), [(2, 4, 5)]),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(4, affine=True), [(2, 4, 5)]),
    "LayerNorm": (lambda: nn.LayerNorm(4), [(2, 3, 4)]),
    "RMSNorm": (lambda: nn.RMSNorm(4), [(2, 3, 4)]),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), [(2, 4, 5)]),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, return_indices=True), [(2, 3, 6, 6)]),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1), [(2, 3, 6, 6)]),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d(3), [(2, 3, 7, 7)]),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(3), [(2, 3, 7)]),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), [(1, 2, 3, 3)]),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), [(1, 4, 2, 2)]),
    "Fold": (lambda: nn.Fold((4, 5), 2), [(1, 12, 12)]),
    "Unfold": (lambda: nn.Unfold(2), [(1, 3, 4, 5)]),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d(1), [(1, 2, 3, 3)]),
    "Dropout": (lambda: nn.Dropout(0.5), [(4, 3)]),
    "PReLU": (lambda: nn.PReLU(), [(4, 3)]),
    "RReLU": (lambda: nn.RReLU(), [(4, 3)]),
    "GELU": (lambda: nn.GELU("tanh"), [(4, 3)]),
    "Softmax": (lambda: nn.Softmax(-1), [(4, 3)]),
    "RNN": (lambda: nn.RNN(3, 4, 2), [(5, 2, 3)]),
    "LSTM": (lambda: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2), [(5, 2, 3)]),
    "GRU": (lambda: nn.GRU(3, 4, batch_first=True), [(2, 5, 3)]),
    "LSTMCell": (lambda: nn.LSTMCell(3, 4), [(2, 3)]),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(8, 2), [(5, 2, 8), (6, 2, 8), (6, 2, 8)]),
    "Transformer": (lambda: nn.Transformer(8, 2, 1, 1, 16), [(5, 2, 8), (6, 2, 8)]),
    "Encoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2),
        [(2, 5, 8)],
    ),
}


def told(value):
    """Shape, dtype and strides of each tensor of a result."""
    if isinstance(value, weft.Tensor):
        return [(tuple(value.shape), value.dtype, value.stride(), value.requires_grad)]
    return [part for each in value for part in told(each)]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_a_module_gives_the_shapes_that_it_gives_on_the_cpu(name, training):
    make, shapes = MODULES[name]
    results, grads = [], []
    for device in ("cpu", "meta"):
        with weft.device(device):
            module = make().train(training)
            inputs = [weft.rand(shape).requires_grad_() for shape in shapes]
            result = module(*inputs)
        assert all(each.device.type == device for each in [*module.parameters(), *module.buffers()])
        first = result if isinstance(result, weft.Tensor) else result[0]
        first.sum().backward()
        results.append(told(result))
        grads.append([told(each.grad) if each.grad is not None else None for each in [*inputs, *module.parameters()]])
    assert results[0] == results[1]
    assert [each and each[0][:2] for each in grads[0]] == [each and each[0][:2] for each in grads[1]]


LOSSES = {
    "mse_loss": lambda x, target: F.mse_loss(x, x.detach()),
    "cross_entropy": lambda x, target: F.cross_entropy(x, target, weight=x.detach()[0]),
    "cross_entropy of probabilities": lambda x, target: F.cross_entropy(x, x.detach().softmax(1)),
    "label smoothing": lambda x, target: F.cross_entropy(x, target, label_smoothing=0.1),
    "nll_loss": lambda x, target: F.nll_loss(x.log_softmax(1), target, reduction="none"),
    "binary_cross_entropy": lambda x, target: F.binary_cross_entropy(x.sigmoid(), x.detach().sigmoid()),
    "kl_div": lambda x, target: F.kl_div(x, x.detach(), reduction="batchmean"),
    "smooth_l1_loss": lambda x, target: F.smooth_l1_loss(x, x.detach()),
    "triplet": lambda x, target: F.triplet_margin_loss(x, x.detach(), x.detach() + 1),
    "multi_margin_loss": lambda x, target: F.multi_margin_loss(x, target),
    "gaussian_nll_loss": lambda x, target: F.gaussian_nll_loss(x, x.detach(), x.detach() ** 2),
    "cosine": lambda x, target: F.cosine_embedding_loss(x, x.detach(), target * 2 - 1),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_gives_the_shapes_that_it_gives_on_the_cpu(name):
    results = []
    for device in ("cpu", "meta"):
        x = weft.rand(4, 3, device=device, requires_grad=True)
        loss = LOSSES[name](x, weft.ones(4, dtype=weft.int64, device=device))
        loss.sum().backward()
        results.append([*told(loss), *told(x.grad)])
    assert results[0] == results[1]


def test_tokens_are_looked_up():
    with weft.device("meta"):
        tokens = weft.randint(10, (2, 5))
        table = nn.Embedding(10, 4, padding_idx=0)
        assert table(tokens).shape == (2, 5, 4)
        table(tokens).sum().backward()
        assert nn.EmbeddingBag(10, 4)(tokens).shape == (2, 4)
        assert F.one_hot(tokens, 10).shape == (2, 5, 10)
    assert table.weight.grad.shape == (10, 4)


@pytest.mark.parametrize("causal", [True, False])
def test_attention_takes_masks(causal):
    with weft.device("meta"):
        q, k = weft.rand(2, 4, 5, 8, requires_grad=True), weft.rand(2, 4, 7, 8)
        mask = None if causal else weft.ones(2, 1, 5, 7, dtype=weft.bool)
        out = F.scaled_dot_product_attention(q, k, k, attn_mask=mask, is_causal=causal, dropout_p=0.1)
    out.sum().backward()
    assert (out.shape, q.grad.shape) == ((2, 4, 5, 8), q.shape)


def test_a_model_is_built_and_loaded_without_its_first_weights():
    source = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    with weft.device("meta"):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model.load_state_dict(source.state_dict(), assign=True)
    assert not any(each.is_meta for each in [*model.parameters(), *model.buffers()])
    x = weft.rand(5, 3)
    assert weft.equal(model.eval()(x), source.eval()(x))


def test_loading_without_assign_changes_nothing():
    model = nn.Linear(3, 4, device="meta")
    with pytest.warns(UserWarning, match="meta"):
        model.load_state_dict(nn.Linear(3, 4).state_dict())
    assert model.weight.is_meta


def test_modules_move_to_meta_and_not_back():
    model = nn.Linear(3, 4).to("meta")
    assert model.weight.is_meta
    assert isinstance(model.weight, nn.Parameter)
    with pytest.raises(NotImplementedError, match=r"Cannot copy out of meta tensor; no data!.*to_empty"):
        model.to("cpu")
    model.to_empty(device="cpu")
    model.reset_parameters()
    assert model(weft.ones(2, 3)).shape == (2, 4)


def test_copies_of_modules_are_meta():
    model = nn.Linear(3, 4, device="meta", bias=False)
    assert repr(copy.deepcopy(model).weight) == repr(model.weight)
    assert repr(model.weight).startswith("Parameter containing:\ntensor(..., device='meta', size=(4, 3)")


INITS = [
    "ones_", "zeros_", "eye_", "uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_",
    "kaiming_uniform_", "kaiming_normal_", "orthogonal_",
]  # fmt: skip


@pytest.mark.parametrize("name", INITS)
def test_initialisation_does_nothing(name):
    weft.manual_seed(0)
    expected = weft.rand(2)
    weft.manual_seed(0)
    tensor = weft.empty(4, 5, device="meta")
    assert getattr(nn.init, name)(tensor) is tensor
    assert weft.equal(weft.rand(2), expected)


OPTIMIZERS = "SGD Adam AdamW Adagrad Adadelta Adamax NAdam RAdam RMSprop ASGD Rprop".split()


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_steps(name, foreach):
    model = nn.Linear(3, 4, device="meta")
    optimizer = getattr(weft.optim, name)(model.parameters(), lr=0.1, foreach=foreach)
    for _ in range(2):
        optimizer.zero_grad()
        model(weft.rand(2, 3, device="meta")).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    states = optimizer.state_dict()["state"].values()
    assert all(
        each.is_meta for state in states for each in state.values() if isinstance(each, weft.Tensor) and each.ndim
    )


def test_large_models_need_no_memory():
    with weft.device("meta"):
        layer = nn.Linear(1 << 20, 1 << 20)
        out = layer(weft.empty(1 << 16, 1 << 20))
    assert out.shape == (1 << 16, 1 << 20)
    assert layer.weight.nbytes == 1 << 42


@pytest.mark.parametrize("mode", ["nearest", "linear", "area"])
def test_resampling_of_any_size_needs_no_memory(mode):
    x = weft.empty(2, 3, 2 * 10**8, device="meta", requires_grad=True)
    made = F.interpolate(x, scale_factor=2, mode=mode)
    made.sum().backward()
    assert made.shape == (2, 3, 4 * 10**8) and x.grad.shape == x.shape


def test_resampled_images_lie_in_memory_as_on_the_cpu():
    for layout in (weft.contiguous_format, weft.channels_last):
        x = weft.randn(2, 3, 4, 5).to(memory_format=layout)
        for mode in ("nearest", "bilinear", "bicubic", "area"):
            for size in ((7, 6), (4, 5)):
                made = [F.interpolate(each, size=size, mode=mode) for each in (x, x.to("meta"))]
                assert made[0].stride() == made[1].stride()
