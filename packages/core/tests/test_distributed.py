"""The names of programs for several processes, in a world of one."""

import pytest

import weft
import weft.distributed as dist


@pytest.fixture
def world():
    dist.init_process_group("gloo", world_size=1, rank=0)
    yield
    dist.destroy_process_group()


def test_a_program_that_runs_alone_finds_it_out():
    assert dist.is_available()
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="get_rank: Default process group has not been initialized"):
        dist.get_rank()


def test_collectives_of_one_process_change_nothing(world):
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    x, gathered = weft.tensor([1.0, 2.0]), [weft.zeros(2)]
    dist.all_reduce(x, op=dist.ReduceOp.SUM)
    dist.broadcast(x, src=0)
    dist.reduce(x, dst=0)
    dist.all_gather(gathered, x)
    dist.barrier()
    objects = [None]
    dist.all_gather_object(objects, "a")
    dist.broadcast_object_list(objects)
    assert x.tolist() == gathered[0].tolist() == [1.0, 2.0]
    assert objects == ["a"]


def test_more_processes_are_refused(monkeypatch):
    with pytest.raises(NotImplementedError, match="a world of 2 processes"):
        dist.init_process_group("gloo", world_size=2, rank=0)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(NotImplementedError, match="a world of 4 processes"):
        dist.init_process_group()
    assert not dist.is_initialized()


def test_collectives_that_gradients_flow_through_return_what_they_were_given(world):
    from weft.distributed import nn

    x = weft.tensor([1.0, 2.0], requires_grad=True)
    (nn.all_reduce(x) + nn.all_gather(x)[0] + nn.reduce_scatter(weft.empty(2), [x])).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
