"""Finds ``weft.<name>`` on first use: a portion installed beside core, or a namespace that a plugin brings."""

import importlib
import pkgutil
import re
import sys
from functools import cache
from types import ModuleType
from typing import Any

from weft._interception.torch_function import found_later
from weft._plugins.access import plugins
from weft.ops._lazy_names import FUNCTIONS

# Which distribution brings which first-party name. Portions are found on the path; this table only words the errors.
FIRST_PARTY = {
    "weft.nn": "weft-nn",
    "weft.optim": "weft-nn",
    "weft.distributions": "weft-nn",
    "weft.utils.data": "weft-nn",
    "weft.utils.flop_counter": "weft-nn",
    "weft.fx": "weft-nn",
    "weft.export": "weft-nn",
    "weft.onnx": "weft-nn",
    "weft.ao": "weft-nn",
    "weft.quantization": "weft-nn",
    "weft.serve": "weft-nn",
    "weft.ray": "weft-distributed",
    "weft.text": "weft-text",
    "weft.vision": "weft-vision",
    "weft.backend_cpu": "weft-backend-cpu",
    "weft.backend_cuda": "weft-backend-cuda",
}

# Names of core that are imported when first asked for, by the module that has them: few programs use them. Portions
# bring theirs, see `weft._portions`.
LAZY = {
    "weft._tensor.legacy_types": """
BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor
ComplexDoubleStorage ComplexFloatStorage DoubleStorage DoubleTensor FloatStorage FloatTensor HalfStorage HalfTensor
IntStorage IntTensor LongStorage LongTensor ShortStorage ShortTensor Storage set_default_tensor_type typename
""",
    "weft._devices.devices": "DeviceObjType",
    "weft._dtypes.named": """
chalf complex32 per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine
per_tensor_symmetric qint32 qint8 qscheme quint2x4 quint4x2 quint8
""",
    "weft._tensor.quantized": "dequantize int_repr q_scale q_zero_point quantize_per_tensor",
    "weft._settings": """
are_deterministic_algorithms_enabled compiled_with_cxx11_abi get_deterministic_debug_mode get_file_path
get_device_module get_float32_matmul_precision has_lapack has_mkl has_openmp has_spectral init_num_threads
is_deterministic_algorithms_warn_only_enabled is_distributed is_vulkan_available is_warn_always_enabled
prepare_multiprocessing_environment set_deterministic_debug_mode set_float32_matmul_precision
set_flush_denormal set_warn_always use_deterministic_algorithms
""",
    "weft._as_torch.switch": "as_torch",
    "weft._C": "TensorType",
    "weft._compile": "_disable_dynamo",
    "weft._control_flow": "cond while_loop",
    "weft._checks": """
_assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all
_check_tensor_all_with _check_type _check_value _check_with
""",
    "weft.compiler": "compile",
    "weft.ops._foreach": """
_foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_add _foreach_add_ _foreach_addcdiv _foreach_addcdiv_
_foreach_addcmul _foreach_addcmul_ _foreach_asin _foreach_asin_ _foreach_atan _foreach_atan_ _foreach_ceil
_foreach_ceil_ _foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min _foreach_clamp_min_ _foreach_clone
_foreach_copy_ _foreach_cos _foreach_cos_ _foreach_cosh _foreach_cosh_ _foreach_div _foreach_div_ _foreach_erf
_foreach_erf_ _foreach_erfc _foreach_erfc_ _foreach_exp _foreach_exp_ _foreach_expm1 _foreach_expm1_ _foreach_floor
_foreach_floor_ _foreach_frac _foreach_frac_ _foreach_lerp _foreach_lerp_ _foreach_lgamma _foreach_lgamma_
_foreach_log _foreach_log10 _foreach_log10_ _foreach_log1p _foreach_log1p_ _foreach_log2 _foreach_log2_ _foreach_log_
_foreach_max _foreach_maximum _foreach_maximum_ _foreach_minimum _foreach_minimum_ _foreach_mm _foreach_mul
_foreach_mul_ _foreach_neg _foreach_neg_ _foreach_norm _foreach_pow _foreach_pow_ _foreach_powsum _foreach_reciprocal
_foreach_reciprocal_ _foreach_round _foreach_round_ _foreach_rsqrt _foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_
_foreach_sign _foreach_sign_ _foreach_sin _foreach_sin_ _foreach_sinh _foreach_sinh_ _foreach_sqrt _foreach_sqrt_
_foreach_sub _foreach_sub_ _foreach_tan _foreach_tan_ _foreach_tanh _foreach_tanh_ _foreach_trunc _foreach_trunc_
_foreach_zero_
""",
    "weft.ops._aten_functions": "_log_softmax _softmax",
    "weft.nested._construction": "_nested_tensor_from_mask",
    "weft.ops.indexing": "_unsafe_masked_index _unsafe_masked_index_put_accumulate",
    "weft.ops.joining": "_chunk_cat",
    "weft.ops.matrices": "_int_mm",
    "weft.ops.queries": "_shape_as_tensor",
    "weft.ops.reparametrized": "_dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad",
    "weft.ops._scaled_products": "_scaled_mm _scaled_mm_v2",
    "weft.ops.segments": "_segment_reduce",
    "weft.ops.softmax": "_safe_softmax _softmax_backward_data",
    "weft.ops.views": "_conj _conj_physical _neg_view",
    "weft._errors": "AcceleratorError OutOfMemoryError",
    "weft._tensor.mapped_files": "from_file",
    "weft._devices.streams": "Event Stream",
    "weft.func": "vmap",
    "weft.futures": "Future",
    "weft.serialization._file_reader": "PyTorchFileReader",
    "weft.library._tags": "Tag",
    "weft.serialization": "load save",
    "weft.amp": "GradScaler autocast",
    "weft.amp._scaling": "_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_",
    "weft.amp._autocast": """
clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled
is_autocast_cpu_enabled is_autocast_enabled set_autocast_cpu_dtype set_autocast_dtype set_autocast_enabled
set_autocast_gpu_dtype
""",
    "weft.overrides": "DisableTorchFunction DisableTorchFunctionSubclass",
    "weft.sparse._tensor": "sparse_coo_tensor",
    "weft.sparse._compressed": """
sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_csc_tensor sparse_csr_tensor
""",
    "weft.sparse._conversions": "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo",
    "weft.sparse._products": "dsmm hspmm smm spmm sspaddmm",
    "weft._removed": "eig lstsq matrix_rank solve symeig",
    "weft.utils.dlpack": "to_dlpack",
    "weft.storage": "StorageBase",
    "weft._symbolic": """
SymBool SymFloat SymInt
sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not
sym_sqrt sym_sum
""",
}
PRIVATE = {
    "weft._C",
    "weft._VF",
    "weft.__config__",
    "weft.__future__",
    "weft._custom_ops",
    "weft._dynamo",
    "weft._functorch",
    "weft._guards",
    "weft._prims",
    "weft._prims_common",
    "weft._refs",
    "weft._tensor_str",
    "weft._utils",
    "weft._utils_internal",
    "weft._vmap_internals",
    "weft.utils._python_dispatch",
    "weft.utils._pytree",
}  # modules that programs touch all the same
HOMES = {name: home for home, names in LAZY.items() for name in names.split()}
HOMES |= {name: f"weft.ops.{family}" for family, names in FUNCTIONS.items() for name in names.split()}


@cache
def portions() -> list[ModuleType]:
    """What installed portions say of the names that they add."""
    package = importlib.import_module("weft._portions")
    return [importlib.import_module(f"weft._portions.{each.name}") for each in pkgutil.iter_modules(package.__path__)]


@cache
def of_portions() -> dict[str, str]:
    """The names that installed portions add to the top level, and the modules that have them."""
    return {name: home for each in portions() for home, names in each.NAMES.items() for name in names.split()}


def home_of(name: str) -> str | None:
    """The module that has a name of the top level which is found on first use; None for others."""
    return HOMES.get(name) or (None if name.startswith("__") else of_portions().get(name))


def distribution_of(name: str) -> str | None:
    """What to install for a name that nothing installed has: by the stub of the top level, which has all portions'."""
    if f"weft.{name}" in FIRST_PARTY:
        return FIRST_PARTY[f"weft.{name}"]
    try:
        stub = (pkgutil.get_data("weft", "_api.pyi") or b"").decode()
    except OSError:  # stubs may be left out of a bundled program
        return None
    found = re.search(rf"^from (weft\.\w+)\S* import \w+ as {re.escape(name)}$", stub, re.MULTILINE)
    return None if found is None else FIRST_PARTY.get(found[1])


def load(name: str, package: str = "weft") -> Any:
    """Import ``<package>.<name>``; what a shared package's ``__getattr__`` returns.

    Parameters
    ----------
    name : str
        The attribute that was asked for. Names with a leading underscore are refused unseen, but for those in the
        tables above: Python itself probes for many of them.
    package : str
        The package that was asked: ``weft``, or a folder that several distributions share (``weft.utils``).

    Returns
    -------
    The portion's module, or for ``weft`` itself the namespace that a plugin registers under the name.

    Raises
    ------
    AttributeError
        If there is no such name; if it is first-party, with the command that installs it.
    ImportError
        If the portion is there and something that it imports is not.
    PluginError
        If a plugin brings the name and failed to load.
    """
    missing = f"module {package!r} has no attribute {name!r}"
    full = f"{package}.{name}"
    if package == "weft" and home_of(name) is not None:
        return lazy(name)
    if name.startswith("_") and full not in PRIVATE:
        raise AttributeError(missing)
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:  # the portion is there; something that it needs is not
            raise
    distribution = distribution_of(name) if package == "weft" else FIRST_PARTY.get(full)
    if distribution is not None:
        raise AttributeError(f"{missing}; install it with: pip install {distribution}")
    if package == "weft":
        if name in plugins().namespaces(include_disabled=True):
            found = plugins().namespace(name)
            setattr(sys.modules[package], name, found)  # so that the next use is a plain attribute
            return found
    raise AttributeError(missing)


def lazy(name: str) -> Any:
    """A name of ``weft`` that another module has; found once, and then a plain attribute.

    Raises
    ------
    AttributeError
        If the module's distribution is not installed, with the command that installs it.
    """
    missing = f"module 'weft' has no attribute {name!r}"
    home = home_of(name)
    if home is None:
        raise AttributeError(f"{missing}; install it with: pip install {distribution_of(name)}")
    found = attribute_of(home, name, missing)
    found = found_later(sys.modules["weft"], name, found)
    setattr(sys.modules["weft"], name, found)
    return found


def attribute_of(home: str, name: str, missing: str) -> Any:
    """What a module has under a name, or ``missing`` with the command that installs its distribution."""
    try:
        return getattr(importlib.import_module(home), name)
    except ModuleNotFoundError as error:
        portion = ".".join(home.split(".")[:2])
        if portion not in FIRST_PARTY or error.name not in (home, portion):
            raise
        raise AttributeError(f"{missing}; install it with: pip install {FIRST_PARTY[portion]}") from None


def method(name: str) -> Any:
    """The method of Tensor that calls a function of another module."""

    def handed_over(self: Any, *args: Any, **kwargs: Any) -> Any:
        return lazy(name)(self, *args, **kwargs)

    handed_over.__name__ = name
    handed_over.__qualname__ = f"Tensor.{name}"
    handed_over.__doc__ = f"`weft.{name}` of this tensor."
    return handed_over


def names(package: str = "weft") -> set[str]:
    """What `load` would find, without importing any of it: for ``dir(weft)`` and completion in editors."""
    found = {module.name for module in pkgutil.iter_modules(sys.modules[package].__path__)}
    if package == "weft":
        found.update(plugins().namespaces())
        found.update(HOMES, of_portions())
    return {name for name in found if not name.startswith("_")}
