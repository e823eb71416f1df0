"""fully_shard of a transformer: sharded parameters, clipping, mixed precision, state dicts whole and sharded."""

# launch: torchrun 2

import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor


def build(seed=0, **kwargs):
    torch.manual_seed(seed)
    model = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 3, enable_nested_tensor=False
    )
    for layer in model.layers:
        fully_shard(layer, **kwargs)
    fully_shard(model, **kwargs)
    return model


def train(model, optimizer, steps, label):
    for step in range(steps):
        torch.manual_seed(100 + 2 * step + dist.get_rank())
        x = torch.randn(4, 5, 16)
        loss = (model(x) - x.flip(1)).square().mean()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach().float() / 2
        dist.all_reduce(mean)
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
        if dist.get_rank() == 0:
            print(label, step, f"{mean.item():.4f} {norm.item():.3f}")


def main():
    dist.init_process_group("gloo")
    model = build()
    assert isinstance(model, FSDPModule)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    train(model, optimizer, 4, "plain")
    first = next(model.parameters())
    local = first.to_local().shape
    if dist.get_rank() == 0:
        print(type(first).__name__, tuple(first.shape), tuple(local), first.placements)

    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder)
    state = {"model": get_model_state_dict(model), "optim": get_optimizer_state_dict(model, optimizer)}
    dcp.save(state, checkpoint_id=folder[0])
    other = build(seed=9)
    other_optimizer = torch.optim.AdamW(other.parameters(), lr=1e-2)
    state = {"model": get_model_state_dict(other), "optim": get_optimizer_state_dict(other, other_optimizer)}
    dcp.load(state, checkpoint_id=folder[0])
    set_model_state_dict(other, state["model"])
    set_optimizer_state_dict(other, other_optimizer, state["optim"])
    train(other, other_optimizer, 2, "loaded")
    train(model, optimizer, 2, "went on")
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        print(len(whole), f"{sum(each.double().sum() for each in whole.values()).item():.3f}")

    model = build(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    x = torch.randn(2, 5, 16)
    print("mixed", model(x).dtype) if dist.get_rank() == 0 else model(x)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
