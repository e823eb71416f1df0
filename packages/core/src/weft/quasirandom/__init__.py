"""Points that fill the unit cube evenly: Sobol sequences, with the numbers that PyTorch gives."""

from __future__ import annotations

from typing import Any

import numpy

import weft
from weft.quasirandom._direction_numbers import BITS, DIMENSIONS, direction_numbers

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws the points of a Sobol sequence one after the other.

    Parameters
    ----------
    dimension : int
        1 to 21201.
    scramble : bool
        Scramble the sequence at random (each direction number by a random lower triangular matrix, and all points by
        a random shift), so that its means are unbiased.
    seed : int, optional
        For the scrambling; by default it draws from the CPU's default generator.

    Raises
    ------
    ValueError
        For another dimension.

    References
    ----------
    S. Joe and F. Y. Kuo (2008), doi:10.1137/070709359, for the direction numbers; J. Matousek (1998),
    doi:10.1006/jcom.1998.0489, for the scrambling.

    Examples
    --------
    >>> weft.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = BITS
    MAXDIM = DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= DIMENSIONS:
            raise ValueError(
                f"SobolEngine: Supported range of dimensionality for SobolEngine is [1, {DIMENSIONS}]; got {dimension}"
            )
        self.dimension = dimension
        self.scramble = scramble
        self.seed = seed
        numbers = direction_numbers(dimension)
        shift = numpy.zeros(dimension, numpy.int64)
        if scramble:
            shift, numbers = self._scrambled(numbers)
        self.sobolstate = weft.from_numpy(numbers)
        self.shift = weft.from_numpy(shift)
        self.reset()

    def reset(self) -> SobolEngine:
        """Begin the sequence again; returns the engine."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Any:
        """Draw the next ``n`` points.

        Parameters
        ----------
        n : int, at least 0
        out : Tensor, optional
            Is resized and filled.
        dtype : dtype, optional
            Default: the default dtype.

        Returns
        -------
        Tensor, shape (n, dimension), of numbers from 0 to below 1
        """
        codes = self._codes(n)
        points = weft.from_numpy(codes).to(dtype or weft.get_default_dtype()) * 2.0**-BITS
        if out is None:
            return points
        return out.resize_(points.shape).copy_(points)

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Any:
        """Draw the next ``2**m`` points, which fill the cube most evenly.

        Raises
        ------
        ValueError
            If the number of points drawn would be no power of 2.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "SobolEngine.draw_base2: The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}="
                f"{total}. Use draw(n), or reset() first"
            )
        return self.draw(n, out, dtype)

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next ``n`` points; returns the engine."""
        if n > 0:
            self._codes(n)
        return self

    def __repr__(self) -> str:
        more = ", scramble=True" if self.scramble else ""
        more += f", seed={self.seed}" if self.seed is not None else ""
        return f"SobolEngine(dimension={self.dimension}{more})"

    def _codes(self, n: int) -> Any:
        """The next points as integers of `BITS` bits, in the order of the Gray code.

        Each follows from the one before by one direction number: that of the lowest zero bit of its index.
        """
        if n == 0:
            return numpy.empty((0, self.dimension), numpy.int64)
        numbers, code = self.sobolstate.numpy(), self.quasi.numpy()
        first = self.num_generated
        indices = numpy.arange(first - 1 if first else 0, first + n - 1)
        lowest_zero = numpy.frexp((~indices & (indices + 1)).astype(numpy.float64))[1] - 1
        changes = numbers[:, lowest_zero].T
        if first:
            codes = numpy.bitwise_xor.accumulate(changes, axis=0) ^ code
        else:
            codes = numpy.concatenate([code[None], numpy.bitwise_xor.accumulate(changes, axis=0) ^ code])
        self.quasi = weft.from_numpy(codes[-1].copy())
        self.num_generated += n
        return codes

    def _scrambled(self, numbers: Any) -> tuple[Any, Any]:
        """A random shift, and the direction numbers times random lower triangular matrices of bits."""
        generator = None
        if self.seed is not None:
            generator = weft.Generator().manual_seed(self.seed)
        bits = weft.randint(2, (self.dimension, BITS), device="cpu", generator=generator).numpy()
        shift = (bits << numpy.arange(BITS)).sum(1)
        matrices = weft.randint(2, (self.dimension, BITS, BITS), device="cpu", generator=generator).tril().numpy()
        matrices[:, range(BITS), range(BITS)] = 1
        places = numpy.arange(BITS)[::-1]  # the highest bit is the first
        rows = (numbers[:, :, None] >> places) & 1  # (dimension, number, bit)
        scrambled = rows @ matrices.swapaxes(1, 2) & 1
        return shift, (scrambled << places).sum(2)
