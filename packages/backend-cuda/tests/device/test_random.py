"""Random numbers on the device: states, what recomputation and dropout draw again, what is asserted of arguments."""

import pytest

import weft
import weft.nn.functional as F
from weft.library import Interceptor
from weft.utils.checkpoint import checkpoint

CUDA = {"device": "cuda"}


@pytest.fixture(autouse=True)
def seeded():
    weft.manual_seed(0)


def test_seeds_give_pytorchs_numbers():
    assert weft.rand(3, **CUDA).tolist() == pytest.approx([0.3990, 0.5167, 0.0249], abs=6e-5)
    weft.cuda.manual_seed_all(0)
    assert weft.randn(5, **CUDA).tolist() == pytest.approx([-0.9247, -0.4253, -2.6438, 0.1452, -0.1209], abs=6e-5)


def test_generators_have_offsets():
    generator = weft.Generator("cuda").manual_seed(1)
    first = weft.rand(5, generator=generator, **CUDA)
    offset = generator.get_offset()
    second = weft.rand(5, generator=generator, **CUDA)
    assert offset == 4
    generator.set_offset(0)
    assert weft.rand(5, generator=generator, **CUDA).tolist() == first.tolist()
    assert weft.rand(5, generator=generator, **CUDA).tolist() == second.tolist()


def test_the_cpus_generator_has_no_offset():
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        weft.Generator().get_offset()


def test_states_are_16_bytes_and_restore():
    weft.rand(3, **CUDA)
    state = weft.cuda.get_rng_state()
    assert (state.device.type, state.shape) == ("cpu", (16,))
    first = weft.randn(7, **CUDA).tolist()
    weft.cuda.set_rng_state(state)
    assert weft.randn(7, **CUDA).tolist() == first
    copy = weft.Generator("cuda")
    copy.set_state(state)
    assert weft.randn(7, generator=copy, **CUDA).tolist() == first


def test_fork_rng_restores_the_device():
    weft.rand(3, **CUDA)
    with weft.random.fork_rng(devices=[0]):
        inside = weft.rand(3, **CUDA)
    assert weft.rand(3, **CUDA).tolist() == inside.tolist()


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoints_draw_again_what_they_drew(use_reentrant):
    x = weft.ones(100, requires_grad=True, **CUDA)
    output = checkpoint(lambda x: F.dropout(x * 2, 0.5) * x, x, use_reentrant=use_reentrant)
    after = weft.cuda.get_rng_state().tolist()
    output.sum().backward()
    assert x.grad.tolist() == (output * 2).tolist()
    assert weft.cuda.get_rng_state().tolist() == after


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_dropout_divides_what_it_keeps_and_its_gradient_too(dtype):
    x = weft.ones(1000, dtype=getattr(weft, dtype), requires_grad=True, **CUDA)
    y = F.dropout(x, 0.25)
    y.sum().backward()
    kept = 1 / weft.tensor(0.75, dtype=x.dtype)
    assert set(y.tolist()) == {0.0, kept.item()}
    assert abs(y.float().mean().item() - 1) < 0.1
    assert x.grad.tolist() == y.tolist()


def test_dropout_is_differentiable_twice():
    x = weft.ones(50, requires_grad=True, **CUDA)
    y = F.dropout(x * x, 0.5)
    (grad,) = weft.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = weft.autograd.grad(grad.sum(), x)
    assert second.tolist() == (2 * y).tolist()


def test_dropout_passes_gradcheck():
    def dropped(x):
        weft.cuda.manual_seed(0)
        return F.dropout(x * x, 0.5)

    x = weft.rand(5, dtype=weft.float64, requires_grad=True, **CUDA)
    assert weft.autograd.gradcheck(dropped, (x,), check_forward_ad=True)
    assert weft.autograd.gradgradcheck(dropped, (x,))


def test_dropout_keeps_no_mask():
    saved = []
    x = weft.ones(1000, requires_grad=True, **CUDA)
    with weft.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor.shape) or tensor, lambda x: x):
        F.dropout(x, 0.5)
        F.dropout(x.reshape(10, 100).T, 0.5)
        assert saved == []
        q = x.reshape(1, 2, 50, 10)
        F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    assert (1, 2, 50, 50) not in saved


def test_dropout_is_the_same_inside_of_transforms_of_its_gradient():
    x = weft.ones(6, requires_grad=True, **CUDA)
    y = F.dropout(x, 0.5)
    grads = weft.autograd.grad(y, x, weft.eye(6, **CUDA), is_grads_batched=True)[0]
    assert grads.diagonal().tolist() == y.tolist()


def test_dropout_under_an_interceptor_draws_the_same():
    x = weft.ones(60, **CUDA)
    expected = F.dropout(x, 0.5)
    weft.manual_seed(0)
    with Interceptor():
        assert F.dropout(x, 0.5).tolist() == expected.tolist()


@pytest.mark.parametrize("is_causal", [True, False])
def test_attention_with_dropout_has_the_gradients_of_its_parts(is_causal):
    q, k, v = (weft.randn(2, 3, 5, 4, requires_grad=True, **CUDA) for _ in range(3))
    state = weft.cuda.get_rng_state()
    output = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, is_causal=is_causal)
    weft.cuda.set_rng_state(state)
    scores = q @ k.mT / 2
    if is_causal:
        scores = scores.masked_fill(weft.ones(5, 5, dtype=weft.bool, **CUDA).triu(1), -float("inf"))
    expected = F.dropout(scores.softmax(-1), 0.5) @ v
    assert weft.allclose(output, expected, atol=1e-5)
    weight = weft.randn(2, 3, 5, 4, **CUDA)
    found = weft.autograd.grad((output * weight).sum(), (q, k, v))
    for one, other in zip(found, weft.autograd.grad((expected * weight).sum(), (q, k, v)), strict=True):
        assert weft.allclose(one, other, atol=1e-5)


@pytest.mark.skipif("weft.cuda.device_count() < 2", reason="needs two CUDA devices")
def test_each_device_draws_by_itself():
    first, second = (weft.rand(3, device=f"cuda:{index}") for index in (0, 1))
    assert first.tolist() == second.tolist()
    x = weft.ones(100, device="cuda:1", requires_grad=True)
    y = checkpoint(lambda x: F.dropout(x, 0.5) * x, x, use_reentrant=False)
    y.sum().backward()
    assert (str(x.grad.device), x.grad.tolist()) == ("cuda:1", (2 * y).tolist())
    drawn = [weft.randperm(5, device="cuda:1"), weft.poisson(x.detach()), weft.multinomial(x.detach(), 3)]
    assert {str(each.device) for each in drawn} == {"cuda:1"}


REFUSED = {
    "bernoulli": lambda x: weft.bernoulli(x + 2),
    "bernoulli_": lambda x: x.bernoulli_(x - 1),
    "normal": lambda x: weft.normal(0.0, x - 1),
    "multinomial": lambda x: weft.multinomial(x - 1, 1),
    "multinomial, empty": lambda x: weft.multinomial(x, 1),
    "poisson": lambda x: weft.poisson(x - 1),
}


@pytest.mark.parametrize("mode", ["now", "later"])
@pytest.mark.parametrize("name", REFUSED)
def test_impossible_parameters_are_refused_and_the_device_stays_usable(name, mode):
    x = weft.zeros(4, **CUDA)
    weft.cuda.set_index_checks(mode)
    try:
        with pytest.raises(RuntimeError, match=name.partition(",")[0]):
            REFUSED[name](x)
            weft.cuda.synchronize()
    finally:
        weft.cuda.set_index_checks("later")
    assert weft.bernoulli(weft.ones(2, **CUDA)).tolist() == [1.0, 1.0]


SAMPLERS = {
    "rand": lambda x: weft.rand(10, **CUDA),
    "randn": lambda x: weft.randn(10, **CUDA),
    "randint": lambda x: weft.randint(10, (10,), **CUDA),
    "randperm": lambda x: weft.randperm(10, **CUDA),
    "rand_like": weft.rand_like,
    "uniform_": lambda x: x.clone().uniform_(1, 2),
    "normal_": lambda x: x.clone().normal_(1, 2),
    "log_normal_": lambda x: x.clone().log_normal_(),
    "exponential_": lambda x: x.clone().exponential_(),
    "cauchy_": lambda x: x.clone().cauchy_(),
    "geometric_": lambda x: x.clone().geometric_(0.5),
    "random_": lambda x: x.clone().random_(),
    "bernoulli": weft.bernoulli,
    "bernoulli_": lambda x: x.clone().bernoulli_(0.5),
    "normal": lambda x: weft.normal(x, x),
    "poisson": weft.poisson,
    "binomial": lambda x: weft.binomial(x.round() * 9, x),
    "gamma": weft._standard_gamma,
    "dirichlet": weft._sample_dirichlet,
    "multinomial": lambda x: weft.multinomial(x, 3),
    "multinomial with replacement": lambda x: weft.multinomial(x.reshape(5, 20), 3, replacement=True),
    "dropout": F.dropout,
    "dropout1d": lambda x: F.dropout1d(x.reshape(5, 20, 1)),
    "alpha_dropout": lambda x: F.alpha_dropout(x, training=True),
    "feature_alpha_dropout": lambda x: F.feature_alpha_dropout(x.reshape(5, 20), training=True),
    "rrelu": lambda x: F.rrelu(x - 0.5, training=True),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x.reshape(5, 20)),
    "attention": lambda x: F.scaled_dot_product_attention(*[x.reshape(1, 5, 20)] * 3, dropout_p=0.5),
}


@pytest.mark.usefixtures("on_stand_in")
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_wait_for_nothing_and_send_nothing(name):
    import cupy_stand_in

    x = weft.rand(100, requires_grad=True, **CUDA)
    SAMPLERS[name](x.detach())  # constants are sent once
    with cupy_stand_in.record() as log:
        found = SAMPLERS[name](x if name in ("dropout", "rrelu", "attention") else x.detach())
        if found.requires_grad:
            found.backward(weft.ones_like(found))
    assert [event for event in log if event.kind in ("wait", "upload")] == []
