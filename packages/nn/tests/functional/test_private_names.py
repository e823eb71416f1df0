"""Functions that PyTorch has under private names, and its own tests and older programs call."""

import math

import pytest

import weft
from weft._C import _nn

F = weft.nn.functional


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_masked_softmax_gives_hidden_elements_nothing_and_no_gradient(kind):
    scores = weft.randn(2, 3, 4, 4, requires_grad=True)
    mask = {
        0: weft.eye(4, dtype=weft.bool),
        1: weft.tensor([[True, False, False, False], [False, False, True, True]]),
        2: weft.zeros(2, 3, 4, 4, dtype=weft.bool),
    }[kind]
    whole = {0: mask[None, None], 1: mask[:, None, None], 2: mask}[kind].expand(2, 3, 4, 4)
    weights = weft._masked_softmax(scores, mask, -1, kind)
    assert weights.equal(scores.masked_fill(whole, -math.inf).softmax(-1))
    weights.square().sum().backward()
    assert not scores.grad[whole].any()


def test_a_row_that_is_all_hidden_is_zero_with_zero_gradients():
    scores = weft.randn(2, 3, requires_grad=True)
    mask = weft.tensor([[True, True, True], [False, True, False]])
    weights = weft._masked_softmax(scores, mask)
    weights.sum().backward()
    assert weights[0].tolist() == [0, 0, 0] == scores.grad[0].tolist()


def test_a_mask_of_another_shape_or_dtype_is_refused():
    with pytest.raises(RuntimeError, match="boolean"):
        weft._masked_softmax(weft.ones(2, 3), weft.ones(2, 3))
    with pytest.raises(RuntimeError, match="Mask shape should match input"):
        weft._masked_softmax(weft.ones(2, 3), weft.ones(3, dtype=weft.bool))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("kind", "mode"), [("reflection", "reflect"), ("replication", "replicate")])
def test_padding_functions_know_the_number_of_dimensions(kind, mode, count):
    function = getattr(_nn, f"{kind}_pad{count}d")
    assert function is getattr(weft.ops.aten, f"{kind}_pad{count}d")
    image = weft.arange(3.0**count).reshape(1, *[3] * count)
    assert function(image, [1] * 2 * count).equal(F.pad(image, [1] * 2 * count, mode))
    with pytest.raises(RuntimeError, match=f"padding size is expected to be {2 * count}, but got: 0"):
        function(image, [])
    with pytest.raises(RuntimeError, match=rf"Expected {count + 1}D or {count + 2}D \(batch mode\)"):
        function(image[None, None], [1] * 2 * count)


def test_convolutions_that_are_given_the_size_of_the_kernel():
    image, weight = weft.randn(1, 2, 4, 4), weft.randn(3, 2, 3, 3)
    assert _nn.thnn_conv2d(image, weight, [3, 3], None, 1, [1, 1]).equal(F.conv2d(image, weight, padding=1))
    for option in ("kernel_size", "stride", "padding"):
        options = {"kernel_size": [1, 1], "stride": [1, 1], "padding": [1, 1], option: []}
        with pytest.raises(RuntimeError, match=f"2D {option} expected"):
            _nn.thnn_conv2d(weft.rand(1, 1, 1, 1), weft.rand(1, 1), **options)
    with pytest.raises(RuntimeError):
        _nn.slow_conv3d(weft.empty(1, 1, 1, 0), weft.empty(1, 0, 1), 1)


def test_sums_with_relu_and_images_sampled_without_vector_instructions():
    a, b = weft.tensor([-2.0, 1.0]), weft.tensor([1.0, 1.0])
    assert weft._VF._add_relu(a, b).tolist() == [0, 2]
    assert weft._VF.add is weft.add
    image, grid = weft.rand(1, 2, 3, 3), weft.rand(1, 2, 2, 2)
    assert weft._grid_sampler_2d_cpu_fallback(image, grid, 0, 1, True).equal(
        F.grid_sample(image, grid, "bilinear", "border", True)
    )


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16], ids=str)
@pytest.mark.parametrize("mask", [None, "causal", weft.bool, weft.float32], ids=str)
def test_attention_by_its_formula_agrees_with_attention_and_gives_the_weights(mask, dtype):
    query, key, value = (weft.randn(2, heads, 5, 8).to(dtype) for heads in (4, 2, 2))
    options = {"is_causal": mask == "causal", "enable_gqa": True, "scale": 0.3}
    if mask not in (None, "causal"):
        options["attn_mask"] = (weft.rand(5, 5) > 0.3).to(mask if mask is weft.bool else dtype)
    output, weights = weft._scaled_dot_product_attention_math(query, key, value, **options)
    expected = F.scaled_dot_product_attention(query, key, value, **options)
    weft.testing.assert_close(output, expected, atol=1e-2 if dtype.itemsize == 2 else 1e-5, rtol=1e-2)
    assert output.dtype is weights.dtype is dtype
    if mask == "causal":
        assert not weights.triu(1).any()
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
        weft._scaled_dot_product_attention_math(query, query, query, query, is_causal=True)
