"""Run a PyTorch program unmodified on weft.

``torch``, ``torch.nn``, ``torchvision``, ``torchtext`` and their submodules are weft's own modules for this process
and the processes that it starts, and for no other. Everything else (arguments, path, exit status) is as with
``python script.py``, ``python -m module``, ``python -c code`` and ``python -``; what is no file is looked for among
the commands on PATH (``weft run accelerate launch train.py``).
"""

import argparse
import builtins
import importlib.util
import io
import os
import shutil
import subprocess
import sys
from importlib.machinery import BuiltinImporter, ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from weft._as_torch.switch import as_torch

PYTORCH_COMMANDS = {"torchrun": "weft.distributed.run"}  # the module that stands for each


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``weft run``."""
    parser.usage = "weft run [-h] (script.py | command | -m module | -c code | -) [args ...]"
    parser.add_argument("-m", action="store_true", dest="as_module", help="the program is a module's name")
    parser.add_argument("-c", action="store_true", dest="as_code", help="the program is its own text")
    parser.add_argument("program", nargs=1, help="script, command, module or code, followed by its own arguments")


def run(args: argparse.Namespace) -> int:
    """Become the program; it ends as the program ends."""
    as_torch()
    program = args.program[0]
    if program in PYTORCH_COMMANDS and not (args.as_module or args.as_code or os.path.exists(program)):
        args.as_module, program = True, PYTORCH_COMMANDS[program]
    try:
        if args.as_module:
            code, main = prepare_module(program)
        elif args.as_code or program == "-":
            code, main = prepare_code(program if args.as_code else sys.stdin.read(), args.as_code)
        elif not os.path.exists(program) and shutil.which(program) is not None:
            return start_command(args.program)
        else:
            code, main = prepare_script(program)
    except (OSError, ImportError) as error:
        print(f"weft run: cannot run {program!r}: {error}", file=sys.stderr)
        return 2
    first = str(main.__file__) if args.as_module else "-c" if args.as_code else program
    sys.argv[:] = [first, *args.program[1:]]
    sys.modules["__main__"] = main
    execute(code, main)
    return 0


def start_command(words: list[str]) -> int:
    """Become a command on PATH, whichever interpreter it names: the environment variable goes with it."""
    if os.name == "nt":  # where a process cannot become another program without leaving the console
        return subprocess.call(words)
    sys.stdout.flush()
    return os.execvp(words[0], words)


def prepare_code(source: str, given: bool) -> tuple[CodeType, ModuleType]:
    """Make the ``__main__`` that ``python -c`` has, or (not ``given`` in the command line) that standard input has."""
    if not sys.flags.safe_path:
        sys.path[0] = ""
    main = ModuleType("__main__")
    main.__loader__ = BuiltinImporter
    main.__package__ = None
    return compiled(source, "<string>" if given else "<stdin>"), main


def prepare_script(path: str) -> tuple[CodeType, ModuleType]:
    """Make the ``__main__`` that ``python path`` has, with the script's folder first on the path."""
    with io.open_code(os.path.abspath(path)) as file:
        source = file.read()
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    main = ModuleType("__main__")
    main.__file__ = os.path.abspath(path)
    main.__loader__ = SourceFileLoader("__main__", main.__file__)
    main.__package__ = None
    return compiled(source, main.__file__), main


def prepare_module(name: str) -> tuple[CodeType, ModuleType]:
    """Make the ``__main__`` that ``python -m name`` has, with the working folder first on the path."""
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name = f"{name}.__main__"
        spec = importlib.util.find_spec(name)
    code = get_code(spec)
    if spec is None or code is None:
        raise ImportError(f"no module named {name!r} that can be run")
    main = ModuleType("__main__")
    main.__file__ = spec.origin if spec.has_location else code.co_filename
    main.__loader__ = spec.loader
    main.__package__ = spec.parent
    main.__spec__ = spec
    return code, main


def get_code(spec: ModuleSpec | None) -> CodeType | None:
    """The code of a module that has not been imported; None for one that is not written in Python."""
    getter = getattr(spec.loader, "get_code", None) if spec is not None else None
    code: CodeType | None = getter(spec.name) if getter is not None and spec is not None else None
    return code


def compiled(source: bytes | str, path: str) -> Any:
    """Compile a script; a syntax error is reported as Python itself reports it, without our own frames."""
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except BaseException:
        hide_frames_above(path)
        raise


def execute(code: CodeType, main: ModuleType) -> None:
    """Run the program's code; whatever it raises goes on as from the top level, and Python ends as ever."""
    main.__dict__["__builtins__"] = builtins
    try:
        exec(code, main.__dict__)
    except BaseException:
        hide_frames_above(code.co_filename)
        raise


def hide_frames_above(path: str) -> None:
    """Let the traceback begin in the program's own file, in whatever way the program prints tracebacks."""
    show = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        while traceback is not None and traceback.tb_frame.f_code.co_filename != path:
            traceback = traceback.tb_next
        show(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = excepthook
