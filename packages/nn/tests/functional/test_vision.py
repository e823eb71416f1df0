"""Windows as columns, pixels and channels exchanged, grids."""

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F


def test_unfold_makes_convolution_a_product():
    x, weight = weft.randn(2, 3, 5, 6), weft.randn(4, 3, 2, 3)
    columns = F.unfold(x, (2, 3), padding=1, stride=2)
    product = (weight.reshape(4, -1) @ columns).reshape(2, 4, 3, 3)
    assert weft.allclose(product, F.conv2d(x, weight, padding=1, stride=2), atol=1e-5)


def test_fold_counts_how_often_each_pixel_was_taken():
    ones = weft.ones(1, 1, 3, 3)
    assert F.fold(F.unfold(ones, 2), (3, 3), 2)[0, 0].tolist() == [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]


def test_pixel_shuffle_and_its_inverse():
    x = weft.arange(8.0).reshape(1, 4, 1, 2)
    assert F.pixel_shuffle(x, 2)[0, 0].tolist() == [[0.0, 2.0, 1.0, 3.0], [4.0, 6.0, 5.0, 7.0]]
    assert weft.equal(F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), x)


def test_channel_shuffle_deals_out_groups():
    assert F.channel_shuffle(weft.arange(6.0).reshape(1, 6, 1), 2).flatten().tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]


IMAGE = weft.arange(9.0).reshape(1, 1, 3, 3)
GRID = weft.tensor([[[[-1.0, -1.0], [0.3, -0.2]], [[1.5, 0.1], [0.9, 2.0]]]])
OBSERVED = {  # in PyTorch
    ("bilinear", "zeros"): [0.0, 3.55, 0.0, 0.0],
    ("bilinear", "border"): [0.0, 3.55, 5.45, 8.0],
    ("bilinear", "reflection"): [0.0, 3.55, 5.2, 5.0],
    ("nearest", "zeros"): [0.0, 4.0, 0.0, 0.0],
    ("nearest", "border"): [0.0, 4.0, 5.0, 8.0],
    ("nearest", "reflection"): [0.0, 4.0, 5.0, 5.0],
    ("bicubic", "zeros"): [-0.1875, 3.779209, -0.605565, 0.0],
    ("bicubic", "border"): [-0.375, 3.378159, 5.626908, 8.110908],
    ("bicubic", "reflection"): [-0.75, 3.378159, 5.435502, 5.170626],
}


@pytest.mark.parametrize(("mode", "padding_mode"), OBSERVED)
def test_grid_sample_has_pytorchs_values(mode, padding_mode):
    result = F.grid_sample(IMAGE, GRID, mode, padding_mode, align_corners=False)
    assert result.flatten().tolist() == pytest.approx(OBSERVED[mode, padding_mode], abs=1e-5)


@pytest.mark.parametrize("align_corners", [False, True])
def test_the_identity_grid_gives_the_image_back(align_corners):
    theta = weft.eye(2, 3).unsqueeze(0)
    grid = F.affine_grid(theta, (1, 1, 3, 3), align_corners)
    assert weft.allclose(F.grid_sample(IMAGE, grid, align_corners=align_corners), IMAGE, atol=1e-6)


def test_grids_of_volumes_work():
    volume = weft.randn(1, 2, 3, 4, 5, dtype=weft.float64)
    grid = F.affine_grid(weft.eye(3, 4, dtype=weft.float64).unsqueeze(0), volume.shape, False)
    assert weft.allclose(F.grid_sample(volume, grid, align_corners=False), volume)


def test_rearrangements_and_samples_have_first_and_second_derivatives():
    x = weft.randn(1, 4, 3, 3, dtype=weft.float64, requires_grad=True)
    grid = (GRID.double() * 0.9 + 0.05).requires_grad_()
    for function, inputs in (
        (lambda x: F.unfold(x, 2, padding=1), (x,)),
        (lambda x: F.fold(x.reshape(1, 4, 9), (4, 4), 2), (x,)),
        (lambda x: F.pixel_shuffle(x, 2), (x,)),
        (lambda x, g: F.grid_sample(x, g, "bilinear", "zeros", False), (x, grid)),
        (lambda x, g: F.grid_sample(x, g, "bicubic", "zeros", False), (x, grid)),
    ):
        assert gradcheck(function, inputs)
        assert gradgradcheck(function, inputs)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: F.unfold(IMAGE, 4), RuntimeError, "unfold.*at least one"),
        (lambda: F.fold(weft.ones(1, 4, 3), (3, 3), 2), RuntimeError, "fold.*4.*3"),
        (lambda: F.pixel_shuffle(IMAGE, 2), RuntimeError, "pixel_shuffle.*4"),
        (lambda: F.channel_shuffle(IMAGE, 2), RuntimeError, "channel_shuffle.*1 channels"),
        (lambda: F.grid_sample(IMAGE, GRID, "cubic"), ValueError, "grid_sample.*cubic"),
        (lambda: F.grid_sample(IMAGE, GRID.double(), align_corners=False), RuntimeError, "grid_sample.*float64"),
        (lambda: F.affine_grid(weft.ones(1, 3, 3), (1, 1, 2, 2), False), ValueError, "affine_grid.*Nx2x3"),
    ],
)
def test_wrong_call_is_explained(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_gradients_at_the_identity_are_those_of_pytorch():
    # Each place falls on a pixel, where the gradient jumps: the last bit decides. Observed from PyTorch 2.13.
    weft.manual_seed(0)
    theta = weft.tensor([[[1.0, 0, 0], [0, 1, 0]]]).repeat(2, 1, 1).requires_grad_()
    grid = F.affine_grid(theta, (2, 1, 28, 28), align_corners=False)
    assert grid[0, 0, 6, 0].item() == -0.535714328289032
    sampled = F.grid_sample(weft.randn(2, 1, 28, 28), grid, align_corners=False)
    (sampled * weft.randn(2, 1, 28, 28)).sum().backward()
    expected = [[104.950966, -239.66978, 344.14432], [-21.38358, 182.67484, 92.35456]]
    assert weft.allclose(theta.grad[0], weft.tensor(expected), rtol=1e-4)


@pytest.mark.parametrize("shuffle", [F.pixel_shuffle, F.pixel_unshuffle, F.channel_shuffle])
@pytest.mark.parametrize("memory_format", [weft.contiguous_format, weft.channels_last])
def test_shuffles_by_a_factor_of_one_are_no_views(shuffle, memory_format):
    image = weft.ones(2, 3, 4, 4).to(memory_format=memory_format)
    shuffle(image, 1).zero_()
    assert image.sum() == image.numel()


def test_affine_grid_checks_the_batch_and_warns_of_single_pixels_at_the_corners():
    with pytest.raises(RuntimeError, match="Expected a batch of 1"):
        F.affine_grid(weft.zeros(2, 2, 3), [1, 1, 2, 2], align_corners=False)
    F.affine_grid(weft.zeros(1, 2, 3), [1, 1, 2, 1], align_corners=False)
    with pytest.warns(UserWarning, match="See the documentation of affine_grid"):
        F.affine_grid(weft.zeros(1, 2, 3), [1, 1, 2, 1], align_corners=True)


@pytest.mark.parametrize(
    ("input", "grid", "message"),
    [
        ((1, 1, 2, 2), (2, 1, 1, 2), "same batch size"),
        ((1, 1, 2, 2), (1, 1, 1, 3), "size 2 in last dimension"),
        ((1, 2, 2), (1, 1, 1, 2), "size 1 in last dimension"),
        ((1, 1, 2, 2), (1, 1, 2), "same number of dimensions"),
    ],
)
def test_grid_sample_says_what_does_not_fit(input, grid, message):
    with pytest.raises(RuntimeError, match=message):
        F.grid_sample(weft.zeros(input), weft.zeros(grid), align_corners=False)
