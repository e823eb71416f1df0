"""Views: which functions share memory, with which strides, and how gradients pass through them."""

import numpy as np
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck

VIEWS = {
    "index": (lambda x: x[1], (3, 4), (4, 1)),
    "slice": (lambda x: x[:, 1:3], (2, 2, 4), (12, 4, 1)),
    "step": (lambda x: x[..., ::2], (2, 3, 2), (12, 4, 2)),
    "new axis": (lambda x: x[:, None], (2, 1, 3, 4), (12, 12, 4, 1)),
    "view": (lambda x: x.view(6, 4), (6, 4), (4, 1)),
    "view with a size to infer": (lambda x: x.view(-1, 2), (12, 2), (2, 1)),
    "reshape": (lambda x: x.reshape(3, 8), (3, 8), (8, 1)),
    "flatten": (lambda x: x.flatten(1), (2, 12), (12, 1)),
    "unflatten": (lambda x: x.unflatten(2, (2, 2)), (2, 3, 2, 2), (12, 4, 2, 1)),
    "transpose": (lambda x: x.transpose(0, 2), (4, 3, 2), (1, 4, 12)),
    "permute": (lambda x: x.permute(1, 2, 0), (3, 4, 2), (4, 1, 12)),
    "movedim": (lambda x: x.movedim(0, -1), (3, 4, 2), (4, 1, 12)),
    "mT": (lambda x: x.mT, (2, 4, 3), (12, 1, 4)),
    "expand": (lambda x: x[:, :1].expand(2, 5, 4), (2, 5, 4), (12, 0, 1)),
    "squeeze": (lambda x: x[:1].squeeze(0), (3, 4), (4, 1)),
    "unsqueeze": (lambda x: x.unsqueeze(1), (2, 1, 3, 4), (12, 12, 4, 1)),
    "narrow": (lambda x: x.narrow(1, 1, 2), (2, 2, 4), (12, 4, 1)),
    "select": (lambda x: x.select(1, 2), (2, 4), (12, 1)),
    "diagonal": (lambda x: x.diagonal(0, 1, 2), (2, 3), (12, 5)),
    "unfold": (lambda x: x.unfold(2, 2, 1), (2, 3, 3, 2), (12, 4, 1, 1)),
    "as_strided": (lambda x: x.as_strided((2, 2), (3, 5), 1), (2, 2), (3, 5)),
    "unbind": (lambda x: x.unbind(1)[2], (2, 4), (12, 1)),
    "split": (lambda x: x.split(2, 1)[1], (2, 1, 4), (12, 4, 1)),
    "chunk": (lambda x: x.chunk(2, 2)[1], (2, 3, 2), (12, 4, 1)),
    "detach": (lambda x: x.detach(), (2, 3, 4), (12, 4, 1)),
}


@pytest.mark.parametrize(("view", "shape", "strides"), list(VIEWS.values()), ids=list(VIEWS))
def test_a_view_shares_memory_and_has_these_strides(view, shape, strides):
    x = weft.arange(24.0).view(2, 3, 4)
    made = view(x)
    assert tuple(made.shape) == shape
    assert made.stride() == strides
    assert made.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    values = made.tolist()
    x.add_(100)
    assert (np.array(made.tolist()) - 100).tolist() == values


@pytest.mark.parametrize("view", [each[0] for each in VIEWS.values()], ids=VIEWS.keys())
def test_gradients_through_a_view_agree_with_differences(view):
    x = weft.rand(2, 3, 4, dtype=weft.float64, requires_grad=True)
    made = view(x)
    if not made.requires_grad:
        assert made.grad_fn is None
        return
    assert gradcheck(view, x, fast_mode=True)
    assert gradgradcheck(view, x, fast_mode=True)


COPIES = {
    "reshape that strides do not allow": lambda x: x.transpose(0, 1).reshape(6, 4),
    "flatten of a transposed": lambda x: x.mT.flatten(),
    "contiguous of a transposed": lambda x: x.mT.contiguous(),
    "clone": lambda x: x.clone(),
    "a list of indices": lambda x: x[[0, 1]],
    "a mask": lambda x: x[x >= 0],
    "repeat": lambda x: x.repeat(1, 1, 1),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 0),
    "stack": lambda x: weft.stack([x])[0],
    "index_select": lambda x: x.index_select(0, weft.tensor([0])),
    "to another dtype": lambda x: x.double().float(),
}


@pytest.mark.parametrize("copy", list(COPIES.values()), ids=list(COPIES))
def test_a_copy_has_memory_of_its_own(copy):
    x = weft.arange(24.0).view(2, 3, 4)
    made = copy(x)
    values = made.tolist()
    x.add_(100)
    assert made.tolist() == values


def test_what_needs_no_copy_is_the_tensor_itself():
    x = weft.ones(2, 3)
    assert x.contiguous() is x
    assert x.to(weft.float32) is x
    assert x.float() is x
    assert x.cpu() is x


def test_a_view_knows_its_base():
    x = weft.ones(4)
    view = x[:2]
    assert view._base is x
    assert view[0]._base is x
    assert view._is_view()
    for other in (x, x.clone(), x.detach(), x.data):
        assert other._base is None
        assert not other._is_view()


def test_a_view_of_views_has_the_gradient_of_all():
    x = weft.arange(6.0).view(2, 3).requires_grad_()
    y = x.t()[1:].reshape(-1).unsqueeze(0).expand(2, 4)
    (y * weft.arange(8.0).view(2, 4)).sum().backward()
    assert x.grad.tolist() == [[0, 4, 8], [0, 6, 10]]


def test_contiguity_is_about_strides_of_dimensions_longer_than_one():
    x = weft.ones(2, 3)
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x[:, :1].t().t()[:1].is_contiguous()
    assert weft.ones(0, 3).t().is_contiguous()


def test_storage_offset_counts_elements_from_the_start_of_the_memory():
    x = weft.arange(24.0).view(2, 3, 4)
    assert x[1, 2, 1:].storage_offset() == 21
    assert x[1].as_strided((2,), (1,)).storage_offset() == 12


@pytest.mark.parametrize("make", [
    lambda x: weft.cat([x, x]), lambda x: weft.stack([x, x]), lambda x: x.repeat(1, 1), lambda x: x.roll(1),
    lambda x: x.sum(0, keepdim=True), lambda x: x[None].amax(0), lambda x: x[None].all(0), lambda x: x.tril(),
    lambda x: x.gather(0, x.long() * 0), lambda x: x.masked_fill(x > 3, 0.0), lambda x: x[None].median(0).values,
    lambda x: x[:, [0, 1]], lambda x: weft.tensor(3.0).repeat(2, 2), lambda x: x[:, 0].ravel(),
    lambda x: x.diag_embed(dim1=0, dim2=1), lambda x: x.index_select(0, weft.tensor([1, 0])),
])  # fmt: skip
def test_results_can_be_viewed_whatever_the_strides_of_the_input(make):
    made = make(weft.arange(6.0).reshape(2, 3).t())
    assert made.is_contiguous()
    assert made.view(-1).shape == (made.numel(),)


def test_a_view_made_without_recording_requires_grad_as_its_base_does():
    x = weft.ones(3, requires_grad=True)
    with weft.no_grad():
        view, part = x.view(-1), x.unbind(0)[0]
        assert not x.detach().view(-1).requires_grad
    assert view.requires_grad
    assert part.requires_grad
    assert view.is_leaf


def test_a_view_made_without_recording_is_refused_once_its_base_was_written_to():
    x = weft.ones(3)
    with weft.no_grad():
        view = x.view(-1)
    x.mul_(weft.ones(3, requires_grad=True))
    with pytest.raises(RuntimeError, match="view: A view was created in no_grad mode"):
        view * 2


def test_one_of_several_views_is_refused_once_their_base_was_written_to():
    x = weft.ones(4, requires_grad=True) * 1
    first, _ = x.chunk(2)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="Output 0 of SplitBackward0 is a view and its base"):
        first.sum()


def test_as_strided_counts_from_the_memory_of_a_base_that_begins_later():
    x = weft.arange(6.0)[2:].detach().requires_grad_()
    y = x * 1
    part = x.clone().as_strided((2,), (2,), 1)
    part.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0, 1.0]
    y.as_strided((2,), (1,), 0).mul_(3)
    assert weft.autograd.grad(y.sum(), x)[0].tolist() == [3.0, 3.0, 1.0, 1.0]


def test_writes_through_as_strided_can_be_differentiated_twice():
    def write(x, source):
        return weft.as_strided_scatter(x, source, (2, 2), (1, 2), 0) ** 2

    x = weft.arange(9.0, dtype=weft.float64).reshape(3, 3).requires_grad_()
    source = weft.ones(2, 2, dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(write, (x, source))
    assert weft.autograd.gradgradcheck(write, (x, source))


@pytest.mark.parametrize("name", ["view", "reshape", "expand", "permute", "repeat", "tile", "flip"])
def test_sizes_that_are_missing_are_asked_for(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) missing 1 required positional arguments"):
        getattr(weft.ones(2), name)()


def test_repeats_are_counted_for_each_element_and_checked():
    x = weft.tensor([5, 6, 7])
    assert x.repeat_interleave(weft.tensor([2, 0, 1])).tolist() == [5, 5, 7]
    assert x.reshape(3, 1).repeat_interleave(2, 1).tolist() == [[5, 5], [6, 6], [7, 7]]
    assert weft.repeat_interleave(weft.tensor([1, 2]), output_size=3).tolist() == [0, 1, 1]
    with pytest.raises(RuntimeError, match="Invalid output_size, expected 6 but got 5"):
        x.repeat_interleave(2, output_size=5)
    with pytest.raises(RuntimeError, match="repeats can not be negative; got -1"):
        x.repeat_interleave(weft.tensor([1, -1, 1]))


def test_the_matrix_transpose_of_a_number_is_itself():
    x = weft.tensor(2.0)
    weft.set_warn_always(True)
    try:
        for take in (lambda: x.T, lambda: x.mT, lambda: x.mH, lambda: x.H, x.adjoint):
            with pytest.warns(UserWarning, match="deprecated on 0-D tensors"):
                assert take().item() == 2.0
        with pytest.warns(UserWarning, match="dimension other than 2"):
            assert weft.ones(2, 3, 4).T.shape == (4, 3, 2)
    finally:
        weft.set_warn_always(False)


def test_no_blocks_make_a_matrix_without_columns():
    assert weft.block_diag().shape == (1, 0)


@pytest.mark.parametrize(
    "change", [lambda t: t.reshape(6), lambda t: t.flatten(), lambda t: t.reshape_as(weft.ones(6))]
)
def test_a_copy_under_another_shape_is_no_view(change):
    copy = change(weft.arange(6.0).reshape(3, 2).t())
    assert copy._base is None
    x = weft.ones(3, 2, requires_grad=True)
    copy = change(x.t() * 1)
    copy.mul_(2)
    copy.sum().backward()
    assert x.grad.tolist() == [[2, 2]] * 3


def test_complex_views_begin_at_even_places():
    x = weft.arange(8.0)
    assert weft.view_as_complex(x[2:4]).tolist() == 2 + 3j
    for odd in (x[1:3], x[3:7].reshape(2, 2), x.as_strided((2, 2), (4, 1), 1)):
        with pytest.raises(RuntimeError, match="storage_offset divisible by 2"):
            weft.view_as_complex(odd)
        assert weft.view_as_complex(odd.clone()).real.flatten().tolist() == odd[..., 0].flatten().tolist()


@pytest.mark.parametrize(
    ("take", "what"),
    [
        (lambda x: x[:, 1:3], "storage_offset"),
        (lambda x: x[:, :4], r"stride\(0\)"),
        (lambda x: x[:, ::2][:, :2], r"stride\(-1\)"),
        (lambda x: x[:, :3], r"size\(-1\)"),
    ],
)
def test_elements_are_read_as_larger_ones_only_where_larger_ones_may_begin(take, what):
    view = take(weft.arange(15.0).view(3, 5))
    with pytest.raises(RuntimeError, match=what):
        view.view(weft.complex64)


def test_one_row_is_read_as_larger_elements_whatever_its_step():
    x = weft.arange(6.0).as_strided((1, 4), (5, 1))
    assert x.view(weft.complex64).tolist() == [[1j, 2 + 3j]]
    assert x.view(weft.complex64).data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.movedim((0, 0), (0, 1)), "repeated dim in `source`"),
        (lambda x: x.movedim((0, 1), (1, -1)), "repeated dim in `destination`"),
        (lambda x: x.permute(0, -2), "duplicate dims"),
        (lambda x: x.unfold(0, -1, 1), "size is -1 but must be >= 0"),
        (lambda x: x.split(-1), "non-negative, but got split_size=-1"),
    ],
)
def test_dims_and_sizes_that_no_view_has_are_named(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(weft.zeros(2, 3))


def test_strides_of_single_elements_do_not_keep_a_tensor_from_being_seen_as_complex():
    x = weft.arange(2.0).reshape(2, 1).rot90()
    assert x.shape == (1, 2)
    assert weft.view_as_complex(x).tolist() == [1j]


def test_view_takes_pythons_number_types_for_dtypes():
    x = weft.zeros(2)
    assert x.view(int).dtype is x.view(dtype=int).dtype is weft.int64
    assert x.view(int).tolist() == [0]


def test_views_without_elements_keep_their_strides():
    x = weft.zeros(2, 3, 4, 5)
    assert x[:, 1:1].stride() == x.stride()
    assert x[:, :, :, 1][:, 1:1, :].stride() == (60, 20, 5)
    assert x[0, 1:1, 2, 1].stride() == (20,)
    assert x[:, 1:1].is_contiguous()
    assert weft.empty(2, 0, 3).stride() == (3, 3, 1)
    assert weft.zeros(4, 5).t()[:0].stride() == (1, 5)


@pytest.mark.parametrize("format", [weft.channels_last, weft.channels_last_3d, weft.contiguous_format])
def test_resize_as_takes_the_templates_order_where_it_is_asked_to(format):
    sizes = (2, 3, 4, 5, 6)[: 5 if format is weft.channels_last_3d else 4]
    template = weft.empty(sizes).contiguous(memory_format=format)
    resized = weft.empty(template.numel()).resize_as_(template, memory_format=weft.preserve_format)
    assert resized.stride() == template.stride()
    with pytest.raises(RuntimeError, match="Unsupported memory format"):
        resized.resize_(2, 3, memory_format=weft.preserve_format)


def test_tensors_in_a_list_come_back_in_a_tuple():
    for function in (weft.atleast_1d, weft.atleast_2d, weft.atleast_3d):
        (found,) = function([weft.tensor(1.0)])
        assert found.ndim == int(function.__name__[-2])
        assert isinstance(function(weft.tensor(1.0)), weft.Tensor)


def test_transposing_takes_sparse_vectors_and_refuses_sparse_volumes():
    x = weft.arange(4).to_sparse()
    assert x.t().to_dense().tolist() == [0, 1, 2, 3]
    assert weft.tensor(2.0).to_sparse().t().to_dense().item() == 2
    with pytest.raises(RuntimeError, match="<= 2 sparse and 0 dense dimensions, but got 3 sparse and 0 dense"):
        weft.ones(2, 2, 2).to_sparse().t()
