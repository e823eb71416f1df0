"""Who is compared: a library with its settings, at work in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKER = Path(__file__).parent / "worker.py"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
NOT_INHERITED = (*THREADS, "OPENBLAS_CORETYPE", "PYTHONDONTWRITEBYTECODE")  # a forced kernel choice; recompiling


class Died(Exception):
    """A worker ended before it answered."""


class Contestant:
    """A library in a process that lives until `close`, and works only when it is asked to.

    Parameters
    ----------
    label : str
        For people.
    library : str
        The module's name.
    threads : int
    settings : dict
        Further environment variables.
    compiled : bool
        Functions go through the library's ``compile`` first.
    """

    def __init__(
        self,
        label: str,
        library: str,
        threads: int,
        settings: dict[str, str] | None = None,
        compiled: bool = False,
    ) -> None:
        self.label = label
        self.library = library
        self.threads = threads
        self.compiled = compiled
        self.environment = environment(threads) | (settings or {})
        self.process: subprocess.Popen[str] | None = None

    def ask(self, what: str, **details: Any) -> Any:
        """Let the worker do something, and wait for its answer.

        Raises
        ------
        RuntimeError
            If it raised an exception.
        Died
            If it ended.
        """
        process = self.process or self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"do": what, **details}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            raise Died(f"{self.label}: the process ended with status {process.returncode}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.label}: {answer['error']}")
        return answer["value"]

    def start(self) -> subprocess.Popen[str]:
        """A new worker."""
        self.process = subprocess.Popen(self.command("serve"), **self.pipes())
        return self.process

    def command(self, *what: str) -> list[str]:
        options = ["--compile"] if self.compiled else []
        return [sys.executable, str(WORKER), self.library, str(self.threads), *options, *what]

    def pipes(self) -> dict[str, Any]:
        return {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.DEVNULL if "WEFT_BENCH_DEBUG" not in os.environ else None,
            "text": True,
            "env": self.environment,
        }

    def forget(self) -> None:
        """Let the worker drop the case."""
        if self.process is not None:
            self.ask("forget")

    def once(self, *what: str, **settings: str) -> subprocess.Popen[str]:
        """A fresh process that does one thing, with further environment variables."""
        pipes = self.pipes()
        pipes["env"] = self.environment | settings
        return subprocess.Popen(self.command(*what), **pipes)

    def close(self) -> None:
        """End the worker."""
        if self.process is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.communicate()
            self.process = None


def environment(threads: int) -> dict[str, str]:
    """What a worker is started with: so many threads for every library, and nothing that favours one."""
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return inherited | dict.fromkeys(THREADS, str(threads))
