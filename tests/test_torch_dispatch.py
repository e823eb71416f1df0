"""``__torch_dispatch__``: PyTorch's names of what runs in forward and backward passes (fvcore, torchao, tensordict)."""

import functools

import pytest

import weft
from weft import nn
from weft.nn import functional as F
from weft.overrides import enable_reentrant_dispatch
from weft.utils._mode_utils import no_dispatch
from weft.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode
from weft.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

aten = weft.ops.aten


class Record(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def names(record):
    return [str(each) for each in record.seen]


def test_forward_and_backward_of_a_perceptron_have_pytorchs_names():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with Record() as forward:
        loss = F.cross_entropy(model(weft.randn(5, 3)), weft.tensor([0, 1, 0, 1, 1]))
    with Record() as backward:
        loss.backward()
    assert names(forward) == [
        "aten.randn.default",
        *["aten.t.default", "aten.addmm.default", "aten.relu.default", "aten.t.default", "aten.addmm.default"],
        *["aten.lift_fresh.default", "aten._log_softmax.default", "aten.nll_loss_forward.default"],
    ]
    assert {"aten.mm.default", "aten.nll_loss_backward.default", "aten.threshold_backward.default"} < {*names(backward)}


@pytest.mark.parametrize(
    ("run", "wanted"),
    [
        (lambda x: x + x, "add.Tensor"),
        (lambda x: x * 2, "mul.Tensor"),
        (lambda x: 2 - x, "rsub.Scalar"),
        (lambda x: x > 0, "gt.Scalar"),
        (lambda x: x**2, "pow.Tensor_Scalar"),
        (lambda x: x.sum(), "sum.default"),
        (lambda x: x.sum(1), "sum.dim_IntList"),
        (lambda x: x.mean(1), "mean.dim"),
        (lambda x: x.max(1), "max.dim"),
        (lambda x: x.t(), "t.default"),
        (lambda x: x.view(-1), "view.default"),
        (lambda x: x[1], "select.int"),
        (lambda x: x[1:], "slice.Tensor"),
        (lambda x: x.double(), "_to_copy.default"),
        (lambda x: x.softmax(1), "_softmax.default"),
        (lambda x: x.index_select(0, weft.zeros(1, dtype=weft.int64)), "index_select.default"),
        (lambda x: F.gelu(x), "gelu.default"),
        (lambda x: F.layer_norm(x, (3,)), "native_layer_norm.default"),
        (lambda x: F.conv1d(x[None], weft.ones(1, 2, 3)), "convolution.default"),
        (lambda x: weft.cat([x, x]), "cat.default"),
        (lambda x: x.clone().add_(x), "add_.Tensor"),
        (lambda x: x.sum().item(), "_local_scalar_dense.default"),
    ],
)
def test_an_op_is_shown_under_pytorchs_name_and_changes_nothing(run, wanted):
    x = weft.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
    expected = run(x)
    with Record() as record:
        found = run(x)
    assert f"aten.{wanted}" in names(record)
    for one, other in zip(found, expected) if isinstance(found, tuple) else [(found, expected)]:
        assert one == other if isinstance(one, float) else weft.allclose(one, other)


def test_an_overload_is_one_object_for_all_who_are_shown_it():
    with Record() as record:
        _ = weft.ones(2) * weft.ones(2)
    assert record.seen[-1] is aten.mul.Tensor
    assert {aten.mul.Tensor: 1}[record.seen[-1]] == 1
    assert record.seen[-1].overloadpacket is aten.mul


def test_what_a_mode_returns_has_the_history_of_the_op():
    class Double(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is aten.mul.Tensor else result

    x = weft.ones(2, requires_grad=True)
    with Double():
        y = x * 3
    assert y.tolist() == [6, 6]
    assert type(y.grad_fn).__name__ == "MulBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_modes_nest_and_the_innermost_is_asked_first():
    order = []

    class Named(Record):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    x = weft.ones(2)
    with Named("outer"), Named("inner"):
        assert _get_current_dispatch_mode().name == "inner"
        _ = x + x
        with _disable_current_modes():
            assert _get_current_dispatch_mode() is None
            _ = x + x
    assert order == ["inner", "outer"]


def test_what_a_mode_calls_itself_is_seen_by_those_outside_of_it_alone():
    class Calling(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return weft.exp(func(*args, **(kwargs or {})))

    x = weft.zeros(2)
    with Record() as outer, Calling():
        assert (x + x).tolist() == [1, 1]
    assert names(outer) == ["aten.add.Tensor", "aten.exp.default"]


def test_views_are_views_under_a_mode():
    x = weft.zeros(2, 2)
    with Record():
        x.t()[0].fill_(1)
        x.view(-1)[3] = 5
    assert x.tolist() == [[1, 0], [1, 5]]


@pytest.mark.parametrize(
    ("kept", "products", "sines"),
    [([], 4, 2), ([aten.mm.default], 3, 2), ([aten.mm.default, aten.sin.default], 3, 1)],
    ids=["nothing", "products", "both"],
)
def test_selective_checkpoints_compute_again_what_is_not_kept(kept, products, sines):
    x = weft.randn(4, 4, requires_grad=True)
    w = weft.randn(4, 4, requires_grad=True)

    def function(x, w):
        return weft.sin(weft.mm(x, w)).relu().sum()

    with Record() as record:
        context_fn = functools.partial(create_selective_checkpoint_contexts, kept)
        checkpoint(function, x, w, use_reentrant=False, context_fn=context_fn).backward()
    assert names(record).count("aten.mm.default") == products  # two of them are the gradients
    assert names(record).count("aten.sin.default") == sines
    expected = weft.autograd.grad(function(x, w), [x, w])
    assert weft.allclose(x.grad, expected[0])
    assert weft.allclose(w.grad, expected[1])


def test_a_selective_checkpoint_takes_a_policy_and_is_run_backward_once():
    def policy(ctx, op, *args, **kwargs):
        return CheckpointPolicy.MUST_SAVE if op is aten.addmm.default else CheckpointPolicy.PREFER_RECOMPUTE

    x = weft.ones(2, 3, requires_grad=True)
    layer = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 3))
    context_fn = functools.partial(create_selective_checkpoint_contexts, policy)
    loss = checkpoint(layer, x, use_reentrant=False, context_fn=context_fn).sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        loss.backward()


def test_an_operator_has_kernels_for_the_devices_that_have_a_backend(monkeypatch):
    def found():
        keys = ("CPU", "CUDA", "Meta", "XPU", "SparseCPU", "AutogradCPU")
        return [key for key in keys if aten.relu.default.has_kernel_for_dispatch_key(key)]

    monkeypatch.setattr("weft._ops.backends", lambda: ["cpu"])
    assert found() == ["CPU", "Meta"]
    monkeypatch.setattr("weft._ops.backends", lambda: ["cpu", "cuda"])
    assert found() == ["CPU", "CUDA", "Meta"]


def test_a_list_of_operators_to_keep_has_overloads_alone():
    with pytest.raises(ValueError, match="to be an OpOverload"):
        create_selective_checkpoint_contexts([aten.mm])
    with pytest.raises(TypeError, match="either a function or a list"):
        create_selective_checkpoint_contexts(3)


def test_nodes_list_what_they_have_saved():  # torchviz draws it
    x = weft.ones(2, 3, requires_grad=True)
    listed = {name for name in dir((x * x).grad_fn) if "saved" in name}
    assert listed == {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other"}
    assert "_saved_result" in dir(x.exp().grad_fn)
    assert x.sum(1).grad_fn._saved_self_sym_sizes == (2, 3)
    assert (x**2).grad_fn._saved_exponent == 2


def test_a_mode_may_record_where_it_says_so():
    class Differentiating(TorchDispatchMode):
        found = None

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is aten.mul.Tensor:
                assert not (args[0] + weft.ones(1, requires_grad=True)).requires_grad  # below autograd
                with enable_reentrant_dispatch(), weft.enable_grad():
                    x = args[0].detach().requires_grad_()
                    (self.found,) = weft.autograd.grad((x * x).sum(), x)
            return func(*args, **(kwargs or {}))

    with Differentiating() as mode:
        _ = weft.ones(2) * 3
    assert mode.found.tolist() == [2, 2]


def test_no_dispatch_asks_nobody():
    with Record() as record, no_dispatch():
        _ = weft.ones(2) + 1
    assert record.seen == []


MODELS = {
    "convolutions": lambda: (
        nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.BatchNorm2d(8),
            nn.SiLU(),
            nn.MaxPool2d(2),
            nn.ConvTranspose2d(8, 4, 2, stride=2),
            nn.AvgPool2d(2),
            nn.ZeroPad2d(1),
            nn.Flatten(),
            nn.Dropout(0.3),
            nn.Linear(144, 5),
        ),
        weft.randn(2, 3, 16, 16),
    ),
    "transformer": lambda: (
        nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True, activation="gelu"),
        weft.randn(2, 5, 16),
    ),
    "recurrent": lambda: (nn.LSTM(4, 6, 2, bidirectional=True), weft.randn(5, 2, 4)),
    "embeddings": lambda: (
        nn.Sequential(nn.Embedding(10, 8, padding_idx=0), nn.LayerNorm(8), nn.Linear(8, 3), nn.LogSoftmax(-1)),
        weft.randint(0, 10, (3, 4)),
    ),
    "activations": lambda: (
        nn.Sequential(
            *[nn.Conv1d(4, 8, 3), nn.GroupNorm(2, 8), nn.ELU(), nn.InstanceNorm1d(8), nn.PReLU(), nn.Softplus()],
            *[nn.LeakyReLU(), nn.Hardtanh(), nn.Mish(), nn.Hardswish(), nn.Upsample(scale_factor=2), nn.ReLU6()],
        ),
        weft.randn(2, 4, 10),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_compute_and_learn_the_same_under_a_mode(name):
    def step():
        weft.manual_seed(0)
        found = model(x)
        loss = (found[0] if isinstance(found, tuple) else found).pow(2).mean()
        return loss, weft.autograd.grad(loss, [*model.parameters()])

    weft.manual_seed(1)
    model, x = MODELS[name]()
    loss, grads = step()
    with Record() as record:
        shown_loss, shown_grads = step()
    weft.testing.assert_close(shown_loss, loss)
    weft.testing.assert_close(shown_grads, grads, rtol=1e-4, atol=1e-6)
    of_pytorch = [each for each in names(record) if each.startswith("aten.")]
    assert len(of_pytorch) > len(record.seen) / 2
