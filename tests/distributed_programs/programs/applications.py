"""Messages, collectives and a training of one's own: gradients averaged by hand, and a ring all-reduce."""

# launch: python

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn, optim


def blocking(rank, size):
    tensor = torch.zeros(1)
    if rank == 0:
        tensor += 1
        dist.send(tensor=tensor, dst=1)
    elif rank == 1:
        dist.recv(tensor=tensor, src=0)
    return tensor[0].item()


def nonblocking(rank, size):
    tensor = torch.zeros(1)
    req = None
    if rank == 0:
        tensor += 1
        req = dist.isend(tensor=tensor, dst=1)
    elif rank == 1:
        req = dist.irecv(tensor=tensor, src=0)
    if req is not None:
        req.wait()
    return tensor[0].item()


def allreduce(send, recv):
    rank, size = dist.get_rank(), dist.get_world_size()
    send_buff, recv_buff, accum = send.clone(), send.clone(), send.clone()
    left, right = ((rank - 1) + size) % size, (rank + 1) % size
    for i in range(size - 1):
        if i % 2 == 0:
            send_req = dist.isend(send_buff, right)
            dist.recv(recv_buff, left)
            accum[:] += recv_buff[:]
        else:
            send_req = dist.isend(recv_buff, right)
            dist.recv(send_buff, left)
            accum[:] += send_buff[:]
        send_req.wait()
    recv[:] = accum[:]


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, kernel_size=3)
        self.fc = nn.Linear(4 * 36, 10)

    def forward(self, x):
        return F.log_softmax(self.fc(F.relu(self.conv(x)).flatten(1)), dim=1)


def train(rank, size):
    torch.manual_seed(1234)
    data, target = torch.randn(48, 1, 8, 8), torch.randint(0, 10, (48,))
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    own = slice(rank * 48 // size, (rank + 1) * 48 // size)
    for _ in range(4):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data[own]), target[own])
        loss.backward()
        average_gradients(model)
        optimizer.step()
        mean = loss.detach() / size
        dist.all_reduce(mean)
        if rank == 0:
            print("loss", f"{mean.item():.5f}")


def run(rank, size):
    print_zero = print if rank == 0 else lambda *args: None
    first, second = blocking(rank, size), nonblocking(rank, size)
    print_zero("messages", first, second)
    group = dist.new_group([0, 1])
    tensor = torch.ones(1)
    if rank < 2:
        dist.all_reduce(tensor, op=dist.ReduceOp.SUM, group=group)
    print_zero("group", tensor.item())
    result = torch.zeros(2, 2)
    allreduce(torch.arange(4.0).reshape(2, 2) * (rank + 1), result)
    print_zero("ring", result.tolist())
    gathered = [torch.zeros(2) for _ in range(size)]
    dist.all_gather(gathered, torch.tensor([rank, rank * rank], dtype=torch.float32))
    print_zero("gathered", [each.tolist() for each in gathered])
    train(rank, size)


def init_process(rank, size, port, fn, backend="gloo"):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = port
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    mp.set_start_method("spawn")
    processes = [mp.Process(target=init_process, args=(rank, 3, port, run)) for rank in range(3)]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
    assert all(p.exitcode == 0 for p in processes)
