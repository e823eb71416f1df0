"""What a type checker knows of calls: ``./dev lint`` runs mypy over this file, and nothing runs it.

An ignored error that is none any more is an error itself.
"""
# mypy: warn-unused-ignores

from typing import assert_type

import weft
from weft import Tensor, return_types
from weft.nn import functional as F


def functions(x: Tensor, y: Tensor) -> None:
    assert_type(weft.exp(x), Tensor)
    assert_type(weft.mul(x, 2), Tensor)
    assert_type(weft.sum(x), Tensor)
    assert_type(weft.mean(x, dim=(0, 1), keepdim=True), Tensor)
    assert_type(weft.max(x), Tensor)
    assert_type(weft.max(x, y), Tensor)
    assert_type(weft.max(x, 0), return_types.max)
    assert_type(weft.max(x, dim=0, keepdim=True).indices, Tensor)
    assert_type(weft.median(x), Tensor)
    assert_type(weft.sort(x).values, Tensor)
    assert_type(weft.topk(x, 2), return_types.topk)
    assert_type(weft.special.expit(x), Tensor)
    assert_type(weft.where(x), tuple[Tensor, ...])
    assert_type(weft.where(x, y, 0), Tensor)
    assert_type(weft.unique(x, dim=0), Tensor)
    assert_type(weft.unique(x, return_counts=True), tuple[Tensor, ...])
    assert_type(weft.randn(2), Tensor)
    assert_type(weft.zeros((2, 3), dtype=weft.int64, device="cpu"), Tensor)
    assert_type(weft.arange(0, 1, 0.5), Tensor)
    assert_type(weft.tensor([1.0]), Tensor)
    assert_type(weft.cat([x, y]), Tensor)
    assert_type(weft.stack((x, y), dim=-1), Tensor)
    assert_type(weft.matmul(x, y), Tensor)
    assert_type(weft.einsum("ij,jk->ik", x, y), Tensor)
    assert_type(weft.gather(x, 0, y), Tensor)
    weft.sum("x")  # type: ignore[arg-type]
    weft.sum(x, dim="x")  # type: ignore[arg-type]
    weft.exp("x")  # type: ignore[arg-type]
    weft.exp(2)  # type: ignore[arg-type]
    weft.mul(x, "2")  # type: ignore[arg-type]
    weft.hypot(x, 2)  # type: ignore[arg-type]


def methods(x: Tensor, y: Tensor) -> None:
    assert_type(x.exp(), Tensor)
    assert_type(x.mul(2), Tensor)
    assert_type(x.mul_(y), Tensor)
    assert_type(x.max(), Tensor)
    assert_type(x.max(0).values, Tensor)
    assert_type(x.topk(2).indices, Tensor)
    assert_type(x.where(y, 0), Tensor)
    assert_type(x.reshape(2), Tensor)
    assert_type(x.reshape(2, -1), Tensor)
    assert_type(x.view(-1, 3), Tensor)
    assert_type(x.permute(1, 0).contiguous(), Tensor)
    assert_type(x.transpose(0, 1), Tensor)
    assert_type(x.to("cpu"), Tensor)
    assert_type(x.float().mean(), Tensor)
    assert_type(x[0, None, 1:], Tensor)
    assert_type(x.detach().clone().T, Tensor)
    assert_type(x.size(0), int)
    assert_type(x.size(), weft.Size)
    assert_type(x.shape[0], int)
    assert_type(x.shape[1:], weft.Size)
    assert_type(x.numel(), int)
    assert_type(x.add_(y, alpha=2), Tensor)
    assert_type(x.clamp_(min=0).squeeze_(0), Tensor)
    x.clamp_("0")  # type: ignore[arg-type]
    x.exp(2)  # type: ignore[call-arg]
    x.mul("2")  # type: ignore[arg-type]


def operators(x: Tensor, y: Tensor) -> None:
    assert_type(x + 1, Tensor)
    assert_type(1 - x, Tensor)
    assert_type(x @ y, Tensor)
    assert_type(x == y, Tensor)
    x + "1"  # type: ignore[operator]
    x @ 2  # type: ignore[operator]
    x += y
    assert_type(x, Tensor)


def functional(x: Tensor, y: Tensor) -> None:
    assert_type(F.relu(x), Tensor)
    assert_type(F.gelu(x, approximate="tanh"), Tensor)
    assert_type(F.softmax(x, dim=-1), Tensor)
    assert_type(F.conv2d(x, y, stride=2, padding="same"), Tensor)
    assert_type(F.conv_transpose1d(x, y, output_padding=(1,)), Tensor)
    assert_type(F.linear(x, y), Tensor)
    assert_type(F.layer_norm(x, (3,)), Tensor)
    assert_type(F.batch_norm(x, None, None, training=True), Tensor)
    assert_type(F.cross_entropy(x, y), Tensor)
    assert_type(F.avg_pool2d(x, 2), Tensor)
    assert_type(F.max_pool2d(x, 2), Tensor)
    assert_type(F.max_pool2d(x, (2, 3), return_indices=True), tuple[Tensor, Tensor])
    assert_type(F.interpolate(x, scale_factor=2), Tensor)
    assert_type(F.scaled_dot_product_attention(x, y, y), Tensor)
    assert_type(F.embedding_bag(x, y), Tensor)
    assert_type(weft.conv2d(x, y), Tensor)
    F.relu("x")  # type: ignore[arg-type]
    F.conv2d(x, y, groups=1.5)  # type: ignore[arg-type]
    F.cross_entropy(x, y, reduction=True)  # type: ignore[arg-type]
