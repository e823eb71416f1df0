"""Functions that PyTorch's dispatcher has, and its public namespaces have not, or with other arguments.

`weft.ops.aten` finds them here; what they do is what backward and the functions of `weft` are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor
from weft.ops._registry import registry


def alias(self: Tensor) -> Any:
    """Another tensor of the same memory."""
    return registry["core::alias"].op(self)


def index(self: Tensor, indices: Any) -> Any:
    """The elements at indices; None stands for a whole dimension."""
    if not indices:
        raise IndexError("index: at least one index must be provided")
    return self[tuple(slice(None) if each is None else each for each in indices)]


def index_put(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Any:
    """`weft.index_put`; None stands for a whole dimension."""
    if any(each is None for each in indices):
        return registry["core::index_put"].op(self, tuple(indices), values, accumulate)
    return weft.index_put(self, tuple(indices), values, accumulate)


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Any:
    """`Tensor.index_put_`; None stands for a whole dimension."""
    if any(each is None for each in indices):
        return self.copy_(index_put(self, indices, values, accumulate))
    return self.index_put_(tuple(indices), values, accumulate)


def _to_copy(
    self: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Any:
    """A copy in another dtype, or on another device."""
    return self.to(
        device=self.device if device is None else device,
        dtype=self.dtype if dtype is None else dtype,
        non_blocking=non_blocking,
        copy=True,
        memory_format=weft.preserve_format if memory_format is None else memory_format,
    )


def _pin_memory(self: Tensor, device: Any = None) -> Any:
    """A copy in memory that copies to an accelerator read sooner."""
    return self.pin_memory(device)


def _sparse_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * (mat1 @ mat2)``, with a sparse ``mat1``."""
    return weft.sparse.addmm(self, mat1, mat2, beta=beta, alpha=alpha)


def _unsafe_view(self: Tensor, size: Any) -> Any:
    """A view that nobody takes for one."""
    return self.view(size).detach()


def _local_scalar_dense(self: Tensor) -> Any:
    """The number in a tensor."""
    return self.item()


def lift_fresh(self: Tensor) -> Tensor:
    """A tensor that was just made of data."""
    return self


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Any:
    """`weft.softmax`."""
    return weft.softmax(self, dim, dtype=weft.float32 if half_to_float else None)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Any:
    """`weft.log_softmax`."""
    return weft.log_softmax(self, dim, dtype=weft.float32 if half_to_float else None)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Any:
    """The gradient of `weft.log_softmax` from its result."""
    return registry["core::log_softmax_backward"].op(grad_output, output, dim % max(output.ndim, 1)).to(input_dtype)


def select_backward(grad_output: Tensor, input_sizes: Any, dim: int, index: int) -> Any:
    """The gradient of `Tensor.select`."""
    return registry["core::embed"].op(grad_output, tuple(input_sizes), "core::select", (dim % len(input_sizes), index))


def slice_backward(grad_output: Tensor, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
    """The gradient of ``aten.slice``."""
    dim %= len(input_sizes)
    bounds = slice(start, end, step).indices(input_sizes[dim])
    return registry["core::embed"].op(grad_output, tuple(input_sizes), "core::slice", (dim, *bounds))


def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Any:
    """The gradient of `weft.sigmoid` from its result."""
    return registry["core::sigmoid_backward"].op(grad_output, output)


def tanh_backward(grad_output: Tensor, output: Tensor) -> Any:
    """The gradient of `weft.tanh` from its result."""
    return registry["core::tanh_backward"].op(grad_output, output)


def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Any) -> Any:
    """The gradient of `weft.relu` and its like."""
    return registry["core::threshold_backward"].op(grad_output, self, float(threshold))


def split(self: Tensor, split_size: Any, dim: int = 0) -> Any:
    """`weft.split`, as a list."""
    return list(weft.split(self, split_size, dim))


def unbind(self: Tensor, dim: int = 0) -> Any:
    """`weft.unbind`, as a list."""
    return list(weft.unbind(self, dim))


def _flash_attention_forward(query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Any:
    """One of the kernels that PyTorch's attention chooses from on a GPU; weft's chooses by itself."""
    raise _without_kernel("_flash_attention_forward", query)


def _efficient_attention_forward(query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Any:
    """One of the kernels that PyTorch's attention chooses from on a GPU; weft's chooses by itself."""
    raise _without_kernel("_efficient_attention_forward", query)


def _without_kernel(name: str, query: Tensor) -> NotImplementedError:
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the {query.device.type.upper()!r} backend: weft has no "
        "kernel of that name. Call scaled_dot_product_attention, which has one for each device"
    )


def copy(self: Tensor, src: Tensor, non_blocking: bool = False) -> Any:
    """What ``self.copy_(src)`` would leave in ``self``."""
    return weft.empty_like(self).copy_(src, non_blocking)


def _drawing(name: str) -> Callable[..., Any]:
    """The function that gives what a method would fill a tensor with."""

    def function(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(weft.empty_like(self), f"{name}_")(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"What ``self.{name}_`` would leave in ``self``."
    return function


cauchy, exponential, geometric, log_normal, uniform = map(
    _drawing, ("cauchy", "exponential", "geometric", "log_normal", "uniform")
)
