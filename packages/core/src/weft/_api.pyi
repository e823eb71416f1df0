"""What ``import weft`` offers. Made by scripts/make_stubs.py (./dev lint --fix), not by hand."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import Literal
from typing import overload as _overload
from weft import return_types as _return_types
from weft.types import DType
from weft.types import Device
from weft.types import Layout
from weft.types import MemoryFormat
from weft.types import Number
from weft.types import Scalar

import weft.accelerator as accelerator
import weft.amp as amp
import weft.array_api as array_api
import weft.autograd as autograd
import weft.backend as backend
import weft.backends as backends
import weft.compiler as compiler
import weft.cpu as cpu
import weft.cuda as cuda
import weft.distributed as distributed
import weft.distributions as distributions
import weft.export as export
import weft.fft as fft
import weft.func as func
import weft.functional as functional
import weft.futures as futures
import weft.fx as fx
import weft.hub as hub
import weft.jit as jit
import weft.library as library
import weft.linalg as linalg
import weft.masked as masked
import weft.mps as mps
import weft.multiprocessing as multiprocessing
import weft.nested as nested
import weft.nn as nn
import weft.onnx as onnx
import weft.ops as ops
import weft.optim as optim
import weft.overrides as overrides
import weft.plugins as plugins
import weft.profiler as profiler
import weft.quasirandom as quasirandom
import weft.random as random
import weft.return_types as return_types
import weft.serialization as serialization
import weft.signal as signal
import weft.sparse as sparse
import weft.special as special
import weft.storage as storage
import weft.testing as testing
import weft.text as text
import weft.torch_version as torch_version
import weft.types as types
import weft.utils as utils
import weft.version as version
import weft.vision as vision
import weft.xpu as xpu
from weft.random import Generator as Generator
from weft._tensor.size import Size as Size
from weft._tensor.base import Tensor as Tensor
from weft.storage import TypedStorage as TypedStorage
from weft.storage import UntypedStorage as UntypedStorage
from weft._tensor.interop import as_tensor as as_tensor
from weft._tensor.interop import asarray as asarray
from weft._dtypes.dtypes import can_cast as can_cast
from weft._devices.devices import device as device
from weft._dtypes.dtypes import dtype as dtype
from weft.autograd.grad_mode import enable_grad as enable_grad
from weft._dtypes.dtypes import finfo as finfo
from weft._tensor.interop import from_dlpack as from_dlpack
from weft._tensor.interop import from_numpy as from_numpy
from weft._tensor.interop import frombuffer as frombuffer
from weft._devices.devices import get_default_device as get_default_device
from weft._dtypes.dtypes import get_default_dtype as get_default_dtype
from weft._devices.cpu_threads import get_num_interop_threads as get_num_interop_threads
from weft._devices.cpu_threads import get_num_threads as get_num_threads
from weft._tensor.printing import get_printoptions as get_printoptions
from weft.random import get_rng_state as get_rng_state
from weft._dtypes.dtypes import iinfo as iinfo
from weft.autograd.grad_mode import inference_mode as inference_mode
from weft.random import initial_seed as initial_seed
from weft.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from weft.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from weft.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from weft.autograd.grad_mode import is_inference as is_inference
from weft.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from weft.storage import is_storage as is_storage
from weft._tensor.layout import layout as layout
from weft.random import manual_seed as manual_seed
from weft._tensor.layout import memory_format as memory_format
from weft.autograd.grad_mode import no_grad as no_grad
from weft._tensor.printing import printoptions as printoptions
from weft._dtypes.dtypes import promote_types as promote_types
from weft.random import seed as seed
from weft.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from weft._devices.devices import set_default_device as set_default_device
from weft._dtypes.dtypes import set_default_dtype as set_default_dtype
from weft.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from weft._devices.cpu_threads import set_num_interop_threads as set_num_interop_threads
from weft._devices.cpu_threads import set_num_threads as set_num_threads
from weft._tensor.printing import set_printoptions as set_printoptions
from weft.random import set_rng_state as set_rng_state
from weft._tensor.interop import tensor as tensor
from weft.ao.fake_quantize import fake_quantize_per_channel_affine as fake_quantize_per_channel_affine
from weft.ao.fake_quantize import fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine
from weft.nn.compiled import ScriptModule as ScriptModule
from weft.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from weft.nn.functional import avg_pool1d as avg_pool1d
from weft.nn.functional import bilinear as bilinear
from weft.nn.functional import celu_ as celu_
from weft.nn.functional import channel_shuffle as channel_shuffle
from weft.nn.functional import conv1d as conv1d
from weft.nn.functional import conv2d as conv2d
from weft.nn.functional import conv3d as conv3d
from weft.nn.functional import conv_tbc as conv_tbc
from weft.nn.functional import conv_transpose1d as conv_transpose1d
from weft.nn.functional import conv_transpose2d as conv_transpose2d
from weft.nn.functional import conv_transpose3d as conv_transpose3d
from weft.nn.functional import hardshrink as hardshrink
from weft.nn.functional import max_pool1d as max_pool1d
from weft.nn.functional import max_pool1d_with_indices as max_pool1d_with_indices
from weft.nn.functional import max_pool2d as max_pool2d
from weft.nn.functional import max_pool3d as max_pool3d
from weft.nn.functional import native_channel_shuffle as native_channel_shuffle
from weft.nn.functional import pixel_shuffle as pixel_shuffle
from weft.nn.functional import pixel_unshuffle as pixel_unshuffle
from weft.nn.functional import prelu as prelu
from weft.nn.functional import rms_norm as rms_norm
from weft.nn.functional import selu_ as selu_
from weft.nn.toplevel import _grid_sampler_2d_cpu_fallback as _grid_sampler_2d_cpu_fallback
from weft.nn.toplevel import _native_batch_norm_legit as _native_batch_norm_legit
from weft.nn.toplevel import adaptive_max_pool1d as adaptive_max_pool1d
from weft.nn.toplevel import affine_grid_generator as affine_grid_generator
from weft.nn.toplevel import alpha_dropout as alpha_dropout
from weft.nn.toplevel import alpha_dropout_ as alpha_dropout_
from weft.nn.toplevel import batch_norm as batch_norm
from weft.nn.toplevel import batch_norm_update_stats as batch_norm_update_stats
from weft.nn.toplevel import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from weft.nn.toplevel import celu as celu
from weft.nn.toplevel import convolution as convolution
from weft.nn.toplevel import cosine_embedding_loss as cosine_embedding_loss
from weft.nn.toplevel import ctc_loss as ctc_loss
from weft.nn.toplevel import dropout as dropout
from weft.nn.toplevel import dropout_ as dropout_
from weft.nn.toplevel import embedding as embedding
from weft.nn.toplevel import embedding_bag as embedding_bag
from weft.nn.toplevel import embedding_renorm_ as embedding_renorm_
from weft.nn.toplevel import feature_alpha_dropout as feature_alpha_dropout
from weft.nn.toplevel import feature_alpha_dropout_ as feature_alpha_dropout_
from weft.nn.toplevel import feature_dropout as feature_dropout
from weft.nn.toplevel import feature_dropout_ as feature_dropout_
from weft.nn.toplevel import grid_sampler as grid_sampler
from weft.nn.toplevel import grid_sampler_2d as grid_sampler_2d
from weft.nn.toplevel import grid_sampler_3d as grid_sampler_3d
from weft.nn.toplevel import group_norm as group_norm
from weft.nn.toplevel import gru as gru
from weft.nn.toplevel import gru_cell as gru_cell
from weft.nn.toplevel import hinge_embedding_loss as hinge_embedding_loss
from weft.nn.toplevel import instance_norm as instance_norm
from weft.nn.toplevel import kl_div as kl_div
from weft.nn.toplevel import layer_norm as layer_norm
from weft.nn.toplevel import lstm as lstm
from weft.nn.toplevel import lstm_cell as lstm_cell
from weft.nn.toplevel import margin_ranking_loss as margin_ranking_loss
from weft.nn.toplevel import native_batch_norm as native_batch_norm
from weft.nn.toplevel import native_dropout as native_dropout
from weft.nn.toplevel import native_group_norm as native_group_norm
from weft.nn.toplevel import native_layer_norm as native_layer_norm
from weft.nn.toplevel import poisson_nll_loss as poisson_nll_loss
from weft.nn.toplevel import rnn_relu as rnn_relu
from weft.nn.toplevel import rnn_relu_cell as rnn_relu_cell
from weft.nn.toplevel import rnn_tanh as rnn_tanh
from weft.nn.toplevel import rnn_tanh_cell as rnn_tanh_cell
from weft.nn.toplevel import rrelu as rrelu
from weft.nn.toplevel import rrelu_ as rrelu_
from weft.nn.toplevel import selu as selu
from weft.nn.toplevel import threshold as threshold
from weft.nn.toplevel import threshold_ as threshold_
from weft.nn.toplevel import triplet_margin_loss as triplet_margin_loss
from weft.nn.functional._aten_functions import _masked_softmax as _masked_softmax
from weft.nn.functional._aten_functions import _scaled_dot_product_attention_math as _scaled_dot_product_attention_math
from weft.nn.functional.quantized import _int_conv1d as _int_conv1d
from weft.nn.functional.quantized import _int_conv2d as _int_conv2d
from weft.nn.functional.quantized import _int_conv3d as _int_conv3d
from weft._tensor.legacy_types import Storage as Storage
from weft._tensor.legacy_types import set_default_tensor_type as set_default_tensor_type
from weft._tensor.legacy_types import typename as typename
from weft._devices.devices import DeviceObjType as DeviceObjType
from weft._dtypes.named import chalf as chalf
from weft._dtypes.named import complex32 as complex32
from weft._dtypes.named import per_channel_affine as per_channel_affine
from weft._dtypes.named import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from weft._dtypes.named import per_channel_symmetric as per_channel_symmetric
from weft._dtypes.named import per_tensor_affine as per_tensor_affine
from weft._dtypes.named import per_tensor_symmetric as per_tensor_symmetric
from weft._dtypes.named import qint32 as qint32
from weft._dtypes.named import qint8 as qint8
from weft._dtypes.named import qscheme as qscheme
from weft._dtypes.named import quint2x4 as quint2x4
from weft._dtypes.named import quint4x2 as quint4x2
from weft._dtypes.named import quint8 as quint8
from weft._tensor.quantized import dequantize as dequantize
from weft._tensor.quantized import int_repr as int_repr
from weft._tensor.quantized import q_scale as q_scale
from weft._tensor.quantized import q_zero_point as q_zero_point
from weft._tensor.quantized import quantize_per_tensor as quantize_per_tensor
from weft._settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from weft._settings import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from weft._settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from weft._settings import get_device_module as get_device_module
from weft._settings import get_file_path as get_file_path
from weft._settings import get_float32_matmul_precision as get_float32_matmul_precision
from weft._settings import has_lapack as has_lapack
from weft._settings import has_mkl as has_mkl
from weft._settings import has_openmp as has_openmp
from weft._settings import has_spectral as has_spectral
from weft._settings import init_num_threads as init_num_threads
from weft._settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from weft._settings import is_distributed as is_distributed
from weft._settings import is_vulkan_available as is_vulkan_available
from weft._settings import is_warn_always_enabled as is_warn_always_enabled
from weft._settings import prepare_multiprocessing_environment as prepare_multiprocessing_environment
from weft._settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from weft._settings import set_float32_matmul_precision as set_float32_matmul_precision
from weft._settings import set_flush_denormal as set_flush_denormal
from weft._settings import set_warn_always as set_warn_always
from weft._settings import use_deterministic_algorithms as use_deterministic_algorithms
from weft._as_torch.switch import as_torch as as_torch
from weft._C import TensorType as TensorType
from weft._compile import _disable_dynamo as _disable_dynamo
from weft._control_flow import cond as cond
from weft._control_flow import while_loop as while_loop
from weft._checks import _assert as _assert
from weft._checks import _assert_async as _assert_async
from weft._checks import _check as _check
from weft._checks import _check_index as _check_index
from weft._checks import _check_is_size as _check_is_size
from weft._checks import _check_not_implemented as _check_not_implemented
from weft._checks import _check_tensor_all as _check_tensor_all
from weft._checks import _check_tensor_all_with as _check_tensor_all_with
from weft._checks import _check_type as _check_type
from weft._checks import _check_value as _check_value
from weft._checks import _check_with as _check_with
from weft.compiler import compile as compile
from weft.ops._aten_functions import _log_softmax as _log_softmax
from weft.ops._aten_functions import _softmax as _softmax
from weft.nested._construction import _nested_tensor_from_mask as _nested_tensor_from_mask
from weft.ops.indexing import _unsafe_masked_index as _unsafe_masked_index
from weft.ops.indexing import _unsafe_masked_index_put_accumulate as _unsafe_masked_index_put_accumulate
from weft.ops.joining import _chunk_cat as _chunk_cat
from weft.ops.matrices import _int_mm as _int_mm
from weft.ops.queries import _shape_as_tensor as _shape_as_tensor
from weft.ops.reparametrized import _dirichlet_grad as _dirichlet_grad
from weft.ops.reparametrized import _sample_dirichlet as _sample_dirichlet
from weft.ops.reparametrized import _standard_gamma as _standard_gamma
from weft.ops.reparametrized import _standard_gamma_grad as _standard_gamma_grad
from weft.ops._scaled_products import _scaled_mm as _scaled_mm
from weft.ops._scaled_products import _scaled_mm_v2 as _scaled_mm_v2
from weft.ops.segments import _segment_reduce as _segment_reduce
from weft.ops.softmax import _safe_softmax as _safe_softmax
from weft.ops.softmax import _softmax_backward_data as _softmax_backward_data
from weft.ops.views import _conj as _conj
from weft.ops.views import _conj_physical as _conj_physical
from weft.ops.views import _neg_view as _neg_view
from weft._errors import AcceleratorError as AcceleratorError
from weft._errors import OutOfMemoryError as OutOfMemoryError
from weft._tensor.mapped_files import from_file as from_file
from weft._devices.streams import Event as Event
from weft._devices.streams import Stream as Stream
from weft.func import vmap as vmap
from weft.futures import Future as Future
from weft.serialization._file_reader import PyTorchFileReader as PyTorchFileReader
from weft.library._tags import Tag as Tag
from weft.serialization import load as load
from weft.serialization import save as save
from weft.amp import GradScaler as GradScaler
from weft.amp import autocast as autocast
from weft.amp._scaling import _amp_foreach_non_finite_check_and_unscale_ as _amp_foreach_non_finite_check_and_unscale_
from weft.amp._scaling import _amp_update_scale_ as _amp_update_scale_
from weft.amp._autocast import clear_autocast_cache as clear_autocast_cache
from weft.amp._autocast import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from weft.amp._autocast import get_autocast_dtype as get_autocast_dtype
from weft.amp._autocast import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from weft.amp._autocast import is_autocast_cache_enabled as is_autocast_cache_enabled
from weft.amp._autocast import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from weft.amp._autocast import is_autocast_enabled as is_autocast_enabled
from weft.amp._autocast import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from weft.amp._autocast import set_autocast_dtype as set_autocast_dtype
from weft.amp._autocast import set_autocast_enabled as set_autocast_enabled
from weft.amp._autocast import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from weft.overrides import DisableTorchFunction as DisableTorchFunction
from weft.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from weft.sparse._tensor import sparse_coo_tensor as sparse_coo_tensor
from weft.sparse._compressed import sparse_bsc_tensor as sparse_bsc_tensor
from weft.sparse._compressed import sparse_bsr_tensor as sparse_bsr_tensor
from weft.sparse._compressed import sparse_compressed_tensor as sparse_compressed_tensor
from weft.sparse._compressed import sparse_csc_tensor as sparse_csc_tensor
from weft.sparse._compressed import sparse_csr_tensor as sparse_csr_tensor
from weft.sparse._conversions import _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr
from weft.sparse._conversions import _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo
from weft.sparse._products import dsmm as dsmm
from weft.sparse._products import hspmm as hspmm
from weft.sparse._products import smm as smm
from weft.sparse._products import spmm as spmm
from weft.sparse._products import sspaddmm as sspaddmm
from weft._removed import eig as eig
from weft._removed import lstsq as lstsq
from weft._removed import matrix_rank as matrix_rank
from weft._removed import solve as solve
from weft._removed import symeig as symeig
from weft.utils.dlpack import to_dlpack as to_dlpack
from weft.storage import StorageBase as StorageBase
from weft._symbolic import SymBool as SymBool
from weft._symbolic import SymFloat as SymFloat
from weft._symbolic import SymInt as SymInt
from weft._symbolic import sym_constrain_range as sym_constrain_range
from weft._symbolic import sym_constrain_range_for_size as sym_constrain_range_for_size
from weft._symbolic import sym_float as sym_float
from weft._symbolic import sym_fresh_size as sym_fresh_size
from weft._symbolic import sym_int as sym_int
from weft._symbolic import sym_ite as sym_ite
from weft._symbolic import sym_max as sym_max
from weft._symbolic import sym_min as sym_min
from weft._symbolic import sym_not as sym_not
from weft._symbolic import sym_sqrt as sym_sqrt
from weft._symbolic import sym_sum as sym_sum
from weft._dtypes.dtypes import dtype as _dtype

bfloat16: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
channels_last: memory_format
channels_last_3d: memory_format
complex128: _dtype
complex64: _dtype
contiguous_format: memory_format
default_generator: Generator
double: _dtype
e: Any
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
inf: Any
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
jagged: layout
legacy_contiguous_format: memory_format
long: _dtype
nan: Any
newaxis: Any
pi: Any
preserve_format: memory_format
short: _dtype
sparse_bsc: layout
sparse_bsr: layout
sparse_coo: layout
sparse_csc: layout
sparse_csr: layout
strided: layout
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
BFloat16Storage: Any
BFloat16Tensor: Any
BoolStorage: Any
BoolTensor: Any
ByteStorage: Any
ByteTensor: Any
CharStorage: Any
CharTensor: Any
ComplexDoubleStorage: Any
ComplexFloatStorage: Any
DoubleStorage: Any
DoubleTensor: Any
FloatStorage: Any
FloatTensor: Any
HalfStorage: Any
HalfTensor: Any
IntStorage: Any
IntTensor: Any
LongStorage: Any
LongTensor: Any
ShortStorage: Any
ShortTensor: Any

def _foreach_abs(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.abs` of each tensor, as a tuple."""

def _foreach_abs_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.abs` of each tensor, in place."""

def _foreach_acos(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.acos` of each tensor, as a tuple."""

def _foreach_acos_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.acos` of each tensor, in place."""

def _foreach_add(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """`weft.add` of each tensor with ``other``, a list of tensors or numbers, or one value for all; as a tuple."""

def _foreach_add_(self: Sequence[Tensor], other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> Sequence[Tensor]:
    """`weft.add` of each tensor with ``other``, a list of tensors or numbers, or one value for all; in place."""

def _foreach_addcdiv(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: Scalar | Sequence[Scalar] | Tensor = 1, scalars: Sequence[Scalar] | Tensor | None = None) -> tuple[Tensor, ...]:
    """`weft.addcdiv` of each tensor with two lists and factors, as a tuple."""

def _foreach_addcdiv_(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: Scalar | Sequence[Scalar] | Tensor = 1, scalars: Sequence[Scalar] | Tensor | None = None) -> Sequence[Tensor]:
    """`weft.addcdiv` of each tensor with two lists and factors, in place."""

def _foreach_addcmul(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: Scalar | Sequence[Scalar] | Tensor = 1, scalars: Sequence[Scalar] | Tensor | None = None) -> tuple[Tensor, ...]:
    """`weft.addcmul` of each tensor with two lists and factors, as a tuple."""

def _foreach_addcmul_(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: Scalar | Sequence[Scalar] | Tensor = 1, scalars: Sequence[Scalar] | Tensor | None = None) -> Sequence[Tensor]:
    """`weft.addcmul` of each tensor with two lists and factors, in place."""

def _foreach_asin(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.asin` of each tensor, as a tuple."""

def _foreach_asin_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.asin` of each tensor, in place."""

def _foreach_atan(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.atan` of each tensor, as a tuple."""

def _foreach_atan_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.atan` of each tensor, in place."""

def _foreach_ceil(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.ceil` of each tensor, as a tuple."""

def _foreach_ceil_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.ceil` of each tensor, in place."""

def _foreach_clamp_max(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """`weft.clamp_max` of each tensor with ``other``, a list of tensors or numbers, or one value for all; as a tuple."""

def _foreach_clamp_max_(self: Sequence[Tensor], other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> Sequence[Tensor]:
    """`weft.clamp_max` of each tensor with ``other``, a list of tensors or numbers, or one value for all; in place."""

def _foreach_clamp_min(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """`weft.clamp_min` of each tensor with ``other``, a list of tensors or numbers, or one value for all; as a tuple."""

def _foreach_clamp_min_(self: Sequence[Tensor], other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> Sequence[Tensor]:
    """`weft.clamp_min` of each tensor with ``other``, a list of tensors or numbers, or one value for all; in place."""

def _foreach_clone(self: Sequence[Tensor], *, memory_format: MemoryFormat | None = None) -> tuple[Tensor, ...]:
    """A copy of each tensor, as a tuple."""

def _foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: _bool = False) -> Sequence[Tensor]:
    """Copy each of the tensors ``src`` into its tensor."""

def _foreach_cos(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.cos` of each tensor, as a tuple."""

def _foreach_cos_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.cos` of each tensor, in place."""

def _foreach_cosh(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.cosh` of each tensor, as a tuple."""

def _foreach_cosh_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.cosh` of each tensor, in place."""

def _foreach_div(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """`weft.div` of each tensor with ``other``, a list of tensors or numbers, or one value for all; as a tuple."""

def _foreach_div_(self: Sequence[Tensor], other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> Sequence[Tensor]:
    """`weft.div` of each tensor with ``other``, a list of tensors or numbers, or one value for all; in place."""

def _foreach_erf(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.erf` of each tensor, as a tuple."""

def _foreach_erf_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.erf` of each tensor, in place."""

def _foreach_erfc(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.erfc` of each tensor, as a tuple."""

def _foreach_erfc_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.erfc` of each tensor, in place."""

def _foreach_exp(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.exp` of each tensor, as a tuple."""

def _foreach_exp_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.exp` of each tensor, in place."""

def _foreach_expm1(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.expm1` of each tensor, as a tuple."""

def _foreach_expm1_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.expm1` of each tensor, in place."""

def _foreach_floor(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.floor` of each tensor, as a tuple."""

def _foreach_floor_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.floor` of each tensor, in place."""

def _foreach_frac(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.frac` of each tensor, as a tuple."""

def _foreach_frac_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.frac` of each tensor, in place."""

def _foreach_lerp(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Scalar | Sequence[Scalar] | Sequence[Tensor] | None = None, weights: Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """`weft.lerp` from each tensor to another, by a number, numbers or tensors; as a tuple."""

def _foreach_lerp_(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Scalar | Sequence[Scalar] | Sequence[Tensor] | None = None, weights: Sequence[Tensor] | None = None) -> Sequence[Tensor]:
    """`weft.lerp` from each tensor to another, by a number, numbers or tensors; in place."""

def _foreach_lgamma(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.lgamma` of each tensor, as a tuple."""

def _foreach_lgamma_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.lgamma` of each tensor, in place."""

def _foreach_log(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.log` of each tensor, as a tuple."""

def _foreach_log10(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.log10` of each tensor, as a tuple."""

def _foreach_log10_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.log10` of each tensor, in place."""

def _foreach_log1p(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.log1p` of each tensor, as a tuple."""

def _foreach_log1p_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.log1p` of each tensor, in place."""

def _foreach_log2(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.log2` of each tensor, as a tuple."""

def _foreach_log2_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.log2` of each tensor, in place."""

def _foreach_log_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.log` of each tensor, in place."""

def _foreach_max(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The largest element of each tensor, as a tuple."""

def _foreach_maximum(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """`weft.maximum` of each tensor with ``other``, a list of tensors or numbers, or one value for all; as a tuple."""

def _foreach_maximum_(self: Sequence[Tensor], other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> Sequence[Tensor]:
    """`weft.maximum` of each tensor with ``other``, a list of tensors or numbers, or one value for all; in place."""

def _foreach_minimum(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """`weft.minimum` of each tensor with ``other``, a list of tensors or numbers, or one value for all; as a tuple."""

def _foreach_minimum_(self: Sequence[Tensor], other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> Sequence[Tensor]:
    """`weft.minimum` of each tensor with ``other``, a list of tensors or numbers, or one value for all; in place."""

def _foreach_mm(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """The product of each matrix with its other, as a tuple."""

def _foreach_mul(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """`weft.mul` of each tensor with ``other``, a list of tensors or numbers, or one value for all; as a tuple."""

def _foreach_mul_(self: Sequence[Tensor], other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> Sequence[Tensor]:
    """`weft.mul` of each tensor with ``other``, a list of tensors or numbers, or one value for all; in place."""

def _foreach_neg(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.neg` of each tensor, as a tuple."""

def _foreach_neg_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.neg` of each tensor, in place."""

def _foreach_norm(self: Sequence[Tensor], ord: Number = 2, dtype: DType | None = None) -> tuple[Tensor, ...]:
    """The norm of the elements of each tensor, as a tuple."""

def _foreach_pow(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """`weft.pow` of each tensor with ``other``, a list of tensors or numbers, or one value for all; as a tuple."""

def _foreach_pow_(self: Sequence[Tensor], other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> Sequence[Tensor]:
    """`weft.pow` of each tensor with ``other``, a list of tensors or numbers, or one value for all; in place."""

def _foreach_powsum(self: Sequence[Tensor], ord: Number = 2, dtype: DType | None = None) -> tuple[Tensor, ...]:
    """The sum of the elements' absolute values to the power ``ord``, as a tuple."""

def _foreach_reciprocal(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.reciprocal` of each tensor, as a tuple."""

def _foreach_reciprocal_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.reciprocal` of each tensor, in place."""

def _foreach_round(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.round` of each tensor, as a tuple."""

def _foreach_round_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.round` of each tensor, in place."""

def _foreach_rsqrt(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.rsqrt` of each tensor, as a tuple."""

def _foreach_rsqrt_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.rsqrt` of each tensor, in place."""

def _foreach_sigmoid(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.sigmoid` of each tensor, as a tuple."""

def _foreach_sigmoid_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.sigmoid` of each tensor, in place."""

def _foreach_sign(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.sign` of each tensor, as a tuple."""

def _foreach_sign_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.sign` of each tensor, in place."""

def _foreach_sin(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.sin` of each tensor, as a tuple."""

def _foreach_sin_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.sin` of each tensor, in place."""

def _foreach_sinh(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.sinh` of each tensor, as a tuple."""

def _foreach_sinh_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.sinh` of each tensor, in place."""

def _foreach_sqrt(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.sqrt` of each tensor, as a tuple."""

def _foreach_sqrt_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.sqrt` of each tensor, in place."""

def _foreach_sub(self: Sequence[Tensor] | Scalar, other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> tuple[Tensor, ...]:
    """`weft.sub` of each tensor with ``other``, a list of tensors or numbers, or one value for all; as a tuple."""

def _foreach_sub_(self: Sequence[Tensor], other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None, *, alpha: Scalar = 1, **given: Any) -> Sequence[Tensor]:
    """`weft.sub` of each tensor with ``other``, a list of tensors or numbers, or one value for all; in place."""

def _foreach_tan(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.tan` of each tensor, as a tuple."""

def _foreach_tan_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.tan` of each tensor, in place."""

def _foreach_tanh(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.tanh` of each tensor, as a tuple."""

def _foreach_tanh_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.tanh` of each tensor, in place."""

def _foreach_trunc(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`weft.trunc` of each tensor, as a tuple."""

def _foreach_trunc_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """`weft.trunc` of each tensor, in place."""

def _foreach_zero_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """Fill each tensor with 0."""

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element; real for complex input."""

def abs_(input: Tensor) -> Tensor:
    """In-place variant of `weft.abs`: writes into ``self`` and returns it."""

def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element; real for complex input."""

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose cosine is each element, in radians."""

def acos_(input: Tensor) -> Tensor:
    """In-place variant of `weft.acos`: writes into ``self`` and returns it."""

def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine of each element."""

def acosh_(input: Tensor) -> Tensor:
    """In-place variant of `weft.acosh`: writes into ``self`` and returns it."""

def add(input: Tensor | Scalar, other: Tensor | Scalar, *, alpha: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other``, element by element."""

def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 / tensor2``."""

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 * tensor2``."""

def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``."""

def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""

def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """In-place variant of `weft.addmv`: writes into ``self`` and returns it."""

def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""

def adjoint(input: Tensor) -> Tensor:
    """Return the conjugate transpose of a matrix or a batch of matrices: a view."""

def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`alias`, in new memory."""

def all(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements are true (not 0), over some dimensions or in all."""

def allclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether all elements are close, see `isclose`."""

def amax(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest element over some dimensions, or over all; gradients are shared by equal elements."""

def amin(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest element over some dimensions, or over all; gradients are shared by equal elements."""

def aminmax(input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.aminmax:
    """The smallest and the largest element."""

def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of each element as a complex number: pi for negative real ones."""

def any(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether any element is true (not 0), over some dimensions or in all."""

def arange(start: Number | Tensor = 0, end: Number | Tensor | None = None, step: Number | Tensor = 1, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Count from ``start`` to before ``end`` in steps of ``step``."""

def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose cosine is each element, in radians."""

def arccos_(input: Tensor) -> Tensor:
    """In-place variant of `weft.acos`: writes into ``self`` and returns it."""

def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine of each element."""

def arccosh_(input: Tensor) -> Tensor:
    """In-place variant of `weft.acosh`: writes into ``self`` and returns it."""

def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose sine is each element, in radians."""

def arcsin_(input: Tensor) -> Tensor:
    """In-place variant of `weft.asin`: writes into ``self`` and returns it."""

def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine of each element."""

def arcsinh_(input: Tensor) -> Tensor:
    """In-place variant of `weft.asinh`: writes into ``self`` and returns it."""

def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose tangent is each element, in radians."""

def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input) from the x axis, in radians, in (-pi, pi]."""

def arctan_(input: Tensor) -> Tensor:
    """In-place variant of `weft.atan`: writes into ``self`` and returns it."""

def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent of each element."""

def arctanh_(input: Tensor) -> Tensor:
    """In-place variant of `weft.atanh`: writes into ``self`` and returns it."""

def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The position of the largest element along a dimension, or in the flat tensor."""

def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The position of the smallest element along a dimension, or in the flat tensor."""

def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
    """The positions that put the elements in order along a dimension."""

def argwhere(input: Tensor) -> Tensor:
    """The positions of elements that are not 0, one in a row."""

def as_strided(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """View a tensor's storage with any sizes and strides, counted in elements."""

def as_strided_(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """In-place variant of `weft.as_strided`: writes into ``self`` and returns it."""

def as_strided_copy(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """`as_strided`, in new memory."""

def as_strided_scatter(input: Tensor, src: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """Copy ``input``, with the memory around it, and replace the view that `as_strided` makes."""

def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose sine is each element, in radians."""

def asin_(input: Tensor) -> Tensor:
    """In-place variant of `weft.asin`: writes into ``self`` and returns it."""

def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine of each element."""

def asinh_(input: Tensor) -> Tensor:
    """In-place variant of `weft.asinh`: writes into ``self`` and returns it."""

def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose tangent is each element, in radians."""

def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input) from the x axis, in radians, in (-pi, pi]."""

def atan_(input: Tensor) -> Tensor:
    """In-place variant of `weft.atan`: writes into ``self`` and returns it."""

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent of each element."""

def atanh_(input: Tensor) -> Tensor:
    """In-place variant of `weft.atanh`: writes into ``self`` and returns it."""

@_overload
def atleast_1d(tensor: Tensor, /) -> Tensor:
    """Give tensors without dimensions one dimension."""
@_overload
def atleast_1d(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]:
    """Give tensors without dimensions one dimension."""
@_overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]:
    """Give tensors without dimensions one dimension."""

@_overload
def atleast_2d(tensor: Tensor, /) -> Tensor:
    """Give tensors at least 2 dimensions; new ones are added in front."""
@_overload
def atleast_2d(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]:
    """Give tensors at least 2 dimensions; new ones are added in front."""
@_overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]:
    """Give tensors at least 2 dimensions; new ones are added in front."""

@_overload
def atleast_3d(tensor: Tensor, /) -> Tensor:
    """Give tensors at least 3 dimensions; the third is added behind."""
@_overload
def atleast_3d(first: Tensor, second: Tensor, /, *others: Tensor) -> tuple[Tensor, ...]:
    """Give tensors at least 3 dimensions; the third is added behind."""
@_overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]:
    """Give tensors at least 3 dimensions; the third is added behind."""

def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``."""

def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Bartlett's window, a triangle."""

def bernoulli(input: Tensor, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Draw 1 with the probability that each element of `input` gives, else 0."""

def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of the weights at its places."""

def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw from binomial distributions: the number of successes in `count` trials of probability `prob`."""

def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that are set in both."""

def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``: the bits moved to the left."""

def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All bits flipped; for bool, the other truth value."""

def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that are set in one or both."""

def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input / 2 ** other``, rounded down: the bits moved to the right."""

def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that are set in exactly one."""

def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Blackman's window: ``0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x)``."""

def block_diag(*tensors: Tensor) -> Tensor:
    """Make a block-diagonal matrix of the given matrices."""

def bmm(input: Tensor, mat2: Tensor, *, out_dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The products of two batches of matrices of one batch size."""

def broadcast_shapes(*shapes: _int | Sequence[_int]) -> Size:
    """The shape that shapes (or sizes) broadcast to."""

def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Broadcast tensors to their common shape: views."""

def broadcast_to(input: Tensor, *args: _int | Sequence[_int], size: Sequence[_int] | None = None) -> Tensor:
    """Broadcast a tensor to a shape: a view, as `Tensor.expand` gives it."""

def bucketize(input: Tensor | Number, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """Which interval between sorted boundaries each element lies in."""

def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return the Cartesian product of vectors, one combination of elements in a row."""

def cat(tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along a dimension that they have."""

def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The p-norm distances of each vector of ``x1`` to each of ``x2``."""

def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer not below each element."""

def ceil_(input: Tensor) -> Tensor:
    """In-place variant of `weft.ceil`: writes into ``self`` and returns it."""

def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that needs the fewest multiplications."""

def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The triangular factor L of a positive-definite matrix, ``input = L L^H``; with ``upper=True`` its adjoint."""

def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a matrix A from its Cholesky factor."""

def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution of ``A X = input`` from A's Cholesky factor ``input2``."""

def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into at most ``chunks`` pieces of equal size (the last may be smaller)."""

def clamp(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Each element moved into [min, max]."""

def clamp_(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """In-place variant of `weft.clamp`: writes into ``self`` and returns it."""

def clamp_max(input: Tensor, max: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Each element, but at most ``max``."""

def clamp_max_(input: Tensor, max: Tensor | Number) -> Tensor:
    """In-place variant of `weft.clamp_max`: writes into ``self`` and returns it."""

def clamp_min(input: Tensor, min: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Each element, but at least ``min``."""

def clamp_min_(input: Tensor, min: Tensor | Number) -> Tensor:
    """In-place variant of `weft.clamp_min`: writes into ``self`` and returns it."""

def clip(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Each element moved into [min, max]."""

def clip_(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """In-place variant of `weft.clamp`: writes into ``self`` and returns it."""

def clone(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Copy a tensor; gradients flow through the copy, which is dense in the input's order of dimensions."""

def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate vectors, as columns, and matrices horizontally."""

def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All choices of r elements of a vector, in order, one in a row."""

def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Make complex numbers from their real and imaginary parts."""

def concat(tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along a dimension that they have."""

def concatenate(tensors: Sequence[Tensor], dim: _int = 0, *, axis: _int | None = None, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along a dimension that they have."""

def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate: a view; a real tensor is returned itself."""

def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the complex conjugate in new memory; a real tensor is returned itself."""

def conj_physical_(input: Tensor) -> Tensor:
    """In-place variant of `weft.conj_physical`: writes into ``self`` and returns it."""

def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: Scalar = 0) -> Tensor:
    """Pad a tensor with one value before and behind it, along its last dimensions."""

def copysign(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The size of ``input`` with the sign of ``other``."""

def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables: one in each row, one observation in each column."""

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of each element, in radians."""

def cos_(input: Tensor) -> Tensor:
    """In-place variant of `weft.cos`: writes into ``self`` and returns it."""

def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine of each element."""

def cosh_(input: Tensor) -> Tensor:
    """In-place variant of `weft.cosh`: writes into ``self`` and returns it."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along a dimension: ``sum(x1 * x2) / (norm(x1) * norm(x2))``."""

def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """Count the elements that are not 0, along some dimensions or in all."""

def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of variables: one in each row, one observation in each column."""

def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The vector product in three dimensions."""

def cummax(input: Tensor, dim: _int, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.cummax:
    """The largest element up to each one along a dimension, and where it is."""

def cummin(input: Tensor, dim: _int, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.cummin:
    """The smallest element up to each one along a dimension, and where it is."""

def cumprod(input: Tensor, dim: _int, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The products of all elements up to each one, along a dimension."""

def cumsum(input: Tensor, dim: _int, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The sums of all elements up to each one, along a dimension."""

def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1) -> Tensor:
    """The running integral along a dimension by the trapezoidal rule."""

def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees to radians."""

def deg2rad_(input: Tensor) -> Tensor:
    """In-place variant of `weft.deg2rad`: writes into ``self`` and returns it."""

def det(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of each square matrix of a batch."""

def detach(input: Tensor) -> Tensor:
    """Return a view that autograd takes for a new leaf, which does not require grad."""

def detach_(self: Any) -> Tensor:
    """Forget the history: from here on the tensor is a leaf that does not require grad."""

def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`detach`, in new memory."""

def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Make a matrix with a vector on a diagonal, or return a diagonal of a matrix."""

def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Make matrices with the last dimension of ``input`` on a diagonal and zeros elsewhere."""

def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """Make a matrix with all elements of a tensor on a diagonal."""

def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """Return the diagonal of two dimensions as the last dimension: a view."""

def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """`diagonal`, in new memory."""

def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """Copy ``input`` and replace a diagonal."""

def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The differences of neighbours along a dimension, n times over."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`: nan at the negative integers, infinite at 0."""

def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor:
    """The p-norm of ``input - other``."""

def div(input: Tensor | Scalar, other: Tensor | Scalar, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """The quotient of each pair of elements."""

def divide(input: Tensor | Scalar, other: Tensor | Scalar, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """The quotient of each pair of elements."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors' elements."""

def dsplit(input: Tensor, indices_or_sections: _int | Sequence[_int] | None = None, *, sections: _int | None = None, indices: Sequence[_int] | None = None) -> tuple[Tensor, ...]:
    """Split into equal parts, or before given indices, along the third dimension."""

def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors depthwise, along dimension 2."""

def einsum(equation: str | Tensor, *operands: Tensor | Sequence[Any]) -> Tensor:
    """Sums of products of elements, by Einstein's convention."""

def empty(*size: _int | Sequence[_int], dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, memory_format: MemoryFormat | None = None, out: Tensor | None = None) -> Tensor:
    """Make a tensor without setting its elements."""

def empty_like(input: Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Make a tensor of another's shape, dtype and device, without setting its elements."""

def empty_permuted(size: _int | Sequence[_int], physical_layout: Sequence[_int], *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None) -> Tensor:
    """Make a tensor that is dense in memory in the order of ``physical_layout``, without setting its elements."""

def empty_strided(size: _int | Sequence[_int], stride: _int | Sequence[_int], *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor:
    """Make a tensor with these strides, counted in elements, without setting its elements."""

def eq(input: Tensor, other: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor:
    """Where the elements are equal."""

def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape and elements."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t * t)`` from 0 to each element."""

def erf_(input: Tensor) -> Tensor:
    """In-place variant of `weft.erf`: writes into ``self`` and returns it."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(x)``, without loss of precision for large x."""

def erfc_(input: Tensor) -> Tensor:
    """In-place variant of `weft.erfc`: writes into ``self`` and returns it."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose `erf` is the element; infinite at -1 and 1, nan outside."""

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of each element."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 raised to the power of each element."""

def exp2_(input: Tensor) -> Tensor:
    """In-place variant of `weft.exp2`: writes into ``self`` and returns it."""

def exp_(input: Tensor) -> Tensor:
    """In-place variant of `weft.exp`: writes into ``self`` and returns it."""

def expand(input: Tensor, *args: _int | Sequence[_int], size: Sequence[_int] | None = None, implicit: _bool = False) -> Tensor:
    """Repeat dimensions of size 1 without copying: a view; -1 leaves a size as it is."""

def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Expand a tensor to the shape of another, see `Tensor.expand`."""

def expand_copy(input: Tensor, *args: _int | Sequence[_int], size: Sequence[_int] | None = None, implicit: _bool = False, out: Tensor | None = None) -> Tensor:
    """`expand`, in new memory."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of each element, minus 1, exact near 0."""

def expm1_(input: Tensor) -> Tensor:
    """In-place variant of `weft.expm1`: writes into ``self`` and returns it."""

def eye(n: _int, m: _int | None = None, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Make a matrix with ones on the diagonal and zeros elsewhere."""

def fill(input: Tensor, value: Scalar | Tensor) -> Tensor:
    """Make a tensor like ``input`` filled with one value."""

def fill_(input: Tensor, value: Scalar | Tensor) -> Tensor:
    """In-place variant of `weft.fill`: writes into ``self`` and returns it."""

def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction."""

def fix_(input: Tensor) -> Tensor:
    """In-place variant of `weft.trunc`: writes into ``self`` and returns it."""

def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Merge the dimensions from ``start_dim`` to ``end_dim`` into one."""

def flip(input: Tensor, *args: _int | Sequence[_int], dims: Sequence[_int] | None = None) -> Tensor:
    """Reverse the order of elements along some dimensions: a copy."""

def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of the columns."""

def flipud(input: Tensor) -> Tensor:
    """Reverse the order of the rows."""

def float_power(input: Tensor | Scalar, exponent: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor:
    """`pow` in float64, or complex128 if one of the two is complex."""

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer not above each element."""

def floor_(input: Tensor) -> Tensor:
    """In-place variant of `weft.floor`: writes into ``self`` and returns it."""

def floor_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The quotient of each pair of elements, rounded down."""

def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of each pair of elements; the other one if one is nan."""

def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of each pair of elements; the other one if one is nan."""

def fmod(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The remainder of the division rounded towards zero: it has the dividend's sign."""

def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fraction of each element, with its sign."""

def frac_(input: Tensor) -> Tensor:
    """In-place variant of `weft.frac`: writes into ``self`` and returns it."""

def frexp(input: Tensor, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.frexp:
    """Each element as ``mantissa * 2 ** exponent``, with a mantissa whose size is in [0.5, 1)."""

def frobenius_norm(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The root of the sum of squares over some dimensions."""

def full(size: _int | Sequence[_int], fill_value: Scalar | Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Make a tensor filled with one value."""

def full_like(input: Tensor, fill_value: Scalar | Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Make a tensor filled with one value, with another's shape, dtype and device."""

def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Gather one element for each position in ``index``: ``out[i][j] = input[index[i][j]][j]`` for dim 0."""

def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of each pair of elements."""

def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """In-place variant of `weft.gcd`: writes into ``self`` and returns it."""

def ge(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is greater than or equal to ``other``."""

def geqrf(input: Tensor, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.geqrf:
    """The QR decomposition as LAPACK keeps it: R, and below it the vectors of the reflections that `orgqr` takes."""

def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of all pairs of elements of two vectors."""

def get_device(input: Tensor) -> _int:
    """The index of a tensor's device; -1 for the CPU."""

def gradient(input: Tensor, *, spacing: Number | Sequence[Number] | Sequence[Tensor] | None = 1, dim: _int | Sequence[_int] | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]:
    """The derivative of sampled values along dimensions, by differences of second order."""

def greater(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is greater than ``other``."""

def greater_equal(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is greater than or equal to ``other``."""

def gt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is greater than ``other``."""

def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Hamming's window: ``alpha - beta cos(2 pi x)``."""

def hann_window(window_length: _int, periodic: _bool = True, *, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Hann's window: one period of a cosine, raised and turned over."""

def hash_tensor(input: Tensor, dim: _int | Sequence[_int] | None = ..., *, keepdim: _bool = False, mode: _int = 0, out: Tensor | None = None) -> Tensor:
    """A number that depends on each bit of the elements: their 64-bit forms, combined by exclusive or."""

def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 for negative elements (and nan), 1 for positive, and that of ``values`` for 0."""

def histc(input: Tensor, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements lie in each of ``bins`` intervals of equal width between min and max."""

def histogram(input: Tensor, bins: _int | Tensor, *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.histogram:
    """How many elements lie between neighbouring edges, and the edges."""

def histogramdd(input: Tensor, bins: _int | Sequence[_int] | Sequence[Tensor], range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _return_types.histogramdd:
    """`histogram` of points in several dimensions."""

def hsplit(input: Tensor, indices_or_sections: _int | Sequence[_int] | None = None, *, sections: _int | None = None, indices: Sequence[_int] | None = None) -> tuple[Tensor, ...]:
    """Split into equal parts, or before given indices, along the second dimension (the first, if there is one only)."""

def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors horizontally: along dimension 1, or 0 if they have one dimension."""

def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The length of the hypotenuse for each pair of legs, without overflow."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""

def i0_(input: Tensor) -> Tensor:
    """In-place variant of `weft.i0`: writes into ``self`` and returns it."""

def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function."""

def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function, ``1 - igamma(input, other)``. It needs SciPy."""

def imag(input: Tensor) -> Tensor:
    """Return the imaginary parts of a complex tensor: a view."""

def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """Copy ``input`` and add ``alpha * source`` to the slices at some positions along a dimension."""

def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Copy ``input`` and write the slices of ``source`` at some positions along a dimension."""

def index_fill(input: Tensor, dim: _int, index: Tensor, value: Scalar | Tensor) -> Tensor:
    """Copy ``input`` and fill the slices at some positions along a dimension with one value."""

def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
    """Copy ``input`` and write ``values`` at the positions that a tuple of index tensors gives."""

def index_put_(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
    """In-place variant of `weft.index_put`: writes into ``self`` and returns it."""

def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """A copy of ``input`` with the slices of ``source`` combined at positions along a dimension."""

def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Select the slices at some positions along a dimension."""

def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inner products along the last dimension of both."""

def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of each square matrix of a batch."""

def is_complex(input: Tensor) -> _bool:
    """Whether a tensor's dtype is complex."""

def is_conj(input: Tensor) -> _bool:
    """Whether the tensor is a view whose values are the conjugates of what is in memory."""

def is_floating_point(input: Tensor) -> _bool:
    """Whether a tensor's dtype is floating (complex is not)."""

def is_neg(input: Tensor) -> _bool:
    """Whether the tensor is a view whose values are the negatives of what is in memory."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether the only element of a tensor is not 0."""

def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape."""

def is_signed(input: Tensor) -> _bool:
    """Whether a tensor's dtype has negative numbers."""

def is_tensor(obj: object) -> _bool:
    """Whether an object is a tensor."""

def isclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
    """Where ``|input - other| <= atol + rtol * |other|``."""

def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the element is neither infinite nor nan."""

def isin(elements: Tensor | Number | None = None, test_elements: Tensor | Number | None = None, *, assume_unique: _bool = False, invert: _bool = False, element: Number | None = None, test_element: Number | None = None, out: Tensor | None = None) -> Tensor:
    """Where each element is one of ``test_elements``."""

def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the element is infinite."""

def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the element is not a number."""

def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the element is negative infinity."""

def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the element is positive infinity."""

def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the imaginary part is 0."""

def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
    """The signal that has these spectra: the inverse of `stft`, with the parameters that it was called with."""

def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Kaiser's window."""

def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: each element of ``input`` times all of ``other``, as blocks."""

def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.kthvalue:
    """The k-th smallest element along a dimension, and where it is."""

def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of each pair of elements."""

def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """In-place variant of `weft.lcm`: writes into ``self`` and returns it."""

def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``, element by element."""

def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """In-place variant of `weft.ldexp`: writes into ``self`` and returns it."""

def le(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is less than or equal to ``other``."""

def lerp(input: Tensor, end: Tensor, weight: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor:
    """The point between ``input`` (weight 0) and ``end`` (weight 1), element by element."""

def less(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is less than ``other``."""

def less_equal(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is less than or equal to ``other``."""

def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function's absolute value; infinite at 0 and the negative integers."""

def linspace(start: Scalar | Tensor, end: Scalar | Tensor, steps: _int, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Return ``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""

def lobpcg(A: Tensor, k: _int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: _int | None = None, iK: Tensor | None = None, niter: _int | None = None, tol: _float | None = None, largest: _bool | None = None, method: str | None = None, tracker: Callable[[Any], None] | None = None, ortho_iparams: dict[str, _int] | None = None, ortho_fparams: dict[str, _float] | None = None, ortho_bparams: dict[str, _bool] | None = None) -> tuple[Tensor, Tensor]:
    """The k largest or smallest eigenvalues of ``A x = lambda B x`` with symmetric A, and their vectors."""

def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of each element."""

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10 of each element."""

def log10_(input: Tensor) -> Tensor:
    """In-place variant of `weft.log10`: writes into ``self`` and returns it."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of 1 plus each element, exact near 0."""

def log1p_(input: Tensor) -> Tensor:
    """In-place variant of `weft.log1p`: writes into ``self`` and returns it."""

def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2 of each element."""

def log2_(input: Tensor) -> Tensor:
    """In-place variant of `weft.log2`: writes into ``self`` and returns it."""

def log_(input: Tensor) -> Tensor:
    """In-place variant of `weft.log`: writes into ``self`` and returns it."""

def log_softmax(input: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`, accurate where that is close to 0."""

def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(exp(input) + exp(other))`` without overflow."""

def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log2(2 ** input + 2 ** other)`` without overflow."""

def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension, without overflow."""

def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan where it is negative."""

def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where both are true (not 0)."""

def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the element is 0."""

def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where at least one is true (not 0)."""

def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where exactly one is true (not 0)."""

def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the odds ``x / (1 - x)``: the inverse of `sigmoid`."""

def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """In-place variant of `weft.logit`: writes into ``self`` and returns it."""

def logspace(start: Scalar | Tensor, end: Scalar | Tensor, steps: _int, base: _float = 10.0, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Return ``base`` to the power of ``steps`` evenly spaced numbers from ``start`` to ``end``."""

def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials over some dimensions, without overflow."""

def lt(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is less than ``other``."""

def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> tuple[Tensor, ...] | list[Tensor]:
    """The LU factorization in one matrix, the row exchanges, and with ``get_infos`` LAPACK's integers."""

def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The solution of ``A X = input`` by the factorization of A that `weft.linalg.lu_factor` returns."""

def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.lu_unpack:
    """P, L and U with ``A = P L U`` from a factorization in one matrix."""

def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Scalar) -> Tensor:
    """``input`` with another value where the mask holds."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Copy ``input`` and write the elements of ``source``, one after the other, where the mask is true."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Select the elements where the mask is true, as one dimension."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; of batches of matrices, broadcast; of vectors the inner product."""

def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of each square matrix of a batch: the sum of ``input^k / k!``."""

def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied with itself n times; with negative n its inverse."""

@_overload
def max(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The maximum over all elements, along a dimension with its position, or of two tensors."""
@_overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The maximum over all elements, along a dimension with its position, or of two tensors."""
@_overload
def max(input: Tensor, dim: _int, keepdim: _bool=False, *, out: tuple[Tensor, ...] | list[Tensor] | None=None) -> _return_types.max:
    """The maximum over all elements, along a dimension with its position, or of two tensors."""

def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of each pair of elements; nan if one is nan."""

def mean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: _int | Sequence[_int] | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """The mean over some dimensions, or over all."""

@_overload
def median(input: Tensor) -> Tensor:
    """The lower median over all elements, or along a dimension with its position."""
@_overload
def median(input: Tensor, dim: _int, keepdim: _bool=False, *, out: tuple[Tensor, ...] | list[Tensor] | None=None) -> _return_types.median:
    """The lower median over all elements, or along a dimension with its position."""

def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Make grids of coordinates from vectors."""

@_overload
def min(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The minimum over all elements, along a dimension with its position, or of two tensors."""
@_overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The minimum over all elements, along a dimension with its position, or of two tensors."""
@_overload
def min(input: Tensor, dim: _int, keepdim: _bool=False, *, out: tuple[Tensor, ...] | list[Tensor] | None=None) -> _return_types.min:
    """The minimum over all elements, along a dimension with its position, or of two tensors."""

def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of each pair of elements; nan if one is nan."""

def mm(input: Tensor, mat2: Tensor, *, out_dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""

def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.mode:
    """The most frequent value along a dimension, and a position of it."""

def moveaxis(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move dimensions to other places; the others keep their order."""

def movedim(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move dimensions to other places; the others keep their order."""

def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along the first dimension."""

def mul(input: Tensor | Scalar, other: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor:
    """The product of each pair of elements."""

def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Draw column indices from each row, with the elements as weights."""

def multiply(input: Tensor | Scalar, other: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor:
    """The product of each pair of elements."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""

def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""

def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Replace nan and infinities."""

def nan_to_num_(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
    """In-place variant of `weft.nan_to_num`: writes into ``self`` and returns it."""

def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of the elements that are not nan."""

@_overload
def nanmedian(input: Tensor) -> Tensor:
    """The lower median over all elements, or along a dimension with its position."""
@_overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool=False, *, out: tuple[Tensor, ...] | list[Tensor] | None=None) -> _return_types.nanmedian:
    """The lower median over all elements, or along a dimension with its position."""

def nanquantile(input: Tensor, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """`quantile` of the elements that are not nan."""

def nansum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of the elements that are not nan."""

def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
    """Select ``length`` positions from ``start`` on along a dimension: a view."""

def narrow_copy(input: Tensor, dim: _int, start: _int | Tensor, length: _int, *, out: Tensor | None = None) -> Tensor:
    """`narrow`, in new memory."""

def ne(input: Tensor, other: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor:
    """Where the elements differ."""

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative of each element."""

def neg_(input: Tensor) -> Tensor:
    """In-place variant of `weft.neg`: writes into ``self`` and returns it."""

def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative of each element."""

def negative_(input: Tensor) -> Tensor:
    """In-place variant of `weft.neg`: writes into ``self`` and returns it."""

def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next floating-point number from ``input`` in the direction of ``other``."""

@_overload
def nonzero(input: Tensor, *, as_tuple: Literal[False]=False, out: Tensor | None=None) -> Tensor:
    """Find the positions of elements that are not 0, in the order of the elements."""
@_overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """Find the positions of elements that are not 0, in the order of the elements."""

def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
    """Find the positions of the first ``size`` elements that are not 0; missing ones are ``fill_value``."""

def norm(input: Tensor, p: _float | str | None = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """The p-norm over some dimensions, or over all."""

def norm_except_dim(v: Tensor, pow: _int = 2, dim: _int = 0) -> Tensor:
    """The p-norm over all dimensions but one, which keeps its place; over all for ``dim=-1``."""

def normal(mean: _float | Tensor, std: _float | Tensor = 1.0, size: Sequence[_int] | None = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Draw normal numbers of given means and standard deviations."""

def not_equal(input: Tensor, other: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor:
    """Where the elements differ."""

def nuclear_norm(input: Tensor, dim: Sequence[_int] | _bool | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The sum of the singular values of matrices."""

def numel(input: Tensor) -> _int:
    """The number of elements of a tensor."""

def ones(*size: _int | Sequence[_int], dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Make a tensor filled with ones."""

def ones_like(input: Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Make a tensor of ones with another's shape, dtype and device."""

def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of Householder reflections ``I - tau v v^H``."""

def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``Q input3`` with the Q of Householder reflections, all its columns."""

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of all pairs of elements of two vectors."""

def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` along the last dimension."""

def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The q first principal components of the rows of a matrix, nearly."""

def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The p-norm distances of each pair of rows, in the order of the upper triangle."""

def permute(input: Tensor, *args: _int | Sequence[_int], dims: Sequence[_int] | None = None) -> Tensor:
    """Reorder the dimensions: a view."""

def permute_copy(input: Tensor, *args: _int | Sequence[_int], dims: Sequence[_int] | None = None, out: Tensor | None = None) -> Tensor:
    """`permute`, in new memory."""

def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """The Moore-Penrose inverse of each matrix of a batch."""

def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw from Poisson distributions whose rates are the elements of `input`."""

def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Make complex numbers from their absolute values and angles: ``abs * exp(i * angle)``."""

def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of `digamma`."""

def positive(input: Tensor) -> Tensor:
    """The tensor itself."""

def pow(input: Tensor | Scalar, exponent: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor:
    """Each element of ``input`` raised to the power of the element of ``exponent``."""

def prod(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The product over one dimension, or over all."""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """Copy the tensor and write ``source`` at positions of the flattened copy."""

def qr(input: Tensor, some: _bool = True, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.qr:
    """``input = Q R`` with orthonormal columns in Q and an upper triangular R."""

def quantile(input: Tensor, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """The value below which a share q of the elements lies, along a dimension or over all."""

def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians to degrees."""

def rad2deg_(input: Tensor) -> Tensor:
    """In-place variant of `weft.rad2deg`: writes into ``self`` and returns it."""

def rand(*size: _int | Sequence[_int], generator: Generator | None = None, out: Tensor | None = None, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Draw numbers from the uniform distribution on [0, 1)."""

def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Draw numbers uniform on [0, 1), with another tensor's shape, dtype and device."""

def randint(*args: _int | Sequence[_int], low: _int | None = None, high: _int | None = None, size: Sequence[_int] | None = None, generator: Generator | None = None, out: Tensor | None = None, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Draw integers uniformly from `low` (inclusive) to `high` (exclusive)."""

def randint_like(input: Tensor, *args: _int | Tensor, low: _int | Tensor | None = None, high: _int | Tensor | None = None, generator: Generator | None = None, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Draw integers from `low` (inclusive) to `high` (exclusive), with another tensor's shape, dtype and device."""

def randn(*size: _int | Sequence[_int], generator: Generator | None = None, out: Tensor | None = None, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Draw numbers from the normal distribution of mean 0 and variance 1."""

def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Draw normal numbers of mean 0 and variance 1, with another tensor's shape, dtype and device."""

def randperm(n: _int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: DType | None = None, layout: Layout | None = None, device: Device = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Return the integers from 0 to n - 1 in random order."""

def range(start: Number = 0, end: Number | None = None, step: Number = 1, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, out: Tensor | None = None) -> Tensor:
    """Count from ``start`` to ``end`` inclusive in steps of ``step``; deprecated, use `arange`."""

def ravel(input: Tensor) -> Tensor:
    """Flatten a tensor to one dimension: a view where the strides allow it, else a copy."""

def real(input: Tensor) -> Tensor:
    """Return the real parts: a view; a real tensor is returned itself."""

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 divided by each element."""

def reciprocal_(input: Tensor) -> Tensor:
    """In-place variant of `weft.reciprocal`: writes into ``self`` and returns it."""

def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element, but at least 0."""

def relu_(input: Tensor) -> Tensor:
    """In-place variant of `weft.relu`: writes into ``self`` and returns it."""

def remainder(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The remainder of the division rounded down: it has the divisor's sign."""

def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = None) -> Tensor:
    """Scale down each slice along a dimension whose p-norm exceeds ``maxnorm``."""

def repeat_interleave(input: Tensor, repeats: _int | Tensor | None = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
    """Repeat each element, or each slice along ``dim``."""

def reshape(input: Tensor, *args: _int | Sequence[_int], shape: Sequence[_int] | None = None) -> Tensor:
    """Change the shape: a view where the strides allow it, else a copy."""

def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Change the shape to that of another tensor, see `reshape`."""

def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Change the size of the tensor itself to that of another (see `Tensor.resize_`)."""

def resolve_conj(input: Tensor) -> Tensor:
    """A copy with the values in memory, if the conjugate bit is set; else the tensor itself."""

def resolve_neg(input: Tensor) -> Tensor:
    """A copy with the values in memory, if the negative bit is set; else the tensor itself."""

def result_type(tensor: Tensor | Scalar, other: Tensor | Scalar) -> dtype:
    """The dtype that two tensors or numbers are brought to when they meet."""

def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ...) -> Tensor:
    """Shift elements along some dimensions; those pushed out come in at the other end."""

def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
    """Rotate a tensor by 90 degrees, k times, in the plane of two dimensions."""

def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to the nearest value with so many decimals; halves to even."""

def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """In-place variant of `weft.round`: writes into ``self`` and returns it."""

def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors vertically, along dimension 0; vectors are rows."""

def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 divided by the square root of each element."""

def rsqrt_(input: Tensor) -> Tensor:
    """In-place variant of `weft.rsqrt`: writes into ``self`` and returns it."""

def rsub(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """``other - alpha * input``, element by element."""

def scalar_tensor(s: Scalar | Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor:
    """Make a 0-d tensor of a number."""

def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor | Scalar | None = None, *, value: Scalar | None = None, reduce: str | None = None, out: Tensor | None = None) -> Tensor:
    """Copy ``input`` and write ``src`` (a Tensor or a number) at the positions of ``index`` along a dimension."""

def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Copy ``input`` and add ``src`` at the positions of ``index`` along a dimension."""

def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """A copy of ``input`` with the elements of ``src`` combined at the positions of ``index`` along a dimension."""

def searchsorted(sorted_sequence: Tensor, input: Tensor | Number, *, out_int32: _bool = False, right: _bool = False, side: str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where each value would have to be inserted in a sorted sequence to keep it sorted."""

def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _int = 0, unsafe: _bool = False, initial: Number | None = None) -> Tensor:
    """Reductions of neighbouring elements along an axis, in segments of given lengths."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """Select one position along a dimension, which is removed: a view."""

def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """`select`, in new memory."""

def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """Copy ``input`` and replace one position along a dimension."""

def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element divided by its absolute value; 0 stays 0."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / (1 + exp(-x))`` of each element x."""

def sigmoid_(input: Tensor) -> Tensor:
    """In-place variant of `weft.sigmoid`: writes into ``self`` and returns it."""

def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1, by the sign of each element."""

def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the sign bit is set: negative elements, and -0."""

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of each element, in radians."""

def sin_(input: Tensor) -> Tensor:
    """In-place variant of `weft.sin`: writes into ``self`` and returns it."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi x) / (pi x)`` of each element x; 1 at 0."""

def sinc_(input: Tensor) -> Tensor:
    """In-place variant of `weft.sinc`: writes into ``self`` and returns it."""

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine of each element."""

def sinh_(input: Tensor) -> Tensor:
    """In-place variant of `weft.sinh`: writes into ``self`` and returns it."""

def slice_copy(input: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Copy every ``step``-th position from ``start`` to before ``end`` along a dimension."""

def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Copy ``input`` and replace a slice along a dimension."""

def slogdet(input: Tensor, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.slogdet:
    """The sign of the determinant and the logarithm of its modulus, which neither overflows nor underflows."""

def softmax(input: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(input)`` divided by its sum along a dimension, without overflow."""

def sort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.sort:
    """The elements in order along a dimension, and where they were."""

def split(tensor: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into pieces of equal size (the last may be smaller), or of the sizes given."""

def split_copy(input: Tensor, split_size: _int | Sequence[_int], dim: _int = 0, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> tuple[Tensor, ...]:
    """`split`, in new memory."""

def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into pieces of the sizes given, see `split`."""

def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> tuple[Tensor, ...]:
    """`split_with_sizes`, in new memory."""

def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root of each element; nan for negative real ones."""

def sqrt_(input: Tensor) -> Tensor:
    """In-place variant of `weft.sqrt`: writes into ``self`` and returns it."""

def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square of each element; bool becomes int64."""

def square_(input: Tensor) -> Tensor:
    """In-place variant of `weft.square`: writes into ``self`` and returns it."""

def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """Remove dimensions of size 1, all or those among ``dim``: a view."""

def squeeze_(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """In-place variant of `weft.squeeze`: writes into ``self`` and returns it."""

def squeeze_copy(input: Tensor, dim: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """`squeeze`, in new memory."""

def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors of one shape along a new dimension."""

def std(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
    """The standard deviation: the square root of `var`."""

def std_mean(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> tuple[Tensor, Tensor]:
    """`std` and `mean`."""

def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
    """The spectra of a signal seen through a window that moves along it."""

def sub(input: Tensor | Scalar, other: Tensor | Scalar, *, alpha: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, element by element."""

def subtract(input: Tensor | Scalar, other: Tensor | Scalar, *, alpha: Scalar = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, element by element."""

def sum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: _int | Sequence[_int] | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """The sum over some dimensions, or over all."""

def sum_to_size(input: Tensor, *size: _int | Sequence[_int]) -> Tensor:
    """The sum over the dimensions that broadcasting would have to expand from ``size``."""

def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.svd:
    """``input = U diag(S) V^H``."""

def svd_lowrank(A: Tensor, q: _int = 6, niter: _int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values of ``A - M``, nearly, and their vectors."""

def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """Swap two dimensions: a view, see `transpose`."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dimensions: a view."""

def t(input: Tensor) -> Tensor:
    """Transpose a matrix: a view; a vector stays as it is."""

def t_(input: Tensor) -> Tensor:
    """In-place variant of `weft.t`: writes into ``self`` and returns it."""

def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`t`, in new memory."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Select elements at positions of the flattened tensor."""

def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Gather elements at positions along a dimension, broadcasting the others."""

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent of each element, in radians."""

def tan_(input: Tensor) -> Tensor:
    """In-place variant of `weft.tan`: writes into ``self`` and returns it."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent of each element."""

def tanh_(input: Tensor) -> Tensor:
    """In-place variant of `weft.tanh`: writes into ``self`` and returns it."""

def tensor_split(input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor | None = None, dim: _int = 0, *, sections: _int | None = None, indices: Sequence[_int] | None = None, tensor_indices_or_sections: Tensor | None = None) -> tuple[Tensor, ...]:
    """Split a tensor into a number of pieces of nearly equal size, or before the given indices."""

def tensordot(a: Tensor, b: Tensor, dims: _int | Sequence[Sequence[_int]] | Tensor = 2, *, out: Tensor | None = None) -> Tensor:
    """The product of two tensors summed over some dimensions of each."""

def tile(input: Tensor, *args: _int | Sequence[_int], dims: Sequence[_int] | None = None) -> Tensor:
    """Repeat the tensor along each dimension; missing repeats are 1."""

def to(input: Tensor, *args: DType | Device | Tensor, dtype: DType | None = None, device: Device = None, non_blocking: _bool = False, copy: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Convert a tensor to another dtype or device; return it unchanged if it has both."""

def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.topk:
    """The k largest (or smallest) elements along a dimension, and where they are."""

def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dimensions: a view."""

def transpose_(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """In-place variant of `weft.transpose`: writes into ``self`` and returns it."""

def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """`transpose`, in new memory."""

def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule."""

def trapz(y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule."""

def triangular_solve(input: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> _return_types.triangular_solve:
    """The solution of ``A X = input`` with a triangular A, and a copy of A."""

def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Keep the elements on and below a diagonal of each matrix; set the others to 0."""

def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: DType = ..., device: Device = None, layout: Layout | None = None) -> Tensor:
    """Return the positions on and below a diagonal of a matrix: row indices, then column indices."""

def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Keep the elements on and above a diagonal of each matrix; set the others to 0."""

def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: DType = ..., device: Device = None, layout: Layout | None = None) -> Tensor:
    """Return the positions on and above a diagonal of a matrix: row indices, then column indices."""

def true_divide(input: Tensor | Scalar, other: Tensor | Scalar, *, out: Tensor | None = None) -> Tensor:
    """The quotient of each pair of elements; integers are divided as floating-point numbers."""

def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction."""

def trunc_(input: Tensor) -> Tensor:
    """In-place variant of `weft.trunc`: writes into ``self`` and returns it."""

def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """Return the slices along a dimension, which is removed, as a tuple of views."""

def unbind_copy(input: Tensor, dim: _int = 0, *, out: tuple[Tensor, ...] | list[Tensor] | None = None) -> tuple[Tensor, ...]:
    """`unbind`, in new memory."""

def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """Divide one dimension into several."""

def unfold(input: Tensor, dimension: _int, size: _int, step: _int) -> Tensor:
    """Return sliding windows of ``size`` positions, ``step`` apart, along a dimension: a view."""

def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = None) -> Tensor:
    """`unfold`, in new memory."""

@_overload
def unique(input: Tensor, sorted: _bool=True, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor:
    """The distinct elements in order, or the distinct slices along a dimension."""
@_overload
def unique(input: Tensor, sorted: _bool=True, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> tuple[Tensor, ...]:
    """The distinct elements in order, or the distinct slices along a dimension."""

@_overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor:
    """Without the elements (or slices along ``dim``) that equal the one before."""
@_overload
def unique_consecutive(input: Tensor, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> tuple[Tensor, ...]:
    """Without the elements (or slices along ``dim``) that equal the one before."""

def unravel_index(indices: Tensor, shape: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """The positions along each dimension of a shape that positions in its flattened form stand for."""

def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`chunk`, in pieces that may be written to, since each has a history of its own."""

def unsafe_split(input: Tensor, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """`split`, in pieces that may be written to, since each has a history of its own."""

def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """`split`, in pieces that may be written to, since each has a history of its own."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """Insert a dimension of size 1 in front of ``dim``: a view."""

def unsqueeze_(input: Tensor, dim: _int) -> Tensor:
    """In-place variant of `weft.unsqueeze`: writes into ``self`` and returns it."""

def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """`unsqueeze`, in new memory."""

def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """Return the Vandermonde matrix of a vector: powers of its elements as columns."""

def var(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
    """The variance over some dimensions, or over all."""

def var_mean(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> tuple[Tensor, Tensor]:
    """`var` and `mean`."""

def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`dot` with the first vector conjugated."""

def view(input: Tensor, *args: _int | Sequence[_int] | DType, size: Sequence[_int] | None = None, dtype: DType | None = None) -> Tensor:
    """View a tensor's memory with another shape; with a dtype, its bytes as another dtype."""

def view_as(input: Tensor, other: Tensor) -> Tensor:
    """View a tensor with the shape of another, see `Tensor.view`."""

def view_as_complex(input: Tensor) -> Tensor:
    """View a real tensor whose last dimension has size 2 as a complex one."""

def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`view_as_complex`, in new memory."""

def view_as_real(input: Tensor) -> Tensor:
    """View a complex tensor as a real one with a last dimension of size 2."""

def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`view_as_real`, in new memory."""

def view_copy(input: Tensor, size: Sequence[_int] | DType | None = None, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """`Tensor.view` to a shape or a dtype, in new memory."""

def vsplit(input: Tensor, indices_or_sections: _int | Sequence[_int] | None = None, *, sections: _int | None = None, indices: Sequence[_int] | None = None) -> tuple[Tensor, ...]:
    """Split into equal parts, or before given indices, along the first dimension."""

def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors vertically, along dimension 0; vectors are rows."""

@_overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """``input`` where the condition holds, else ``other``; with a condition alone, where it holds."""
@_overload
def where(condition: Tensor, input: Tensor | Scalar, other: Tensor | Scalar, *, out: Tensor | None=None) -> Tensor:
    """``input`` where the condition holds, else ``other``; with a condition alone, where it holds."""

def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, 0 where input is 0 (and other is no nan)."""

def xlogy_(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """In-place variant of `weft.xlogy`: writes into ``self`` and returns it."""

def zero_(input: Tensor) -> Tensor:
    """In-place variant of `weft._zero`: writes into ``self`` and returns it."""

def zeros(*size: _int | Sequence[_int], dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Make a tensor filled with zeros."""

def zeros_like(input: Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
    """Make a tensor of zeros with another's shape, dtype and device."""
