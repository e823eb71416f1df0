"""Ops and layers of your own, made as weft makes its own: see docs/adding-an-op.md.

`pointwise`, `op` and `composite` are what core's families are written with; an `Interceptor` sees each op that runs.
With PyTorch's interface, `custom_op` makes an operator of a function of tensors, and `Library`, `define`, `impl` and
the functions that register gradients, fakes and batches make one of a schema. Beside these are modules, by subject:

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
`packages`       packages whose names are found when they are first asked for
`state`          what is going on in this thread: gradients, transforms, autocast, profiler
================ =======================================================================
"""

from typing import TYPE_CHECKING

from weft.library.checks import wrap_dim
from weft.library.declare import composite, op, pointwise
from weft.library.interceptors import Interceptor, get_op
from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.library._infer_schema import infer_schema
    from weft.library._libraries import (
        Library,
        define,
        fallthrough_kernel,
        get_ctx,
        get_kernel,
        impl,
        impl_abstract,
        register_autocast,
        register_autograd,
        register_fake,
        register_kernel,
        register_torch_dispatch,
        register_vmap,
        triton_op,
        wrap_triton,
    )
    from weft.library._opcheck import opcheck
    from weft.library._tags import Tag
    from weft.library.custom_ops import CustomOpDef, custom_op

__all__ = [
    "CustomOpDef",
    "Interceptor",
    "Library",
    "Tag",
    "composite",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "get_op",
    "impl",
    "impl_abstract",
    "infer_schema",
    "op",
    "opcheck",
    "pointwise",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_dim",
    "wrap_triton",
]

# What is imported when it is first asked for: the ops of core and nn are made without it.
HOMES = {
    "_infer_schema": "infer_schema",
    "_libraries": """
Library _scoped_library define fallthrough_kernel get_ctx get_kernel impl impl_abstract register_autocast
register_autograd register_fake register_kernel register_torch_dispatch register_vmap triton_op wrap_triton
""",
    "_opcheck": "opcheck",
    "_tags": "Tag",
    "custom_ops": "CustomOpDef custom_op",
}

if not TYPE_CHECKING:
    lazy_package(__name__, HOMES)
