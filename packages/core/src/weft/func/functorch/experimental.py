"""What functorch has under ``functorch.experimental``."""

from weft.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_
from weft.func._vmap import chunk_vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
