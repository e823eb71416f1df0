"""The ``weft`` command: one file for each subcommand, with ``add_arguments(parser)`` and ``run(args) -> status``."""

import argparse
import importlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import weft

COMMANDS = {  # the files of the subcommands
    "doctor": "doctor",
    "launch": "launch",
    "plugins": "plugins",
    "provide-torch": "provide_torch",
    "run": "run",
    "warm": "warm",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status.

    Parameters
    ----------
    argv : sequence of str, default sys.argv[1:]
    """
    own, program = split(list(sys.argv[1:] if argv is None else argv))
    asked = own[:1] if own and own[0] in COMMANDS else COMMANDS  # only its file is imported: programs start with it
    args = make_parser(asked).parse_args(own)
    if "program" in args:
        args.program += program
    status: int = module_of(args.command).run(args)
    return status


def module_of(command: str) -> Any:
    """The file of a subcommand."""
    return importlib.import_module(f"weft._command.{COMMANDS[command]}")


def make_parser(names: Iterable[str]) -> argparse.ArgumentParser:
    """Make the parser of the command line, with these subcommands."""
    parser = argparse.ArgumentParser(prog="weft", description="weft: tensors, gradients and neural networks.")
    parser.add_argument("--version", action="version", version=f"weft {weft.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in names:
        module = module_of(name)
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
    """Cut ``run [-m | -c] program args...`` before the args: those belong to the program, ``--help`` among them.

    The launcher's options are its own, too: they are cut from ``launch``.
    """
    if argv[:1] == ["launch"]:
        return argv[:1], argv[1:]
    if argv[:1] == ["run"]:
        for index, argument in enumerate(argv[1:], start=1):
            if not argument.startswith("-") or argument == "-" or argv[index - 1] == "-c":
                return argv[: index + 1], argv[index + 1 :]
    return argv, []
