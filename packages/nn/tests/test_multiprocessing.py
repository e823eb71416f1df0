"""Training one model in several processes at once (Hogwild): its parameters are shared memory."""

import multiprocessing
import os
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
