"""Resampling to another size chooses the elements that PyTorch chooses; its numbers were observed."""

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
