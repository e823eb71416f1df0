"""A trainer started by torchrun: sampler, snapshots by rank 0, going on from one."""

# launch: torchrun 2

import os
import tempfile

import torch
import torch.nn.functional as F
from torch.distributed import all_reduce, barrier, broadcast_object_list, destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class MyTrainDataset(Dataset):
    def __init__(self, size):
        torch.manual_seed(0)
        self.data = [(torch.rand(20), torch.rand(1)) for _ in range(size)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]


class Trainer:
    def __init__(self, model, train_data, optimizer, save_every, snapshot_path):
        self.rank = int(os.environ["RANK"])
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.model = model
        self.train_data = train_data
        self.optimizer = optimizer
        self.save_every = save_every
        self.epochs_run = 0
        self.snapshot_path = snapshot_path
        if os.path.exists(snapshot_path):
            snapshot = torch.load(snapshot_path, map_location="cpu")
            self.model.load_state_dict(snapshot["MODEL_STATE"])
            self.epochs_run = snapshot["EPOCHS_RUN"]
        self.model = DDP(self.model)

    def _run_batch(self, source, targets):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(source), targets)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _run_epoch(self, epoch):
        self.train_data.sampler.set_epoch(epoch)
        losses = torch.stack([self._run_batch(source, targets) for source, targets in self.train_data])
        total = losses.mean()
        all_reduce(total)
        if self.rank == 0:
            print("epoch", epoch, "steps", len(losses), f"{total.item() / int(os.environ['WORLD_SIZE']):.5f}")

    def train(self, max_epochs):
        for epoch in range(self.epochs_run, max_epochs):
            self._run_epoch(epoch)
            if self.rank == 0 and epoch % self.save_every == 0:
                snapshot = {"MODEL_STATE": self.model.module.state_dict(), "EPOCHS_RUN": epoch + 1}
                torch.save(snapshot, self.snapshot_path)


def main(epochs, path):
    dataset = MyTrainDataset(130)
    torch.manual_seed(1)
    model = torch.nn.Linear(20, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    loader = DataLoader(dataset, batch_size=16, pin_memory=False, shuffle=False, sampler=DistributedSampler(dataset))
    Trainer(model, loader, optimizer, 2, path).train(epochs)


if __name__ == "__main__":
    init_process_group(backend="gloo")
    shared = [tempfile.mkdtemp() if os.environ["RANK"] == "0" else None]
    broadcast_object_list(shared)
    main(3, shared[0] + "/snapshot.pt")
    barrier()  # the snapshot is whole
    main(5, shared[0] + "/snapshot.pt")  # goes on after epoch 2
    destroy_process_group()
