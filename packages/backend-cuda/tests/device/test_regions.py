"""Poolings of regions by kernels of the device: the CPU's values and gradients, without a wait, whatever the boxes."""

import pytest

import weft
from weft.testing import assert_close
from weft.vision import ops

BOXES = [
    *([0, -50, -50, 90, 90], [1, 1, 1, 1, 1], [0, 3, 3, 2, 2], [1, 0, 0, 13, 9], [0, 18, 14, 22, 29]),
    *([1, 2, 2, 2.5, 7], [0, 0.3, 0.7, 4.4, 8.9], [1, -3, 4, 6, 5], [0, 5, -2.5, 30, 3.5]),
]
POOLINGS = {
    "roi_align": [{"sampling_ratio": ratio, "aligned": aligned} for ratio in (-1, 2) for aligned in (False, True)],
    "roi_pool": [{}],
    "ps_roi_align": [{"sampling_ratio": -1}, {"sampling_ratio": 2}],
    "ps_roi_pool": [{}],
}


def with_gradient(name, image, boxes, size, options):
    """The features, and the gradient of their sum, weighted."""
    image.requires_grad_()
    features = getattr(ops, name)(image, boxes, size, **options)
    weights = weft.arange(features.numel(), device=image.device).reshape(features.shape) % 7
    features.backward(weights.to(features.dtype))
    return features.detach(), image.grad


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16], ids=str)
@pytest.mark.parametrize("size", [(2, 3), (1, 1)], ids=str)
@pytest.mark.parametrize("name", POOLINGS)
def test_regions_agree(name, size, dtype, on_stand_in):
    import cupy_stand_in

    boxes = weft.tensor(BOXES, dtype=dtype)
    rtol = {weft.float32: 1e-4, weft.float64: 1e-10, weft.bfloat16: 3e-2}[dtype]
    for height, width in ((9, 13), (1, 1)):
        channels = 2 * size[0] * size[1] if name.startswith("ps") else 2
        image = weft.sin(weft.arange(2 * channels * height * width)).reshape(2, channels, height, width).to(dtype)
        for options in POOLINGS[name]:
            for scale in (1.0, 0.5):
                options = options | {"spatial_scale": scale}
                given = image.cuda(), boxes.cuda()
                with_gradient(name, image.cuda(), boxes.cuda(), size, options)  # tests ask the declared kernels once
                with cupy_stand_in.record() as log:
                    there = with_gradient(name, *given, size, options)
                assert not [event for event in log if event.kind in ("wait", "upload")]
                for found, expected in zip(there, with_gradient(name, image.clone(), boxes, size, options)):
                    assert_close(found.cpu(), expected, rtol=rtol, atol=rtol, equal_nan=True)


@pytest.mark.parametrize("name", POOLINGS)
def test_a_region_of_no_image_is_reported(name):
    image, boxes = weft.ones(2, 4, 5, 5, device="cuda"), weft.tensor([[2.0, 0, 0, 3, 3]], device="cuda")
    with pytest.raises(RuntimeError, match=f"{name}: index 2 is out of bounds for dimension 0 with size 2"):
        getattr(ops, name)(image, boxes, 2, **POOLINGS[name][0]).cpu()


@pytest.mark.parametrize("name", ["roi_align", "ps_roi_align"])
def test_a_region_however_large_has_as_many_samples_as_the_image_needs(name):
    image = weft.ones(1, 4, 5, 5, device="cuda")
    boxes = weft.tensor([[0.0, -1e30, 0, 1e30, 3], [0, 0, 0, float("nan"), 3], [0, 4e9, 0, 8e9, 2]], device="cuda")
    features = getattr(ops, name)(image, boxes, 2, sampling_ratio=-1).cpu()
    assert features[0].abs().max() < 1e-6
    assert features[1].isnan().any()
    assert (features[2] == 0).all()
