"""Layers: normalization, embedding, attention, convolution, pooling."""

from __future__ import annotations

from typing import Any

import weft
from weft.distributed.tensor._dispatch import Call, R, Strategy, replicates, rule, runs
from weft.distributed.tensor._dtensor_spec import local_sizes
from weft.distributed.tensor._redistribute import place_of
from weft.distributed.tensor._rules.placing import everywhere, moved
from weft.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

# Normalization of the last dimensions


def rows_of(call: Call, dim: int, index: int, count: int) -> Shard | None:
    """How the rows, which are normalized one by one, are divided."""
    now = call.at(index, dim)
    if isinstance(now, Shard) and now.dim < call.tensors[index].ndim - count:
        return now
    return None


def by_rows(call: Call, dim: int, count: int, likes: int, outputs: tuple[str, ...]) -> list[Strategy]:
    """Rows of the first ``likes`` tensors (``r``), and of results; ``p`` is a sum over rows, None for what is not."""
    whole = tuple(R for _ in outputs)
    found = [Strategy(whole, (R,) * len(call.tensors))]
    for index in range(likes):
        now = rows_of(call, dim, index, count)
        if now is not None:
            inputs = tuple(now if at < likes else R for at in range(len(call.tensors)))
            found.append(Strategy(tuple(now if each == "r" else Partial() for each in outputs), inputs))
    return found


@rule("aten.native_layer_norm")
def layer_norm(call: Call, dim: int) -> list[Strategy]:
    return by_rows(call, dim, len(call.args[1]), 1, ("r", "r", "r"))


@rule("aten.native_layer_norm_backward")
def layer_norm_backward(call: Call, dim: int) -> list[Strategy]:
    """Of the tensors output_grad, input, mean, inverse deviation (whose last dimensions may be gone), weight twice."""
    count = len(call.args[2])
    found = [Strategy((R, R, R), (R,) * len(call.tensors))]
    for index in (0, 1):
        now = rows_of(call, dim, index, count)
        if now is not None:
            rest = (R,) * (len(call.tensors) - 4)
            found.append(Strategy((now, Partial(), Partial()), (now, now, now, now, *rest)))
    return found


@rule("nn.rms_norm")
def rms_norm(call: Call, dim: int) -> list[Strategy]:
    return by_rows(call, dim, int(call.args[2]), 1, ("r", "r"))


@rule("nn.rms_norm_gradient")
def rms_norm_gradient(call: Call, dim: int) -> list[Strategy]:
    """Of the tensors output_grad, input, weight (where there is one) and inverse."""
    has_weight = len(call.tensors) == 4
    found = [Strategy((R, R), (R,) * len(call.tensors))]
    for index in (0, 1):
        now = rows_of(call, dim, index, int(call.args[4]))
        if now is not None:
            inputs = (now, now, R, now) if has_weight else (now, now, now)
            found.append(Strategy((now, Partial()), inputs))
    return found


@rule("aten.native_group_norm", "aten.native_group_norm_backward")
def group_norm(call: Call, dim: int) -> list[Strategy]:
    return [Strategy((R, R, R), (R,) * len(call.tensors))]


# Embedding


@rule("aten.embedding")
def embedding(call: Call, dim: int) -> list[Strategy]:
    """By the table's columns, its rows (each process looks up those that it has), or the indices."""
    weight, indices = call.at(0, dim), call.at(1, dim)
    found = [everywhere(call)]
    if isinstance(weight, Shard):
        last = call.tensors[1].ndim
        found.append(Strategy(moved(weight, last) if weight.dim == 1 else Partial(), (weight, R)))
    if isinstance(indices, Shard):
        found.append(Strategy(indices, (R, indices)))
    return found


@runs("aten.embedding")
def run_embedding(call: Call) -> Any:
    weight, indices = call.locals[:2]
    if not any(each.is_shard(0) for each in call.placements[0]):
        return call.run_op()
    shape = call.tensors[0].shape
    (rows, _), (start, _) = local_sizes(shape, call.mesh.shape, place_of(call.mesh), call.placements[0])
    own = indices - start
    elsewhere = (own < 0) | (own >= rows)
    if not rows:
        return weight.new_zeros([*indices.shape, weight.shape[1]])
    found = weft.ops.aten.embedding.default(weight, own.masked_fill(elsewhere, 0))
    return found.masked_fill(elsewhere.unsqueeze(-1), 0)


@rule("aten.embedding_dense_backward")
def embedding_backward(call: Call, dim: int) -> list[Strategy]:
    grad, indices = call.tensors[:2]
    found = [everywhere(call)]
    now = call.at(0, dim)
    if isinstance(now, Shard) and now.dim == grad.ndim - 1:
        found.append(Strategy(moved(now, 1), (now, R)))
    elif isinstance(now, Shard) and now.dim < indices.ndim:
        found.append(Strategy(Partial(), (now, now)))
    elif type(now) is Partial:
        found.append(Strategy(now, (now, R)))
    other = call.at(1, dim)
    if isinstance(other, Shard):
        found.append(Strategy(Partial(), (other, other)))
    return found


# Attention: by examples and by heads


def heads(call: Call, dim: int, outputs: int) -> list[Strategy]:
    whole: Any = (R,) * outputs
    found = [Strategy(whole, (R,) * len(call.tensors))]
    query = next(each for each in call.tensors if each.ndim == call.tensors[0].ndim)
    for index in range(len(call.tensors)):
        now = call.at(index, dim)
        if not isinstance(now, Shard) or now.dim >= query.ndim - 2 or call.tensors[index].ndim != query.ndim:
            continue
        shards = call.mesh.size(dim)
        inputs: list[Placement] = []
        for each in call.tensors:
            at = now.dim if each.ndim >= query.ndim - 1 and now.dim < each.ndim else -1
            if each.ndim < query.ndim - 1:
                at = -1
            inputs.append(moved(now, at) if at >= 0 and each.shape[at] != 1 else Replicate())
        sizes = {each.shape[now.dim] for each, own in zip(call.tensors, inputs) if own.is_shard()}
        if len(sizes) == 1 or all(size % shards == 0 for size in sizes):  # groups of heads stay together
            found.append(Strategy((now,) * outputs, tuple(inputs)))
    return found


ATTENTION = (
    "aten._scaled_dot_product_flash_attention_for_cpu",
    "aten._scaled_dot_product_flash_attention",
    "aten._scaled_dot_product_efficient_attention",
    "nn.attention",
)


@rule(*ATTENTION)
def attention(call: Call, dim: int) -> list[Strategy]:
    return heads(call, dim, len(call.result_metas()))


@rule("nn.attention_gradient")
def attention_gradient(call: Call, dim: int) -> list[Strategy]:
    return heads(call, dim, 3)


# Convolution and pooling: by examples


@rule("aten.convolution", "aten.conv1d", "aten.conv2d", "aten.conv3d")
def convolution(call: Call, dim: int) -> list[Strategy]:
    rest = (R,) * (len(call.tensors) - 1)
    found = [everywhere(call)]
    now = call.at(0, dim)
    if now.is_shard(0):
        found.append(Strategy(now, (now, *rest)))
    return found


@rule("aten.convolution_backward")
def convolution_backward(call: Call, dim: int) -> list[Strategy]:
    rest = (R,) * (len(call.tensors) - 2)
    found = [Strategy((R, R, R), (R, R, *rest))]
    for index in (0, 1):
        now = call.at(index, dim)
        if now.is_shard(0):
            found.append(Strategy((now, Partial(), Partial()), (now, now, *rest)))
    return found


def pooling(outputs: int, *names: str) -> None:
    @rule(*[f"aten.{name}" for name in names])
    def _(call: Call, dim: int) -> list[Strategy]:
        found = [everywhere(call, outputs)]
        for index in range(len(call.tensors)):
            now = call.at(index, dim)
            if isinstance(now, Shard) and now.dim < min(2, min(each.ndim for each in call.tensors) - 1):
                found.append(Strategy((now,) * outputs if outputs else now, (now,) * len(call.tensors)))
        return found


pooling(2, "max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
pooling(
    0, "avg_pool1d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d"
)
pooling(0, "avg_pool2d_backward", "avg_pool3d_backward", "max_pool2d_with_indices_backward")
pooling(0, "_adaptive_avg_pool2d_backward")
rule("nn.max_pool_gradient", "nn.avg_pool_gradient")(replicates)
rule("aten.max_unpool2d", "aten.upsample_nearest2d", "aten.upsample_bilinear2d")(replicates)
