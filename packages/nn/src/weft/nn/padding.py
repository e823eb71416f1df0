"""Padding of the last axes: by a constant, by mirroring, by repeating the border, or around the other end."""

from __future__ import annotations

from typing import Any, ClassVar

from weft import Tensor
from weft.nn import functional as F
from weft.nn._docstrings import SPATIAL, documented, sections_of
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

VALUE = """
value : float
    The constant."""

ANY_INPUT = """\
input : (..., {spatial})
output : (..., {spatial_out})"""

BATCH_OR_NOT = """\
input : (N, C, {spatial}) or (C, {spatial})
output : (N, C, {spatial_out}) or (C, {spatial_out})"""

REFLECTED_INPUT = (
    BATCH_OR_NOT
    + """

Raises
------
RuntimeError
    If an axis is not longer than what is added on one of its sides."""
)

CIRCULAR_INPUT = (
    BATCH_OR_NOT
    + """

Raises
------
RuntimeError
    If an axis is shorter than what is added on one of its sides."""
)

AMOUNTS: dict[int, dict[str, str]] = {
    1: {"count": "2", "sides": "left, right"},
    2: {"count": "4", "sides": "left, right, top, bottom"},
    3: {"count": "6", "sides": "left, right, top, bottom, front, back"},
}


class _PadNd(Module):
    """Padding by one of the modes of `F.pad`.

    Parameters
    ----------
    padding : int or tuple of {count} ints
        How many elements to add: {sides}. A negative number cuts them off.{value}

    Shapes
    ------
    {input}
    """

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


PADDING: str = sections_of(_PadNd)


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


@documented(sections=PADDING, value=VALUE, input=ANY_INPUT, **SPATIAL[1], **AMOUNTS[1])
class ConstantPad1d(_ConstantPadNd):
    """Pad the last axis of the input with a constant.

    {sections}

    Examples
    --------
    >>> weft.nn.ConstantPad1d((1, 2), 7.5)(weft.tensor([[1.0, 2.0]]))
    tensor([[7.5000, 1.0000, 2.0000, 7.5000, 7.5000]])
    """

    _spatial_axes = 1


@documented(sections=PADDING, value=VALUE, input=ANY_INPUT, **SPATIAL[2], **AMOUNTS[2])
class ConstantPad2d(_ConstantPadNd):
    """Pad the last 2 axes of the input with a constant.

    {sections}

    Examples
    --------
    >>> weft.nn.ConstantPad2d((1, 0, 0, 1), 9.0)(weft.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    tensor([[[9., 1., 2.],
             [9., 3., 4.],
             [9., 9., 9.]]])
    """

    _spatial_axes = 2


@documented(sections=PADDING, value=VALUE, input=ANY_INPUT, **SPATIAL[3], **AMOUNTS[3])
class ConstantPad3d(_ConstantPadNd):
    """Pad the last 3 axes of the input with a constant.

    {sections}

    Examples
    --------
    >>> weft.nn.ConstantPad3d((1, 1, 2, 2, 3, 3), 0.5)(weft.zeros(3, 4, 4, 4)).shape
    weft.Size([3, 10, 8, 6])
    """

    _spatial_axes = 3


@documented(sections=PADDING, value="", input=ANY_INPUT, **SPATIAL[1], **AMOUNTS[1])
class ZeroPad1d(ConstantPad1d):
    """Pad the last axis of the input with zeros.

    {sections}

    Examples
    --------
    >>> weft.nn.ZeroPad1d(1)(weft.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    >>> weft.nn.ZeroPad1d((0, -1))(weft.tensor([[1.0, 2.0]]))  # a negative amount cuts off
    tensor([[1.]])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


@documented(sections=PADDING, value="", input=ANY_INPUT, **SPATIAL[2], **AMOUNTS[2])
class ZeroPad2d(ConstantPad2d):
    """Pad the last 2 axes of the input with zeros.

    {sections}

    Examples
    --------
    >>> weft.nn.ZeroPad2d((1, 1, 2, 0))(weft.ones(1, 3, 3)).shape
    weft.Size([1, 5, 5])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


@documented(sections=PADDING, value="", input=ANY_INPUT, **SPATIAL[3], **AMOUNTS[3])
class ZeroPad3d(ConstantPad3d):
    """Pad the last 3 axes of the input with zeros.

    {sections}

    Examples
    --------
    >>> weft.nn.ZeroPad3d(1)(weft.ones(2, 3, 4, 4, 4)).shape
    weft.Size([2, 3, 6, 6, 6])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


@documented(sections=PADDING, value="", input=REFLECTED_INPUT, **SPATIAL[1], **AMOUNTS[1])
class ReflectionPad1d(_ReflectionPadNd):
    """Pad the last axis of the input by its mirror image, without repeating the border.

    {sections}

    Examples
    --------
    >>> weft.nn.ReflectionPad1d(2)(weft.tensor([[0.0, 1.0, 2.0, 3.0]]))
    tensor([[2., 1., 0., 1., 2., 3., 2., 1.]])
    """

    _spatial_axes = 1


@documented(sections=PADDING, value="", input=REFLECTED_INPUT, **SPATIAL[2], **AMOUNTS[2])
class ReflectionPad2d(_ReflectionPadNd):
    """Pad the last 2 axes of the input by its mirror image, without repeating the border.

    {sections}

    Examples
    --------
    >>> weft.nn.ReflectionPad2d((1, 1, 0, 0))(weft.arange(6.0).reshape(1, 2, 3))
    tensor([[[1., 0., 1., 2., 1.],
             [4., 3., 4., 5., 4.]]])
    """

    _spatial_axes = 2


@documented(sections=PADDING, value="", input=REFLECTED_INPUT, **SPATIAL[3], **AMOUNTS[3])
class ReflectionPad3d(_ReflectionPadNd):
    """Pad the last 3 axes of the input by its mirror image, without repeating the border.

    {sections}

    Examples
    --------
    >>> weft.nn.ReflectionPad3d(1)(weft.zeros(2, 4, 4, 4)).shape
    weft.Size([2, 6, 6, 6])
    """

    _spatial_axes = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


@documented(sections=PADDING, value="", input=BATCH_OR_NOT, **SPATIAL[1], **AMOUNTS[1])
class ReplicationPad1d(_ReplicationPadNd):
    """Pad the last axis of the input by repeating the border.

    {sections}

    Examples
    --------
    >>> weft.nn.ReplicationPad1d(2)(weft.tensor([[0.0, 1.0, 2.0]]))
    tensor([[0., 0., 0., 1., 2., 2., 2.]])
    """

    _spatial_axes = 1


@documented(sections=PADDING, value="", input=BATCH_OR_NOT, **SPATIAL[2], **AMOUNTS[2])
class ReplicationPad2d(_ReplicationPadNd):
    """Pad the last 2 axes of the input by repeating the border.

    {sections}

    Examples
    --------
    >>> weft.nn.ReplicationPad2d((0, 0, 1, 0))(weft.arange(4.0).reshape(1, 2, 2))
    tensor([[[0., 1.],
             [0., 1.],
             [2., 3.]]])
    """

    _spatial_axes = 2


@documented(sections=PADDING, value="", input=BATCH_OR_NOT, **SPATIAL[3], **AMOUNTS[3])
class ReplicationPad3d(_ReplicationPadNd):
    """Pad the last 3 axes of the input by repeating the border.

    {sections}

    Examples
    --------
    >>> weft.nn.ReplicationPad3d(1)(weft.zeros(2, 4, 4, 4)).shape
    weft.Size([2, 6, 6, 6])
    """

    _spatial_axes = 3


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


@documented(sections=PADDING, value="", input=CIRCULAR_INPUT, **SPATIAL[1], **AMOUNTS[1])
class CircularPad1d(_CircularPadNd):
    """Pad the last axis of the input from its other end, as on a circle.

    {sections}

    Examples
    --------
    >>> weft.nn.CircularPad1d(2)(weft.tensor([[0.0, 1.0, 2.0, 3.0]]))
    tensor([[2., 3., 0., 1., 2., 3., 0., 1.]])
    """

    _spatial_axes = 1


@documented(sections=PADDING, value="", input=CIRCULAR_INPUT, **SPATIAL[2], **AMOUNTS[2])
class CircularPad2d(_CircularPadNd):
    """Pad the last 2 axes of the input from its other end, as on a circle.

    {sections}

    Examples
    --------
    >>> weft.nn.CircularPad2d((1, 0, 0, 0))(weft.arange(6.0).reshape(1, 2, 3))
    tensor([[[2., 0., 1., 2.],
             [5., 3., 4., 5.]]])
    """

    _spatial_axes = 2


@documented(sections=PADDING, value="", input=CIRCULAR_INPUT, **SPATIAL[3], **AMOUNTS[3])
class CircularPad3d(_CircularPadNd):
    """Pad the last 3 axes of the input from its other end, as on a circle.

    {sections}

    Examples
    --------
    >>> weft.nn.CircularPad3d(1)(weft.zeros(2, 4, 4, 4)).shape
    weft.Size([2, 6, 6, 6])
    """

    _spatial_axes = 3
