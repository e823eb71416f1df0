#!/usr/bin/env python3
"""Compile the CPU backend's kernels ahead of time, into libraries that run without Numba.

python scripts/make_prebuilt.py [--levels x86-64-v3 ...] [--dtypes float32 ...] [--work softmax ...] [--into FOLDER]

For each level of instructions, processes run the workloads of ``weft warm`` for each dtype and compile what these call.
Numba's optimized code of each kernel is then compiled once more, so that it can be at any address, with a function
before it that takes its arguments from slots (``packages/backend-cpu/native/launch.c``), and all is linked into one
library. Needs Numba, NumPy and a C compiler; writes beside `weft.backend_cpu.compiled.prebuilt`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [str(each) for each in sorted(ROOT.glob("packages/*/src"))]
NATIVE = ROOT / "packages" / "backend-cpu" / "native"
DTYPES = ("float32", "float64", "bfloat16", "float16")
COMPILER = os.environ.get("CC", "cc")
OPTIONS = ["-O2", "-Wall", "-fPIC", "-shared"]
ONLY_TABLE = "{ global: weft_kernels; local: *; };\n"


def settings(level: str, cache: Path) -> dict[str, str]:
    """The environment of a process that compiles for a level."""
    from weft.backend_cpu.compiled.prebuilt import LEVELS

    wanted = {
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": ",".join(f"+{each}" for each in sorted(LEVELS[level])),
        "NUMBA_CACHE_DIR": str(cache),
        "WEFT_CPU_PREBUILT": "0",
        "WEFT_CPU_PATIENCE": "0",
    }
    return {**os.environ, **wanted, "PYTHONPATH": os.pathsep.join(SOURCES)}


def compile_level(level: str, dtypes: list[str], work: list[str], into: Path, processes: int) -> None:
    """Compile and link the kernels of a level."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def compile_part(part: int) -> None:
            made = folder / f"part{part}"
            made.mkdir()
            share = [str(made), f"{part}/{processes}", ",".join(dtypes), *work]
            subprocess.run(
                [sys.executable, __file__, "--worker", *share], env=settings(level, made / "cache"), check=True
            )

        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(compile_part, range(processes)))
        parts = [folder / f"part{part}" for part in range(processes)]
        link(level, parts, into)


def link(level: str, parts: list[Path], into: Path) -> None:
    """Link what the processes compiled, the first of equal kernels, and write the index."""
    from weft.backend_cpu.compiled import prebuilt
    from weft.backend_cpu.threads import openmp

    objects: list[Path] = []
    launchers: dict[str, list[tuple[str, int, str]]] = {}
    loops: dict[str, int] = {}
    known = set()
    for part in parts:
        for kernel in json.loads((part / "kernels.json").read_text()):
            what = kernel["name"], kernel.get("types")
            if what in known:
                continue
            known.add(what)
            place = len(objects)
            objects.append(part / kernel["object"])
            if "types" in kernel:
                launchers.setdefault(kernel["name"], []).append((kernel["types"], place, kernel["result"]))
            else:
                loops[kernel["name"]] = place
    symbols = [each.stem for each in objects]
    with tempfile.TemporaryDirectory() as name:
        table, exported, listed = (Path(name) / each for each in ("table.c", "exported", "objects"))  # for the linker
        declared = "".join(f"extern char {each}[];\n" for each in symbols)
        table.write_text(f"{declared}void *weft_kernels[] = {{{', '.join(symbols)}}};\n")
        exported.write_text(ONLY_TABLE)
        listed.write_text("\n".join(map(str, objects)))
        sources = [str(table), str(NATIVE / "runtime.c"), f"@{listed}", f"-Wl,--version-script={exported}"]
        run([COMPILER, *OPTIONS, *sources, "-Wl,-s", "-lm", "-o", str(into / f"{level}.so")])
    openmp()
    ctypes.CDLL(str(into / f"{level}.so"), mode=os.RTLD_NOW)  # all that it calls is there
    index = {
        "stamp": prebuilt.stamp(),
        "compiler": f"Numba {version('numba')}, llvmlite {version('llvmlite')}",
        "count": len(objects),
        "launchers": launchers,
        "loops": loops,
    }
    (into / f"{level}.json").write_text(json.dumps(index, separators=(",", ":")))
    print(f"{level}: {len(objects)} kernels, {(into / f'{level}.so').stat().st_size / 1e6:.1f} MB")


def run(command: list[str]) -> None:
    """Run the C compiler."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(
            f"{done.stdout[-4000:]}\nmake_prebuilt: {' '.join(command[:6])} ... failed; its output is above"
        )


def make_extension(into: Path) -> None:
    """Compile the extension module that calls the kernels."""
    import numpy

    folders = [f"-I{each}" for each in (sysconfig.get_path("include"), numpy.get_include())]
    name = "launch" + str(sysconfig.get_config_var("EXT_SUFFIX"))
    run([COMPILER, *OPTIONS, *folders, str(NATIVE / "launch.c"), "-o", str(into / name)])


def main() -> None:
    """Read the command line, and compile what it names."""
    sys.path[1:1] = SOURCES  # weft need not be installed
    if sys.argv[1:2] == ["--worker"]:
        import prebuilt_worker

        prebuilt_worker.main(Path(sys.argv[2]), sys.argv[3], sys.argv[4].split(","), sys.argv[5:])
        return
    from weft.backend_cpu.compiled.prebuilt import FOLDER, LEVELS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=list(LEVELS))
    parser.add_argument("--dtypes", nargs="+", default=list(DTYPES))
    parser.add_argument("--work", nargs="+", default=[], help="workloads of weft warm (default: all)")
    parser.add_argument("--into", type=Path, default=FOLDER)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    for level in options.levels:
        compile_level(level, options.dtypes, options.work, options.into, options.processes)
    make_extension(options.into)


if __name__ == "__main__":
    main()
