"""Training one model in several processes at once (Hogwild): its parameters are shared memory."""

import multiprocessing
import os
import subprocess
import sys
from multiprocessing import resource_sharer

import pytest

import weft
import weft.multiprocessing as mp
from weft import nn

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes made by fork")


@pytest.fixture(autouse=True)
def _no_thread_stays():
    yield
    resource_sharer.stop()  # its thread: forks of later tests would warn of it


def train(rank, model, steps):
    """Fit y = 2 x; every process has gradients and an optimizer of its own."""
    weft.manual_seed(rank)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        x = weft.randn(8, 1)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), 2 * x).backward()
        optimizer.step()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_parent_sees_what_its_workers_learn(method):
    weft.manual_seed(0)
    model = nn.Linear(1, 1)
    assert model.share_memory() is model
    assert all(parameter.is_shared() for parameter in model.parameters())
    mp.start_processes(train, (model, 100), nprocs=2, start_method=method)
    assert weft.allclose(model.weight, weft.tensor([[2.0]]), atol=1e-2)
    assert model.weight.grad is None


def test_a_parameter_that_is_sent_moves_itself_and_not_an_alias():
    parameter = nn.Parameter(weft.zeros(3))
    parameter.label = "kept"
    queue = multiprocessing.get_context("fork").SimpleQueue()
    queue.put(parameter)
    found = queue.get()
    assert isinstance(found, nn.Parameter)
    assert (found.requires_grad, found.label) == (True, "kept")
    with weft.no_grad():
        found[1] = 4.0
    assert parameter.tolist() == [0, 4, 0]


def test_tied_parameters_stay_tied_in_shared_memory():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    model.share_memory()
    queue = multiprocessing.get_context("fork").SimpleQueue()
    queue.put(model)
    found = queue.get()
    assert found[1].weight is found[0].weight
    assert found[0].weight.data_ptr() == model[0].weight.data_ptr()


PROGRAM = """
import torch
import torch.multiprocessing as mp
import torch.nn as nn
import torch.optim as optim


def train(rank, model, dataset):
    torch.manual_seed(rank)
    loader = torch.utils.data.DataLoader(dataset, batch_size=16, shuffle=True)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(20):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()


if __name__ == "__main__":
    mp.set_start_method("spawn", force=True)
    x = torch.linspace(-1, 1, 64).unsqueeze(1)
    model = nn.Linear(1, 1)
    model.share_memory()
    processes = []
    for rank in range(2):
        process = mp.Process(target=train, args=(rank, model, torch.utils.data.TensorDataset(x, 3 * x + 1)))
        process.start()
        processes.append(process)
    for process in processes:
        process.join()
    print(f"{model.weight.item():.1f} {model.bias.item():.1f}", [process.exitcode for process in processes])
"""


def test_a_program_of_pytorchs_trains_one_model_in_fresh_processes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "weft", "run", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("3.0 1.0 [0, 0]\n", "")
