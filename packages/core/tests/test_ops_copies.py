"""Copies of views, and copies in which a view is overwritten."""

import pytest

import weft


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("transpose", (0, 1)),
        ("squeeze", ()),
        ("unsqueeze", (1,)),
        ("diagonal", ()),
        ("expand", ((2, 2, 3),)),
        ("permute", ((1, 0),)),
        ("select", (1, 2)),
    ],
)
def test_a_copy_has_the_elements_of_the_view_and_memory_of_its_own(name, args):
    x = weft.arange(6).reshape(2, 3)
    view, copy = getattr(weft, name)(x, *args), getattr(weft, f"{name}_copy")(x, *args)
    assert copy.tolist() == view.tolist()
    assert copy.is_contiguous()
    x.fill_(9)
    assert 9 not in copy.tolist()[0] if copy.ndim > 1 else 9 not in copy.tolist()


def test_pieces_of_unbind_copy_go_into_a_tuple_of_outs():
    outs = (weft.empty(2), weft.empty(2))
    weft.unbind_copy(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), out=outs)
    assert [each.tolist() for each in outs] == [[1.0, 2.0], [3.0, 4.0]]


def test_slice_scatter_replaces_a_slice_of_a_copy():
    x = weft.zeros(4, requires_grad=True)
    y = weft.slice_scatter(x, weft.tensor([5.0, 6.0]), 0, 1, 4, 2)
    assert y.tolist() == [0.0, 5.0, 0.0, 6.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_unsafe_split_gives_pieces_that_may_be_written_to():
    x = weft.ones(4, requires_grad=True)
    first, _ = weft.unsafe_split(x * 1, 2)
    first.mul_(3)
    assert first.tolist() == [3.0, 3.0]


def test_a_source_of_another_shape_is_refused():
    with pytest.raises(RuntimeError, match=r"select_scatter: .*\[3\].*\[2\]"):
        weft.select_scatter(weft.zeros(2, 2), weft.zeros(3), 0, 0)
