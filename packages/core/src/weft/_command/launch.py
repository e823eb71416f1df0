"""Run a PyTorch program unmodified on weft, in several processes.

The options are those of PyTorch's torchrun: `weft launch --nproc-per-node 2 train.py`; `weft launch --help` lists them.
The program and each process get PyTorch's names for weft, as with `weft run`. This is weft-distributed's.
"""

import argparse
import importlib
import importlib.util
import sys

from weft._as_torch.switch import as_torch

LAUNCHER = "weft.distributed.run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take what follows as it is: the launcher has a parser of its own, and is imported when it is to run."""
    parser.add_argument("program", nargs="*", help="options, the program, and its own arguments")


def run(args: argparse.Namespace) -> int:
    """Launch the program; 1 if a process has failed."""
    if importlib.util.find_spec(LAUNCHER) is None:
        print("weft launch: it comes with weft-distributed: pip install weft-distributed", file=sys.stderr)
        return 1
    as_torch()
    launcher = importlib.import_module(LAUNCHER)
    parser = launcher.get_args_parser()
    parser.prog = "weft launch"
    status: int = launcher.launch(parser.parse_args(args.program))
    return status
