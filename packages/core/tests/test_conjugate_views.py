"""Conjugate and negative views: they share memory, every op sees their values, and files keep their bits."""

import copy
import io
import pickle

import numpy
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.testing import assert_close
from weft.testing._samples import function_of, sample_inputs, sample_names
from weft.testing.backend_suite import moved

VIEWS = {
    "conj": lambda x: x.conj(),
    "mH": lambda x: x.mH,
    "neg": lambda x: weft._neg_view(x),
    "negative conj": lambda x: weft._neg_view(x.conj()),
    "imag": lambda x: x.conj().imag,
    "negative real": lambda x: weft._neg_view(x.conj()).real,
    "slice": lambda x: x.conj()[:, 1:],
    "strided": lambda x: x.conj()[::2, ::3].T,
    "diagonal": lambda x: x.conj().diagonal(),
    "unbind": lambda x: x.conj().unbind(1)[2],
    "as_strided": lambda x: x.conj().as_strided((2, 2), (1, 2), 1),
}
NUMPY = {
    "conj": lambda a: a.conj(),
    "mH": lambda a: a.conj().T,
    "neg": lambda a: -a,
    "negative conj": lambda a: -a.conj(),
    "imag": lambda a: a.conj().imag,
    "negative real": lambda a: -a.real,
    "slice": lambda a: a.conj()[:, 1:],
    "strided": lambda a: a.conj()[::2, ::3].T,
    "diagonal": lambda a: numpy.diagonal(a.conj()),
    "unbind": lambda a: a.conj()[:, 2],
    "as_strided": lambda a: a.conj().reshape(-1)[[[1, 3], [2, 4]]],
}


def numbers(rows=4, columns=6, seed=0):
    parts = numpy.random.default_rng(seed).standard_normal((2, rows, columns))
    return parts[0] + 1j * parts[1]


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_memory_and_has_the_values(name):
    array = numbers()
    x = weft.from_numpy(array)
    view = VIEWS[name](x)
    numpy.testing.assert_array_equal(view.numpy(force=True), NUMPY[name](array))
    assert view.is_conj() or view.is_neg()
    assert view._base is x
    assert view._is_view()
    assert view.untyped_storage() == x.untyped_storage()
    assert view.tolist() == NUMPY[name](array).tolist()
    assert weft.equal(view, view.clone())
    assert not view.clone().is_conj()
    assert not view.clone().is_neg()


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("write", ["fill_", "mul_", "copy_", "add_", "setitem", "masked_fill_", "index_put_", "out"])
def test_what_is_written_to_a_view_is_written_through(name, write):
    array = numbers()
    x = weft.from_numpy(array.copy())
    view = VIEWS[name](x)
    expected = NUMPY[name](array).copy()
    value = 2 if not numpy.iscomplexobj(expected) else 2 - 3j
    other = NUMPY[name](numbers(seed=1)).copy()
    given = weft.from_numpy(other)
    place = (0,) * expected.ndim
    if write == "fill_":
        view.fill_(value)
        expected[...] = value
    elif write == "mul_":
        view.mul_(value)
        expected *= value
    elif write == "copy_":
        view.copy_(given)
        expected[...] = other
    elif write == "add_":
        view.add_(given)
        expected += other
    elif write == "setitem":
        view[0] = given[0]
        expected[0] = other[0]
    elif write == "masked_fill_":
        view.masked_fill_(given.real > 0, value)
        expected[other.real > 0] = value
    elif write == "index_put_":
        view.index_put_(tuple(weft.tensor([0]) for _ in place), given[place].reshape(1))
        expected[place] = other[place]
    else:
        weft.mul(given, given, out=view)
        expected[...] = other * other
    numpy.testing.assert_allclose(view.numpy(force=True), expected)
    numpy.testing.assert_allclose(NUMPY[name](x.numpy()), expected)
    assert x._version == view._version == 1


def test_geometry_and_bits_are_those_of_pytorch():
    x = weft.zeros(2, 3, dtype=weft.complex64)
    c = x.conj()
    assert c.conj().is_conj() is False
    assert c.stride() == x.stride()
    assert c.data_ptr() == x.data_ptr()
    assert c.contiguous() is c
    assert c.resolve_neg() is c
    assert c.to(weft.complex64) is c
    assert c.real.is_neg() is False
    assert c.imag.is_neg() is True
    assert weft._neg_view(c).imag.is_neg() is False
    assert weft._neg_view(c).real.is_neg() is True
    assert c.detach().is_conj()
    assert not (c + 0).is_conj()
    assert not weft.empty_like(c).is_conj()
    assert not c.conj_physical().is_conj()
    assert x.real.conj().is_conj() is False
    assert weft.vmap(lambda row: row.conj())(x).is_conj()


def test_memory_is_not_handed_out_as_values():
    c = weft.ones(2, dtype=weft.complex64).conj()
    for call, error in (
        (c.numpy, RuntimeError),
        (c.imag.numpy, RuntimeError),
        (lambda: numpy.asarray(c), RuntimeError),
        (lambda: c.__dlpack__(), BufferError),
        (lambda: c.imag.__dlpack__(), BufferError),
        (lambda: weft.view_as_real(c), RuntimeError),
        (lambda: c.view(weft.int64), RuntimeError),
        (lambda: c.imag.view(weft.int32), RuntimeError),
    ):
        with pytest.raises(error):
            call()


def test_an_array_library_gets_values_and_never_what_is_stored():
    stored = numpy.array([1 + 2j, 3 - 1j])
    array = weft.from_numpy(stored).conj()._array
    assert numpy.add(array, 1).tolist() == [2 - 2j, 4 + 1j]
    assert numpy.array(array).tolist() == numpy.stack([array])[0].tolist() == [1 - 2j, 3 + 1j]
    assert array.astype(numpy.complex64).tolist() == [1 - 2j, 3 + 1j]
    with pytest.raises(ValueError, match="copy"):
        numpy.array(array, copy=False)


@pytest.mark.parametrize("name", ["conj", "neg", "negative conj", "imag", "slice", "strided"])
def test_gradients_of_views_agree_with_differences_twice(name):
    def function(x, y):
        view = VIEWS[name](x)
        return view * view + view * y.sum()

    args = [weft.from_numpy(numbers(2, 4, seed)).requires_grad_() for seed in (1, 2)]
    assert gradcheck(function, args, check_forward_ad=True)
    assert gradgradcheck(function, args)


def test_writes_to_a_view_are_recorded_for_what_it_is_a_view_of():
    def function(x, y):
        made = x * 2
        made.conj()[0].mul_(y)
        made.conj().imag.add_(y.real)
        return made * made

    args = [weft.from_numpy(numbers(2, 3, seed)).requires_grad_() for seed in (1, 2)]
    args[1] = args[1][0].detach().requires_grad_()
    assert gradcheck(function, args)


def test_the_gradient_of_a_leaf_that_is_a_view_arrives_at_it():
    leaf = weft.tensor([1 + 2j]).conj().requires_grad_()
    (leaf * 3j).backward(weft.ones(1, dtype=weft.complex64))
    assert leaf.is_conj()
    assert leaf.grad.tolist() == [-3j]


def test_a_gradient_is_in_memory():
    x = weft.tensor([1 + 2j], requires_grad=True)
    (found,) = weft.autograd.grad(x.conj(), x, weft.tensor([1 + 1j]))
    assert found.numpy().tolist() == [1 - 1j]


def test_copies_and_files_keep_values_and_bits():
    x = weft.tensor([1 + 2j, 3 - 1j])
    for view in (x.conj(), x.conj().imag, weft._neg_view(x.conj())):
        file = io.BytesIO()
        both = {"view": view, "x": x if view.is_complex() else x.real}  # a file has one dtype for a storage
        weft.save(both, file)
        file.seek(0)
        loaded = weft.load(file)
        assert loaded["view"].untyped_storage() == loaded["x"].untyped_storage()
        for again in (loaded["view"], pickle.loads(pickle.dumps(view)), copy.copy(view)):
            assert again.tolist() == view.tolist()
            assert (again.is_conj(), again.is_neg()) == (view.is_conj(), view.is_neg())
        deep = copy.deepcopy(view)
        assert deep.tolist() == view.tolist()
        assert not deep.is_conj()


def test_text_number_and_truth_are_those_of_the_values():
    c = weft.tensor([[1 + 2j, 0.5j]]).conj()
    assert repr(c) == "tensor([[1.-2.0000j, 0.-0.5000j]])"
    assert repr(c.imag) == "tensor([[-2.0000, -0.5000]])"
    assert c[0, 0].item() == complex(c[0, 0]) == 1 - 2j
    assert float(c.imag[0, 1]) == -0.5
    assert bool(c[0, 0])
    assert not bool(weft.zeros(1, dtype=weft.complex64).conj())
    assert f"{c[0, 0]}" == "(1-2j)"


def test_a_view_of_other_memory_keeps_its_bits():
    c = weft.tensor([1 + 2j, 3 - 1j]).conj()
    c.set_(weft.tensor([5j]))
    assert c.tolist() == [-5j]
    c.resize_(3)
    assert c.tolist()[0] == -5j
    assert c.is_conj()
    c.data = weft.tensor([1j])
    assert c.tolist() == [1j]
    assert not c.is_conj()


def test_a_subclass_has_views_too():
    class Other(weft.Tensor):
        pass

    x = weft.tensor([1 + 2j]).as_subclass(Other)
    view = x.conj()
    assert type(view) is Other
    assert view.is_conj()
    assert (view + view).tolist() == [2 - 4j]
    view.mul_(2)
    assert x.tolist() == [2 + 4j]


def test_a_shared_view_moves_with_its_memory():
    x = weft.tensor([1 + 2j])
    view = x.conj()
    view.share_memory_()
    view.fill_(3j)
    assert x.tolist() == [-3j]


def with_bits(value):
    """The same arguments with the tensors as views of the opposite in memory."""
    if isinstance(value, list | tuple):
        return type(value)(with_bits(item) for item in value)
    if not isinstance(value, weft.Tensor) or value.is_sparse or not (value.is_floating_point() or value.is_complex()):
        return value
    return value.conj_physical().conj() if value.is_complex() else weft._neg_view(-value)


@pytest.mark.parametrize("name", sample_names())
def test_every_op_takes_views_for_their_values(name):
    function = function_of(name)
    for dtype in (weft.float32, weft.complex64):
        for args, kwargs in sample_inputs(name, dtype):
            weft.manual_seed(0)
            given = moved((args, kwargs), "cpu")  # a call may write to its arguments
            try:
                expected = function(*given[0], **given[1])
            except (NotImplementedError, RuntimeError, TypeError, ValueError):
                break  # not of this dtype
            if name in ("view_as_real", "empty_like", "core::real", "core::imag"):
                continue  # refuses, or gives nothing to compare
            weft.manual_seed(0)
            found = function(*with_bits(args), **{key: with_bits(value) for key, value in kwargs.items()})
            for one, other in zip(tensors(expected), tensors(found), strict=True):
                assert_close(other.detach().clone(), one.detach().clone(), equal_nan=True)


def tensors(value):
    if isinstance(value, weft.Tensor):
        return [value]
    return [each for item in value for each in tensors(item)] if isinstance(value, list | tuple) else []


@pytest.mark.parametrize("conjugate", [weft.conj, weft.conj_physical, lambda z: weft.conj_physical_(z * 1)])
def test_a_conjugated_gradient_reaches_the_real_tensor_that_was_seen_as_complex(conjugate):
    x = weft.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    z = conjugate(weft.view_as_complex(x * 1))
    (z * weft.tensor([1 + 2j, 3 - 1j])).sum().abs().backward()
    total = ((1 - 2j) * (1 + 2j) + (3 - 4j) * (3 - 1j)) / abs((1 - 2j) * (1 + 2j) + (3 - 4j) * (3 - 1j))
    expected = [[(each * total.conjugate()).real, (-1j * each * total.conjugate()).real] for each in (1 + 2j, 3 - 1j)]
    assert weft.allclose(x.grad, weft.tensor(expected))
