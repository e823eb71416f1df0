"""Start a program in several processes, which find one another: `weft launch`, and ``python -m weft.distributed.run``.

The options are those of PyTorch's ``torchrun``. Each worker gets ``RANK``, ``LOCAL_RANK``, ``WORLD_SIZE``,
``MASTER_ADDR`` and their like in its environment; when one fails, all are ended, and started again where
``--max-restarts`` allows it.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from weft.distributed.elastic.multiprocessing.api import DefaultLogsSpecs, SignalException, Std
from weft.distributed.elastic.multiprocessing.errors import ChildFailedError
from weft.distributed.elastic.rendezvous.api import RendezvousError
from weft.distributed.launcher.api import LaunchConfig, elastic_launch

__all__ = ["config_from_args", "get_args_parser", "main", "parse_args", "parse_min_max_nnodes", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of the launcher's options.

    Underscores may stand for the hyphens of an option's name, and each option may be set by the environment:
    ``--nproc-per-node`` by ``PET_NPROC_PER_NODE``.
    """
    parser = argparse.ArgumentParser(description="Start a program in several processes.", allow_abbrev=False)
    add_arguments(parser)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the launcher's options."""
    add = _Adder(parser)
    add("--nnodes", default="1:1", help="number of machines, or min:max")
    add("--nproc-per-node", default="1", help="workers on this machine: a number, cpu, gpu or auto")
    add("--rdzv-backend", default="static", help="static (machines are numbered) or c10d (they get numbers)")
    add("--rdzv-endpoint", default="", help="host:port of the machine that holds the store")
    add("--rdzv-id", default="none", help="name of the job, the same on all machines")
    add("--rdzv-conf", default="", help="key=value,...: join_timeout, last_call_timeout, keep_alive_timeout, is_host")
    add("--standalone", action="store_true", help="one machine, with a store of its own at a free port")
    add("--max-restarts", type=int, default=0, help="how often the workers are started again after a failure")
    add("--monitor-interval", type=float, default=0.1, help="seconds between looks at the workers")
    add("--start-method", default="spawn", choices=["spawn", "fork", "forkserver"], help="of workers of --run-path")
    add("--event-log-handler", default="null", help=argparse.SUPPRESS)
    add("--role", default="default", help="what the workers are called")
    add("-m", "--module", action="store_true", help="the program is a module's name")
    add("--no-python", action="store_true", help="the program is a command")
    add("--run-path", action="store_true", help="run the script by runpy, in processes that multiprocessing starts")
    add("--log-dir", default=None, help="folder of the files of -r and -t")
    add("-r", "--redirects", default="0", help="into files: 1 stdout, 2 stderr, 3 both, or rank:value,...")
    add("-t", "--tee", default="0", help="into files and to the console, each line with its worker's name")
    add("--local-ranks-filter", default="", help="the local ranks that are shown on the console: 0,1,...")
    add("--node-rank", type=int, default=0, help="number of this machine (static)")
    add("--master-addr", default="127.0.0.1", help="address of machine 0 (static)")
    add("--master-port", type=int, default=29500, help="port of machine 0 (static)")
    add("--local-addr", default=None, help="address of this machine")
    add("--signals-to-handle", default="SIGTERM,SIGINT,SIGHUP,SIGQUIT", help="signals that workers get as well")
    add("--shutdown-timeout", type=int, default=None, help="seconds between asking workers to end and ending them")
    add("--virtual-local-rank", action="store_true", help="each worker sees one GPU, and LOCAL_RANK=0")
    parser.add_argument("training_script", help="script, module (-m) or command (--no-python)")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its own arguments")


class _Adder:
    """Adds options that may be spelled with underscores, and set by the environment."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser

    def __call__(self, *names: str, **settings: Any) -> None:
        name = names[-1].lstrip("-").replace("-", "_")
        told = os.environ.get(f"PET_{name.upper()}")
        if told is not None:
            settings["default"] = told == "1" if settings.get("action") == "store_true" else told
        spelled = [each for name in names for each in dict.fromkeys((name, "--" + name[2:].replace("-", "_")))]
        self.parser.add_argument(*(each for each in spelled if each != "--"), **settings)


def parse_args(args: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the launcher's options."""
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """Read a number of machines, or a range of them.

    Examples
    --------
    >>> parse_min_max_nnodes("2"), parse_min_max_nnodes("1:4")
    ((2, 2), (1, 4))
    """
    numbers = [int(each) for each in nnodes.split(":")]
    if len(numbers) > 2:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return numbers[0], numbers[-1]


def determine_local_world_size(nproc_per_node: str) -> int:
    """Read how many workers a machine has: a number, or what it has of ``cpu``, ``gpu`` or the better (``auto``)."""
    try:
        return int(nproc_per_node)
    except ValueError:
        pass
    import weft

    if nproc_per_node == "cpu" or (nproc_per_node == "auto" and not weft.cuda.is_available()):
        return os.cpu_count() or 1
    if nproc_per_node in ("gpu", "auto"):
        if not weft.cuda.is_available():
            raise ValueError("Cuda is not available: --nproc-per-node gpu counts GPUs; give a number, or cpu")
        return int(weft.cuda.device_count())
    raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}; give a number, cpu, gpu or auto")


def config_from_args(args: argparse.Namespace) -> tuple[LaunchConfig, Callable[..., Any] | str, list[str]]:
    """What the options say: the configuration, what each worker runs, and its arguments."""
    min_nodes, max_nodes = parse_min_max_nnodes(args.nnodes)
    if args.max_restarts < 0:
        raise ValueError(f"--max-restarts is not negative; got {args.max_restarts}")
    configs = dict(pair.split("=", 1) for pair in args.rdzv_conf.split(",") if pair)
    backend, endpoint, run_id = args.rdzv_backend, args.rdzv_endpoint, args.rdzv_id
    if _stands_alone(args, max_nodes):
        backend, endpoint, run_id = "c10d", "localhost:0", str(uuid.uuid4())
    elif backend == "static":
        configs["rank"] = args.node_rank
        endpoint = endpoint or f"{args.master_addr}:{args.master_port}"
    filtered = {int(rank) for rank in args.local_ranks_filter.split(",")} if args.local_ranks_filter else None
    config = LaunchConfig(
        min_nodes=min_nodes,
        max_nodes=max_nodes,
        nproc_per_node=determine_local_world_size(args.nproc_per_node),
        logs_specs=DefaultLogsSpecs(
            args.log_dir, Std.from_str(args.redirects), Std.from_str(args.tee), local_ranks_filter=filtered
        ),
        run_id=run_id,
        role=args.role,
        rdzv_endpoint=endpoint,
        rdzv_backend=backend,
        rdzv_configs=configs,
        max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval,
        start_method=args.start_method,
        log_line_prefix_template=os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"),
        local_addr=args.local_addr,
        signals_to_handle=args.signals_to_handle,
        virtual_local_rank=args.virtual_local_rank,
        shutdown_timeout=args.shutdown_timeout,
    )
    return config, *_program(args)


def _stands_alone(args: argparse.Namespace, max_nodes: int) -> bool:
    """Whether no option speaks of other machines, or of a port."""
    told = args.rdzv_endpoint or args.rdzv_backend != "static" or args.master_port != 29500
    return args.standalone or (max_nodes == 1 and args.node_rank == 0 and not told)


def _program(args: argparse.Namespace) -> tuple[Callable[..., Any] | str, list[str]]:
    """What each worker runs; under PyTorch's names by `weft run`, which gives them to it."""
    script, own = args.training_script, list(args.training_script_args)
    if args.run_path:
        return run_script_path, [script, *own]
    if args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
        return script, own
    named = ["-m", "weft", "run"] if os.environ.get("WEFT_AS_TORCH", "0") != "0" else []
    python = os.environ.get("PYTHON_EXEC", sys.executable)
    return python, ["-u", *named, *(["-m"] if args.module else []), script, *own]


def run_script_path(training_script: str, *training_script_args: str) -> None:
    """Run a script in this process, as a worker of ``--run-path`` does."""
    sys.argv = [training_script, *training_script_args]
    runpy.run_path(training_script, run_name="__main__")


def run(args: argparse.Namespace) -> None:
    """Launch what the options say, and wait for it.

    Raises
    ------
    ChildFailedError
        If a worker has failed; they were all ended.
    """
    config, program, own = config_from_args(args)
    elastic_launch(config, program)(*own)


def main(args: Sequence[str] | None = None) -> None:
    """Launch what the command line says; the exit status is 1 if a worker has failed."""
    status = launch(parse_args(args))
    if status:
        sys.exit(status)


def launch(args: argparse.Namespace) -> int:
    """Launch what the options say, and tell of a failure; return the exit status."""
    try:
        run(args)
    except ChildFailedError as error:
        print(error, file=sys.stderr)
        return 1
    except SignalException as signalled:
        print(f"weft launch: ended by {signalled.sigval.name}", file=sys.stderr)
        return 128 + signalled.sigval
    except (RendezvousError, ValueError) as error:
        print(f"weft launch: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    main()
