"""Tensors are printed as PyTorch prints them: the texts were observed from PyTorch 2.13, with its name replaced."""

import importlib
import math

import numpy as np
import pytest

import weft
from weft._tensor.printing import tensor_text

nan, inf = math.nan, math.inf

# fmt: off
TEXTS = [
    (lambda: weft.tensor(1.0), 'tensor(1.)'),
    (lambda: weft.tensor(-3), 'tensor(-3)'),
    (lambda: weft.tensor(True), 'tensor(True)'),
    (lambda: weft.tensor(nan), 'tensor(nan)'),
    (lambda: weft.tensor(1e-5), 'tensor(1.0000e-05)'),
    (lambda: weft.tensor(123456.789), 'tensor(123456.7891)'),
    (lambda: weft.tensor(1 + 2j), 'tensor(1.+2.j)'),
    (lambda: weft.tensor([]), 'tensor([])'),
    (lambda: weft.empty(0, 3), 'tensor([], size=(0, 3))'),
    (lambda: weft.empty(0, 3, dtype=weft.int64), 'tensor([], size=(0, 3), dtype=weft.int64)'),
    (lambda: weft.tensor([], dtype=weft.float64), 'tensor([], dtype=weft.float64)'),
    (lambda: weft.tensor([1, -20, 300]), 'tensor([  1, -20, 300])'),
    (lambda: weft.tensor([True, False]), 'tensor([ True, False])'),
    (lambda: weft.tensor([1, 2], dtype=weft.int32), 'tensor([1, 2], dtype=weft.int32)'),
    (lambda: weft.tensor([1.0, 2.0]), 'tensor([1., 2.])'),
    (lambda: weft.tensor([1.0, 2.5]), 'tensor([1.0000, 2.5000])'),
    (lambda: weft.tensor([-0.0, 0.0]), 'tensor([-0., 0.])'),
    (lambda: weft.tensor([1.0, nan, inf, -inf]), 'tensor([1., nan, inf, -inf])'),
    (lambda: weft.tensor([0.5, nan, -inf]), 'tensor([0.5000,    nan,   -inf])'),
    (lambda: weft.tensor([inf, -inf]), 'tensor([inf, -inf])'),
    (lambda: weft.tensor([1e-5, 1.0]), 'tensor([1.0000e-05, 1.0000e+00])'),
    (lambda: weft.tensor([0.0, 1e-8]), 'tensor([0.0000e+00, 1.0000e-08])'),
    (lambda: weft.tensor([1.0, 1001.5]), 'tensor([1.0000e+00, 1.0015e+03])'),
    (lambda: weft.tensor([100000000.0]), 'tensor([100000000.])'),
    (lambda: weft.tensor([200000000.0]), 'tensor([2.0000e+08])'),
    (lambda: weft.tensor([0.1, 100000.0]), 'tensor([1.0000e-01, 1.0000e+05])'),
    (lambda: weft.tensor([1.5 + 2j, 3 - 4e10j]), 'tensor([1.5000+2.0000e+00j, 3.0000-4.0000e+10j])'),
    (lambda: weft.tensor([0.5, 1.0], dtype=weft.float16), 'tensor([0.5000, 1.0000], dtype=weft.float16)'),
    (lambda: weft.tensor([0.1, 100.0], dtype=weft.bfloat16), 'tensor([  0.1001, 100.0000], dtype=weft.bfloat16)'),
    (lambda: weft.tensor([0.1, 2.0], dtype=weft.float64), 'tensor([0.1000, 2.0000], dtype=weft.float64)'),
    (lambda: weft.tensor([1 + 2j], dtype=weft.complex128), 'tensor([1.+2.j], dtype=weft.complex128)'),
    (lambda: weft.arange(24).reshape(2, 3, 4), """\
tensor([[[ 0,  1,  2,  3],
         [ 4,  5,  6,  7],
         [ 8,  9, 10, 11]],

        [[12, 13, 14, 15],
         [16, 17, 18, 19],
         [20, 21, 22, 23]]])"""),
    (lambda: weft.arange(1, 40) * 1000, """\
tensor([ 1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000, 10000,
        11000, 12000, 13000, 14000, 15000, 16000, 17000, 18000, 19000, 20000,
        21000, 22000, 23000, 24000, 25000, 26000, 27000, 28000, 29000, 30000,
        31000, 32000, 33000, 34000, 35000, 36000, 37000, 38000, 39000])"""),
    (lambda: weft.arange(40.0), """\
tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,
        28., 29., 30., 31., 32., 33., 34., 35., 36., 37., 38., 39.])"""),
    (lambda: weft.arange(2000), 'tensor([   0,    1,    2,  ..., 1997, 1998, 1999])'),
    (lambda: weft.arange(3000.0).reshape(1000, 3), """\
tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00],
        [3.0000e+00, 4.0000e+00, 5.0000e+00],
        [6.0000e+00, 7.0000e+00, 8.0000e+00],
        ...,
        [2.9910e+03, 2.9920e+03, 2.9930e+03],
        [2.9940e+03, 2.9950e+03, 2.9960e+03],
        [2.9970e+03, 2.9980e+03, 2.9990e+03]])"""),
    (lambda: weft.zeros(3, 400), """\
tensor([[0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.]])"""),
    (lambda: weft.ones(2, requires_grad=True), 'tensor([1., 1.], requires_grad=True)'),
    (lambda: weft.ones(2, requires_grad=True) * 2, 'tensor([2., 2.], grad_fn=<MulBackward0>)'),
    (
        lambda: weft.ones(2, requires_grad=True, dtype=weft.float64),
        "tensor([1., 1.], dtype=weft.float64, requires_grad=True)",
    ),
    (lambda: weft.full((2, 30), 0.25, dtype=weft.float64), """\
tensor([[0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500,
         0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500,
         0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500,
         0.2500, 0.2500, 0.2500],
        [0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500,
         0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500,
         0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500,
         0.2500, 0.2500, 0.2500]], dtype=weft.float64)"""),
    (lambda: weft.full((1, 11), 0.25, dtype=weft.float64), """\
tensor([[0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500,
         0.2500, 0.2500]], dtype=weft.float64)"""),
    (lambda: weft.full((4, 2), 1.5 - 1j, dtype=weft.complex128), """\
tensor([[1.5000-1.j, 1.5000-1.j],
        [1.5000-1.j, 1.5000-1.j],
        [1.5000-1.j, 1.5000-1.j],
        [1.5000-1.j, 1.5000-1.j]], dtype=weft.complex128)"""),
]

WITH_OPTIONS = [
    ({'precision': 2}, lambda: weft.tensor([1.2345, 2.0]), 'tensor([1.23, 2.00])'),
    ({'precision': 0}, lambda: weft.tensor([1.5, 2.7, 100.0]), 'tensor([  2,   3, 100])'),
    ({'sci_mode': True}, lambda: weft.tensor([1.5, 100.0]), 'tensor([1.5000e+00, 1.0000e+02])'),
    ({'sci_mode': True}, lambda: weft.tensor([0.0, 0.0]), 'tensor([0., 0.])'),
    ({'sci_mode': False}, lambda: weft.tensor([1.5, 1e9]), 'tensor([         1.5000, 1000000000.0000])'),
    ({'sci_mode': False}, lambda: weft.tensor(1.5e-8), 'tensor(0.0000)'),
    ({'linewidth': 20}, lambda: weft.arange(8), """\
tensor([0, 1, 2, 3,
        4, 5, 6, 7])"""),
    ({'threshold': 5, 'edgeitems': 1}, lambda: weft.arange(60).reshape(3, 4, 5), """\
tensor([[[ 0,  ...,  4],
         ...,
         [15,  ..., 19]],

        ...,

        [[40,  ..., 44],
         ...,
         [55,  ..., 59]]])"""),
    ({'threshold': 5, 'edgeitems': 2}, lambda: weft.arange(6), 'tensor([0, 1,  ..., 4, 5])'),
    ({'profile': 'short'}, lambda: weft.full((2, 2), 0.123), """\
tensor([[0.12, 0.12],
        [0.12, 0.12]])"""),
    ({'profile': 'full'}, lambda: weft.zeros(1001).numel() and weft.arange(3), 'tensor([0, 1, 2])'),
]
# fmt: on


@pytest.fixture(autouse=True)
def _default_options():
    yield
    weft.set_printoptions(profile="default")


@pytest.mark.parametrize(("make", "text"), TEXTS)
def test_text_is_that_of_pytorch(make, text):
    assert repr(make()) == text


@pytest.mark.parametrize(("options", "make", "text"), WITH_OPTIONS)
def test_options_change_the_text(options, make, text):
    with weft.printoptions(**options):
        assert repr(make()) == text


def test_str_is_repr():
    x = weft.tensor([1.0, 2.5])
    assert str(x) == repr(x) == f"{x}"


def test_a_zero_dimensional_tensor_takes_a_format_of_its_number():
    assert f"{weft.tensor(1.23456):.2f}" == "1.23"


def test_the_full_profile_leaves_nothing_out():
    weft.set_printoptions(profile="full")
    assert "..." not in repr(weft.zeros(3000))


def test_the_device_is_printed_where_it_is_not_the_cpu():
    text = tensor_text(np.zeros(2, np.float32), dtype="weft.float32", device="cuda:0", requires_grad=True)
    assert text == "tensor([0., 0.], device='cuda:0', requires_grad=True)"


def test_only_the_edges_of_a_large_array_leave_its_device():
    seen = []

    def to_numpy(array):
        seen.append(array.size)
        return np.asarray(array)

    tensor_text(np.zeros((1000, 1000)), dtype="weft.float64", to_numpy=to_numpy)
    assert seen == [36]


def test_the_dtype_is_printed_unless_it_is_the_default():
    weft.set_default_dtype(weft.float64)
    try:
        assert repr(weft.tensor([1.0])) == "tensor([1.])"
        assert repr(weft.tensor([1.0], dtype=weft.float32)) == "tensor([1.], dtype=weft.float32)"
        assert repr(weft.tensor(1 + 2j)) == "tensor(1.+2.j)"
        assert repr(weft.tensor(1 + 2j, dtype=weft.complex64)) == "tensor(1.+2.j, dtype=weft.complex64)"
    finally:
        weft.set_default_dtype(weft.float32)


class Named(weft.Tensor):
    """A user's subclass."""


def test_a_subclass_is_printed_under_its_name():
    assert repr(weft.ones(2).as_subclass(Named)) == "Named([1., 1.])"
    assert repr(weft.zeros(2, 2).as_subclass(Named)) == "Named([[0., 0.],\n       [0., 0.]])"


def test_options_stay_until_they_are_set_but_for_sci_mode():
    weft.set_printoptions(precision=2, sci_mode=True)
    weft.set_printoptions(edgeitems=1)
    assert weft.get_printoptions() == {
        "precision": 2,
        "threshold": 1000,
        "edgeitems": 1,
        "linewidth": 80,
        "sci_mode": None,
    }


def test_printoptions_restores_what_was_set():
    weft.set_printoptions(precision=2)
    with pytest.raises(ZeroDivisionError), weft.printoptions(precision=5):
        raise ZeroDivisionError
    assert weft.get_printoptions()["precision"] == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [({"profile": "x"}, ValueError, "default, short, full"), ({"precision": "a"}, TypeError, "precision must be")],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        weft.set_printoptions(**options)


def test_pytorchs_module_for_printing_by_its_name():  # torch_geometric.io.off
    module = importlib.import_module("weft._tensor_str")
    with weft.printoptions(threshold=5):
        assert module.PRINT_OPTS.threshold == 5
    assert module._tensor_str(weft.tensor([1.0, 2.5]), indent=0) == "[1.0000, 2.5000]"
    assert module._tensor_str(weft.ones(0), 0) == "[]"


def test_a_view_whose_history_is_lost_prints_as_invalid():
    a = weft.ones(1, requires_grad=True)
    with weft.no_grad():
        b = a[:]
        b *= 2
    assert repr(b) == "tensor([2.], grad_fn=<Invalid>)"
