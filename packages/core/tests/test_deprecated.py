"""Signatures that PyTorch calls deprecated and still takes, with its warning; and other calls that it warns of."""

import warnings

import numpy
import pytest

import weft


@pytest.fixture
def always():
    weft.set_warn_always(True)
    yield
    weft.set_warn_always(False)


def pieces():
    draw = numpy.random.default_rng(0).standard_normal
    return {
        "x": draw((2, 2)), "y": draw((2, 2)), "z": 1 + draw((2, 2)) ** 2, "v": draw(2), "w": draw(2),
        "b": draw((3, 2, 2)), "c": draw((3, 2, 2)),
    }  # fmt: skip


CALLS = {
    "x.add_(0.5, y)": "x + 0.5 * y",
    "weft.add(x, 0.5, y)": "x + 0.5 * y",
    "weft.add(x, 0.5, y, out=weft.empty(0, dtype=weft.float64))": "x + 0.5 * y",
    "x.sub(2, y)": "x - 2 * y",
    "weft.sub(x, 2, y)": "x - 2 * y",
    "weft.addcmul(x, 0.5, y, z)": "x + 0.5 * y * z",
    "x.addcdiv_(0.5, y, z)": "x + 0.5 * y / z",
    "weft.addmm(2, x, y, z)": "2 * x + y @ z",
    "weft.addmm(2, x, 3, y, z)": "2 * x + 3 * y @ z",
    "x.addmm(2, y, z)": "2 * x + y @ z",
    "x.addmm_(2, 3, y, z)": "2 * x + 3 * y @ z",
    "v.addmv_(2, 3, y, w)": "2 * v + 3 * y @ w",
    "weft.addr(2, x, 3, v, w)": "2 * x + 3 * numpy.outer(v, w)",
    "b.baddbmm_(2, b, c)": "2 * b + b @ c",
    "weft.baddbmm(2, b, 3, b, c)": "2 * b + 3 * b @ c",
    "weft.addbmm(2, x, 3, b, c)": "2 * x + 3 * (b @ c).sum(0)",
    "x.addbmm_(2, b, c)": "2 * x + (b @ c).sum(0)",
}


@pytest.mark.parametrize("call", CALLS)
def test_factors_between_the_tensors_are_taken_with_a_warning(always, call):
    arrays = pieces()
    tensors = {name: weft.from_numpy(each.copy()) for name, each in arrays.items()}
    with pytest.warns(UserWarning, match="This overload of .* is deprecated"):
        found = eval(call, {"weft": weft}, tensors)
    numpy.testing.assert_allclose(found.numpy(), eval(CALLS[call], {"numpy": numpy}, arrays))


def test_a_tensor_of_one_element_is_no_factor():
    x = weft.ones(1)
    for call in (lambda: weft.addcmul(x, 0.5, x, x), lambda: x.addcdiv_(0.5, x, x)):
        weft.set_warn_always(True)
        try:
            with pytest.warns(UserWarning, match="deprecated"):
                assert call().tolist() == [1.5]
        finally:
            weft.set_warn_always(False)
    with pytest.raises(TypeError):
        weft.addcmul(x, x, x, x)
    with pytest.raises(TypeError):
        weft.add(x, "a", x)


@pytest.mark.parametrize(
    ("call", "words", "result"),
    [
        (lambda: weft.tensor(3.0).var(), "degrees of freedom", "nan"),
        (lambda: weft.tensor(3.0).std(), "degrees of freedom", "nan"),
        (lambda: weft.std_mean(weft.ones(1))[0], "degrees of freedom", "nan"),
        (lambda: weft.ones(2, 1).var(1)[0], "degrees of freedom", "nan"),
        (lambda: weft.ones(0).var(), "degrees of freedom", "nan"),
        (lambda: weft.var(weft.tensor([1.0, 2.0]), correction=2), "degrees of freedom", "inf"),
        (lambda: weft.cov(weft.tensor([[1.0]])), "degrees of freedom", "nan"),
        (lambda: weft.range(0, 1)[1], "weft.range|torch.range", "1.0"),
        (lambda: weft.meshgrid(weft.ones(1))[0][0], "indexing argument", "1.0"),
        (lambda: weft.where(weft.tensor(1, dtype=weft.uint8), 2.0, 3.0), "uint8 condition", "2.0"),
        (lambda: weft.ones(1).scatter(0, weft.tensor([0]), weft.ones(1), reduce="add")[0], "reduce argument", "2.0"),
        (lambda: weft.tensor(weft.ones(1))[0], "copy construct", "1.0"),
        (lambda: float(weft.tensor(2.0, requires_grad=True)), "to a scalar", "2.0"),
    ],
)
def test_what_pytorch_warns_of_is_warned_of(always, call, words, result):
    with pytest.warns(UserWarning, match=words) as given:
        assert str(float(call())) == result
    assert all(each.filename == __file__ for each in given)


def test_a_number_has_a_variance():
    x = weft.tensor(3.0, requires_grad=True)
    assert x.var(unbiased=False).item() == 0
    weft.std(x, unbiased=False).backward()
    assert x.grad.item() == 0


def test_absolute_values_of_complex_numbers_are_not_written_over_them():
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
        weft.tensor([3 + 4j]).abs_()
    assert weft.tensor([-3.0]).abs_().tolist() == [3.0]


SAID_ONCE = {
    "weft.tensor([1 + 2j]).float()": "Casting complex values to real",
    "weft.tensor([1 + 2j]).to(weft.int64)": "Casting complex values to real",
    "weft.zeros(1).copy_(weft.tensor([1 + 2j]))": "Casting complex values to real",
    "weft.zeros(1).__setitem__(0, weft.tensor(1 + 2j))": "Casting complex values to real",
    "weft.zeros(2).index_reduce(0, weft.tensor([1]), weft.ones(1), 'amax')": "in beta",
    "weft.stft(weft.ones(16), 8, return_complex=True)": "window was not provided",
    "weft.istft(weft.ones(5, 4, dtype=weft.complex64), 8)": "window was not provided",
    "weft.tensor([numpy.ones(2), numpy.ones(2)])": "list of numpy.ndarrays",
    "weft.tensor([[numpy.ones(2)], [numpy.zeros(2)]], dtype=weft.float32)": "list of numpy.ndarrays",
    "weft.set_default_tensor_type(weft.FloatTensor)": "deprecated",
    "weft.ones(2).storage()": "TypedStorage is deprecated",
    "weft.FloatStorage(2)": "TypedStorage is deprecated",
}


@pytest.mark.parametrize("call", SAID_ONCE)
def test_what_is_rarely_meant_is_warned_of_once(monkeypatch, call):
    monkeypatch.setattr("weft._settings._said", set())
    names = {"weft": weft, "numpy": numpy}
    with pytest.warns(UserWarning, match=SAID_ONCE[call]):
        eval(call, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eval(call, names)


def test_a_gradient_of_real_numbers_takes_the_real_part_without_a_warning(always):
    x = weft.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x * weft.tensor([1j, 2.0])).abs().sum().backward()
    assert x.grad.tolist() == [1, 2]
    assert weft.tensor([1j]).bool().tolist() == [True]  # nothing is lost


def test_a_complex_number_is_true_where_either_part_is_not_zero():
    x = weft.zeros(3, dtype=weft.bool)
    assert x.copy_(weft.tensor([1j, 0, 1])).tolist() == [True, False, True]
    x[:2] = weft.tensor([0, 2j])
    assert x.tolist() == [False, True, True]
