"""Subclasses of `Tensor`: made of a tensor, printed, and with ``__torch_function__`` out of the way.

``__torch_function__ = classmethod(disabled_torch_function)`` makes a class whose tensors are plain ones to all ops, as
`weft.nn.Parameter` is. ``display_name.name`` is what weft calls itself in what it prints, ``"torch"`` under `weft run`.
"""

from weft import _display_name as display_name
from weft._interception.torch_function import unmasked
from weft._tensor.base import disabled_torch_function
from weft._tensor.printing import tensor_repr
from weft._tensor.subclasses import as_subclass

__all__ = ["as_subclass", "disabled_torch_function", "display_name", "tensor_repr", "unmasked"]
