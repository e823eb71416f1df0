"""Padding of the last axes: by a constant, by mirroring, by repeating the border, or around the other end."""

from __future__ import annotations

from typing import Any, ClassVar

from weft import Tensor
from weft.nn import functional as F
from weft.nn._types import expanded
from weft.nn.module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """Padding by one of the modes of `F.pad`."""

    _spatial_axes: ClassVar[int]
    _mode: ClassVar[str]
    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = expanded(padding, 2 * self._spatial_axes)

    def forward(self, input: Tensor) -> Tensor:
        """Pad ``input``."""
        return F.pad(input, self.padding, mode=self._mode)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Pad ``input``."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the padding and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pad the last axis of the input with a constant.

    Parameters
    ----------
    padding : int or tuple of 2 ints
        How much to add: left, right.
    value : float
    """

    _spatial_axes = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad the last 2 axes of the input with a constant.

    Parameters
    ----------
    padding : int or tuple of 4 ints
        How much to add: left, right, top, bottom.
    value : float
    """

    _spatial_axes = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad the last 3 axes of the input with a constant.

    Parameters
    ----------
    padding : int or tuple of 6 ints
        How much to add: left, right, top, bottom, front, back.
    value : float
    """

    _spatial_axes = 3


class ZeroPad1d(ConstantPad1d):
    """Pad the last axis of the input with zeros.

    Parameters
    ----------
    padding : int or tuple of 2 ints
        How much to add: left, right.
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pad the last 2 axes of the input with zeros.

    Parameters
    ----------
    padding : int or tuple of 4 ints
        How much to add: left, right, top, bottom.
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pad the last 3 axes of the input with zeros.

    Parameters
    ----------
    padding : int or tuple of 6 ints
        How much to add: left, right, top, bottom, front, back.
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class ReflectionPad1d(_PadNd):
    """Pad the last axis of the input by its mirror image, without repeating the border.

    Parameters
    ----------
    padding : int or tuple of 2 ints
        How much to add: left, right.
    """

    _spatial_axes = 1
    _mode = "reflect"


class ReflectionPad2d(_PadNd):
    """Pad the last 2 axes of the input by its mirror image, without repeating the border.

    Parameters
    ----------
    padding : int or tuple of 4 ints
        How much to add: left, right, top, bottom.
    """

    _spatial_axes = 2
    _mode = "reflect"


class ReflectionPad3d(_PadNd):
    """Pad the last 3 axes of the input by its mirror image, without repeating the border.

    Parameters
    ----------
    padding : int or tuple of 6 ints
        How much to add: left, right, top, bottom, front, back.
    """

    _spatial_axes = 3
    _mode = "reflect"


class ReplicationPad1d(_PadNd):
    """Pad the last axis of the input by repeating the border.

    Parameters
    ----------
    padding : int or tuple of 2 ints
        How much to add: left, right.
    """

    _spatial_axes = 1
    _mode = "replicate"


class ReplicationPad2d(_PadNd):
    """Pad the last 2 axes of the input by repeating the border.

    Parameters
    ----------
    padding : int or tuple of 4 ints
        How much to add: left, right, top, bottom.
    """

    _spatial_axes = 2
    _mode = "replicate"


class ReplicationPad3d(_PadNd):
    """Pad the last 3 axes of the input by repeating the border.

    Parameters
    ----------
    padding : int or tuple of 6 ints
        How much to add: left, right, top, bottom, front, back.
    """

    _spatial_axes = 3
    _mode = "replicate"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """Pad ``input``."""
        least = self._spatial_axes + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(
                f"{self._get_name()}: expected {least}D or {least + 1}D input (got {input.dim()}D input), shape "
                f"{tuple(input.shape)}"
            )
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pad the last axis of the input from its other end, as on a circle.

    Parameters
    ----------
    padding : int or tuple of 2 ints
        How much to add: left, right.
    """

    _spatial_axes = 1


class CircularPad2d(_CircularPadNd):
    """Pad the last 2 axes of the input from its other end, as on a circle.

    Parameters
    ----------
    padding : int or tuple of 4 ints
        How much to add: left, right, top, bottom.
    """

    _spatial_axes = 2


class CircularPad3d(_CircularPadNd):
    """Pad the last 3 axes of the input from its other end, as on a circle.

    Parameters
    ----------
    padding : int or tuple of 6 ints
        How much to add: left, right, top, bottom, front, back.
    """

    _spatial_axes = 3
