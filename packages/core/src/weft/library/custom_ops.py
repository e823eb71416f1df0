"""`custom_op`: operators of functions of tensors, with PyTorch's interface."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from weft._ops import defined
from weft.library._infer_schema import infer_schema
from weft.library._libraries import (
    as_tags,
    keys_of,
    register_autocast,
    register_autograd,
    register_torch_dispatch,
    set_kernel,
)
from weft.library._operators import add_operator, remove_operator

__all__ = ["CustomOpDef", "custom_op"]


class CustomOpDef:
    """A function of tensors that weft takes as one operator; `custom_op` makes it.

    Attributes
    ----------
    name : str
        With its namespace, ``"mylib::numpy_sin"``.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], schema: str, device_types: Any = None, tags: Any = None
    ) -> None:
        self.name = self._qualname = name
        self._namespace, _, self._name = name.partition("::")
        self._init_fn = function
        previous = defined.get(name)
        if previous is not None:  # as where a cell of a notebook runs again
            for each in list(previous.operators.values()):  # type: ignore[attr-defined]
                remove_operator(each)
        self._operator = add_operator(f"{name}{schema}", as_tags(tags or ()))
        self._operator.is_custom = True
        self._operator.fallback = function
        self._operator.devices = None if device_types is None else device_list(device_types)
        self._operator.signature = function
        self._opoverload = self._operator.overload
        self._schema = schema
        self.__name__ = self._name
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.name})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """Say what computes it on a device (or several): a function of the op's arguments. May be a decorator."""

        def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
            if device_types is None:
                self._operator.fallback, self._operator.devices = kernel, None
            for key in () if device_types is None else keys_of(device_types):
                set_kernel(self._operator, key, kernel)
            return kernel

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Say what it returns on the device ``meta``: new tensors of the results' shapes."""
        self._operator.fake = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """Say how it is differentiated.

        Parameters
        ----------
        backward : callable
            ``backward(ctx, *grads)`` returns a gradient (or None) for each argument.
        setup_context : callable, optional
            ``setup_context(ctx, inputs, output)`` keeps what backward needs.
        """
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Any = None) -> Any:
        """Say how it runs on a batch: ``func(info, in_dims, *args)`` returns outputs and their dimensions."""

        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            self._operator.vmap = rule
            self._operator.changed()
            return rule

        return register if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        """Say what a mode, or a subclass, of ``__torch_dispatch__`` does about it. May be a decorator."""
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Let it cast its floating-point tensors where `weft.autocast` is enabled."""
        register_autocast(self, device_type, cast_inputs)

    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> AbstractContextManager[None]:
        """A block in which the function for a device is used, or the op's own one in its stead."""
        return self._operator.kernel_enabled(device_type, enabled)


def device_list(device_types: Any) -> tuple[str, ...]:
    return (device_types,) if isinstance(device_types, str) else tuple(device_types)


def custom_op(
    name: str,
    fn: Any = None,
    /,
    *,
    mutates_args: Any = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operator of a function of tensors, whatever it calls inside.

    Parameters
    ----------
    name : str
        With a namespace of your own, ``"mylib::numpy_sin"``.
    fn : callable, optional
        The function, with annotations; without it the result is a decorator.
    mutates_args : iterable of str, or "unknown"
        The arguments that it writes to.
    device_types : str or sequence of str, optional
        The devices that the function is for; default: all.
    schema : str, optional
        ``"(Tensor x) -> Tensor"``; default: what the annotations say.
    tags : weft.Tag or sequence of them, optional

    Returns
    -------
    CustomOpDef
        Callable as the function; ``register_autograd``, ``register_kernel``, ``register_fake`` and ``register_vmap``
        add the rest.

    Raises
    ------
    ValueError
        If the name has no namespace, or an annotation is missing.

    Examples
    --------
    >>> import numpy
    >>> @custom_op("mylib::numpy_sin", mutates_args=())
    ... def numpy_sin(x: weft.Tensor) -> weft.Tensor:
    ...     return weft.from_numpy(numpy.sin(x.numpy()))
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    >>> def backward(ctx, grad):
    ...     x, = ctx.saved_tensors
    ...     return grad * x.cos()
    >>> numpy_sin.register_autograd(backward, setup_context=setup_context)
    >>> x = weft.zeros(1, requires_grad=True)
    >>> numpy_sin(x).backward()
    >>> x.grad
    tensor([1.])
    """
    if name.count("::") != 1 or not all(name.split("::")):
        raise ValueError(f"custom_op: the name must be 'namespace::name', got {name!r}")

    def make(function: Callable[..., Any]) -> CustomOpDef:
        said = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        return CustomOpDef(name, function, said, device_types, tags)

    return make if fn is None else make(fn)
