"""Which ways of computing attention a program allows; `scaled_dot_product_attention` chooses its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

from weft.backends import cuda

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """The ways, by PyTorch's names and numbers."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


SWITCHES = {
    SDPBackend.MATH: (cuda.math_sdp_enabled, cuda.enable_math_sdp),
    SDPBackend.FLASH_ATTENTION: (cuda.flash_sdp_enabled, cuda.enable_flash_sdp),
    SDPBackend.EFFICIENT_ATTENTION: (cuda.mem_efficient_sdp_enabled, cuda.enable_mem_efficient_sdp),
    SDPBackend.CUDNN_ATTENTION: (cuda.cudnn_sdp_enabled, cuda.enable_cudnn_sdp),
}


@contextmanager
def sdpa_kernel(backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Allow only these ways within a ``with`` block; `weft.backends.cuda` tells which are allowed.

    The result of attention is the same by each of them.

    Parameters
    ----------
    backends : SDPBackend or list of them
    set_priority : bool
        Whether the list's order is the order of preference; accepted.

    Raises
    ------
    AssertionError
        If it is something else.

    Examples
    --------
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     weft.backends.cuda.flash_sdp_enabled()
    False
    """
    wanted = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(wanted, (list, tuple)) or not all(isinstance(each, SDPBackend) for each in wanted):
        raise AssertionError(
            "sdpa_kernel: Backend must be an instance of SDPBackend or a list of SDPBackend instances, "
            f"got {type(backends).__name__}"
        )
    before = {way: is_allowed() for way, (is_allowed, _) in SWITCHES.items()}
    for way, (_, allow) in SWITCHES.items():
        allow(way in wanted)
    try:
        yield
    finally:
        for way, (_, allow) in SWITCHES.items():
            allow(before[way])
