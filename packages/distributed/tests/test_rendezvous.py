"""Where processes meet: by the environment of each launcher, by an address, by a file."""

import os
import sys
from datetime import timedelta

import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
from weft.distributed.rendezvous import first_node, master, register_rendezvous_handler, rendezvous
from weft.distributed.stores import FileStore, PrefixStore, TCPStore

PLACES = (
    "RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT PMI_RANK PMI_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE "
    "SLURM_PROCID SLURM_NTASKS SLURM_JOB_ID SLURM_JOB_NUM_NODES SLURM_JOB_NODELIST TORCHELASTIC_USE_AGENT_STORE "
    "TORCHELASTIC_RESTART_COUNT TORCHELASTIC_RUN_ID WEFT_DISTRIBUTED_AGENT"
)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """An environment that no launcher has written."""
    for name in PLACES.split():
        monkeypatch.delenv(name, raising=False)
    return lambda **values: [monkeypatch.setenv(name, value) for name, value in values.items()]


def meet(url, *args, **kwargs):
    return next(iter(rendezvous(url, *args, timeout=timedelta(seconds=20), **kwargs)))


def test_env_reads_the_four_variables(environment):
    environment(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    store, rank, world_size = meet("env://")
    assert (type(store), rank, world_size, store.timeout) == (TCPStore, 0, 1, timedelta(seconds=20))


def test_what_the_url_and_the_call_say_comes_before_the_environment(environment):
    environment(RANK="7", WORLD_SIZE="9", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    assert meet("env://?rank=0&world_size=1")[1:] == (0, 1)
    assert meet("env://", 0, 1)[1:] == (0, 1)
    assert meet("tcp://127.0.0.1:0?rank=3&world_size=1", rank=0)[1:] == (0, 1)


@pytest.mark.parametrize("missing", ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"])
def test_a_missing_variable_is_named(environment, missing):
    values = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    values.pop(missing)
    environment(**values)
    with pytest.raises(ValueError, match=f"environment variable {missing} expected"):
        meet("env://")


@pytest.mark.parametrize(
    ("rank", "size"),
    [("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")],
)
def test_ranks_of_other_launchers(environment, rank, size):
    environment(**{rank: "0", size: "1"}, MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    assert meet("env://")[1:] == (0, 1)


def test_slurm_says_where_the_master_is():
    job = {"SLURM_PROCID": "3", "SLURM_JOB_ID": "1234567", "SLURM_JOB_NODELIST": "gpu[04-05]"}
    assert master({**job, "SLURM_JOB_NUM_NODES": "2"}) == ("gpu04", 24567)
    assert master({**job, "SLURM_JOB_NUM_NODES": "1"}) == ("127.0.0.1", 24567)
    assert master({**job, "SLURM_JOB_NUM_NODES": "2", "MASTER_ADDR": "head", "MASTER_PORT": "1"}) == ("head", 1)


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("solo", "solo"), ("a1,a2", "a1"), ("gpu[01-03,07],cpu2", "gpu01"), ("n[1,3]-x[05-09]", "n1-x05")],
)
def test_first_node_of_a_slurm_list(nodes, first):
    assert first_node(nodes) == first


def test_file_is_shared_by_its_path(tmp_path):
    path = tmp_path / "a store"
    url = path.as_uri()
    first, *place = meet(f"{url}?rank=0&world_size=2")
    second, *_ = meet(url, 1, 2)
    first.set("a", "b")
    assert (type(first), second.get("a"), place) == (FileStore, b"b", [0, 2])


@pytest.mark.parametrize(
    ("url", "kind", "reason"),
    [
        ("tcp://127.0.0.1?rank=0&world_size=1", ValueError, "port number missing"),
        ("tcp://127.0.0.1:0", ValueError, "RANK expected"),
        ("file://?rank=0&world_size=1", ValueError, "path missing"),
        ("carrier-pigeon://roof", RuntimeError, "No rendezvous handler for carrier-pigeon://"),
        (3, RuntimeError, "must be a string"),
    ],
)
def test_urls_that_say_too_little(url, kind, reason):
    with pytest.raises(kind, match=reason):
        meet(url)


def test_other_schemes_can_be_registered(monkeypatch):
    module = sys.modules[rendezvous.__module__]
    monkeypatch.setattr(module, "_handlers", dict(module._handlers))

    def by_memory(url, timeout, **kwargs):
        yield dist.HashStore(), int(url[-1]), kwargs["size"]

    register_rendezvous_handler("memory", by_memory)
    assert meet("memory://3", size=4)[1:] == (3, 4)
    with pytest.raises(RuntimeError, match="already registered"):
        register_rendezvous_handler("memory", by_memory)


def test_under_wefts_launcher_all_are_clients_of_the_agents_store(environment):
    agent = TCPStore("127.0.0.1", 0, is_master=True)
    environment(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(agent.port))
    environment(TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="2", WEFT_DISTRIBUTED_AGENT="1")
    store, *_ = meet("env://")
    store.set("a", "b")
    assert isinstance(store, PrefixStore)
    assert agent.get("/worker/attempt_2/a") == b"b"


def test_under_another_launchers_agent_rank_0_holds_a_store_beside_it(environment):
    environment(MASTER_ADDR="127.0.0.1", MASTER_PORT="1", WORLD_SIZE="2")
    environment(TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RUN_ID="a job of this test")
    first, *_ = meet("env://", 0)
    second, *_ = meet("env://", 1)
    first.set("a", "b")
    assert second.get("a") == b"b"


def total_of_ranks(folder):
    rank, size, _ = os.environ["TEST_RANK"].split()
    dist.init_process_group("tcp", init_method=f"file://{folder}/meeting", rank=int(rank), world_size=int(size))
    x = weft.tensor([1.0 + dist.get_rank()])
    dist.all_reduce(x)
    dist.destroy_process_group()
    return x.item()


def test_processes_meet_in_a_file(tmp_path):
    assert run_ranks(total_of_ranks, 2, str(tmp_path), begin=False) == [3.0, 3.0]
