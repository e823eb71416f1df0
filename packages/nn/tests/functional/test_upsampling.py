"""Interpolation: PyTorch's values, exact ramps, derivatives."""

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F

IMAGE = weft.arange(9.0).reshape(1, 1, 3, 3)
OBSERVED = {  # of IMAGE in PyTorch, at (4, 2) or (2, 5)
    ("bilinear", False): [0.25, 1.75, 2.125, 3.625, 4.375, 5.875, 6.25, 7.75],
    ("bilinear", True): [0.0, 2.0, 2.0, 4.0, 4.0, 6.0, 6.0, 8.0],
    ("bicubic", False): [-0.023926, 1.593262, 1.780762, 3.397949, 4.602051, 6.219238, 6.406738, 8.023926],
    ("bicubic", True): [0.0, 2.0, 1.722222, 3.722222, 4.277777, 6.277776, 6.0, 8.0],
    ("nearest", None): [0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0],
    ("nearest-exact", None): [0.0, 0.0, 1.0, 2.0, 2.0, 6.0, 6.0, 7.0, 8.0, 8.0],
}


@pytest.mark.parametrize(("mode", "align_corners"), OBSERVED)
def test_interpolation_has_pytorchs_values(mode, align_corners):
    size = (2, 5) if mode.startswith("nearest") else (4, 2)
    result = F.interpolate(IMAGE, size=size, mode=mode, align_corners=align_corners)
    assert result.flatten().tolist() == pytest.approx(OBSERVED[mode, align_corners], abs=1e-5)


def test_antialiased_and_area_means_have_pytorchs_values():
    larger = weft.arange(16.0).reshape(1, 1, 4, 4)
    smooth = F.interpolate(larger, size=(2, 2), mode="bilinear", antialias=True)
    assert smooth.flatten().tolist() == pytest.approx([3.571429, 5.142858, 9.857143, 11.428572], abs=1e-5)
    assert F.interpolate(IMAGE, size=(2, 2), mode="area").flatten().tolist() == [2.0, 3.0, 5.0, 6.0]


@pytest.mark.parametrize(("mode", "count"), [("linear", 1), ("bilinear", 2), ("trilinear", 3)])
def test_linear_modes_keep_a_ramp(mode, count):
    ramp = weft.arange(4.0).expand(*[1] * 2, *[4] * count)
    result = F.interpolate(ramp, size=[7] * count, mode=mode, align_corners=True)
    assert result.reshape(-1, 7)[0].tolist() == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_interpolation_has_first_and_second_derivatives(mode):
    x = weft.randn(1, 2, 3, 4, dtype=weft.float64, requires_grad=True)
    assert gradcheck(lambda x: F.interpolate(x, scale_factor=1.5, mode=mode), (x,))
    assert gradgradcheck(lambda x: F.interpolate(x, scale_factor=1.5, mode=mode).square(), (x,))


def test_infinity_stays_where_it_is():
    x = weft.tensor([[[1.0, 2.0, float("inf"), 4.0]]])
    assert F.interpolate(x, size=4, mode="linear", align_corners=True).flatten().tolist() == x.flatten().tolist()
    assert F.interpolate(x, size=4, mode="nearest").flatten().tolist() == [1.0, 2.0, float("inf"), 4.0]


def test_a_dimension_that_keeps_its_size_is_copied_whatever_its_scale():
    x = weft.tensor([[[0.0, 1.0, 4.0, 9.0, 16.0]]])
    assert weft.equal(F.interpolate(x, scale_factor=1.19, mode="linear"), x)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"size": (1, 3), "mode": "bilinear"}, [17, 100, 237]),
        ({"size": (1, 8), "mode": "bicubic"}, [0, 17, 54, 77, 132, 193, 239, 255]),
        ({"size": (1, 3), "mode": "bicubic", "antialias": True}, [16, 110, 237]),
    ],
)
def test_bytes_are_averaged_in_fixed_point_as_pytorch_does(options, expected):
    row = weft.tensor([[[[0, 50, 100, 200, 255]]]], dtype=weft.uint8)
    assert F.interpolate(row, **options).flatten().tolist() == expected


def test_former_names_warn():
    with pytest.warns(UserWarning, match="deprecated"):
        assert F.upsample_nearest(IMAGE, scale_factor=2).shape == (1, 1, 6, 6)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: F.interpolate(IMAGE), ValueError, "interpolate.*size or scale_factor"),
        (lambda: F.interpolate(IMAGE, 2, 2.0), ValueError, "interpolate.*only one"),
        (lambda: F.interpolate(IMAGE, 2, mode="linear"), NotImplementedError, "interpolate.*4D.*linear"),
        (lambda: F.interpolate(IMAGE, 2, align_corners=True), ValueError, "interpolate.*align_corners"),
        (lambda: F.interpolate(IMAGE, (2, 2, 2)), ValueError, "interpolate.*dimensions"),
        (lambda: F.interpolate(IMAGE, 0), RuntimeError, "interpolate.*greater than 0"),
        (lambda: F.interpolate(IMAGE.long(), 2), NotImplementedError, "interpolate.*nearest.*int64"),
        (lambda: F.interpolate(IMAGE.byte(), 2, mode="area"), NotImplementedError, "interpolate.*area.*uint8"),
    ],
)
def test_wrong_call_is_explained(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
