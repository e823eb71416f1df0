"""`weft.masked.MaskedTensor`: what keeps, moves and reduces the mask; gradients; what is refused."""

import subprocess
import sys

import pytest

import weft
from weft import masked

DATA = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
MASK = [[True, False, True], [False, False, True]]


def make(requires_grad=False):
    return masked.masked_tensor(weft.tensor(DATA), weft.tensor(MASK), requires_grad)


def test_text_shows_which_elements_are_there():
    assert repr(make()) == (
        "MaskedTensor(\n  [\n    [  1.0000,       --,   3.0000],\n    [      --,       --,   6.0000]\n  ]\n)"
    )
    assert repr(make()[0, 0]) == "MaskedTensor(  1.0000, True)"
    assert repr(make()[0, 1]) == "MaskedTensor(--, False)"


@pytest.mark.parametrize(
    "function", [lambda x: x.exp(), lambda x: 2 - x, lambda x: x * x, lambda x: weft.sin(x), lambda x: x > 2]
)
def test_functions_of_elements_keep_the_mask(function):
    result = function(make())
    assert isinstance(result, masked.MaskedTensor)
    assert weft.equal(result.get_mask(), weft.tensor(MASK))
    assert weft.equal(result.get_data(), function(weft.tensor(DATA)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.T,
        lambda x: x[1],
        lambda x: x.reshape(6),
        lambda x: x.unsqueeze(0),
        lambda x: weft.cat([x, x]),
        lambda x: x.chunk(2)[1],
    ],
)
def test_what_moves_elements_moves_the_mask(function):
    result = function(make())
    assert weft.equal(result.get_mask(), function(weft.tensor(MASK)))
    assert weft.equal(result.get_data(), function(weft.tensor(DATA)))


def test_reductions_are_those_of_the_elements_that_are_there():
    x = make()
    assert x.sum().to_tensor(0).item() == 10.0
    assert x.mean(1).to_tensor(0).tolist() == [2.0, 6.0]
    column = x.amax(0)
    assert column.get_mask().tolist() == [True, False, True]
    assert column.to_tensor(-1).tolist() == [1.0, -1.0, 6.0]
    assert x.argmax(1).to_tensor(0).tolist() == [2, 2]
    assert (x > 2).all(1).to_tensor(False).tolist() == [False, True]


def test_masked_functions_take_it_and_give_plain_tensors():
    result = masked.sum(make(), 1)
    assert type(result) is weft.Tensor
    assert result.tolist() == [4.0, 6.0]


def test_its_gradient_has_its_mask():
    x = make(requires_grad=True)
    (x * x).sum().backward()
    assert isinstance(x.grad, masked.MaskedTensor)
    assert x.grad.to_tensor(0).tolist() == [[2.0, 0.0, 6.0], [0.0, 0.0, 12.0]]


def test_gradients_go_back_to_the_data_through_as_masked_tensor():
    data = weft.tensor(DATA, requires_grad=True)
    masked.as_masked_tensor(data, weft.tensor(MASK)).mean().get_data().backward()
    assert data.grad.tolist() == [[pytest.approx(1 / 3), 0, pytest.approx(1 / 3)], [0, 0, pytest.approx(1 / 3)]]


def test_gradients_pass_get_data():
    x = make(requires_grad=True)
    x.get_data().sum().backward()
    assert x.grad.get_data().tolist() == [[1.0] * 3] * 2


def test_masked_tensor_copies_its_data():
    data = weft.tensor(DATA)
    x = masked.masked_tensor(data, weft.tensor(MASK))
    x.add_(1)
    assert x.get_data()[0, 0].item() == 2.0
    assert data[0, 0].item() == 1.0


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TypeError, lambda: masked.masked_tensor([1.0], weft.tensor([True]))),
        (TypeError, lambda: masked.masked_tensor(weft.ones(1), weft.ones(1))),
        (TypeError, lambda: masked.masked_tensor(make(), weft.tensor(MASK))),
        (ValueError, lambda: masked.masked_tensor(weft.ones(2), weft.tensor([True]))),
        (ValueError, lambda: make() + masked.masked_tensor(weft.ones(2, 3), ~weft.tensor(MASK))),
        (TypeError, lambda: make() @ make().T),
        (TypeError, lambda: make().tolist()),
    ],
)
def test_what_has_no_meaning_is_refused(error, call):
    with pytest.raises(error):
        call()


def test_only_masked_tensors_are_masked():
    assert masked.is_masked_tensor(make())
    assert not masked.is_masked_tensor(weft.ones(2))


def test_functions_pay_nothing_for_it_before_it_is_asked_for():
    code = (
        "import weft.masked, sys; before = weft.sum.__code__; assert 'weft.masked._tensor' not in sys.modules; "
        "made = weft.masked.masked_tensor(weft.ones(2), weft.ones(2).bool()); assert weft.sum.__code__ is not before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["transpose", "swapaxes", "swapdims"])
def test_two_dimensions_change_places_in_the_mask_too(name):
    x = masked.masked_tensor(weft.arange(6.0).view(2, 3), weft.tensor([[True, False, True], [False, True, False]]))
    found = getattr(x, name)(0, 1)
    assert found.get_mask().tolist() == x.get_mask().T.tolist() and found.get_data().shape == (3, 2)
