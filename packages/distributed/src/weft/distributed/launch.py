"""``python -m weft.distributed.launch``: `weft.distributed.run` by its older name.

Scripts that it starts got their local rank as the argument ``--local-rank``, unless ``--use-env`` was given.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

from weft.distributed import run

__all__ = ["launch", "main", "parse_args"]


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options of `weft.distributed.run`, and ``--use-env``."""
    parser = run.get_args_parser()
    parser.add_argument("--use-env", "--use_env", action="store_true", help="no argument --local-rank for the script")
    return parser.parse_args(args)


def launch(args: argparse.Namespace) -> int:
    """Launch what the options say; return the exit status."""
    if args.no_python and not args.use_env:
        raise ValueError("When using the '--no-python' flag, you must also set the '--use-env' flag.")
    if not args.use_env:
        args.training_script_args = ["--local-rank=${local_rank}", *args.training_script_args]
    return run.launch(args)


def main(args: Sequence[str] | None = None) -> None:
    """Launch what the command line says."""
    warnings.warn(
        "The module weft.distributed.launch is deprecated and will be removed in future. Use weft launch, or "
        "weft.distributed.run; scripts read the local rank from os.environ['LOCAL_RANK']",
        FutureWarning,
        stacklevel=2,
    )
    status = launch(parse_args(args))
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
