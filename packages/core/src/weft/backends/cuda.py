"""Settings of CUDA's libraries: kept as they were set.

``matmul.allow_tf32`` is another word for `weft.set_float32_matmul_precision`, as it is in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft._settings import state
from weft.plugins import backends

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "blas_workspace_size",
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]


def is_built() -> bool:
    """Whether a backend for CUDA is installed, usable or not."""
    return "cuda" in backends()


class MatrixProducts:
    """How precise products of matrices may be; an attribute that there is not raises AttributeError.

    Attributes
    ----------
    allow_tf32 : bool
        Whether float32 may be multiplied with 10 bits of mantissa: ``"high"`` or ``"medium"`` precision.
    """

    __slots__ = (
        "allow_bf16_reduced_precision_reduction",
        "allow_fp16_accumulation",
        "allow_fp16_reduced_precision_reduction",
        "fp32_precision",
    )

    def __init__(self) -> None:
        self.allow_fp16_reduced_precision_reduction: Any = True
        self.allow_bf16_reduced_precision_reduction: Any = True
        self.allow_fp16_accumulation = False
        self.fp32_precision = "none"

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 may be multiplied with 10 bits of mantissa."""
        return bool(state["precision"] != "highest")

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        state["precision"] = "high" if value else "highest"


class PlanCache:
    """The plans of Fourier transforms that are kept: none are."""

    size = 0
    max_size = 0

    def clear(self) -> None:
        """Do nothing: no plan is kept."""

    def __getitem__(self, device: Any) -> PlanCache:
        return self


matmul = MatrixProducts()
cufft_plan_cache = PlanCache()
_allowed = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduction": False}
_preferred = {"linalg": "Default", "blas": "Default"}


def preferred_linalg_library(backend: str | None = None) -> str:
    """Say which library shall decompose matrices, and return what was said; it is kept."""
    _preferred["linalg"] = backend or _preferred["linalg"]
    return _preferred["linalg"]


def preferred_blas_library(backend: str | None = None) -> str:
    """Say which library shall multiply matrices, and return what was said; it is kept."""
    _preferred["blas"] = backend or _preferred["blas"]
    return _preferred["blas"]


def blas_workspace_size() -> int:
    """0: no memory is set aside for products."""
    return 0


# Ways to compute attention: the choice is kept, and `scaled_dot_product_attention` makes its own


def enable_flash_sdp(enabled: bool) -> None:
    """Allow or forbid attention in blocks."""
    _allowed["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow or forbid attention that saves memory."""
    _allowed["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Allow or forbid attention as its formula says."""
    _allowed["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allow or forbid attention by cuDNN."""
    _allowed["cudnn"] = bool(enabled)


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allow or forbid sums in half types."""
    _allowed["reduction"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """Whether attention in blocks is allowed."""
    return _allowed["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention that saves memory is allowed."""
    return _allowed["mem_efficient"]


def math_sdp_enabled() -> bool:
    """Whether attention as its formula says is allowed."""
    return _allowed["math"]


def cudnn_sdp_enabled() -> bool:
    """Whether attention by cuDNN is allowed."""
    return _allowed["cudnn"]


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether sums in half types are allowed."""
    return _allowed["reduction"]


def is_flash_attention_available() -> bool:
    """False: there is no such kernel."""
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Context manager: these ways to compute attention are allowed inside of the block."""
    before = dict(_allowed)
    _allowed.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _allowed.update(before)
