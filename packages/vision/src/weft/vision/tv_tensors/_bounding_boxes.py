"""Bounding boxes and their formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from weft import Tensor
from weft.utils._pytree import tree_leaves
from weft.vision.tv_tensors._tv_tensor import TVTensor

__all__ = ["BoundingBoxFormat", "BoundingBoxes", "is_rotated_bounding_format"]


class BoundingBoxFormat(Enum):
    """What the numbers of a box are: x to the right, y down, in pixels; r against the clock, in degrees.

    ============ =========================================================================
    ``XYXY``     left, top, right, bottom
    ``XYWH``     left, top, width, height
    ``CXCYWH``   center, width, height
    ``XYWHR``    the first corner, width, height and angle of a rotated box
    ``CXCYWHR``  center, width, height and angle of a rotated box
    ``XYXYXYXY`` the corners of a rotated box: top left, top right, bottom right, bottom left
    ============ =========================================================================
    """

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


_ROTATED = {BoundingBoxFormat.XYWHR, BoundingBoxFormat.CXCYWHR, BoundingBoxFormat.XYXYXYXY}


def is_rotated_bounding_format(format: BoundingBoxFormat | str) -> bool:
    """Return whether boxes of a format may be rotated.

    Raises
    ------
    ValueError
        If ``format`` is neither a format nor a string.
    """
    if isinstance(format, BoundingBoxFormat):
        return format in _ROTATED
    if isinstance(format, str):
        return format in {each.value for each in _ROTATED}
    raise ValueError(f"format should be str or BoundingBoxFormat, got {type(format)}")


class BoundingBoxes(TVTensor):
    """Boxes of one picture, of shape (N, K): K is 4, for rotated boxes 5 or 8 as the format says.

    Parameters
    ----------
    data : what `weft.as_tensor` takes
        One box (K,) becomes (1, K).
    format : BoundingBoxFormat or str
    canvas_size : (int, int)
        Height and width of the picture.
    clamping_mode : {"soft", "hard", None}, default "soft"
        What transforms do with boxes that reach out of the picture: cut them; cut rotated boxes so that no corner is
        outside (unrotated ones as "soft"); nothing.
    dtype, device, requires_grad
        As of `Image`.

    Raises
    ------
    ValueError
        If ``data`` has more than two axes, ``clamping_mode`` is unknown, or a rotated box has integers.

    Examples
    --------
    >>> BoundingBoxes([1, 2, 5, 4], format="XYXY", canvas_size=(6, 8)).shape
    weft.Size([1, 4])
    """

    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None

    def __new__(
        cls,
        data: Any,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> BoundingBoxes:
        tensor = cls._to_tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
        if is_rotated_bounding_format(format) and not tensor.is_floating_point():
            raise ValueError(f"Rotated bounding boxes should be floating point tensors, got {tensor.dtype}.")
        return cls._wrap(tensor, format=format, canvas_size=canvas_size, clamping_mode=clamping_mode)

    @classmethod
    def _wrap(
        cls,
        tensor: Tensor,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        check_dims: bool = True,
    ) -> BoundingBoxes:
        if check_dims and tensor.ndim not in (1, 2):
            raise ValueError(f"Expected a 1D or 2D tensor, got {tensor.ndim}D")
        if clamping_mode not in (None, "hard", "soft"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {clamping_mode}.")
        if check_dims and tensor.ndim == 1:
            tensor = tensor.unsqueeze(0)
        boxes = tensor.as_subclass(cls)
        boxes.format = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format
        boxes.canvas_size = canvas_size
        boxes.clamping_mode = clamping_mode
        return boxes

    @classmethod
    def wrap(cls, tensor: Tensor, like: Any, **kwargs: Any) -> BoundingBoxes:
        """Return a tensor as boxes with the metadata of ``like``, but for what ``kwargs`` names."""
        return cls._wrap(tensor, **{**_metadata(like), **kwargs})

    @classmethod
    def _wrap_output(cls, output: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        if isinstance(output, (tuple, list)):
            return super()._wrap_output(output, args, kwargs)
        if not isinstance(output, Tensor) or isinstance(output, BoundingBoxes):
            return output
        # The metadata of the first boxes among the operands: to mix those of two formats is a mistake anyway.
        first = next(each for each in tree_leaves((args, kwargs or {})) if isinstance(each, BoundingBoxes))
        return cls._wrap(output, **_metadata(first), check_dims=False)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return self._make_repr(**_metadata(self))


def _metadata(boxes: Any) -> dict[str, Any]:
    return {"format": boxes.format, "canvas_size": boxes.canvas_size, "clamping_mode": boxes.clamping_mode}
