"""A step that calls other processes is not captured: its messages are no ops."""

from ranks import run_ranks

import weft
import weft.distributed as dist
from weft import nn
from weft.nn.parallel import DistributedDataParallel as DDP


def trains():
    weft.manual_seed(0)
    models = [nn.Linear(4, 2), DDP(nn.Linear(4, 2))]
    models[1].module.load_state_dict(models[0].state_dict())
    optimizers = [weft.optim.SGD(each.parameters(), lr=0.1) for each in models]
    whole = weft.randn(6, 4)

    def step(x):
        optimizers[1].zero_grad()
        models[1](x).square().mean().backward()
        optimizers[1].step()

    captured = weft.compile(step)
    own = slice(dist.get_rank() * 3, dist.get_rank() * 3 + 3)
    for _ in range(10):
        optimizers[0].zero_grad()
        models[0](whole).square().mean().backward()
        optimizers[0].step()
        captured(whole[own])
    assert weft.allclose(models[0].weight, models[1].module.weight, atol=1e-6)
    total = weft.compile(lambda x: dist.all_reduce(x))
    for number in range(8):
        x = weft.full((2,), float(number))
        total(x)
        assert x.tolist() == [2.0 * number] * 2
    return weft.compiler.explain(captured), weft.compiler.explain(total)


def test_steps_of_several_processes_run_as_they_are():
    for step, total in run_ranks(trains, 2):
        assert step.startswith("not captured") and total.startswith("not captured"), (step, total)
