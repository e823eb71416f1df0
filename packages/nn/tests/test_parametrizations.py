"""Orthogonal parametrizations: their values, their states, and what cannot be asked of them."""

import pytest

import weft
from weft import nn
from weft.nn.utils import parametrize
from weft.nn.utils.parametrizations import orthogonal


def assert_orthonormal(weight):
    tall = weight if weight.size(0) >= weight.size(1) else weight.T
    weft.testing.assert_close(tall.mH @ tall, weft.eye(tall.size(1), dtype=weight.dtype))


@pytest.mark.parametrize("use_trivialization", [True, False])
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_a_weight_stays_orthogonal_through_training(shape, orthogonal_map, use_trivialization):
    layer = nn.Linear(shape[1], shape[0], bias=False, dtype=weft.float64)
    orthogonal(layer, orthogonal_map=orthogonal_map, use_trivialization=use_trivialization)
    optimizer = weft.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        assert_orthonormal(layer.weight)
        before = layer.weight.detach()
        optimizer.zero_grad()
        (layer.weight**3).sum().backward()
        optimizer.step()
        assert not weft.equal(layer.weight, before)


def test_a_weight_that_is_orthogonal_is_kept():
    layer = nn.Linear(4, 4)
    nn.init.orthogonal_(layer.weight)
    before = layer.weight.detach().clone()
    orthogonal(layer)
    weft.testing.assert_close(layer.weight, before)


@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
def test_an_orthogonal_matrix_can_be_assigned(orthogonal_map):
    layer = orthogonal(nn.Linear(3, 5, dtype=weft.float64), orthogonal_map=orthogonal_map)
    wanted = weft.linalg.qr(weft.randn(5, 3, dtype=weft.float64))[0]
    layer.weight = wanted
    weft.testing.assert_close(layer.weight, wanted)


def test_without_a_base_only_reflections_can_be_assigned():
    layer = orthogonal(nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError, match="cayley"):
        layer.weight = weft.eye(3)


def test_complex_matrices_become_unitary():
    layer = orthogonal(nn.Linear(3, 4, dtype=weft.complex128))
    assert_orthonormal(layer.weight)


def test_the_state_dict_has_pytorchs_names():
    names = ["bias", "parametrizations.weight.original", "parametrizations.weight.0.base"]
    assert list(orthogonal(nn.Linear(3, 5)).state_dict()) == names


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: orthogonal(nn.Linear(2, 2), "gain"), ValueError, "no parameter or buffer with name 'gain'"),
        (lambda: orthogonal(nn.Linear(2, 2), "bias"), ValueError, "got a tensor of 1 dimensions"),
        (lambda: orthogonal(nn.Linear(2, 2), orthogonal_map="qr"), ValueError, "got 'qr'"),
        (
            lambda: orthogonal(nn.Linear(2, 2, dtype=weft.complex64), orthogonal_map="householder"),
            ValueError,
            "does not support complex",
        ),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_parametrizations_move_to_another_module_with_their_originals():
    source, target = orthogonal(nn.Linear(3, 5)), nn.Linear(3, 5)
    parametrize.transfer_parametrizations_and_params(source, target)
    assert weft.equal(source.weight, target.weight)
    assert target.parametrizations.weight.original is source.parametrizations.weight.original
