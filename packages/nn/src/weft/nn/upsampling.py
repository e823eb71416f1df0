"""Resizing of the spatial axes by interpolation."""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.nn import functional as F
from weft.nn.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resize the spatial axes of an input (N, C, ...) with 1 to 3 of them.

    Parameters
    ----------
    size : int or tuple of int, optional
        Of the output.
    scale_factor : float or tuple of float, optional
        Of the output's size to the input's; give one of the two.
    mode : {"nearest", "linear", "bilinear", "bicubic", "trilinear"}
    align_corners : bool, optional
        Whether the corner elements of input and output lie on each other, rather than the corners of these elements.
    recompute_scale_factor : bool, optional
        Whether to interpolate by the factor that the rounded output size gives.
    """

    size: Any
    scale_factor: Any

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Resize ``input``."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("recompute_scale_factor", True)  # what was done before there was a choice
        super().__setstate__(state)

    def extra_repr(self) -> str:
        """Return the size or the factor, and the mode."""
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` with mode "nearest"."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` with mode "bilinear" and aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
