"""Resizing of the spatial axes by interpolation."""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.nn import functional as F
from weft.nn.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resize the spatial axes by interpolation.

    Parameters
    ----------
    size : int or tuple of int, optional
        Of the output's spatial axes.
    scale_factor : float or tuple of float, optional
        Of the output's size to the input's; give one of the two.
    mode : "nearest", "linear", "bilinear", "bicubic" or "trilinear"
        "linear" is for 1 spatial axis, "bilinear" and "bicubic" for 2, "trilinear" for 3.
    align_corners : bool, optional
        Whether the centers of the corner elements of input and output lie on each other, rather than their outer
        corners; not for "nearest".
    recompute_scale_factor : bool, optional
        Whether to interpolate by the factor that the rounded output size gives.

    Shapes
    ------
    input : (N, C, L), (N, C, H, W) or (N, C, D, H, W)
    output : (N, C, *size)
        By ``scale_factor`` each size becomes ``floor(size * scale_factor)``.

    Raises
    ------
    ValueError
        If both or none of ``size`` and ``scale_factor`` are given.
    NotImplementedError
        If the input's dimensions are not those of ``mode``.

    Examples
    --------
    >>> signal = weft.tensor([[[1.0, 3.0]]])
    >>> weft.nn.Upsample(scale_factor=2)(signal)
    tensor([[[1., 1., 3., 3.]]])
    >>> weft.nn.Upsample(scale_factor=2, mode="linear")(signal)
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    >>> weft.nn.Upsample(size=5, mode="linear", align_corners=True)(signal)
    tensor([[[1.0000, 1.5000, 2.0000, 2.5000, 3.0000]]])
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
    """`Upsample` of images with mode "nearest".

    Parameters
    ----------
    size : int or tuple of 2 ints, optional
        Of the output's spatial axes.
    scale_factor : float or tuple of 2 floats, optional
        Of the output's size to the input's; give one of the two.

    Shapes
    ------
    input : (N, C, H, W)
    output : (N, C, *size)
        By ``scale_factor`` each size becomes ``floor(size * scale_factor)``.

    Examples
    --------
    >>> weft.nn.UpsamplingNearest2d(size=(1, 3))(weft.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[1., 1., 3.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images with mode "bilinear" and aligned corners.

    Parameters
    ----------
    size : int or tuple of 2 ints, optional
        Of the output's spatial axes.
    scale_factor : float or tuple of 2 floats, optional
        Of the output's size to the input's; give one of the two.

    Shapes
    ------
    input : (N, C, H, W)
    output : (N, C, *size)
        By ``scale_factor`` each size becomes ``floor(size * scale_factor)``.

    Examples
    --------
    >>> weft.nn.UpsamplingBilinear2d(size=(1, 3))(weft.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[1., 2., 3.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
