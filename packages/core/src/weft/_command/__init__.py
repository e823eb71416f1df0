"""The ``weft`` command: one file for each subcommand, with ``add_arguments(parser)`` and ``run(args) -> status``."""

import argparse
import sys
from collections.abc import Sequence

import weft
from weft._command import doctor, plugins, provide_torch, run, warm

COMMANDS = {"doctor": doctor, "plugins": plugins, "provide-torch": provide_torch, "run": run, "warm": warm}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status.

    Parameters
    ----------
    argv : sequence of str, default sys.argv[1:]
    """
    own, program = split(list(sys.argv[1:] if argv is None else argv))
    args = make_parser().parse_args(own)
    if "program" in args:
        args.program += program
    command: int = COMMANDS[args.command].run(args)
    return command


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    parser = argparse.ArgumentParser(prog="weft", description="weft: tensors, gradients and neural networks.")
    parser.add_argument("--version", action="version", version=f"weft {weft.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").splitlines()[0]
        description = "\n".join((module.__doc__ or "").splitlines()[2:])
        module.add_arguments(
            commands.add_parser(
                name,
                help=summary,
                description=f"{summary}\n{description}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
        )
    return parser


def split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Cut ``run [-m | -c] program args...`` before the args: those belong to the program, ``--help`` among them."""
    if argv[:1] == ["run"]:
        for index, argument in enumerate(argv[1:], start=1):
            if not argument.startswith("-") or argument == "-" or argv[index - 1] == "-c":
                return argv[: index + 1], argv[index + 1 :]
    return argv, []
