"""What ``import weft`` offers: the one list that the namespace and the editors read."""

import weft.autograd as autograd
from weft._devices import device, get_default_device, set_default_device
from weft._dtypes import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from weft._dtypes import (
    bool_ as bool,
)
from weft._size import Size
from weft._tensor import Tensor
from weft.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from weft.ops.creation import *
from weft.ops.creation import tensor
from weft.ops.pointwise import *
from weft.ops.reductions import *
from weft.ops.views import *
