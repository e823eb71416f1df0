"""`weft.ray` on a Ray of this machine: a worker that is killed, data of workers, a changed number of workers, Tune."""

import ast
import os
import pathlib
import random
import subprocess
import sys

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'weft-distributed[ray]', or tox -e ray")

from ray import tune  # noqa: E402
from ray.train import FailureConfig, RunConfig, ScalingConfig  # noqa: E402

import weft  # noqa: E402
import weft.ray  # noqa: E402

STEPS = 8
pytestmark = pytest.mark.filterwarnings("default")  # Ray warns of its own settings


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def batch():
    """The whole batch of a step, and what a model is to learn of it."""
    x = weft.randn(12, 4, generator=weft.Generator().manual_seed(1))
    return x, x.sum(1, keepdim=True)


def train(config):
    """Steps of SGD, each reported with a checkpoint; a worker may be killed after one."""
    import weft.distributed as dist

    weft.manual_seed(0)
    model = weft.ray.prepare_model(weft.nn.Linear(4, 1))
    optimizer = weft.optim.SGD(model.parameters(), lr=config.get("lr", 0.1), momentum=0.9)
    state = weft.ray.load_checkpoint()
    if state is not None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    x, y = (part[dist.get_rank() :: dist.get_world_size()] for part in batch())
    for step in range(state["step"] + 1 if state else 0, STEPS):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach(), op=dist.ReduceOp.AVG)
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        weft.ray.report({"loss": loss.item(), "step": step, "workers": dist.get_world_size()}, state)
        if config.get("killed") == [dist.get_rank(), step] and not os.path.exists(config["mark"]):
            pathlib.Path(config["mark"]).touch()
            os.kill(os.getpid(), 9)


def expected_losses():
    """What one process computes on the whole batch."""
    weft.manual_seed(0)
    model = weft.nn.Linear(4, 1)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = batch()
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def fit(function, folder, workers=2, config=None, max_failures=0, **kwargs):
    trainer = weft.ray.WeftTrainer(
        function,
        train_loop_config=config or {},
        scaling_config=ScalingConfig(num_workers=workers),
        run_config=RunConfig(storage_path=str(folder), failure_config=FailureConfig(max_failures=max_failures)),
        **kwargs,
    )
    return trainer.fit()


def test_the_losses_go_on_from_the_checkpoint_when_a_worker_is_killed_at_a_random_step(tmp_path):
    draw = random.Random(os.environ.get("WEFT_RAY_SEED", "0"))
    killed = [draw.randrange(2), draw.randrange(STEPS - 1)]
    config = {"killed": killed, "mark": str(tmp_path / "mark")}
    result = fit(train, tmp_path, config=config, max_failures=1)
    assert (tmp_path / "mark").exists()
    losses = dict(zip(result.metrics_dataframe["step"], result.metrics_dataframe["loss"]))
    assert sorted(losses) == list(range(STEPS))
    assert [losses[step] for step in range(STEPS)] == pytest.approx(expected_losses(), rel=1e-5)
    assert weft.ray.load_checkpoint(checkpoint=result.checkpoint)["step"] == STEPS - 1


def begin_with(config):
    """Go on with the state that another run, with another number of workers, has left."""
    import weft.distributed as dist

    state = weft.ray.load_checkpoint(checkpoint=config["checkpoint"])
    model = weft.ray.prepare_model(weft.nn.Linear(4, 1))
    model.load_state_dict(state["model"])
    x, y = (part[dist.get_rank() :: dist.get_world_size()] for part in batch())
    loss = (model(x) - y).square().mean().detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    weft.ray.report({"loss": loss.item()}, {})


def test_another_number_of_workers_goes_on_from_the_same_checkpoint(tmp_path):
    checkpoint = fit(train, tmp_path / "two").checkpoint
    losses = [
        fit(begin_with, tmp_path / str(workers), workers, {"checkpoint": checkpoint}).metrics["loss"]
        for workers in (2, 3)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0] < expected_losses()[-1]


def read_data(config):
    """What this worker reads: of Ray's data set, and of a loader of weft's."""
    import weft.distributed as dist
    from weft.utils.data import DataLoader, TensorDataset

    shard = ray.train.get_dataset_shard("train")
    batches = list(weft.ray.iter_batches(shard, batch_size=4, dtypes={"x": weft.float32}))
    assert all(each["x"].dtype == weft.float32 and each["id"].dtype == weft.int64 for each in batches)
    assert all(each["x"].shape[1:] == (2,) for each in batches)
    ids = weft.cat([each["id"] for each in batches])
    loader = weft.ray.prepare_data_loader(DataLoader(TensorDataset(weft.arange(10)), batch_size=2, shuffle=True))
    numbers = weft.cat([each for (each,) in loader])
    seen = [None] * dist.get_world_size()
    dist.all_gather_object(seen, (ids.tolist(), numbers.tolist()))
    read = [sorted(number for each in seen for number in each[place]) for place in (0, 1)]
    weft.ray.report({"ids": read[0], "numbers": read[1]}, {})


def test_workers_read_their_parts_of_a_ray_data_set_and_of_a_loader(tmp_path):
    rows = [{"id": number, "x": [number, 1.0]} for number in range(16)]
    metrics = fit(read_data, tmp_path, datasets={"train": ray.data.from_items(rows)}).metrics
    assert metrics["ids"] == list(range(16))
    assert metrics["numbers"] == list(range(10))


def loss_of(config):
    """A function of weft for Ray Tune."""
    weight = weft.zeros(1, requires_grad=True)
    optimizer = weft.optim.SGD([weight], lr=config["lr"])
    for _ in range(5):
        optimizer.zero_grad()
        loss = (weight - 1).square().sum()
        loss.backward()
        optimizer.step()
    tune.report({"loss": (weight - 1).square().item()})


def test_tune_finds_the_best_of_a_function_of_weft(tmp_path):
    tuner = tune.Tuner(
        loss_of,
        param_space={"lr": tune.grid_search([0.01, 0.1, 0.5])},
        tune_config=tune.TuneConfig(metric="loss", mode="min"),
        run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
    )
    best = tuner.fit().get_best_result()
    assert best.config["lr"] == 0.5
    assert best.metrics["loss"] == 0.0


def test_ray_is_imported_by_weft_ray_alone():
    source = pathlib.Path(weft.ray.__file__).parents[1]
    portions = [pathlib.Path(each) for each in weft.__path__]
    files = [file for portion in portions for file in portion.rglob("*.py") if source / "ray" not in file.parents]
    for file in files:
        for node in ast.walk(ast.parse(file.read_bytes())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not any(name.partition(".")[0] == "ray" for name in names), file


def test_the_example_finds_a_learning_rate(tmp_path):
    file = pathlib.Path(__file__).parents[3] / "examples" / "ray_tune.py"
    command = [sys.executable, str(file), "--trials", "2", "--epochs", "2", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "best of 2: lr " in done.stdout
