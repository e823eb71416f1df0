"""Layers on the CUDA device: losses of training are the CPU's, steps wait for nothing, second gradients agree."""

import cupy_stand_in
import pytest

import weft
from weft import nn
from weft.nn import functional as F
from weft.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from weft.testing._samples import function_of, naming_sample, sample_inputs, sample_names
from weft.testing.backend_suite import moved, tensors

LENGTHS = weft.tensor([5, 4, 2])


def images():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.ConvTranspose2d(6, 4, 2, stride=2),
        nn.GroupNorm(2, 4),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16, 3),
    )


def packed(layer, x):
    return pad_packed_sequence(layer(pack_padded_sequence(x, LENGTHS))[0])[0].square().mean()


def first(layer, *inputs):
    result = layer(*inputs)
    return (result[0] if isinstance(result, tuple) else result).square().mean()


def several_losses(layer, x, target):
    scores = layer(x)
    return (
        nn.CrossEntropyLoss()(scores, target)
        + nn.NLLLoss()(scores.log_softmax(-1), target)
        + nn.BCEWithLogitsLoss()(scores, x.sigmoid())
        + nn.SmoothL1Loss()(scores, x)
        + nn.KLDivLoss(reduction="batchmean")(scores.log_softmax(-1), x.softmax(-1))
        + nn.MultiMarginLoss()(scores, target.clamp(min=0))
        + nn.TripletMarginLoss()(scores, x, x + 1)
    )


def sequences():
    return weft.rand(5, 3, 4)


CASES = {  # a layer, its inputs, and a loss of both
    "images": (images, lambda: (weft.rand(4, 3, 8, 8), weft.tensor([0, 2, -100, 1])),
               lambda layer, x, target: F.cross_entropy(layer(x), target)),
    "rnn": (lambda: nn.RNN(4, 5, 2, bidirectional=True), lambda: (sequences(),), first),
    "lstm": (lambda: nn.LSTM(4, 5, 2, proj_size=2), lambda: (sequences(),), first),
    "gru": (lambda: nn.GRU(4, 5, batch_first=True), lambda: (sequences(),), first),
    "packed lstm": (lambda: nn.LSTM(4, 5, bidirectional=True), lambda: (sequences(),), packed),
    "padded": (lambda: nn.Linear(4, 5), lambda: (sequences(),),
               lambda layer, x: first(layer, pad_sequence([x[:, 0], x[:3, 1]]))),
    "cell": (lambda: nn.LSTMCell(4, 5), lambda: (weft.rand(3, 4),), first),
    "attention": (lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True), lambda: (sequences(),) * 3, first),
    "transformer": (lambda: nn.Transformer(4, 2, 1, 1, 8, 0.0), lambda: (sequences(),) * 2, first),
    "embedding": (lambda: nn.Embedding(5, 4, padding_idx=0), lambda: (weft.tensor([[1, 4], [0, 1]]),), first),
    "bags": (lambda: nn.EmbeddingBag(5, 4), lambda: (weft.tensor([1, 4, 0, 1]), weft.tensor([0, 3])), first),
    "losses": (lambda: nn.Linear(4, 4), lambda: (weft.rand(3, 4), weft.tensor([0, 1, -100])), several_losses),
    "weight norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), lambda: (sequences(),), first),
}  # fmt: skip


def losses(name, device, dtype):
    """Three steps of training, and what the last one made the host wait for or send."""
    make, inputs, loss = CASES[name]
    weft.manual_seed(0)
    layer = make().to(dtype).to(device)
    given = [each.to(dtype if each.is_floating_point() else each.dtype).to(device) for each in inputs()]
    optimizer = weft.optim.SGD(layer.parameters(), lr=0.1)
    found, events = [], []
    for _ in range(3):
        with cupy_stand_in.record() as log:
            optimizer.zero_grad()
            value = loss(layer, *given)
            value.backward()
            optimizer.step()
        found.append(value.detach())
        events = [each for each in log if each.kind in ("wait", "upload")]
    return [float(each) for each in found], events


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16], ids=str)
def test_training_has_the_losses_of_the_cpu_and_waits_for_nothing(name, dtype):
    here, _ = losses(name, "cpu", dtype)
    there, events = losses(name, "cuda", dtype)
    assert there == pytest.approx(here, rel=1e-4 if dtype is weft.float32 else 5e-2)
    assert not events


def second_gradients(function, args, kwargs):
    """Gradients of the squares of the gradients of the squares of what a function returns."""
    leaves = [each for each in tensors((args, kwargs)) if each.requires_grad]
    results = [each for each in tensors(function(*args, **kwargs)) if each.requires_grad]
    squares = [each.square().sum() for each in results]
    grads = weft.autograd.grad(squares, leaves, create_graph=True, allow_unused=True) if squares else []
    again = [each.square().sum() for each in grads if each is not None and each.requires_grad]
    found = weft.autograd.grad(again, leaves, allow_unused=True) if again else []
    return [each for each in found if each is not None]


@pytest.mark.parametrize("name", [name for name in sample_names() if "." in name])
def test_second_gradients_are_those_of_the_cpu(name):
    """In double precision: what is left of large terms that cancel has no digits in float32."""
    for args, kwargs in sample_inputs(name, weft.float64):
        with naming_sample(name, weft.float64, args, kwargs):
            try:
                here = second_gradients(function_of(name), *moved((args, kwargs), "cpu", requires_grad=True))
            except RuntimeError:
                break  # it has none
            there = second_gradients(function_of(name), *moved((args, kwargs), "cuda", requires_grad=True))
            assert len(there) == len(here)
            rtol, atol = (1e-3, 1e-5) if kwargs.get("dtype") is weft.float32 else (1e-7, 1e-9)
            for ours, cpus in zip(there, here):
                largest = float(cpus.abs().nan_to_num().max()) if cpus.numel() else 0.0
                weft.testing.assert_close(ours.cpu(), cpus, rtol=rtol, atol=atol * (1 + largest), equal_nan=True)


def test_causal_biases_are_made_where_the_query_is(on_stand_in):
    from weft.nn.attention.bias import causal_lower_right, causal_upper_left

    q, k = weft.rand(1, 2, 3, 4), weft.rand(1, 2, 5, 4)
    there = [each.cuda() for each in (q, k, k)]
    for bias in (causal_lower_right(3, 5), causal_upper_left(3, 5)):
        F.scaled_dot_product_attention(*there, attn_mask=bias)
        with cupy_stand_in.record() as log:
            found = F.scaled_dot_product_attention(*there, bias)
        assert not [each for each in log if each.kind in ("wait", "upload")]
        weft.testing.assert_close(found.cpu(), F.scaled_dot_product_attention(q, k, k, bias), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("module", ["transforms", "transforms.v2"])
@pytest.mark.parametrize("name", ["AugMix", "RandAugment", "TrivialAugmentWide", "ColorJitter", "RandomErasing"])
def test_pictures_on_the_device_are_changed_there(name, module):
    transforms = pytest.importorskip(f"weft.vision.{module}")
    options = {"ColorJitter": (0.5, 0.5, 0.5, 0.2), "RandomErasing": (1.0,)}
    picture = weft.randint(0, 256, (3, 8, 8), dtype=weft.uint8, device="cuda")
    found = getattr(transforms, name)(*options.get(name, ()))(picture)
    assert found.device == picture.device and found.dtype is weft.uint8 and found.shape == picture.shape
