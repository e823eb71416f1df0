"""What ``import weft`` offers: the one list that the namespace and the editors read."""

from math import e, inf, nan, pi

import weft._tensor.elementwise
import weft._tensor.layout_methods
import weft._tensor.legacy
import weft._tensor.memory  # puts methods on Tensor, as the ops do
import weft.autograd as autograd
from weft._devices.cpu_threads import get_num_interop_threads, get_num_threads, set_num_interop_threads, set_num_threads
from weft._devices.devices import device, get_default_device, set_default_device
from weft._dtypes.dtypes import ALIASES as _ALIASES
from weft._dtypes.dtypes import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    dtype,
    finfo,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
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
from weft._dtypes.dtypes import (
    bool_ as bool,
)
from weft._tensor.base import Tensor
from weft._tensor.interop import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, tensor
from weft._tensor.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    legacy_contiguous_format,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from weft._tensor.printing import get_printoptions, printoptions, set_printoptions
from weft._tensor.size import Size
from weft.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from weft.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from weft.ops._families import functions
from weft.random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from weft.storage import TypedStorage, UntypedStorage, is_storage

newaxis = None
globals().update(functions() | _ALIASES)  # after which this module's own `float` and `int` are dtypes
