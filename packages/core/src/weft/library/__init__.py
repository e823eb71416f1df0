"""Ops and layers of your own, made as weft makes its own: see docs/adding-an-op.md.

`pointwise`, `op` and `composite` are what core's families are written with. `custom_op` makes an op of a function of
tensors, with PyTorch's interface; an `Interceptor` sees each op that runs. Beside these names are modules, by subject:

================ =======================================================================
`declare`        decorators of ops, and what they are composed with
`formulas`       elementwise ops as functions of one element
`checks`         dims, shapes, numbers and warnings, in PyTorch's words
`layouts`        how arrays lie in memory
`fast_paths`     straight to the kernel for common call forms
`interceptors`   what sees ops, and ops that are steps over lists
`multi_tensor`   an optimizer's formula, run over lists of parameters
`resampling`     weights by which elements are summed to a result of another size
`kernels`        wraps the kernels of ops while a program runs
`subclasses`     subclasses of `Tensor`
`torch_dispatch` what modes of ``__torch_dispatch__`` are shown of an op
`state`          what is going on in this thread: gradients, transforms, autocast, profiler
================ =======================================================================
"""

from weft.library.checks import wrap_dim
from weft.library.custom_ops import CustomOpDef, custom_op
from weft.library.declare import composite, op, pointwise
from weft.library.interceptors import Interceptor, get_op

__all__ = ["CustomOpDef", "Interceptor", "composite", "custom_op", "get_op", "op", "pointwise", "wrap_dim"]
