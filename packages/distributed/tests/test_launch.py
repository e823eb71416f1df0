"""`weft launch` and the modules it stands on: variables, output, failures, restarts, several machines, no orphans."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from ranks import free_port

from weft.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std, start_processes, to_map
from weft.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure, record
from weft.distributed.elastic.rendezvous.store_rendezvous import is_this_machine, split_endpoint
from weft.distributed.launcher.api import LaunchConfig, elastic_launch
from weft.distributed.run import config_from_args, parse_args

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX's")
SECONDS = 60


@pytest.fixture
def script(tmp_path):
    def write(source, name="script.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(source))
        return str(path)

    return write


@pytest.fixture(autouse=True)
def folder_of_temporary_files(tmp_path, monkeypatch):
    """A folder of our own, which is empty again at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    assert [each.name for each in folder.iterdir() if each.name.startswith("weft")] == []


def begin(*options, **environment):
    environment = {"NO_COLOR": "1", **os.environ, **environment}
    environment = {name: value for name, value in environment.items() if value is not None}
    command = [sys.executable, "-m", "weft", "launch", *map(str, options)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in a shell's background jobs
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        signal.signal(signal.SIGINT, before)


def finish(*launched):
    ended = []
    for each in launched:
        out, error = each.communicate(timeout=SECONDS)
        ended.append(subprocess.CompletedProcess(each.args, each.returncode, out, error))
    return ended


def launch(*options, **environment):
    return finish(begin(*options, **environment))[0]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not become so in time"
        time.sleep(0.02)


TELL = """
    import json, os, sys, torch
    starts = ("GROUP", "LOCAL", "MASTER", "OMP_NUM", "RANK", "ROLE", "TORCHELASTIC", "WORLD_SIZE")
    told = {name: value for name, value in os.environ.items() if name.startswith(starts)}
    print(json.dumps(told | {"argv": sys.argv[1:], "torch": torch.__version__}))
"""


def test_workers_get_the_variables_arguments_and_names_of_torchrun(script):
    ended = launch("--nproc_per_node=2", "--role", "trainer", script(TELL), "--help", "-m", OMP_NUM_THREADS=None)
    assert ended.stderr == ""
    told = {each["RANK"]: each for each in map(json.loads, ended.stdout.splitlines())}
    assert sorted(told) == ["0", "1"]
    for rank, found in told.items():
        expected = {
            "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1",
            "ROLE_RANK": rank, "ROLE_NAME": "trainer", "ROLE_WORLD_SIZE": "2", "MASTER_ADDR": "localhost",
            "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0", "TORCHELASTIC_USE_AGENT_STORE": "True",
            "OMP_NUM_THREADS": "1", "argv": ["--help", "-m"], "torch": "2.13.0+weft",
        }  # fmt: skip
        assert expected.items() <= found.items()
        assert found["MASTER_PORT"] == told["0"]["MASTER_PORT"]
        assert found["TORCHELASTIC_RUN_ID"] == told["0"]["TORCHELASTIC_RUN_ID"]
        assert found["TORCHELASTIC_ERROR_FILE"].endswith(f"attempt_0/{rank}/error.json")


def test_the_modules_and_torchrun_by_pytorchs_names_launch_as_well(script):
    run = [sys.executable, "-m", "weft", "run"]
    path = script("import os, sys; sys.stdout.write(f\"{os.environ['RANK']} {sys.argv[1:]}\\n\")")
    for command, said in (
        ([*run, "torchrun"], "0 ['a']\n"),
        ([*run, "-m", "torch.distributed.run"], "0 ['a']\n"),
        ([*run, "-m", "torch.distributed.launch"], "0 ['--local-rank=0', 'a']\n"),
        ([sys.executable, "-m", "weft.distributed.run"], "0 ['a']\n"),
    ):
        ended = subprocess.run([*command, path, "a"], capture_output=True, text=True, timeout=SECONDS)
        assert ended.stdout == said, ended.stderr


def test_the_program_may_be_a_module_a_command_or_run_by_path(script):
    path = script(
        "import os, sys; sys.stdout.write(f\"{__name__} {os.environ['LOCAL_RANK']}\\n\")", "program_of_launch.py"
    )
    folder = os.path.dirname(path)
    path_of_modules = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    assert launch("-m", "program_of_launch", PYTHONPATH=path_of_modules).stdout == "__main__ 0\n"
    assert launch("--no-python", "echo", "rank", "${local_rank}").stdout == "rank 0\n"
    assert launch("--run-path", path).stdout == "__main__ 0\n"


def test_tee_prefixes_each_line_and_files_get_it_without(script, tmp_path):
    path = script("import os, sys; print('out', os.environ['RANK']); print('err\\nlast', end='', file=sys.stderr)")
    logs = tmp_path / "logs"
    ended = launch("--nproc-per-node", 2, "--log-dir", logs, "-t", "0:3,1:1", "-r", "1:2", "--rdzv-id", "job", path)
    assert sorted(ended.stdout.splitlines()) == ["[default0]:out 0", "[default1]:out 1"]
    assert ended.stderr == "[default0]:err\n[default0]:last\n"
    texts = {str(each.relative_to(logs)).partition("/")[2]: each.read_text() for each in logs.rglob("*.log")}
    expected = {f"attempt_0/{rank}/stdout.log": f"out {rank}\n" for rank in (0, 1)}
    assert texts == expected | {f"attempt_0/{rank}/stderr.log": "err\nlast" for rank in (0, 1)}


def test_ranks_that_are_filtered_out_are_silent(script):
    ended = launch("--nproc-per-node", 2, "--local-ranks-filter", "1", script("import os; print(os.environ['RANK'])"))
    assert ended.stdout == "1\n"


RAISES = """
    import os, sys, time
    from torch.distributed.elastic.multiprocessing.errors import record

    @record
    def main():
        if os.environ["RANK"] == "1":
            raise ValueError("a bad value")
        time.sleep(60)

    main()
"""


def test_a_failure_ends_all_and_is_told_with_the_traceback(script):
    begun = time.monotonic()
    ended = launch("--nproc-per-node", 2, script(RAISES))
    assert time.monotonic() - begun < 10
    assert ended.returncode == 1
    assert ended.stderr.startswith("Traceback (most recent call last):")
    assert ended.stderr.count('raise ValueError("a bad value")') == 2  # the worker's own, and the summary's
    summary = ended.stderr[ended.stderr.index("script.py FAILED") :]
    for line in (
        "<NO_OTHER_FAILURES>",
        "rank      : 1 (local_rank: 1)",
        "exitcode  : 1 (pid: ",
        "ValueError: a bad value",
    ):
        assert line in summary


def test_a_worker_that_is_killed_is_told_with_the_signal(script):
    path = script("import os, time\nif os.environ['RANK'] == '0': os.kill(os.getpid(), 9)\ntime.sleep(60)")
    ended = launch("--nproc-per-node", 2, path)
    assert "(SIGKILL)" in ended.stderr
    assert "rank      : 0 (local_rank: 0)" in ended.stderr


def test_a_worker_that_ignores_sigterm_is_killed(script):
    path = script(
        """
        import os, pathlib, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        mark = pathlib.Path(sys.argv[1])
        if os.environ["RANK"] == "0":
            mark.touch()
            time.sleep(60)
        while not mark.exists():
            time.sleep(0.01)
        sys.exit(7)
        """
    )
    ended = launch("--nproc-per-node", 2, "--shutdown-timeout", 1, path, f"{path}.mark")
    assert "exitcode  : 7" in ended.stderr
    assert "rank      : 0" not in ended.stderr  # it was ended, and did not fail


FAILS_ONCE = """
    import os, sys, time
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] != "1":
        time.sleep(60)
    names = "TORCHELASTIC_RESTART_COUNT RANK WORLD_SIZE GROUP_RANK".split()
    sys.stdout.write(" ".join(os.environ[name] for name in names) + "\\n")  # at once: another writes there, too
    sys.stdout.flush()
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "1":
        sys.exit(3)
"""


def test_workers_are_started_again_as_often_as_is_allowed(script):
    ended = launch("--nproc-per-node", 2, "--max-restarts", 1, script(FAILS_ONCE))
    assert sorted(ended.stdout.splitlines()) == ["0 1 2 0", "1 0 2 0", "1 1 2 0"]
    assert ended.returncode == 0


@pytest.mark.parametrize("backend", ["static", "c10d"])
def test_two_machines_find_one_another_and_start_again_together(script, backend):
    path, port = script(FAILS_ONCE), free_port()
    common = ["--max-restarts", 1, "--rdzv-backend", backend, "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", 7]
    ended = finish(
        *(begin("--nnodes", 2, "--node-rank", node, "--nproc-per-node", node + 1, *common, path) for node in (0, 1))
    )
    lines = sorted(line for each in ended for line in each.stdout.splitlines())
    assert [each.returncode for each in ended] == [0, 0], ended
    assert [line.split()[:3] for line in lines] == [["0", "1", "3"], *(["1", str(rank), "3"] for rank in (0, 1, 2))]
    if backend == "static":
        assert lines[-3:] == ["1 0 3 0", "1 1 3 1", "1 2 3 1"]


def test_a_failure_on_one_machine_ends_the_others(script):
    path, port = script(RAISES), free_port()
    ended = finish(*(begin("--nnodes", 2, "--node-rank", node, "--master-port", port, path) for node in (0, 1)))
    assert [each.returncode for each in ended] == [1, 1]
    assert "the job has failed on another node" in ended[0].stderr
    assert "ValueError: a bad value" in ended[1].stderr


SLEEPS = """
    import os, pathlib, subprocess, sys, time
    child = subprocess.Popen(["sleep", "60"])
    pathlib.Path(sys.argv[1], os.environ["RANK"]).write_text(f"{os.getpid()} {child.pid}")
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
def test_no_process_outlives_its_launcher(script, tmp_path, folder_of_temporary_files, number):
    path, marks = script(SLEEPS), tmp_path / "marks"
    marks.mkdir()
    launched = begin("--nproc-per-node", 2, path, marks)
    wait_until(lambda: sum(len(each.read_text().split()) for each in marks.iterdir()) == 4)
    pids = [int(pid) for each in marks.iterdir() for pid in each.read_text().split()]
    launched.send_signal(number)
    finish(launched)
    wait_until(lambda: not any(map(is_alive, pids)), seconds=5)
    if number is signal.SIGKILL:
        for folder in folder_of_temporary_files.iterdir():  # which nobody was left to remove
            subprocess.run(["rm", "-r", str(folder)], check=True)
    else:
        assert launched.returncode == 128 + number


# The options


def test_options_are_read_as_torchrun_reads_them(monkeypatch):
    monkeypatch.setenv("PET_NNODES", "1:4")
    args = parse_args(
        ["--rdzv_backend=c10d", "--rdzv-endpoint", "h:1", "--rdzv-conf", "a=1,b=x=y", "-t", "3", "p", "-t"]
    )
    config, program, own = config_from_args(args)
    assert (config.min_nodes, config.max_nodes, config.rdzv_backend, config.rdzv_endpoint) == (1, 4, "c10d", "h:1")
    assert config.rdzv_configs == {"a": "1", "b": "x=y", "timeout": 900}
    assert (program, own) == (sys.executable, ["-u", "p", "-t"])
    args = parse_args(
        ["--nnodes=2", "--node_rank=1", "--master_addr=m", "--master_port=5", "--nproc-per-node=cpu", "p"]
    )
    config, _, _ = config_from_args(args)
    assert (config.rdzv_backend, config.rdzv_endpoint, config.rdzv_configs["rank"]) == ("static", "m:5", 1)
    assert config.nproc_per_node == os.cpu_count()


@pytest.mark.parametrize(
    "options",
    [["--nproc-per-node=many"], ["--nnodes=1:2:3"], ["--max-restarts=-1"], ["--redirects=4"], ["--no-python", "-m"]],
    ids=" ".join,
)
def test_wrong_options_are_refused(options):
    with pytest.raises((ValueError, RuntimeError), match=r"."):
        config_from_args(parse_args([*options, "script.py"]))


def test_std_maps_and_endpoints():
    assert Std.from_str("0:1,1:2") == {0: Std.OUT, 1: Std.ERR}
    assert to_map({1: Std.ALL}, 2) == {0: Std.NONE, 1: Std.ALL}
    assert split_endpoint("[fe80::1]:7", 1) == ("fe80::1", 7)
    assert split_endpoint(":7", 1) == ("localhost", 7)
    with pytest.raises(ValueError, match="between 0 and 65535"):
        split_endpoint("host:70000", 1)
    assert is_this_machine("127.0.0.1")
    assert not is_this_machine("192.0.2.1")


# From Python


def rank_and_sum(*numbers):
    return int(os.environ["RANK"]), sum(numbers)


def fails(rank):
    if os.environ["RANK"] == rank:
        raise KeyError(rank)
    time.sleep(60)


@pytest.mark.parametrize("start_method", ["spawn", "fork"])
def test_elastic_launch_returns_what_functions_return_and_raises_what_they_raise(start_method, capfd):
    config = LaunchConfig(
        1, 1, 2, rdzv_backend="c10d", rdzv_endpoint="localhost:0", max_restarts=0, start_method=start_method
    )
    assert elastic_launch(config, rank_and_sum)(1, 2) == {0: (0, 3), 1: (1, 3)}
    with pytest.raises(ChildFailedError, match="fails FAILED") as raised:
        elastic_launch(config, fails)("1")
    rank, failure = raised.value.get_first_failure()
    assert (rank, failure.exitcode, failure.message["message"]) == (1, 1, "KeyError: '1'")
    assert "KeyError: '1'" in capfd.readouterr().err


def test_processes_are_waited_for_with_a_timeout(tmp_path):
    env, specs = {0: {}}, DefaultLogsSpecs(str(tmp_path), Std.ALL)
    context = start_processes("worker", "sleep", {0: (60,)}, env, specs)
    assert context.wait(0) is None
    assert context.wait(0.1, period=0.01) is None
    context.close()
    assert not is_alive(context.pids()[0])
    result = start_processes("worker", "echo", {0: ("said",)}, env, specs).wait()
    assert pathlib.Path(result.stdouts[0]).read_text() == "said\n"


def test_what_followed_from_another_failure_is_not_the_cause(tmp_path, monkeypatch):
    from weft.distributed import DistBackendError

    failures = {}
    for rank, error in enumerate((DistBackendError("rank 1 is gone"), ValueError("the cause"))):
        path = tmp_path / str(rank)
        monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))

        @record
        def main(error=error):
            raise error

        with pytest.raises(type(error)):
            main()
        failures[rank] = ProcessFailure(rank, 100 + rank, 1, str(path))
    assert ChildFailedError("program", failures).get_first_failure()[0] == 1
    assert ProcessFailure(0, 7, -9, "").message == "Signal 9 (SIGKILL) received by PID 7"
