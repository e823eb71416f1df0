"""Distributed checkpoints of a DDP model: saved by two ranks, loaded in place, turned into a file of torch.save."""

# launch: torchrun 2

import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.nn.parallel import DistributedDataParallel as DDP


class AppState(Stateful):
    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.note = model, optimizer, "first"

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optim": optimizer, "note": self.note}

    def load_state_dict(self, state_dict):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state_dict["model"],
            optim_state_dict=state_dict["optim"],
        )
        self.note = state_dict["note"]


def make(seed):
    torch.manual_seed(seed)
    model = DDP(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
    return model, torch.optim.Adam(model.parameters(), lr=0.1)


def step(model, optimizer):
    torch.manual_seed(77 + dist.get_rank())
    optimizer.zero_grad()
    loss = model(torch.randn(5, 4)).square().mean()
    loss.backward()
    optimizer.step()
    return sum(p.detach().double().sum() for p in model.parameters()).item()


def main():
    dist.init_process_group("gloo")
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder)
    model, optimizer = make(0)
    step(model, optimizer)
    app = AppState(model, optimizer)
    app.note = "saved"
    dcp.save({"app": app}, checkpoint_id=folder[0])
    expected = step(model, optimizer)
    other, other_optimizer = make(5)
    loaded = AppState(other, other_optimizer)
    dcp.load({"app": loaded}, checkpoint_id=folder[0])
    found = step(other, other_optimizer)
    if dist.get_rank() == 0:
        print(loaded.note, f"{expected:.4f} {found:.4f}")
        dcp_to_torch_save(folder[0], folder[0] + "/whole.pt")
        whole = torch.load(folder[0] + "/whole.pt", weights_only=False)
        print(sorted(whole["app"]["model"]), tuple(whole["app"]["model"]["0.weight"].shape))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
