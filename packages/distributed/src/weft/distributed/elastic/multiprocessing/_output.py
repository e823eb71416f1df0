"""`OutputForwarder`: lines of workers, each with its prefix, to the console and into files."""

from __future__ import annotations

import os
import selectors
import threading
import time
from multiprocessing.connection import Connection, Pipe
from typing import Any, BinaryIO, TextIO

__all__ = ["OutputForwarder"]

CHUNK = 1 << 16
DRAIN_SECONDS = 1.0  # for a pipe that a process of a worker's own still holds when the worker has ended


class Source:
    """The output of one worker that is being forwarded."""

    def __init__(self, connection: Connection, prefix: str, console: TextIO, path: str) -> None:
        self.connection = connection
        self.prefix = prefix
        self.console = console
        self.file: BinaryIO = open(path, "wb")  # noqa: SIM115  # until `close`
        self.rest = b""

    def forward(self) -> bool:
        """Forward what has come; False at the end."""
        chunk = os.read(self.connection.fileno(), CHUNK)
        self.file.write(chunk)
        self.file.flush()
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        if not chunk and self.rest:
            lines, self.rest = [self.rest], b""
        if lines:
            self.console.write("".join(f"{self.prefix}{line.decode(errors='replace')}\n" for line in lines))
            self.console.flush()
        return bool(chunk)

    def close(self) -> None:
        self.file.close()
        self.connection.close()


class OutputForwarder:
    """Forwards the output of workers in the order in which it comes, in one thread."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._thread: threading.Thread | None = None
        self._deadline: float | None = None
        self._writers: list[Connection] = []

    def open(self, prefix: str, console: TextIO, path: str) -> Connection:
        """Make the pipe that a worker writes to.

        Parameters
        ----------
        prefix : str
            Of each line on the console.
        console : text file
        path : str
            Of the file that gets the output without prefixes.
        """
        reader, writer = Pipe(duplex=False)
        self._selector.register(reader, selectors.EVENT_READ, Source(reader, prefix, console, path))
        self._writers.append(writer)
        return writer

    def start(self) -> None:
        """Begin, now that the workers have their ends of the pipes."""
        for writer in self._writers:
            writer.close()
        if self._writers:
            self._thread = threading.Thread(target=self._forward, name="weft-launch-output", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Forward what is left, and end."""
        self._deadline = time.monotonic() + DRAIN_SECONDS
        for writer in self._writers:
            writer.close()
        if self._thread is not None:
            self._thread.join()
        for key in list((self._selector.get_map() or {}).values()):
            self._end(key.data)
        self._selector.close()

    def _forward(self) -> None:
        while self._selector.get_map():
            if self._deadline is not None and time.monotonic() > self._deadline:
                return
            for key, _ in self._selector.select(timeout=0.1):
                if not key.data.forward():
                    self._end(key.data)

    def _end(self, source: Any) -> None:
        self._selector.unregister(source.connection)
        source.close()
