"""What one load may take, in proportion to the length of its file.

Everything that a file makes happen is charged here: what is decompressed or copied, each object, each comparison. So a
small file cannot ask for much by any of them, nor by a little of each.
"""

from __future__ import annotations

from pickle import UnpicklingError

MEMORY = 32 << 20  # bytes, and
MEMORY_OF_A_BYTE = 24  # so many for each byte of the file: a dict of one item takes 20 times what its pickle does
STEPS = 2_000_000  # of 0.1 us, and
STEPS_OF_A_BYTE = 4  # so many for each byte: a view takes 100 steps, and 45 bytes of a pickle


class Budget:
    """Memory and time that a load has left.

    Parameters
    ----------
    length : int
        Of the file, in bytes.
    source : str
        What messages call the file.
    """

    __slots__ = ("length", "memory", "source", "steps")

    def __init__(self, length: int, source: str) -> None:
        self.length = length
        self.source = source
        self.memory = MEMORY + MEMORY_OF_A_BYTE * length
        self.steps = STEPS + STEPS_OF_A_BYTE * length

    def take(self, nbytes: int) -> None:
        """Charge bytes of memory before they are taken.

        Raises
        ------
        pickle.UnpicklingError
            If the file's length does not explain them.
        """
        self.memory -= nbytes
        if self.memory < 0:
            raise self.exceeded("memory")

    def spend(self, steps: int) -> None:
        """Charge steps of 0.1 us before they are made; raises as `take` does."""
        self.steps -= steps
        if self.steps < 0:
            raise self.exceeded("work")

    def exceeded(self, what: str) -> UnpicklingError:
        """The error for a file that asks for too much."""
        return UnpicklingError(
            f"load: {self.source} asks for more {what} than its {self.length} bytes explain: it repeats, expands or "
            "copies something over and over. If you trust where it came from, weights_only=False loads it, and lets "
            "it run any code."
        )
