"""`weft.nn.attention`: which ways of computing attention are allowed."""

import pytest

import weft
from weft.backends import cuda
from weft.nn.attention import SDPBackend, sdpa_kernel


def test_only_the_named_ways_are_allowed_within_the_block():
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION], set_priority=True):
        assert cuda.flash_sdp_enabled() and cuda.mem_efficient_sdp_enabled()
        assert not cuda.math_sdp_enabled()
        q = weft.ones(1, 2, 3, 4)
        assert weft.nn.functional.scaled_dot_product_attention(q, q, q).sum() == 24
    assert cuda.math_sdp_enabled()


def test_what_is_no_way_is_refused():
    with pytest.raises(AssertionError, match="sdpa_kernel: Backend must be an instance of SDPBackend or a list"):
        sdpa_kernel("math").__enter__()


def test_a_way_prints_its_name():
    assert f"{SDPBackend.MATH}" == "SDPBackend.MATH"
