"""Run a PyTorch program unmodified on weft.

``torch``, ``torch.nn``, ``torchvision``, ``torchtext`` and their submodules are weft's own modules for this process
and the processes that it starts through multiprocessing, and for no other. Everything else (arguments, path, exit
status) is as with ``python script.py`` and ``python -m module``.
"""

import argparse
import builtins
import importlib.util
import io
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from weft._command import torch_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``weft run``."""
    parser.usage = "weft run [-h] (script.py | -m module) [args ...]"
    parser.add_argument("-m", action="store_true", dest="as_module", help="the program is a module's name, not a file")
    parser.add_argument("program", nargs=1, help="script or module, followed by its own arguments")


def run(args: argparse.Namespace) -> int:
    """Become the program; it ends as the program ends."""
    torch_names.install()
    prepare = prepare_module if args.as_module else prepare_script
    try:
        code, main = prepare(args.program[0])
    except (OSError, ImportError) as error:
        print(f"weft run: cannot run {args.program[0]!r}: {error}", file=sys.stderr)
        return 2
    sys.argv[:] = [str(main.__file__), *args.program[1:]] if args.as_module else args.program
    sys.modules["__main__"] = main
    execute(code, main)
    return 0


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
    main.__file__ = spec.origin
    main.__loader__ = spec.loader
    main.__package__ = spec.parent
    main.__spec__ = spec
    return code, main


def get_code(spec: ModuleSpec | None) -> CodeType | None:
    """The code of a module that has not been imported; None for one that is not written in Python."""
    getter = getattr(spec.loader, "get_code", None) if spec is not None else None
    code: CodeType | None = getter(spec.name) if getter is not None and spec is not None else None
    return code


def compiled(source: bytes, path: str) -> Any:
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
