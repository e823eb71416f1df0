"""Operations on lists of tensors are the tensors' own, one by one, or one kernel of the backend."""

import numpy
import pytest

import weft
from weft._devices.devices import backend_of


def lists():
    return [weft.tensor([1.0, 4.0]), weft.tensor([[9.0], [16.0]])]


def values(tensors):
    return [each.flatten().tolist() for each in tensors]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (2, [[3, 6], [11, 18]]),
        ([1, 10.0], [[2, 5], [19, 26]]),
        (weft.tensor(1.0), [[2, 5], [10, 17]]),
        (lists(), [[2, 8], [18, 32]]),
    ],
)
def test_the_operand_is_one_for_all_or_one_for_each(other, expected):
    tensors = lists()
    assert values(weft._foreach_add(tensors, other)) == expected
    assert weft._foreach_add_(tensors, other) is tensors
    assert values(tensors) == expected


def test_alpha_scales_the_operand():
    assert values(weft._foreach_sub(lists(), lists(), alpha=2)) == [[-1, -4], [-9, -16]]


def test_one_argument():
    tensors = lists()
    assert values(weft._foreach_sqrt(tensors)) == [[1, 2], [3, 4]]
    weft._foreach_sqrt_(tensors)
    assert values(tensors) == [[1, 2], [3, 4]]
    weft._foreach_zero_(tensors)
    assert values(tensors) == [[0, 0], [0, 0]]


def test_bounds_are_tensors_or_numbers():
    assert values(weft._foreach_clamp_min(lists(), 5)) == [[5, 5], [9, 16]]
    assert values(weft._foreach_maximum(lists(), 5)) == [[5, 5], [9, 16]]
    tensors = lists()
    weft._foreach_minimum_(tensors, [weft.full((2,), 2.0), weft.full((2, 1), 10.0)])
    assert values(tensors) == [[1, 2], [9, 10]]


@pytest.mark.parametrize("factors", [2, [2.0, 2.0], weft.tensor([2.0, 2.0])])
def test_fused_products_take_factors(factors):
    ones = [weft.ones(2), weft.ones(2, 1)]
    assert values(weft._foreach_addcmul(ones, lists(), ones, factors)) == [[3, 9], [19, 33]]
    tensors = lists()
    weft._foreach_addcdiv_(tensors, ones, [weft.full((2,), 2.0), weft.full((2, 1), 2.0)], factors)
    assert values(tensors) == [[2, 5], [10, 17]]


def test_norms_powers_and_copies():
    assert values(weft._foreach_norm([weft.tensor([3.0, 4.0])])) == [[5]]
    assert values(weft._foreach_norm([weft.tensor([3.0, -4.0])], float("inf"))) == [[4]]
    assert values(weft._foreach_powsum([weft.tensor([3.0, 4.0])])) == [[25]]
    assert values(weft._foreach_pow(2.0, [weft.tensor([1.0, 3.0])])) == [[2, 8]]
    assert values(weft._foreach_lerp(lists(), [weft.zeros(2), weft.zeros(2, 1)], 0.5)) == [[0.5, 2], [4.5, 8]]
    tensors = lists()
    weft._foreach_copy_(tensors, [weft.zeros(2), weft.ones(2, 1)])
    assert values(tensors) == [[0, 0], [1, 1]]


def test_gradients_flow_through_each():
    x = weft.ones(2, requires_grad=True)
    sum(each.sum() for each in weft._foreach_mul([x, x * 2], 3)).backward()
    assert x.grad.tolist() == [9, 9]


def test_lists_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError, match=r"_foreach_add: .*at least one"):
        weft._foreach_add([], 1)
    with pytest.raises(RuntimeError, match=r"_foreach_mul_: .*got 2 and 1"):
        weft._foreach_mul_(lists(), [1])
    with pytest.raises(TypeError, match=r"_foreach_abs: .*list or tuple of Tensors, got Tensor"):
        weft._foreach_abs(weft.ones(2))
    with pytest.raises(TypeError, match=r"_foreach_div: missing"):
        weft._foreach_div(lists())


def test_a_backends_kernel_takes_the_whole_list(monkeypatch):
    calls = []

    def add_(arrays, others):
        calls.append(len(arrays))
        for array, other in zip(arrays, others):
            array += other

    def neg(arrays):
        return [numpy.negative(array) for array in arrays]

    kernels = backend_of(weft.device("cpu")).kernels
    monkeypatch.setitem(kernels, "foreach::add_", add_)
    monkeypatch.setitem(kernels, "foreach::neg", neg)
    tensors = lists()
    before = tensors[0]._version
    weft._foreach_add_(tensors, lists())
    assert calls == [2] and values(tensors) == [[2, 8], [18, 32]] and tensors[0]._version > before
    assert values(weft._foreach_neg(tensors)) == [[-2, -8], [-18, -32]]


def test_a_backends_kernel_is_not_asked_where_gradients_are_recorded_or_dtypes_differ(monkeypatch):
    def refuse(*args):
        raise AssertionError("asked")

    monkeypatch.setitem(backend_of(weft.device("cpu")).kernels, "foreach::neg", refuse)
    x = weft.ones(2, requires_grad=True)
    assert weft._foreach_neg([x])[0].requires_grad
    assert values(weft._foreach_neg([weft.ones(1), weft.ones(1, dtype=weft.int64)])) == [[-1], [-1]]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("exp_", ()),
        ("mul_", (2.0,)),
        ("addcmul_", ([weft.ones(2)], [weft.ones(2)])),
        ("zero_", ()),
        ("lerp_", ([weft.ones(2)], 0.5)),
        ("copy_", ([weft.ones(2)],)),
    ],
)
def test_in_place_variants_return_the_list_that_they_were_given(name, arguments):
    tensors = [weft.ones(2)]
    assert getattr(weft, f"_foreach_{name}")(tensors, *arguments) is tensors
    several = tuple(tensors)
    assert getattr(weft, f"_foreach_{name}")(several, *arguments) is several


def test_packed_factors_have_one_dimension():
    with pytest.raises(RuntimeError, match="of dimension 1"):
        weft._foreach_addcmul([weft.ones(2)], [weft.ones(2)], [weft.ones(2)], weft.ones(1, 1))


def test_results_are_tuples_and_lists_written_to_stay_the_same():
    given = [weft.ones(2), weft.zeros(3)]
    for found in (weft._foreach_abs(given), weft._foreach_add(given, 1), weft._foreach_norm(given)):
        assert type(found) is tuple
    assert weft._foreach_add_(given, 1) is given
