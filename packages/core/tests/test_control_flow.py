"""Control flow as functions, under the names by which libraries import it."""

import pytest

import weft
from weft._higher_order_ops.associative_scan import associative_scan


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_of_sums_is_the_cumulative_sum(count, reverse):
    x = weft.rand(3, count, dtype=weft.float64)
    expected = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
    found = associative_scan(lambda left, right: left + right, x, 1, reverse, combine_mode="generic")
    assert weft.allclose(found, expected)


def test_a_scan_of_linear_recurrences_has_their_states_and_gradients():
    """Transformers' Mamba imports it for ``state = decay * state + input``."""

    def combine(left, right):
        return {"decay": left["decay"] * right["decay"], "state": right["decay"] * left["state"] + right["state"]}

    decay, given = weft.rand(5, 2, requires_grad=True), weft.rand(5, 2, requires_grad=True)
    found = associative_scan(combine, {"decay": decay, "state": given}, dim=0)["state"]
    state, states = weft.zeros(2), []
    for step in range(5):
        state = decay[step] * state + given[step]
        states.append(state)
    expected = weft.stack(states)
    assert weft.allclose(found, expected)
    mine = weft.autograd.grad(found.sum(), (decay, given))
    theirs = weft.autograd.grad(expected.sum(), (decay, given))
    assert all(weft.allclose(a, b) for a, b in zip(mine, theirs, strict=True))


def test_a_scan_refuses_what_it_cannot_combine():
    with pytest.raises(ValueError, match="combine_mode must be"):
        associative_scan(lambda left, right: left, weft.ones(2), 0, combine_mode="slow")
    with pytest.raises(ValueError, match="no tensor"):
        associative_scan(lambda left, right: left, [], 0)


def test_indices_of_examples_gather_in_the_context_of_transformers_masks():
    from weft._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    mask = weft.tensor([[True, False], [True, True]])
    with TransformGetItemToIndex():
        found = weft.vmap(lambda i: mask[i, 1] & mask[i][0])(weft.arange(2))
    assert found.tolist() == [False, True]
