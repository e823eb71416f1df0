"""Function transforms: derivatives of functions, and functions of one example mapped over batches. They compose."""

from weft.func._forward import hessian as hessian
from weft.func._forward import jacfwd as jacfwd
from weft.func._forward import jvp as jvp
from weft.func._forward import linearize as linearize
from weft.func._modules import functional_call as functional_call
from weft.func._modules import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from weft.func._modules import replaced_tensors as replaced_tensors
from weft.func._modules import stack_module_state as stack_module_state
from weft.func._reverse import grad as grad
from weft.func._reverse import grad_and_value as grad_and_value
from weft.func._reverse import jacrev as jacrev
from weft.func._reverse import vjp as vjp
from weft.func._unwrapping import debug_unwrap as debug_unwrap
from weft.func._unwrapping import functionalize as functionalize
from weft.func._vmap import vmap as vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
