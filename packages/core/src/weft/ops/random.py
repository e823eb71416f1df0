"""Random tensors. Every function draws from `generator`, or from the default generator of the device."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy

from weft._devices.devices import backend_of, key_of, on_device_of, remember_new_key, resolve_device
from weft._docstrings import LIKE_OPTIONS, OPTIONS, documented
from weft._dtypes.dtypes import element_type, finfo, float16, get_default_dtype, int64
from weft._dtypes.float8 import refuse_float8
from weft._engine.dispatch import bump, make, wrap
from weft._engine.fast_paths import FastPath
from weft._engine.methods import whole_numbers
from weft._engine.tensor import TensorBase, local, state
from weft._interception.transforms import drawn
from weft._random.mt19937 import FULL_RANGE_DIGITS, highest_whole
from weft._tensor.base import Tensor
from weft._tensor.layout import is_strided
from weft.ops._declare import composite, number_in, op
from weft.ops._geometry import as_shape, broadcast_shapes, has_values
from weft.ops._inplace import warn_of_resize, write_out
from weft.ops._positions import assert_none
from weft.ops.creation import pinned, zeros_like
from weft.ops.reductions import reduce
from weft.random import Generator, default_generator_of, generator_for
from weft.types import Device, DType, Layout, MemoryFormat, Number

LOWEST_INT64 = -(1 << 63)
LARGEST_CATEGORIES = 1 << 24  # of multinomial: float32 tells no more of them apart

# New tensors


MODERATE = 1e38  # a number below which differences are no infinities in float32
FEW = 1 << 20  # elements of a shape that needs no look at the memory there is


def new_samples(sampler: str) -> FastPath:
    """New samples of a few elements, of the default dtype and generator."""

    def compute(values: list[Any]) -> Any:
        key = state.new_key
        if key is None or state.intercepting or local.levels:
            return None
        (shape,) = values
        count = math.prod(shape)
        if count > FEW or len(shape) > 8 or key.dtype.is_float8:
            return None
        return make(default_generator_of(key.device).sample(sampler, count, key.dtype.numpy).reshape(shape), key)

    return FastPath(compute=compute)


def new_integers(values: list[Any]) -> Any:
    """The same for whole numbers of int64, by ``(high, size)`` or ``(low, high, size)``."""
    key = state.new_key
    (args,) = values
    bounds = args[:-1] if len(args) == 3 else (0, *args[:-1])
    if len(bounds) != 2 or key is None or state.intercepting or local.levels:
        return None
    low, high = bounds
    if type(low) is not int or type(high) is not int or not LOWEST_INT64 <= low < high < -LOWEST_INT64:
        return None
    shape = whole_numbers((args[-1],), 0) if isinstance(args[-1], (tuple, list)) else None
    if shape is None or math.prod(shape) > FEW or len(shape) > 8:
        return None
    found = default_generator_of(key.device).sample("integers", math.prod(shape), int64.numpy, low, high)
    return wrap(found.reshape(shape), key)


def new_order(values: list[Any]) -> Any:
    """The same for the order of a few numbers."""
    key = state.new_key
    (count,) = values
    if key is None or not 0 <= count <= FEW or state.intercepting or local.levels:
        return None
    return wrap(default_generator_of(key.device).sample("permutation", count), key)


def samples_inplace(sampler: str, *defaults: float) -> Any:
    """A few samples by two numbers, written to a tensor that does not take their history; see `op`."""

    def fill(name: str, self: Any, args: tuple[Any, ...]) -> bool:
        key, array, counter = self._key, self._array, self._version_counter
        if not key.fast_path or not key.is_real_float or key.dtype.itemsize < 4 or local.levels:
            return False
        if local.grad_enabled and (self._requires_grad or self._view_base is not None):
            return False
        if self._extra is not None or (counter is not None and counter.inference):
            return False
        if type(array) is not numpy.ndarray or not array.flags.c_contiguous or array.size > FEW:
            return False
        numbers = args + defaults[len(args) :]
        if len(numbers) != 2 or not all(type(each) is float or type(each) is int for each in numbers):
            return False
        first, second = numbers  # the bounds, or the mean and the deviation
        if not -MODERATE < first < MODERATE or not (first if sampler == "uniform" else 0) <= second < MODERATE:
            return False
        samples = default_generator_of(key.device).sample(sampler, array.size, array.dtype, first, second)
        array[...] = samples.reshape(array.shape)
        bump(self, name)
        return True

    return fill


@composite(fast_path=new_samples("uniform"), leaf="core::rand")
@documented(options=OPTIONS)
def rand(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Draw numbers from the uniform distribution on [0, 1).

    Parameters
    ----------
    size : int, ..., or a sequence of them
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.
    out : Tensor, optional
        Is filled and returned.
    dtype : dtype, optional
        Floating or complex; default: `get_default_dtype`.
    {options}

    Raises
    ------
    NotImplementedError
        If `dtype` is of integers.

    Examples
    --------
    >>> _ = weft.manual_seed(0)
    >>> weft.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    if layout is not None:
        is_strided("rand", layout)
    made = sampled("rand", size, "uniform", (), generator, out, dtype, device, requires_grad)
    return pinned(made) if pin_memory else made


@composite(fast_path=new_samples("normal"), leaf="core::randn")
@documented(options=OPTIONS)
def randn(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Draw numbers from the normal distribution of mean 0 and variance 1.

    Parameters
    ----------
    size : int, ..., or a sequence of them
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.
    out : Tensor, optional
        Is filled and returned.
    dtype : dtype, optional
        Floating, or complex: then the real and the imaginary part have variance 1/2. Default: `get_default_dtype`.
    {options}

    Raises
    ------
    NotImplementedError
        If `dtype` is of integers.

    Examples
    --------
    >>> _ = weft.manual_seed(0)
    >>> weft.randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    if layout is not None:
        is_strided("randn", layout)
    made = sampled("randn", size, "normal", (), generator, out, dtype, device, requires_grad)
    return pinned(made) if pin_memory else made


@composite(fast_path=FastPath(compute=new_integers), leaf="core::randint")
@documented(options=OPTIONS)
def randint(
    *args: int | Sequence[int],
    low: int | None = None,
    high: int | None = None,
    size: Sequence[int] | None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Draw integers uniformly from `low` (inclusive) to `high` (exclusive).

    Called as ``randint(high, size)`` or ``randint(low, high, size)``.

    Parameters
    ----------
    low : int, default 0
    high : int
    size : sequence of int
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.
    out : Tensor, optional
        Is filled and returned.
    dtype : dtype, default int64
        Any but complex; it must hold `low` and ``high - 1``.
    {options}

    Raises
    ------
    RuntimeError
        If the range is empty, or not in that of `dtype`.

    Examples
    --------
    >>> _ = weft.manual_seed(0)
    >>> weft.randint(3, 10, (4,))
    tensor([7, 6, 3, 5])
    """
    if layout is not None:
        is_strided("randint", layout)
    given = {"low": low, "high": high, "size": size}
    names = [name for name in ("low", "high", "size") if given[name] is None]
    if len(args) < len(names) and names[:1] == ["low"]:
        names = names[1:]
    if len(args) != len(names):
        raise TypeError(
            "randint(): takes (high, size) or (low, high, size); size is a tuple, as in randint(10, (2, 3))"
        )
    given.update(zip(names, args))
    if not isinstance(given["size"], (tuple, list)):
        raise TypeError(f"randint(): argument 'size' must be tuple of ints, not {type(given['size']).__name__}")
    element = chosen_dtype("randint", out, dtype, int64)
    bounds = whole_bounds("randint", given["low"] or 0, given["high"], element)
    made = sampled("randint", (given["size"],), "integers", bounds, generator, out, element, device, requires_grad)
    return pinned(made) if pin_memory else made


@composite(fast_path=FastPath(compute=new_order, takes="n"), leaf="core::randperm")
@documented(options=OPTIONS)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return the integers from 0 to n - 1 in random order.

    Parameters
    ----------
    n : int
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.
    out : Tensor, optional
        Is filled and returned.
    dtype : dtype, default int64
        It must hold ``n - 1``.
    {options}

    Examples
    --------
    >>> _ = weft.manual_seed(0)
    >>> weft.randperm(4)
    tensor([0, 1, 3, 2])
    """
    if layout is not None:
        is_strided("randperm", layout)
    count = whole("randperm", "n", n)
    element = chosen_dtype("randperm", out, dtype, int64)
    if element.is_complex or element.name == "bool":
        raise NotImplementedError(f"randperm: not implemented for '{element.scalar_type_name}'; take dtype=weft.int64")
    largest = (1 << 11) + 1 if element is float16 else math.inf
    if not element.is_floating_point:
        largest = highest_whole(element.numpy) + 1
    if count > largest:
        raise RuntimeError(f"randperm: n must be at most {largest} for {element}, got {count}; take dtype=weft.int64")
    shape = as_shape("randperm", (count,))
    where = out.device if out is not None else resolve_device(device)
    order = generator_for("randperm", generator, where).sample("permutation", count)
    key = key_of(element, where)
    made = make(on_device_of(key, order.astype)(element.numpy, copy=False).reshape(shape), key)
    made = finished("randperm", made, out, requires_grad)
    return pinned(made) if pin_memory else made


@composite(leaf="core::rand_like")
@documented(options=LIKE_OPTIONS)
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Draw numbers uniform on [0, 1), with another tensor's shape, dtype and device.

    Parameters
    ----------
    input : Tensor
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.
    {options}

    Examples
    --------
    >>> _ = weft.manual_seed(0)
    >>> weft.rand_like(weft.zeros(3))
    tensor([0.4963, 0.7682, 0.0885])
    """
    if layout is not None:
        is_strided("rand_like", layout)
    made = sampled_like("rand_like", input, "uniform", (), generator, dtype, device, requires_grad, memory_format)
    return pinned(made) if pin_memory else made


@composite(leaf="core::randn_like")
@documented(options=LIKE_OPTIONS)
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Draw normal numbers of mean 0 and variance 1, with another tensor's shape, dtype and device.

    Parameters
    ----------
    input : Tensor
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.
    {options}

    Examples
    --------
    >>> _ = weft.manual_seed(0)
    >>> weft.randn_like(weft.zeros(3))
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    if layout is not None:
        is_strided("randn_like", layout)
    made = sampled_like("randn_like", input, "normal", (), generator, dtype, device, requires_grad, memory_format)
    return pinned(made) if pin_memory else made


@composite(leaf="core::randint_like")
@documented(options=LIKE_OPTIONS)
def randint_like(
    input: Tensor,
    *args: int | Tensor,
    low: int | Tensor | None = None,
    high: int | Tensor | None = None,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Draw integers from `low` (inclusive) to `high` (exclusive), with another tensor's shape, dtype and device.

    Called as ``randint_like(input, high)`` or ``randint_like(input, low, high)``.

    Parameters
    ----------
    input : Tensor
    low : int, default 0
    high : int
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.
    {options}

    Examples
    --------
    >>> _ = weft.manual_seed(0)
    >>> weft.randint_like(weft.zeros(4), 3, 10)
    tensor([7., 6., 3., 5.])
    """
    if layout is not None:
        is_strided("randint_like", layout)
    if len(args) == 2:
        low, high = args
    elif len(args) == 1:
        low, high = (low, args[0]) if high is None else (args[0], high)
    check_tensor("randint_like", input)
    bounds = whole_bounds("randint_like", low or 0, high, dtype or input.dtype)
    made = sampled_like(
        "randint_like", input, "integers", bounds, generator, dtype, device, requires_grad, memory_format
    )
    return pinned(made) if pin_memory else made


def sampled(
    name: str,
    size: Any,
    sampler: str,
    args: tuple[Any, ...],
    generator: Any,
    out: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
) -> Any:
    """A new tensor from a sampler of the generator, or `out` with its samples."""
    if not size:
        raise TypeError(f"{name}(): missing the size; pass integers or one tuple of them, () for a 0-d tensor")
    shape = as_shape(name, size)
    element = chosen_dtype(name, out, dtype, get_default_dtype())
    if sampler != "integers":
        check_continuous(name, element)
    where = out.device if out is not None else resolve_device(device)
    remember_new_key()

    keeps_order = out is not None and out._array.shape == shape
    if keeps_order and sampler == "normal":
        args = (*(args or (0.0, 1.0)), bool(out._array.flags.c_contiguous))

    def draw(shape: tuple[int, ...]) -> Any:
        flat = generator_for(name, generator, where).sample(sampler, math.prod(shape), element.numpy, *args)
        made = in_memory_order(flat, out._array) if keeps_order else flat.reshape(shape)
        return make(made, key_of(element, where))

    made = drawn(name, shape, draw) if local.levels and out is None else draw(shape)
    return finished(name, made, out, requires_grad)


def sampled_like(
    name: str,
    input: Any,
    sampler: str,
    args: tuple[Any, ...],
    generator: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    memory_format: Any,
) -> Any:
    """A new tensor of another's shape and, unless a memory format is given, of its order in memory."""
    check_tensor(name, input)
    element = element_type(name, dtype) or input.dtype
    refuse_float8(name, element)
    if sampler != "integers":
        check_continuous(name, element)
    where = input.device if device is None else resolve_device(device)
    if local.levels:
        return sampled(name, (input.shape,), sampler, args, generator, None, element, where, requires_grad)
    array = input._array
    keeps_order = memory_format is None or str(memory_format).endswith("preserve_format")
    if sampler == "normal":
        args = (0.0, 1.0, not keeps_order or is_in_order(array))
    flat = generator_for(name, generator, where).sample(sampler, array.size, element.numpy, *args)
    made = in_memory_order(flat, array) if keeps_order else flat.reshape(array.shape)
    return finished(name, make(made, key_of(element, where)), None, requires_grad)


def chosen_dtype(name: str, out: Any, dtype: Any, default: Any) -> Any:
    """The dtype asked for, which is that of `out` where there is one."""
    if out is None:
        element = element_type(name, dtype) or default
        refuse_float8(name, element)
        return element
    check_tensor(name, out, "out")
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"{name}: dtype {dtype} does not match dtype of out parameter ({out.dtype}); leave out one")
    refuse_float8(name, out.dtype)
    return out.dtype


def finished(name: str, made: Any, out: Any, requires_grad: bool) -> Any:
    """What the caller gets: the new tensor, or `out` with its contents."""
    if out is not None:
        return write_out(name, out, made)
    return made.requires_grad_() if requires_grad else made


# Order in memory


def memory_order(array: Any) -> list[int]:
    """The axes of an array from the longest step in memory to the shortest."""
    return sorted(range(array.ndim), key=lambda axis: -array.strides[axis])


def is_in_order(array: Any) -> bool:
    """Whether the order in memory is that of the axes, gaps or not: a dense copy in this order is contiguous."""
    axes = [axis for axis in memory_order(array) if array.shape[axis] > 1]
    return axes == sorted(axes)


def in_memory_order(flat: Any, like: Any) -> Any:
    """Give samples the shape of an array such that they lie in its order of memory, as PyTorch fills a tensor."""
    if like.flags.c_contiguous:
        return flat.reshape(like.shape)
    axes = memory_order(like)
    laid_out = flat.reshape([like.shape[axis] for axis in axes])
    return laid_out.transpose([axes.index(axis) for axis in range(like.ndim)])


def flat_in_memory_order(xp: Any, array: Any, like: Any) -> Any:
    """The elements of an array, broadcast to the shape of another, in the other's order of memory."""
    return xp.broadcast_to(array, like.shape).transpose(memory_order(like)).reshape(-1)


def refilled(input: Any, generator: Any, sampler: str, *args: Any) -> Any:
    """An array like the one to fill, of new samples."""
    return in_memory_order(generator.sample(sampler, input.size, input.dtype, *args), input)


# Filling a tensor in place. What was in it does not matter, so its gradient is zero.


def no_gradient(grad: Any) -> Any:
    """The gradient of what the result does not depend on, or depends on in steps."""
    return zeros_like(grad)


@op(inplace="uniform_", name="uniform", vmap="random", inplace_kernel=samples_inplace("uniform", 0.0, 1.0))
def _uniform(
    input: Tensor, *bounds: Number | Tensor, generator: Generator | None = None, **named: Number | Tensor
) -> Tensor:
    """Fill with numbers uniform on [from, to); ``uniform_(from=0, to=1, *, generator=None)``."""
    low, high = from_and_to("uniform_", bounds, named, 0.0, 1.0)
    low, high = real("uniform_", "from", low), real("uniform_", "to", high)
    check_continuous("uniform_", input.dtype)
    largest = finfo(input.dtype).max
    for argument, value in (("from", low), ("to", high)):
        if not -largest <= value <= largest:
            raise RuntimeError(f"uniform_: {argument} is out of bounds for {input.dtype}, got {value}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(f"uniform_: to - from must be at most {largest} for {input.dtype}; got {low} and {high}")
    return _uniform.op(input, low, high, generator_for("uniform_", generator, input.device))


@_uniform.kernel
def _(xp, input, low, high, generator):
    return refilled(input, generator, "uniform", low, high)


_uniform.gradient("input")(no_gradient)


@op(inplace="normal_", name="normal_fill", vmap="random", inplace_kernel=samples_inplace("normal", 0.0, 1.0))
def _normal(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers of this mean and standard deviation."""
    check_continuous("normal_", input.dtype)
    mean, std = real("normal_", "mean", mean), real("normal_", "std", std)
    check_deviation("normal_", std)
    return _normal.op(input, mean, std, generator_for("normal_", generator, input.device))


@_normal.kernel
def _(xp, input, mean, std, generator):
    return refilled(input, generator, "normal", mean, std, bool(input.flags.c_contiguous))


_normal.gradient("input")(no_gradient)
_normal.declaration.label = "NormalBackward0"


@op(inplace="log_normal_", name="log_normal", vmap="random")
def _log_normal(input: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponentials of normal numbers of this mean and standard deviation."""
    mean, std = real("log_normal_", "mean", mean), real("log_normal_", "std", std)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(
            f"log_normal_: not implemented for '{input.dtype.scalar_type_name}'; the tensor must be floating"
        )
    return _log_normal.op(input, mean, std, generator_for("log_normal_", generator, input.device))


@_log_normal.kernel
def _(xp, input, mean, std, generator):
    return refilled(input, generator, "log_normal", mean, std)


_log_normal.gradient("input")(no_gradient)
_normal.declaration.label = "NormalBackward0"


@op(inplace="exponential_", name="exponential", vmap="random")
def _exponential(input: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with samples of the density lambd * exp(-lambd * x)."""
    check_real_continuous("exponential_", "exponential", input.dtype)
    lambd = real("exponential_", "lambd", lambd)
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return _exponential.op(input, lambd, generator_for("exponential_", generator, input.device))


@_exponential.kernel
def _(xp, input, lambd, generator):
    return refilled(input, generator, "exponential", lambd)


_exponential.gradient("input")(no_gradient)


@op(inplace="cauchy_", name="cauchy", vmap="random")
def _cauchy(input: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with samples of the Cauchy distribution of this median and half width at half maximum."""
    check_real_continuous("cauchy_", "Cauchy", input.dtype)
    median, sigma = real("cauchy_", "median", median), real("cauchy_", "sigma", sigma)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return _cauchy.op(input, median, sigma, generator_for("cauchy_", generator, input.device))


@_cauchy.kernel
def _(xp, input, median, sigma, generator):
    return refilled(input, generator, "cauchy", median, sigma)


_cauchy.gradient("input")(no_gradient)


@op(inplace="geometric_", name="geometric", vmap="random")
def _geometric(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Fill with the numbers of trials, each of probability `p`, up to the first success."""
    p = real("geometric_", "p", p)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if input.dtype.is_complex or input.dtype.name == "bool":
        raise NotImplementedError(
            f"geometric_: not implemented for '{input.dtype.scalar_type_name}'; counts need a number dtype"
        )
    return _geometric.op(input, p, generator_for("geometric_", generator, input.device))


@_geometric.kernel
def _(xp, input, p, generator):
    return refilled(input, generator, "geometric", p)


_geometric.gradient("input")(no_gradient)


@op(inplace="random_", name="random", vmap="random")
def _random(
    input: Tensor, *bounds: int | Tensor | None, generator: Generator | None = None, **named: int | Tensor | None
) -> Tensor:
    """Fill with whole numbers.

    ``random_()``: from 0 to the largest of the dtype (of floating ones 2**digits, up to which they hold all);
    ``random_(to)``: from 0 up to, but not with, `to`; ``random_(from, to)``; to None: up to the largest.
    """
    element = input.dtype
    if element.is_complex:
        raise NotImplementedError(f"random_: not implemented for '{element.scalar_type_name}'; the tensor must be real")
    generator = generator_for("random_", generator, input.device)
    if not bounds and not named:
        return _random.op(input, None, None, generator)
    if len(bounds) == 1 and not named:
        bounds = (0, *bounds)
    low, high = from_and_to("random_", bounds, named, 0, None)
    if high is not None:
        low, high = whole_bounds("random_", low, high, element)
    elif whole("random_", "from", low) == LOWEST_INT64:
        if element.name not in ("int64", "float64", "float32", "bfloat16"):
            raise RuntimeError(f"random_: all of 64 bits fit only int64, float64, float32 and bfloat16, not {element}")
        high = -LOWEST_INT64
    else:
        low, high = checked_bounds("random_", whole("random_", "from", low), highest_whole(element.numpy) + 1, element)
    return _random.op(input, low, high, generator)


@_random.kernel
def _(xp, input, low, high, generator):
    if low is None:
        return refilled(input, generator, "full_range")
    return refilled(input, generator, "integers", low, high)


_random.gradient("input")(no_gradient)


@op(inplace="bernoulli_", name="bernoulli_fill", tensors="input p_each", vmap="random")
def _bernoulli(input: Tensor, p: float | Tensor = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 where an event of probability `p` happens, and 0 elsewhere.

    Parameters
    ----------
    p : float, or Tensor that broadcasts to this one's shape
    generator : Generator, optional
    """
    if input.dtype.is_complex:
        raise NotImplementedError(
            f"bernoulli_: not implemented for '{input.dtype.scalar_type_name}'; the tensor must be real"
        )
    generator = generator_for("bernoulli_", generator, input.device)
    if isinstance(p, TensorBase):
        check_probability_dtype("bernoulli_", p)
        if broadcast_shapes("bernoulli_", [input._array.shape, p._array.shape]) != input._array.shape:
            raise RuntimeError(
                f"bernoulli_: p of shape {list(p._array.shape)} does not broadcast to {list(input._array.shape)}, "
                "the shape of the tensor to fill"
            )
        return _bernoulli.op(input, p, None, generator)
    return _bernoulli.op(input, None, checked_probability("bernoulli_", p), generator)


@_bernoulli.kernel
def _(xp, input, p_each, p, generator):
    if p_each is None:
        flat = generator.sample("bernoulli", input.size, p)
    else:
        check_probabilities(xp, "bernoulli_", p_each)
        flat = generator.sample("bernoulli_each", flat_in_memory_order(xp, p_each, input))
    return in_memory_order(flat.astype(input.dtype), input)


_bernoulli.gradient("input p_each")(lambda grad: [no_gradient(grad)] * 2)
_bernoulli.declaration.label = "BernoulliBackward0"


# Samples by parameters in tensors. They are steps of their parameters, so that the gradients are zero.


def room(name: str, out: Any, shape: tuple[int, ...]) -> Any:
    """What samples for `out` are to be like: itself, so that they follow its order in memory, if it has the shape."""
    check_tensor(name, out, "out")
    return out if out._array.shape == shape else out.new_empty(shape)


@op(name="bernoulli", dtypes="bool int float", vmap="random")
def _bernoulli_each(input: Tensor, p: float | None, generator: Generator) -> Tensor:
    """1 with the probability that each element is, or all with probability `p`; else 0."""
    return _bernoulli_each.op(input, p, generator)


@_bernoulli_each.kernel
def _(xp, input, p, generator):
    if p is None:
        check_probabilities(xp, "bernoulli", input)
        ordered = input if input.flags.c_contiguous else xp.ascontiguousarray(input)
        flat = generator.sample("bernoulli_each", ordered.reshape(-1))
    else:
        flat = generator.sample("bernoulli", input.size, p)
    return flat.astype(input.dtype).reshape(input.shape)


_bernoulli_each.gradient("input")(no_gradient)


def with_default_generator(values: list[Any], arrays: list[Any]) -> bool:
    """Events by the probabilities in a tensor."""
    options = None, default_generator_of(values[0]._key.device)
    values += options
    arrays += options
    return not local.levels


@composite("bernoulli", fast_path=FastPath(_bernoulli_each.op, prepare=with_default_generator, takes="input"))
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Draw 1 with the probability that each element of `input` gives, else 0.

    Parameters
    ----------
    input : Tensor
        Probabilities; floating.
    p : float, optional
        One probability for all; `input` then only gives shape and dtype.
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.
    out : Tensor, optional

    Raises
    ------
    RuntimeError
        If a probability is not in [0, 1].

    Examples
    --------
    >>> weft.bernoulli(weft.tensor([0.0, 1.0, 1.0]))
    tensor([0., 1., 1.])
    """
    check_tensor("bernoulli", input)
    if p is None:
        check_probability_dtype("bernoulli", input)
    else:
        p = checked_probability("bernoulli", p)
    source = generator_for("bernoulli", generator, input.device)
    if out is None:
        return _bernoulli_each.op(input, p, source)
    to_fill = room("bernoulli", out, input._array.shape)
    return write_out("bernoulli", out, _bernoulli.op(to_fill, input if p is None else None, p, source))


@composite(leaf="core::normal")
@documented(options=OPTIONS)
def normal(
    mean: float | Tensor,
    std: float | Tensor = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Draw normal numbers of given means and standard deviations.

    Parameters
    ----------
    mean, std : float or Tensor
        Tensors are broadcast; dtype and device are those of the first, and the parameters after ``out`` are for
        numbers only.
    size : sequence of int
        Needed, and allowed, where both are numbers.
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.
    out : Tensor, optional
        Is filled and returned.
    dtype : dtype, optional
        Floating or complex; default: `get_default_dtype`.
    {options}

    Raises
    ------
    RuntimeError
        If a standard deviation is negative.

    Examples
    --------
    >>> weft.normal(weft.tensor([1.0, 2.0]), 0.0)
    tensor([1., 2.])
    """
    if layout is not None:
        is_strided("normal", layout)
    means, deviations = isinstance(mean, TensorBase), isinstance(std, TensorBase)
    if not means and not deviations:
        if size is None:
            raise TypeError("normal(): pass size, or a Tensor as mean or std")
        if not isinstance(size, (tuple, list)):
            raise TypeError(f"normal(): argument 'size' must be tuple of ints, not {type(size).__name__}")
        mean, std = real("normal", "mean", mean), real("normal", "std", std)
        check_deviation("normal", std)
        return sampled("normal", (size,), "normal", (mean, std), generator, out, dtype, device, requires_grad)
    if size is not None:
        raise TypeError("normal(): size is that of the tensors; leave it out, or pass numbers as mean and std")
    location: Any = mean
    scale: Any = std
    first = location if means else scale
    if deviations and scale.dtype.is_complex:
        raise RuntimeError("normal: expects standard deviation to be non-complex; pass its absolute value")
    check_continuous("normal", first.dtype)
    if means and deviations:
        shape = broadcast_shapes("normal", [location._array.shape, scale._array.shape])
        scale = scale if scale.dtype is location.dtype or location.dtype.is_complex else scale.to(location.dtype)
    else:
        shape = first._array.shape
    if not deviations:
        scale = real("normal", "std", scale)
        check_deviation("normal", scale)
    if out is not None:
        return normal_into(out, location, scale, shape, generator_for("normal", generator, first.device))
    return _normal_each.op(
        location if means else None,
        scale if deviations else None,
        0.0 if means else real("normal", "mean", location),
        1.0 if deviations else scale,
        generator_for("normal", generator, first.device),
    )


def normal_into(out: Any, mean: Any, std: Any, shape: tuple[int, ...], source: Any) -> Any:
    """Normal numbers written to a tensor: drawn in its dtype and order in memory, then scaled and shifted."""
    to_fill = room("normal", out, shape)
    check_continuous("normal", out.dtype)
    if to_fill is not out:
        warn_of_resize("normal", out, shape)
    if isinstance(std, TensorBase):
        check_deviations(backend_of(std._key.device).xp, std._array)
        return write_out("normal", out, _normal.op(to_fill, 0.0, 1.0, source) * std + mean)
    return write_out("normal", out, _normal.op(to_fill, 0.0, std, source) + mean)


def check_deviations(xp: Any, std: Any) -> None:
    """Standard deviations are not negative, nor NaN."""
    if not std.size or not has_values(std):
        return
    if type(std) is not numpy.ndarray:
        assert_none(xp, "normal", xp.logical_not(std >= 0), "expects all elements of std >= 0.0; pass std.abs()")
    elif not bool((std >= 0).all()):
        raise RuntimeError(f"normal: expects all elements of std >= 0.0, got {std.min()}; pass std.abs()")


@op(name="normal", tensors="mean std", vmap="random")
def _normal_each(
    mean: Tensor | None, std: Tensor | None, constant_mean: float, constant_std: float, generator: Generator
) -> Tensor:
    """Normal numbers of means and standard deviations in tensors; None: those of the constants."""
    return _normal_each.op(mean, std, constant_mean, constant_std, generator)


@_normal_each.kernel
def _(xp, mean, std, constant_mean, constant_std, generator):
    if std is not None:
        check_deviations(xp, std)
    present = [each for each in (mean, std) if each is not None]
    shape = numpy.broadcast_shapes(*[each.shape for each in present])
    element = present[0].dtype
    result = generator.sample("normal", math.prod(shape), element, 0.0, constant_std).reshape(shape)
    if std is not None:
        result = result * std
    return (result + (element.type(constant_mean) if mean is None else mean)).astype(element, copy=False)


_normal_each.gradient("mean std")(lambda grad: [no_gradient(grad)] * 2)


@op("multinomial", gradient=None, vmap="random")
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Draw column indices from each row, with the elements as weights.

    Parameters
    ----------
    input : Tensor, shape (columns,) or (rows, columns)
        Weights, floating; they need not sum to 1.
    num_samples : int
    replacement : bool
        Whether a column may be drawn again.
    generator : Generator, optional
    out : Tensor of int64, optional

    Returns
    -------
    Tensor of int64, shape (num_samples,) or (rows, num_samples)

    Raises
    ------
    RuntimeError
        If a weight is negative or not finite, if all of a row are zero, or if there are fewer columns than samples
        to draw without replacement.

    Examples
    --------
    >>> weft.multinomial(weft.tensor([0.0, 3.0, 0.0]), 2, replacement=True)
    tensor([1, 1])
    """
    check_tensor("multinomial", input)
    if input.ndim not in (1, 2):
        raise RuntimeError(f"multinomial: prob_dist must be 1 or 2 dim, got shape {list(input._array.shape)}")
    if not input.dtype.is_floating_point:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got {input.dtype}; pass input.float()"
        )
    count = whole("multinomial", "num_samples", num_samples)
    columns = input._array.shape[-1]
    if count <= 0:
        raise RuntimeError(f"multinomial: cannot sample n_sample <= 0 samples, got {count}")
    if not replacement and count > columns:
        raise RuntimeError(
            "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement: "
            f"{count} of {columns} columns; "
            "pass replacement=True, or fewer samples"
        )
    if columns > LARGEST_CATEGORIES:
        raise RuntimeError(f"multinomial: number of categories cannot exceed 2^24, got {columns}")
    if out is not None and chosen_dtype("multinomial", out, None, int64) is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_type_name}")
    drawn = multinomial.op(input, count, bool(replacement), generator_for("multinomial", generator, input.device))
    return drawn if out is None else write_out("multinomial", out, drawn)


@multinomial.kernel
def _(xp, input, count, replacement, generator):
    rows = input if input.ndim == 2 else input[None]
    check_weights(xp, rows)
    drawn = generator.sample("multinomial", rows, count, replacement)
    return drawn if input.ndim == 2 else drawn[0]


def check_weights(xp: Any, rows: Any) -> None:
    """Weights to draw by are not negative, nor NaN, and finite; some of each row are positive."""
    if not rows.size or not has_values(rows):
        return
    invalid = "probability tensor contains either `inf`, `nan` or element < 0: an invalid multinomial distribution"
    empty = "invalid multinomial distribution (sum of probabilities <= 0)"
    if type(rows) is not numpy.ndarray:
        assert_none(xp, "multinomial", xp.logical_not(xp.logical_and(rows >= 0, rows < math.inf)), invalid)
        assert_none(xp, "multinomial", xp.logical_not((rows > 0).any(axis=1)), empty)
        return
    largest = rows.max(axis=1)
    if not (rows.min() >= 0 and largest.max() < math.inf):  # nan is not
        raise RuntimeError(f"multinomial: {invalid}")
    if not bool((largest > 0).all()):
        raise RuntimeError(f"multinomial: {empty}")


@op(dtypes="float", vmap="random")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw from Poisson distributions whose rates are the elements of `input`.

    Parameters
    ----------
    input : Tensor, floating
        Rates: events per count.
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.

    Raises
    ------
    RuntimeError
        If a rate is negative or NaN.

    Examples
    --------
    >>> _ = weft.manual_seed(0)
    >>> weft.poisson(weft.tensor([0.0, 3.0, 100.0]))
    tensor([ 0.,  6., 96.])
    """
    check_tensor("poisson", input)
    return poisson.op(input, generator_for("poisson", generator, input.device))


@poisson.kernel
def _(xp, input, generator):
    check_rates(xp, input)
    return generator.sample("poisson", xp.ascontiguousarray(input).reshape(-1)).reshape(input.shape)


poisson.gradient("input")(no_gradient)


def check_rates(xp: Any, rates: Any) -> None:
    """Rates are not negative, nor NaN, and finite."""
    if not has_values(rates):
        return
    for wanted, right in (("non-negative", rates >= 0), ("finite", rates < math.inf)):
        words = f"invalid Poisson rate, expected rate to be {wanted}"
        if type(rates) is not numpy.ndarray:
            assert_none(xp, "poisson", xp.logical_not(right), words)
        elif not bool(right.all()):
            raise RuntimeError(f"poisson: {words}")


@op(tensors="count prob", dtypes="float", vmap="random")
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw from binomial distributions: the number of successes in `count` trials of probability `prob`.

    Parameters
    ----------
    count, prob : Tensor, floating
        Of one dtype; broadcast to one shape.
    generator : Generator, optional
        Default: that of the device, which `manual_seed` seeds.

    Raises
    ------
    ValueError
        If a dtype is not floating, or they differ.

    Examples
    --------
    >>> weft.binomial(weft.tensor([0.0, 10.0]), weft.tensor(1.0))
    tensor([ 0., 10.])
    """
    check_tensor("binomial", count, "count")
    check_tensor("binomial", prob, "prob")
    for name, each in (("count", count), ("prob", prob)):
        if not each.dtype.is_floating_point or each.dtype is not count.dtype:
            raise ValueError(f"binomial: only supports floating-point tensors of one dtype; {name} is {each.dtype}")
    if count.dtype.is_half:
        raise NotImplementedError(f"binomial: not implemented for '{count.dtype.scalar_type_name}'; pass count.float()")
    broadcast_shapes("binomial", [count._array.shape, prob._array.shape])
    return binomial.op(count, prob, generator_for("binomial", generator, count.device))


@binomial.kernel
def _(xp, count, prob, generator):
    counts, probabilities = xp.broadcast_arrays(count, prob)
    flat = generator.sample("binomial", counts.reshape(-1), probabilities.reshape(-1))
    return flat.reshape(counts.shape)


binomial.gradient("count prob")(lambda grad: [no_gradient(grad)] * 2)


# Checks of arguments


def check_tensor(name: str, value: Any, argument: str = "input") -> None:
    """It is a tensor."""
    if not isinstance(value, TensorBase):
        raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}")


def check_continuous(name: str, element: Any) -> None:
    """Uniform and normal numbers are floating or complex."""
    if not (element.is_floating_point or element.is_complex):
        raise NotImplementedError(
            f"{name}: not implemented for '{element.scalar_type_name}' ({element}); pass a floating or complex dtype, "
            "or draw whole numbers with randint"
        )


def check_real_continuous(name: str, distribution: str, element: Any) -> None:
    """The dtype is floating."""
    if not element.is_floating_point:
        raise RuntimeError(
            f"{name}: the {distribution} distribution is a continuous probability distribution, so the dtype must be "
            f"floating, but the tensor is {element}; convert it with .float()"
        )


def check_deviation(name: str, std: float) -> None:
    """A standard deviation is not negative, nor NaN."""
    if not std >= 0:
        raise RuntimeError(f"{name}: normal expects std >= 0.0, but found std {std:g}")


def checked_probability(name: str, p: Any) -> float:
    """A number in [0, 1]."""
    probability = real(name, "p", p)
    if not 0 <= probability <= 1:
        raise RuntimeError(f"{name}: expects p to be in [0, 1], but got p={probability}")
    return probability


def check_probability_dtype(name: str, p: Any) -> None:
    """Probabilities are floating."""
    if not p.dtype.is_floating_point:
        raise NotImplementedError(
            f"{name}: not implemented for probabilities of '{p.dtype.scalar_type_name}' ({p.dtype}); pass them as "
            ".float()"
        )


def check_probabilities(xp: Any, name: str, p: Any) -> None:
    """Probabilities are in [0, 1]."""
    if not p.size or not has_values(p):
        return
    if type(p) is not numpy.ndarray:
        wrong = xp.logical_not(xp.logical_and(p >= 0, p <= 1))
        assert_none(xp, name, wrong, "probabilities must be in [0, 1]; pass logits through sigmoid() first")
    elif not (reduce("min", p, None) >= 0 and reduce("max", p, None) <= 1):  # nan is not
        raise RuntimeError(
            f"{name}: probabilities must be in [0, 1], got elements from {p.min()} to {p.max()}; "
            "pass logits through sigmoid() first"
        )


def real(name: str, argument: str, value: Any) -> float:
    """A float from a number or a tensor of one element."""
    if isinstance(value, TensorBase) and value._array.size == 1:
        value = number_in(name, value, argument)
    if isinstance(value, (int, float, numpy.number)):
        return float(value)
    raise TypeError(f"{name}(): argument '{argument}' must be float, not {type(value).__name__}")


def whole(name: str, argument: str, value: Any) -> int:
    """An int from a whole number or a tensor with one."""
    if isinstance(value, TensorBase) and value._array.size == 1:
        value = value.item()  # type: ignore[attr-defined]
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(value).__name__}") from None


def from_and_to(name: str, bounds: tuple[Any, ...], named: dict[str, Any], low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds of a range, by position or as ``from=`` (Python's keyword, so that no parameter has the name)."""
    if len(bounds) > 2 or not set(named) <= {"from", "to"} or ("from" in named and bounds):
        raise TypeError(f"{name}(): takes from, to and generator; got {len(bounds)} numbers and {sorted(named)}")
    given = dict(zip(("from", "to"), bounds)) | named
    return given.get("from", low), given.get("to", high)


def whole_bounds(name: str, low: Any, high: Any, element: Any) -> tuple[int, int]:
    """The bounds of a range of whole numbers, checked against each other and against a dtype."""
    low, high = whole(name, "low", low), whole(name, "high", high)
    if not LOWEST_INT64 <= low < -LOWEST_INT64 or not LOWEST_INT64 <= high < -LOWEST_INT64:
        raise ValueError(f"{name}: low and high must fit into 64 bits, got {low} and {high}")
    if low >= high:
        raise RuntimeError(f"{name}: random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return checked_bounds(name, low, high, element)


def checked_bounds(name: str, low: int, high: int, element: Any) -> tuple[int, int]:
    """The bounds, if all whole numbers between them are numbers of a dtype."""
    if element.is_complex:
        raise RuntimeError(f"{name}: handles only integral, floating-point and boolean types, got {element}")
    digits = FULL_RANGE_DIGITS.get(element.name)
    if digits is not None:
        lowest, highest = -finfo(element).max, finfo(element).max
    else:
        highest = highest_whole(element.numpy)
        lowest = -highest - 1 if element.is_signed else 0
    for argument, value in (("from", low), ("to - 1", high - 1)):
        if not lowest <= value <= highest:
            raise RuntimeError(
                f"{name}: {argument} is out of bounds for {element}, which has {lowest} to {highest}; got {value}"
            )
        if digits is not None and abs(value) > 1 << digits:
            warnings.warn(
                f"{name}: {argument} is out of bounds [-(2^{digits}), 2^{digits}], beyond which {element} does not "
                f"hold every whole number, got {value}; draw them in weft.int64",
                UserWarning,
                stacklevel=4,
            )
    if digits is None:
        return low, high
    first, last = representable(low, high, element.numpy, digits)
    if first >= last:
        raise RuntimeError(
            f"{name}: expects 'from' casted to dtype to be less than 'to' casted to dtype, but {element} has no number "
            f"from {low} on and below {high} that rounding keeps there"
        )
    return first, last


def representable(low: int, high: int, element: Any, digits: int) -> tuple[int, int]:
    """Narrow a range by a unit in the last place, where rounding to a floating dtype would leave it."""
    first, last = int(element.type(low + 1)), int(element.type(high - 1))
    if first < low:
        low = first + (1 << (abs(low + 1).bit_length() - digits))
    if last >= high:
        high = last - (1 << (abs(high - 1).bit_length() - digits))
    return low, high
