"""Older names of `weft.library`'s functions, by which torchvision registers what its operators return on ``meta``."""

from weft.library import custom_op as custom_op
from weft.library import get_ctx as get_ctx
from weft.library import impl_abstract as impl_abstract

__all__ = ["custom_op", "get_ctx", "impl_abstract"]
