"""Arguments by name: PyTorch's, NumPy's where PyTorch takes them, and sizes as one tuple."""

import pytest

import weft


@pytest.fixture
def x():
    return weft.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("make", [weft.zeros, weft.ones, weft.empty, weft.rand, weft.randn])
def test_a_size_may_be_a_tuple_by_name(make):
    assert make(size=(2, 3)).shape == (2, 3)


@pytest.mark.parametrize("name", ["new_zeros", "new_ones", "new_empty", "new_full"])
def test_a_size_of_a_new_tensor_may_be_a_tuple_by_name(x, name):
    others = {"fill_value": 1} if name == "new_full" else {}
    assert getattr(x, name)(size=(2, 2), **others).shape == (2, 2)


def test_shapes_and_dimensions_may_be_named(x):
    assert x.view(size=(3, 2)).shape == x.reshape(shape=(3, 2)).shape == x.permute(dims=(1, 0)).shape == (3, 2)
    assert x.view(dtype=weft.int32).dtype is weft.int32 and weft.view_copy(x, dtype=weft.int32).dtype is weft.int32
    assert x.swapaxes(axis0=0, axis1=1).shape == x.swapdims(dim0=0, dim1=1).shape == (3, 2)


def test_numpys_names_of_dimensions_are_taken(x):
    assert x.max(axis=1, keepdims=True).values.tolist() == [[2], [5]]
    assert x.softmax(axis=0).sum(axis=0).tolist() == pytest.approx([1, 1, 1])
    assert weft.stack([x, x], axis=2).shape == (2, 3, 2)
    assert weft.cumsum(x, axis=1)[1].tolist() == [3, 7, 12]


def test_a_name_that_nobody_has_is_refused(x):
    with pytest.raises(TypeError, match="axes"):
        x.softmax(axes=0)
    with pytest.raises(TypeError, match=r"axis|dim"):
        x.softmax(dim=0, axis=0)


def test_pieces_are_asked_for_by_number_or_by_place(x):
    assert [each.shape[0] for each in weft.tensor_split(x, sections=2)] == [1, 1]
    assert [each.shape[1] for each in weft.hsplit(x, indices=(1,))] == [1, 2]
    assert [each.shape[0] for each in x.split(split_size=1)] == [1, 1]
    assert [each.shape[0] for each in weft.split(x, split_size_or_sections=[2])] == [2]
    assert [each.shape[1] for each in weft.split_with_sizes(input=x, split_sizes=[1, 2], dim=1)] == [1, 2]
    assert len(weft.unsafe_split(input=x, split_size=1)) == len(weft.split_copy(input=x, split_size=1)) == 2
    with pytest.raises(TypeError, match="tensor_split"):
        weft.tensor_split(x)
    with pytest.raises(TypeError, match="hsplit"):
        weft.hsplit(x, 3, sections=3)


def test_functions_about_one_tensor_call_it_input(x):
    assert weft.numel(input=x) == 6 and weft.is_floating_point(input=x) and not weft.is_complex(input=x)
    assert weft.is_signed(input=x) and weft.get_device(input=x) == -1
    assert weft.put(input=x, index=weft.tensor([0]), source=weft.tensor([9.0]))[0, 0] == 9


@pytest.mark.filterwarnings("ignore:.*is deprecated in favor of")
def test_second_operands_have_pytorchs_names(x):
    assert weft.heaviside(input=weft.zeros(2), values=weft.ones(2)).tolist() == [1, 1]
    assert weft.isin(elements=x, test_element=1)[0].tolist() == [False, True, False]
    assert weft.isin(element=1, test_elements=x).item()
    assert weft.result_type(tensor=x, other=1) is weft.float32
    assert weft.scalar_tensor(s=3).item() == 3
    eye = weft.eye(2)
    assert weft.equal(weft.cholesky_inverse(input=eye), eye)
    assert weft.equal(weft.cholesky_solve(input=eye, input2=eye), eye)
    assert weft.equal(weft.triangular_solve(input=eye, A=eye).solution, eye)
    assert weft.equal(weft.lu_solve(input=eye, LU_data=eye, LU_pivots=weft.tensor([1, 2], dtype=weft.int32)), eye)


def test_isin_wants_both_of_its_arguments(x):
    with pytest.raises(TypeError, match="isin"):
        weft.isin(x)
