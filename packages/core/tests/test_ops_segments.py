"""Reductions of elements that share a position."""

import pytest

import weft

INDEX = [0, 0, 2, 2, 2]
SOURCE = [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("reduce", "with_self", "without"),
    [
        ("sum", [13.0, 10.0, 22.0], [3.0, 10.0, 12.0]),
        ("prod", [20.0, 10.0, 600.0], [2.0, 10.0, 60.0]),
        ("mean", [13 / 3, 10.0, 5.5], [1.5, 10.0, 4.0]),
        ("amax", [10.0, 10.0, 10.0], [2.0, 10.0, 5.0]),
        ("amin", [1.0, 10.0, 3.0], [1.0, 10.0, 3.0]),
    ],
)
def test_scatter_reduce_with_and_without_the_element_itself(reduce, with_self, without):
    base, index, source = weft.full((3,), 10.0), weft.tensor(INDEX), weft.tensor(SOURCE)
    assert base.scatter_reduce(0, index, source, reduce).tolist() == pytest.approx(with_self)
    assert base.scatter_reduce(0, index, source, reduce, include_self=False).tolist() == pytest.approx(without)


def test_equal_extremes_share_the_gradient():
    source = weft.tensor([2.0, 2.0, 1.0], requires_grad=True)
    weft.zeros(1).scatter_reduce(0, weft.tensor([0, 0, 0]), source, "amax").sum().backward()
    assert source.grad.tolist() == [0.5, 0.5, 0.0]


def test_the_gradient_of_a_product_with_one_zero_is_the_product_of_the_others():
    source = weft.tensor([0.0, 3.0, 4.0], requires_grad=True)
    weft.ones(1).scatter_reduce(0, weft.tensor([0, 0, 0]), source, "prod").sum().backward()
    assert source.grad.tolist() == [12.0, 0.0, 0.0]


def test_index_reduce_combines_slices():
    made = weft.zeros(2, 2).index_reduce(0, weft.tensor([1, 1]), weft.tensor([[1.0, 5.0], [4.0, 2.0]]), "amax")
    assert made.tolist() == [[0.0, 0.0], [4.0, 5.0]]


def test_segments_without_elements_have_the_mean_nan():
    found = weft.segment_reduce(weft.tensor([1.0, 3.0]), "mean", lengths=weft.tensor([2, 0]))
    assert found[0].item() == 2.0
    assert found[1].isnan().item()


def test_lengths_that_do_not_add_up_are_refused():
    with pytest.raises(RuntimeError, match=r"segment_reduce.*rows of lengths along axis to sum.*Axis 0 has size 3"):
        weft.segment_reduce(weft.ones(3), "sum", lengths=weft.tensor([1, 1]))


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_complex_numbers_have_no_extremes(name):
    x = weft.ones(2, dtype=weft.complex64)
    with pytest.raises(NotImplementedError, match=f"{name}.*no order"):
        getattr(x, name)(0, weft.tensor([0, 1]), x, "amax")


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("values", "initial", "gradient"),
    [
        ([1.0, 1.0, 2.0, 2.0, 2.0], None, [0.5, 0.5, 1 / 3, 1 / 3, 1 / 3]),
        ([1.0, 1.0, 2.0, 2.0, 2.0], 2.0, [0, 0, 1 / 3, 1 / 3, 1 / 3]),
        ([INF, INF, 1.0, 2.0, 2.0], INF, [0.5, 0.5, 0, 0, 0]),
        ([NAN, 0.0, NAN, 3.0, NAN], None, [1, 0, 0.5, 0, 0.5]),
        ([NAN, 0.0, 1.0, 3.0, 3.0], NAN, [1, 0, 0, 0, 0]),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_extremes_of_a_segment_share_its_gradient_and_what_it_starts_from_has_none(values, initial, gradient, sign):
    x = (sign * weft.tensor(values)).requires_grad_()
    options = {} if initial is None else {"initial": sign * initial}
    reduce = "max" if sign == 1 else "min"
    weft.segment_reduce(x, reduce, lengths=weft.tensor([2, 3]), **options).sum().backward()
    weft.testing.assert_close(x.grad, weft.tensor(gradient, dtype=weft.float32))


def test_positions_of_empty_slices_are_looked_at():
    x = weft.zeros(0, 0, dtype=weft.int64)
    with pytest.raises(IndexError, match="out of bounds"):
        x.index_reduce_(1, weft.tensor([0, 0]), weft.zeros(0, 2, dtype=weft.int64), "prod")


@pytest.mark.parametrize(
    ("data", "lengths", "error"),
    [
        (weft.tensor(1.0), weft.tensor([1]), RuntimeError),
        (weft.ones(3), weft.tensor(3), RuntimeError),
        (weft.ones(2, 3), weft.tensor([[3], [3]]), RuntimeError),
        (weft.ones(3), weft.tensor([1, 1]), RuntimeError),
        (weft.ones(3), weft.tensor([4, -1]), RuntimeError),
        (weft.ones(3), weft.tensor([1.5, 1.5]), NotImplementedError),
    ],
)
def test_segments_have_lengths_along_the_axis(data, lengths, error):
    with pytest.raises(error, match="segment_reduce"):
        weft.segment_reduce(data, "sum", lengths=lengths)


@pytest.mark.parametrize("reduce", ["amax", "amin"])
@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_all_that_take_part_in_an_extreme_that_is_nan_get_nan(name, reduce):
    for where in ("input", "source"):
        input, source = weft.tensor([0.0, 1.0]), weft.tensor([3.0, 2.0, -1.0])
        (input[:1] if where == "input" else source[:1]).fill_(weft.nan)
        input.requires_grad_(), source.requires_grad_()
        out = getattr(input, name)(0, weft.tensor([0, 0, 1]), source, reduce)
        of_input, of_source = weft.autograd.grad(out.sum(), (input, source))
        assert of_input.isnan().tolist() == [True, False]
        assert of_source.isnan().tolist() == [True, True, False]
        assert of_input[1].item() + of_source[2].item() == 1


def test_segments_by_offsets_need_not_cover_the_axis():
    x = weft.arange(4.0, requires_grad=True)
    middle = weft.segment_reduce(x, "sum", offsets=weft.tensor([1, 2, 3]))
    assert middle.tolist() == [1, 2]
    middle.sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 0]
    assert weft.segment_reduce(x, "max", offsets=weft.tensor([0, 3])).tolist() == [2]
    assert weft.segment_reduce(x, "sum", offsets=weft.tensor([2, 2])).tolist() == [0]


@pytest.mark.parametrize("offsets", [[0, 5], [-1, 4], [3, 1], [0, 3, 2, 4]])
def test_segments_that_leave_the_axis_or_run_backwards_are_refused(offsets):
    with pytest.raises(RuntimeError, match="segment_reduce"):
        weft.segment_reduce(weft.arange(4.0), "sum", offsets=weft.tensor(offsets))
