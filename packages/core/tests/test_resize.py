"""resize_ and what needs it: out= of another size."""

import pytest

import weft


def test_resize_keeps_the_elements_in_the_order_of_memory() -> None:
    x = weft.arange(6).reshape(2, 3)
    assert x.resize_(3, 4) is x
    assert x.shape == (3, 4)
    assert x.flatten()[:6].tolist() == [0, 1, 2, 3, 4, 5]


def test_smaller_and_back_is_the_same_memory() -> None:
    x = weft.arange(6)
    start = x.data_ptr()
    x.resize_(2).resize_(2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.data_ptr() == start


def test_resize_of_a_view_reads_on_in_the_storage() -> None:
    x = weft.arange(6)
    assert x[2:3].resize_(3).tolist() == [2, 3, 4]


def test_resize_as_takes_the_size_of_another() -> None:
    assert weft.ones(2, 3).resize_as_(weft.zeros(3, 2)).shape == (3, 2)


def test_resize_to_channels_last() -> None:
    x = weft.zeros(0).resize_(2, 3, 4, 5, memory_format=weft.channels_last)
    assert x.shape == (2, 3, 4, 5)
    assert x.is_contiguous(memory_format=weft.channels_last)


def test_resize_refuses_a_tensor_that_requires_grad() -> None:
    with pytest.raises(RuntimeError, match=r"resize_.*requires? grad"):
        weft.ones(2, requires_grad=True).resize_(3)


@pytest.mark.parametrize("size", [(-1,), (2**62, 4)])
def test_resize_refuses_impossible_sizes(size: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError):
        weft.ones(2).resize_(size)


def test_out_of_no_elements_is_resized() -> None:
    out = weft.empty(0)
    assert weft.add(weft.ones(2, 3), 1, out=out) is out
    assert out.tolist() == [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]


def test_out_of_no_elements_may_have_any_strides() -> None:
    out = weft.empty(1, 0).expand(4, 0)
    assert weft.exp(weft.ones(4, 0), out=out).shape == (4, 0)
