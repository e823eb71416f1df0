"""Channels last stays through pointwise operations, copies and conversions; strides are PyTorch's."""

from typing import Any

import pytest

import weft

LAST, LAST_3D = (60, 1, 15, 3), (120, 1, 60, 15, 3)  # strides of (2, 3, 4, 5) and of (2, 3, 2, 4, 5)


@pytest.fixture
def image():
    return weft.rand(2, 3, 4, 5).to(memory_format=weft.channels_last)


@pytest.mark.parametrize(
    "keep",
    [
        lambda x: x + 1,
        lambda x: x + x,
        lambda x: x * weft.ones(3, 1, 1),
        lambda x: weft.ones(3, 1, 1) + x,
        lambda x: x.exp(),
        lambda x: x.relu(),
        lambda x: x > 0.5,
        lambda x: x.clamp(0.2, 0.8),
        lambda x: weft.where(x > 0.5, x, 0.0),
        lambda x: x.half().exp(),
        lambda x: x.int() + 1,
        lambda x: x.clone(),
        lambda x: x.to(weft.float64),
        lambda x: x.to(weft.float64, memory_format=weft.preserve_format),
        lambda x: x.float(),
        lambda x: weft.empty_like(x),
        lambda x: weft.zeros_like(x, dtype=weft.int32),
        lambda x: weft.rand_like(x),
        lambda x: x.detach(),
        lambda x: x.clone().add_(weft.ones(2, 3, 4, 5)),
        lambda x: weft.empty(2, 3, 4, 5, memory_format=weft.channels_last),
        lambda x: weft.ones(2, 3, 4, 5).clone(memory_format=weft.channels_last),
        lambda x: weft.ones(2, 3, 4, 5).contiguous(memory_format=weft.channels_last),
    ],
)
def test_channels_last_is_kept(image, keep):
    found = keep(image)
    assert found.stride() == LAST and found.is_contiguous(memory_format=weft.channels_last)


def test_channels_last_3d_is_kept():
    volume = weft.rand(2, 3, 2, 4, 5).to(memory_format=weft.channels_last_3d)
    assert {each.stride() for each in (volume, volume + 1, volume.exp(), volume.clone(), volume.double())} == {LAST_3D}


@pytest.mark.parametrize(
    "drop",
    [
        lambda x: x.contiguous(),
        lambda x: x.clone(memory_format=weft.contiguous_format),
        lambda x: x.to(memory_format=weft.contiguous_format),
        lambda x: x.double(memory_format=weft.contiguous_format),
        lambda x: x.cpu(memory_format=weft.contiguous_format),
        lambda x: weft.ones_like(x, memory_format=weft.contiguous_format),
        lambda x: x.new_empty(2, 3, 4, 5),
        lambda x: x.softmax(1),
        lambda x: x.log_softmax(1),
        lambda x: x.cumsum(1),
        lambda x: x.masked_fill(x > 0.5, 0.0),
    ],
)
def test_these_are_contiguous_whatever_the_input(image, drop):
    assert drop(image).stride() == (60, 20, 5, 1)


def test_gradients_have_the_order_of_what_they_are_the_gradient_of(image):
    image.requires_grad_()
    (image.exp().relu() * image).sum().backward()
    assert image.grad.stride() == LAST


def test_to_is_the_tensor_itself_where_it_has_the_format(image):
    assert image.to(memory_format=weft.channels_last) is image
    permuted = weft.ones(4, 2, 3, 5).permute(2, 0, 1, 3)
    assert permuted.to(memory_format=weft.contiguous_format) is permuted  # neither format: taken for contiguous
    assert permuted.to(weft.float64, memory_format=weft.contiguous_format).is_contiguous()


def test_one_channel_has_both_formats():
    one = weft.ones(2, 1, 4, 5)
    assert one.is_contiguous(memory_format=weft.channels_last) and one.is_contiguous()
    assert one.contiguous(memory_format=weft.channels_last) is one
    assert one.to(memory_format=weft.channels_last).stride() == (20, 1, 5, 1)


def test_a_format_for_another_number_of_dimensions_is_refused():
    assert not weft.ones(2, 3).is_contiguous(memory_format=weft.channels_last)
    for call in (
        lambda: weft.ones(2, 3).contiguous(memory_format=weft.channels_last),
        lambda: weft.ones(2, 3).to(memory_format=weft.channels_last),
        lambda: weft.empty(2, 3, memory_format=weft.channels_last),
        lambda: weft.ones(2, 3, 4, 5).to(memory_format=weft.channels_last_3d),
    ):
        with pytest.raises(RuntimeError, match=r"required rank \d tensor"):
            call()


def test_there_is_no_order_to_keep_for_a_new_tensor():
    with pytest.raises(RuntimeError, match="Preserve"):
        weft.empty(2, 3, memory_format=weft.preserve_format)


def test_constant_padding_keeps_the_format():
    images = weft.rand(1, 2, 5, 3).contiguous(memory_format=weft.channels_last)
    padded = weft.constant_pad_nd(images, [1, 2], 0.5)
    assert padded.is_contiguous(memory_format=weft.channels_last)
    assert weft.equal(padded, weft.constant_pad_nd(images.contiguous(), [1, 2], 0.5))


@pytest.mark.parametrize(
    "copy", [weft.Tensor.clone, weft.Tensor.double, lambda x: x.to(weft.int32), lambda x: x.flip(0)]
)
def test_copies_of_expanded_tensors_keep_the_places_of_their_dimensions(copy):
    row = weft.arange(3.0).reshape(1, 3).expand(2, 3)
    assert copy(row).stride() == (3, 1)
    assert copy(row).view(-1).tolist() == [0, 1, 2, 0, 1, 2]
    assert copy(weft.zeros(3, 2).t().unsqueeze(0).expand(2, 2, 3)).stride() == (6, 1, 2)
    assert weft.func.vmap(copy)(weft.zeros(4, 1, 3).expand(4, 2, 3)).stride() == (6, 3, 1)


def test_a_copy_in_another_order_is_no_view(image):
    x = weft.rand(2, 3, 4, 5, requires_grad=True)
    for copy in (
        x.clone(memory_format=weft.channels_last),
        x.contiguous(memory_format=weft.channels_last),
        x.to(memory_format=weft.channels_last),
        x[:1].expand(2, 3, 4, 5).permute(1, 2, 0, 3).clone(),
    ):
        assert copy._base is None
        assert copy._version == 0
        copy.mul_(2).sum().backward()
    assert weft.equal(x.grad[1], weft.full((3, 4, 5), 6.0))


@pytest.mark.parametrize("like", [weft.empty_like, weft.zeros_like, weft.ones_like, lambda x: weft.full_like(x, 2)])
def test_a_tensor_like_one_with_gaps_is_dense_in_its_order(like: Any) -> None:
    sliced = weft.rand(4, 3, 8, 8).contiguous(memory_format=weft.channels_last)[..., ::2, ::2]
    assert like(sliced).stride() == sliced.clone().stride() == (48, 1, 12, 3)
