"""Images with their channels innermost in memory give results of the same layout, values and gradients."""

import pytest

import weft
from weft.nn import functional as F

double = weft.float64
CALLS = {
    "conv2d": lambda x: F.conv2d(x, weight(4, 4, 3, 3), weft.ones(4, dtype=double), padding=1),
    "conv2d with strides": lambda x: F.conv2d(x, weight(6, 2, 3, 3), stride=2, groups=2),
    "conv2d, pointwise": lambda x: F.conv2d(x, weight(3, 4, 1, 1)),
    "conv2d, depthwise": lambda x: F.conv2d(x, weight(4, 1, 3, 3), groups=4),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, weight(4, 2, 3, 3), stride=2),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 4),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 4),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 2),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "interpolate, bilinear": lambda x: F.interpolate(x, size=(5, 9), mode="bilinear"),
    "pad": lambda x: F.pad(x, (1, 2, 3, 0)),
    "pad, reflect": lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "gelu": F.gelu,
}


def weight(*shape):
    weft.manual_seed(1)
    return weft.randn(*shape, dtype=double)


@pytest.mark.parametrize("name", CALLS)
def test_channels_last_is_kept(name):
    weft.manual_seed(0)
    plain = weft.randn(2, 4, 6, 6, dtype=double)
    last = plain.to(memory_format=weft.channels_last)
    results, gradients = [], []
    for image in (plain, last):
        image = image.detach().requires_grad_()
        results.append(CALLS[name](image))
        results[-1].square().sum().backward()
        gradients.append(image.grad)
    assert results[0].is_contiguous()
    assert results[1].is_contiguous(memory_format=weft.channels_last)
    assert weft.allclose(*results)
    assert weft.allclose(*gradients)


def test_a_weight_with_its_channels_last_decides_for_a_convolution():
    image = weft.ones(1, 2, 4, 4, dtype=double)
    result = F.conv2d(image, weight(3, 2, 2, 2).to(memory_format=weft.channels_last))
    assert result.is_contiguous(memory_format=weft.channels_last)


def test_volumes_keep_it_too():
    volume = weft.ones(1, 2, 4, 4, 4, dtype=double).to(memory_format=weft.channels_last_3d)
    result = F.conv3d(volume, weight(3, 2, 2, 2, 2))
    assert result.is_contiguous(memory_format=weft.channels_last_3d)
    assert F.max_pool3d(result, 3).shape == (1, 3, 1, 1, 1)


def test_indices_of_max_pooling_keep_it():
    _, indices = F.max_pool2d(weft.randn(1, 2, 4, 4).to(memory_format=weft.channels_last), 2, return_indices=True)
    assert indices.is_contiguous(memory_format=weft.channels_last)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
@pytest.mark.parametrize("dtype", [weft.uint8, weft.float32])
@pytest.mark.parametrize("batch", [1, 2])
def test_parts_of_channels_last_images_keep_their_format(dtype, mode, batch):
    images = weft.randint(0, 200, (batch, 3, 12, 12)).to(dtype).contiguous(memory_format=weft.channels_last)
    for part in (images, images[:, :, 2:-2, 2:-2], images[:, :, ::2, ::2]):
        result = F.interpolate(part, size=(5, 7), mode=mode)
        assert result.is_contiguous(memory_format=weft.channels_last)
        weft.testing.assert_close(result, F.interpolate(part.contiguous(), size=(5, 7), mode=mode), check_stride=False)


def test_one_image_made_a_batch_of_is_not_channels_last():
    batch = weft.randn(2, 3, 8, 8).contiguous(memory_format=weft.channels_last)[0].unsqueeze(0)
    assert batch.stride() == (3, 1, 24, 3)
    for result in (F.interpolate(batch, size=4, mode="bilinear"), F.max_pool2d(batch, 2), F.avg_pool2d(batch, 2)):
        assert result.is_contiguous()
