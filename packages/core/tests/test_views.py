"""Views of strided memory, and the copies that are made where there can be no view."""

import weft


def test_a_real_tensor_is_viewed_as_complex_and_shares_its_memory():
    x = weft.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    z = weft.view_as_complex(x)
    assert z.tolist() == [[1 + 2j, 3 + 4j]]
    x[0, 0, 1] = 9
    assert z[0, 0].item() == 1 + 9j
    assert weft.view_as_complex(weft.tensor([5.0, 6.0])).item() == 5 + 6j


def test_an_expanded_tensor_is_reshaped_by_a_copy():
    x = weft.arange(3).expand(2, 3)
    assert x.reshape(6).tolist() == [0, 1, 2, 0, 1, 2]
    assert weft.arange(6).reshape(2, 3).repeat(2, 1).tolist() == [[0, 1, 2], [3, 4, 5]] * 2
