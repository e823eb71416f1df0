"""Show what this installation of weft consists of, and what is missing.

Versions, the backends and their state, the BLAS library, threads, whether the engine is compiled, and optional parts
with the command that brings each. The exit status is 1 if no backend works. With ``--for LIBRARY`` it shows which of
PyTorch's names the source of that library uses and weft has not.
"""

import argparse
import importlib
import importlib.util
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version

import numpy

import weft
from weft._as_torch.switch import as_torch
from weft._command import torch_uses
from weft._engine import dispatch
from weft.plugins import backend, status

Line = tuple[str, str]

PACKAGES = (
    "weft-core",
    "weft-backend-cpu",
    "weft-backend-cuda",
    "weft-nn",
    "weft-distributed",
    "weft-text",
    "weft-vision",
)

OPTIONAL = (  # module, what it is for, what installs it
    ("scipy", "more of linear algebra, rare special functions", "pip install 'weft[scientific]'"),
    ("cupy", "NVIDIA GPUs", "pip install 'weft[cuda]'"),
    ("PIL", "image files", "pip install weft-vision"),
    ("matplotlib", "plots in the examples", "pip install matplotlib"),
    ("tqdm", "progress bars in the examples", "pip install tqdm"),
    ("sklearn", "the digits data set", "pip install scikit-learn"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``weft doctor``."""
    parser.add_argument("--for", dest="library", help="an installed library of PyTorch's: what of its names is missing")


def run(args: argparse.Namespace) -> int:
    """Print the report; 1 if there is no backend to compute with."""
    if args.library:
        as_torch()
        return torch_uses.main(args.library)
    for title, section in SECTIONS.items():
        print(title)
        for name, text in guarded(section):
            print(f"    {name:<18} {text}")
    works = any(record.group == "weft.backends" and record.state == "loaded" for record in status())
    return 0 if works else 1


def guarded(section: Callable[[], Iterable[Line]]) -> Iterator[Line]:
    """The lines of a section; an exception becomes one: the doctor must not fall ill with the patient."""
    try:
        yield from section()
    except Exception as error:
        yield "failed", f"{type(error).__name__}: {error}"


def versions() -> Iterator[Line]:
    """Python and weft's distributions."""
    yield "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    for name in PACKAGES:
        yield name, installed(name) or f"missing: pip install {name}"


def installed(distribution: str) -> str | None:
    """The version of an installed distribution."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def arithmetic() -> Iterator[Line]:
    """NumPy, its BLAS and the engine."""
    yield "NumPy", numpy.__version__
    blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    yield "BLAS", f"{blas.get('name', 'unknown')} {blas.get('version', '')}".rstrip()
    yield "ml_dtypes", installed("ml_dtypes") or "missing: pip install ml_dtypes"
    yield "engine", engine()


def engine() -> str:
    """Whether the hot modules are compiled or run by the interpreter."""
    return "interpreted" if str(dispatch.__file__).endswith(".py") else "compiled"


def threads() -> Iterator[Line]:
    """What work is spread over."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield "processors", f"{available} available to this process"
    yield "weft", f"{weft.get_num_threads()} (weft.set_num_threads changes it)"
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        if variable in os.environ:
            yield variable, os.environ[variable]


def plugins() -> Iterator[Line]:
    """Each plugin and its state, after an attempt to load it."""
    records = status(load=True)
    for record in records:
        text = f"{record.state} ({record.group}, {record.distribution} {record.version})"
        yield record.name, f"{text}: {record.reason}" if record.reason else text
        if record.group == "weft.backends" and record.state == "loaded":
            for name, fact in backend(record.name).describe().items():
                yield f"  {name}", fact
    if not any(record.group == "weft.backends" for record in records):
        yield "no backend", "missing: pip install weft-backend-cpu"


def optional() -> Iterator[Line]:
    """What weft uses where it is there."""
    for module, purpose, command in OPTIONAL:
        found = importlib.util.find_spec(module) is not None
        yield module, f"{purpose}: {'installed' if found else f'missing: {command}'}"


SECTIONS: dict[str, Callable[[], Iterable[Line]]] = {
    "versions": versions,
    "arithmetic": arithmetic,
    "threads": threads,
    "plugins": plugins,
    "optional": optional,
}
