"""A training loop with accelerate: accumulation, clipping, gathering, saved and restored state; big-model helpers."""

# /// script
# dependencies = ["accelerate==1.15.0"]
# ///

import tempfile

import torch
from accelerate import Accelerator, init_empty_weights, load_checkpoint_and_dispatch
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def network():
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 3))


def data():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, 8, generator=generator)
    return TensorDataset(x, x[:, :3].argmax(1))


def train(accelerator, model, optimizer, loader, scheduler, epochs=2):
    for epoch in range(epochs):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        yield epoch, accelerator.reduce(loss.detach(), "mean").item(), scheduler.get_last_lr()[0]


for label, options in {
    "plain": {}, "accumulated": {"gradient_accumulation_steps": 2}, "bfloat16": {"mixed_precision": "bf16"},
}.items():  # fmt: skip
    set_seed(7)
    accelerator = Accelerator(cpu=True, **options)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=10)
    prepared = accelerator.prepare(model, optimizer, DataLoader(data(), batch_size=8, shuffle=True), scheduler)
    for epoch, loss, rate in train(accelerator, *prepared):
        print(label, epoch, f"{loss:.4f} {rate:.6f}")
    accelerator.state._reset_state(reset_partial_state=True)
    accelerator.gradient_state._reset_state()

set_seed(7)
accelerator = Accelerator(cpu=True)
model, optimizer, loader = accelerator.prepare(
    network(), torch.optim.SGD(network().parameters(), lr=0.1), DataLoader(data(), batch_size=16)
)
print(accelerator.num_processes, accelerator.is_main_process, accelerator.device, accelerator.distributed_type)
predictions = [accelerator.gather_for_metrics(model(x).argmax(1)) for x, _ in loader]
print("gathered", torch.cat(predictions).bincount(minlength=3).tolist())
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    before = [parameter.clone() for parameter in model.parameters()]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    draw = torch.rand(2)
    accelerator.load_state(folder)
    print("restored", all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)))
    print("random state", torch.equal(draw, torch.rand(2)))
    accelerator.save_model(model, folder)
    with init_empty_weights():
        empty = network()
    print("empty", {parameter.device.type for parameter in empty.parameters()})
    full = load_checkpoint_and_dispatch(empty, f"{folder}/model.safetensors", device_map={"": "cpu"})
    print("dispatched", all(torch.equal(a, b) for a, b in zip(before, full.parameters(), strict=True)))
print("unwrapped", type(accelerator.unwrap_model(model)).__name__)
