"""Points of a picture, such as joints of a body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft import Tensor
from weft.utils._pytree import tree_leaves
from weft.vision.tv_tensors._tv_tensor import TVTensor

__all__ = ["KeyPoints"]


class KeyPoints(TVTensor):
    """Points (x, y) of one picture, of shape (..., 2), in pixels from the middle of the upper left pixel.

    Parameters
    ----------
    data : what `weft.as_tensor` takes
        One point (2,) becomes (1, 2).
    canvas_size : (int, int)
        Height and width of the picture.
    dtype, device, requires_grad
        As of `Image`.

    Raises
    ------
    ValueError
        If the last axis has another size than 2.
    """

    canvas_size: tuple[int, int]

    def __new__(
        cls,
        data: Any,
        *,
        canvas_size: tuple[int, int],
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> KeyPoints:
        tensor = cls._to_tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
        return cls._wrap(tensor, canvas_size=canvas_size)

    @classmethod
    def _wrap(cls, tensor: Tensor, *, canvas_size: tuple[int, int], check_dims: bool = True) -> KeyPoints:
        if check_dims and tensor.ndim == 1:
            tensor = tensor.unsqueeze(0)
        elif check_dims and tensor.shape[-1] != 2:
            raise ValueError(f"Expected a tensor of shape (..., 2), not {tensor.shape}")
        points = tensor.as_subclass(cls)
        points.canvas_size = canvas_size
        return points

    @classmethod
    def wrap(cls, tensor: Tensor, like: Any, **kwargs: Any) -> KeyPoints:
        """Return a tensor as points of the canvas of ``like``, or of another ``canvas_size``."""
        return cls._wrap(tensor, canvas_size=kwargs.get("canvas_size", like.canvas_size))

    @classmethod
    def _wrap_output(cls, output: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        if isinstance(output, (tuple, list)):
            return super()._wrap_output(output, args, kwargs)
        if not isinstance(output, Tensor) or isinstance(output, KeyPoints):
            return output
        first = next(each for each in tree_leaves((args, kwargs or {})) if isinstance(each, KeyPoints))
        return cls._wrap(output, canvas_size=first.canvas_size, check_dims=False)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return self._make_repr(canvas_size=self.canvas_size)
