"""What a tensor is, asked as functions; and PyTorch's names for kinds of tensors that there are not."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from weft._dtypes.dtypes import dtype, int64, result_dtype
from weft._engine.tensor import TensorBase
from weft._tensor.base import Tensor
from weft._tensor.interop import tensor
from weft._tensor.size import Size
from weft.ops import _geometry
from weft.ops._declare import composite
from weft.types import Scalar


@composite()
def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


@composite()
def numel(input: Tensor) -> int:
    """The number of elements of a tensor."""
    return input.numel()


@composite()
def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes of a tensor's dimensions as a tensor of int64, on the CPU."""
    return tensor(list(input.shape), dtype=int64)


@composite()
def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor's dtype is floating (complex is not)."""
    return input.is_floating_point()


@composite()
def is_complex(input: Tensor) -> bool:
    """Whether a tensor's dtype is complex."""
    return input.is_complex()


@composite()
def is_signed(input: Tensor) -> bool:
    """Whether a tensor's dtype has negative numbers."""
    return input.is_signed()


@composite()
def get_device(input: Tensor) -> int:
    """The index of a tensor's device; -1 for the CPU."""
    return input.get_device()


@composite("is_nonzero")
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of a tensor is not 0.

    Raises
    ------
    RuntimeError
        If the tensor has more than one element, or none.
    """
    if input.numel() != 1:
        what = "no values" if not input.numel() else "more than one value"
        raise RuntimeError(f"is_nonzero: Boolean value of Tensor with {what} is ambiguous")
    return builtins.bool(input.item() != 0)


@composite("is_same_size")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    Parameters
    ----------
    input, other : Tensor

    Examples
    --------
    >>> weft.is_same_size(weft.ones(2, 1), weft.ones(2))
    False
    """
    return input._array.shape == other._array.shape


@composite()
def result_type(tensor: Tensor | Scalar, other: Tensor | Scalar) -> dtype:
    """The dtype that two tensors or numbers are brought to when they meet.

    Parameters
    ----------
    tensor, other : Tensor or number
        A number, or a tensor without dimensions, counts only where it is of a higher category.

    Examples
    --------
    >>> weft.result_type(weft.tensor([1, 2]), 1.0)
    weft.float32
    >>> weft.result_type(weft.ones(2, dtype=weft.float16), weft.tensor(1.0))
    weft.float16
    """
    return result_dtype((tensor, other))


@composite()
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that shapes (or sizes) broadcast to.

    Raises
    ------
    RuntimeError
        If two disagree.

    Examples
    --------
    >>> weft.broadcast_shapes((2, 1), (3,))
    weft.Size([2, 3])
    """
    for each in shapes:
        if not (isinstance(each, Sequence) or hasattr(each, "__index__")):
            raise RuntimeError(
                f"broadcast_shapes: Input shapes should be of type ints, a tuple of ints, or a list of ints, got {each}"
            )
    listed = [tuple(each) if isinstance(each, Sequence) else (each,) for each in shapes]
    for shape in listed:
        if any(size < 0 for size in shape):
            raise ValueError(
                f"broadcast_shapes: Attempting to broadcast a dimension with negative length: {list(shape)}"
            )
    return Size(_geometry.broadcast_shapes("broadcast_shapes", listed))


def _never(self: TensorBase) -> bool:
    """False: there are no tensors of this kind."""
    return False


for _kind in "sparse sparse_csr quantized nested mkldnn mps mtia maia xpu xla ipu vulkan".split():
    setattr(Tensor, f"is_{_kind}", property(_never))
