"""The compiled steps of optimizers against their formulas on NumPy, and which arrays they leave to those."""

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries
from weft.optim import adagrad, adam, rmsprop, sgd

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)

SIZES = [(3,), (), (0,), (5, 7), (40_000,), (1,)]

ADAM = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3, "weight_decay": 0.0, "decoupled_weight_decay": False}
SGD = {"lr": 0.1, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False}
RMSPROP = {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.0, "momentum": 0.9}
ADAGRAD = {"lr": 0.1, "lr_decay": 0.01, "eps": 1e-3, "weight_decay": 0.0}

# The step; its arrays besides parameter and gradient ("-": None); whether it counts; its options.
STEPS = [
    (sgd.sgd_step, "-", False, SGD),
    (sgd.sgd_step, "-", False, SGD | {"weight_decay": 0.3}),
    (sgd.sgd_step, "s", False, SGD | {"dampening": 0.4}),
    (sgd.sgd_step, "s", False, SGD | {"weight_decay": 0.3, "nesterov": True}),
    (adam.adam_step, "ss-", True, ADAM),
    (adam.adam_step, "sss", True, ADAM | {"weight_decay": 0.3}),
    (adam.adam_step, "ss-", True, ADAM | {"weight_decay": 0.3, "decoupled_weight_decay": True, "beta1": 0.3}),
    (rmsprop.rmsprop_step, "s--", False, RMSPROP),
    (rmsprop.rmsprop_step, "s-s", False, RMSPROP | {"weight_decay": 0.3}),
    (rmsprop.rmsprop_step, "ss-", False, RMSPROP),
    (rmsprop.rmsprop_step, "sss", False, RMSPROP | {"alpha": 0.3}),
    (adagrad.adagrad_step, "s", True, ADAGRAD),
    (adagrad.adagrad_step, "s", True, ADAGRAD | {"weight_decay": 0.3}),
]


def columns_of(states, counts, element, seed=0):
    """The lists that a step takes; squares exceed those of means, which keeps variances positive."""
    random = np.random.default_rng(seed)

    def column(low, high):
        return [np.asarray(random.uniform(low, high, size)).astype(element) for size in SIZES]

    found = [column(-2, 2), column(-2, 2)]
    for place, kind in enumerate(states):
        found.append(column(1 + place, 2 + place) if kind == "s" else [None] * len(SIZES))
    if states[1:2] == "s" and not counts:  # a mean, of which the square is subtracted
        found[3] = [np.asarray(each / 4) for each in found[3]]
    return [*found, [float(i + 1) for i in range(len(SIZES))]] if counts else found


def copied(columns):
    return [[each.copy(order="K") if isinstance(each, np.ndarray) else each for each in column] for column in columns]


def run(step, columns, options, monkeypatch, libraries_on=True):
    """The arrays after a step of the compiled kernel, or of the formula on NumPy."""
    tensors = [[weft.from_numpy(each) if isinstance(each, np.ndarray) else each for each in one] for one in columns]
    with monkeypatch.context() as patch:
        if not libraries_on:
            patch.setattr(libraries, "kernel", lambda name, element, generic: None)
        with weft.no_grad():
            step(*tensors, **options)
    return columns


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("case", range(len(STEPS)))
def test_a_step_is_the_formulas(case, element, monkeypatch):
    step, states, counts, options = STEPS[case]
    columns = columns_of(states, counts, element)
    expected = run(step, copied(columns), options, monkeypatch, libraries_on=False)
    got = run(step, columns, options, monkeypatch)
    for mine, right in zip(got, expected):
        for one, other in zip(mine, right):
            if isinstance(one, np.ndarray):
                np.testing.assert_allclose(
                    one,
                    other,
                    rtol=3e-6 if element == "float32" else 1e-14,
                    atol=1e-6 if element == "float32" else 1e-14,
                )


def test_a_gradient_that_is_not_contiguous_is_read_as_it_is(monkeypatch):
    columns = columns_of("ss-", True, "float32")
    columns[1][3] = np.lib.stride_tricks.as_strided(np.array(0.5, "float32"), (5, 7), (0, 0))
    columns[1][4] = np.arange(80_000, dtype="float32")[::2]
    expected = run(adam.adam_step, copied(columns), ADAM, monkeypatch, libraries_on=False)
    got = run(adam.adam_step, columns, ADAM, monkeypatch)
    for one, other in zip(got[0], expected[0]):
        np.testing.assert_allclose(one, other, rtol=3e-6, atol=1e-6)


def test_a_parameter_that_is_not_contiguous_is_stepped(monkeypatch):
    columns = columns_of("-", False, "float32")
    columns[0][3] = np.asfortranarray(columns[0][3])
    expected = run(sgd.sgd_step, copied(columns), SGD, monkeypatch, libraries_on=False)
    got = run(sgd.sgd_step, columns, SGD, monkeypatch)
    for one, other in zip(got[0], expected[0]):
        np.testing.assert_allclose(one, other, rtol=3e-6, atol=1e-6)


def test_a_parameter_that_is_twice_in_a_list_is_stepped_twice(monkeypatch):
    param, grad = np.zeros(50_000, "float32"), np.ones(50_000, "float32")
    run(sgd.sgd_step, [[param, param], [grad, grad], [None, None]], SGD, monkeypatch)
    assert (param == np.float32(-0.2)).all()


def test_the_norms_of_a_list_are_those_of_its_tensors():
    tensors = [weft.arange(9.0), weft.zeros(0), weft.tensor(-3.0), weft.ones(3, 40_000), weft.ones(6, 4).t()]
    norms = [each.item() for each in weft._foreach_norm(tensors)]
    assert norms == pytest.approx([204**0.5, 0, 3, 120_000**0.5, 24**0.5])
    assert [each.shape for each in weft._foreach_norm(tensors[:4])] == [()] * 4
    assert weft._foreach_norm(tensors[:4], 1)[0].item() == 36


def test_gradients_are_clipped_by_the_norm_of_all_of_them():
    params = [weft.nn.Parameter(weft.zeros(size)) for size in ((30_000,), (2, 2))]
    params[0].grad, params[1].grad = weft.ones(30_000), weft.full((2, 2), 50.0)
    before = params[0].grad._version
    total = weft.nn.utils.clip_grad_norm_(params, 2.0)
    assert total.item() == pytest.approx(200)
    assert params[1].grad.tolist() == [[pytest.approx(0.5)] * 2] * 2
    assert params[0].grad._version > before


def test_a_list_in_which_a_tensor_is_twice_is_scaled_twice():
    x = weft.ones(3)
    weft._foreach_mul_([x, x], 3.0)
    assert x.tolist() == [9, 9, 9]
