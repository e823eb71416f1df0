"""Resampling to another size chooses the elements that PyTorch chooses; its numbers were observed."""

import pytest

import weft


def test_nearest_elements_are_found_as_pytorch_rounds():
    def chosen(x, **kwargs):
        return weft.nn.functional.interpolate(x, **kwargs).flatten().tolist()

    three, doubles = weft.arange(3.0), weft.arange(14, dtype=weft.float64)
    assert chosen(three[None, None], scale_factor=1.3) == [0, 0, 1]
    assert chosen(three[None, None, :, None], scale_factor=(1.3, 1.0)) == [0, 1, 2]  # sizes that stay
    assert chosen(three[None, None, :, None, None], scale_factor=(1.3, 1.0, 1.0)) == [0, 0, 1]
    assert chosen(doubles[None, None], size=46)[23] == 7
    assert chosen(doubles[None, None, :, None], size=(46, 1))[23] == 6


def test_lanczos_keeps_constants_and_needs_antialias():
    image = weft.full((1, 2, 9, 12), 3.0)
    for size in ((4, 5), (9, 30)):
        found = weft.nn.functional.interpolate(image, size, mode="lanczos", antialias=True)
        assert weft.allclose(found, weft.full((1, 2, *size), 3.0))
    edges = weft.tensor([[[[0, 0, 255, 255, 0, 0]]]], dtype=weft.uint8).expand(1, 1, 6, 6)
    assert weft.nn.functional.interpolate(edges, (6, 12), mode="lanczos", antialias=True).dtype is weft.uint8
    for options in ({}, {"antialias": True, "align_corners": True}):
        with pytest.raises(ValueError, match="Lanczos mode"):
            weft.nn.functional.interpolate(image, 4, mode="lanczos", **options)
