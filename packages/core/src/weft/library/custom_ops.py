"""`custom_op`: ops of functions of tensors, with PyTorch's interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from weft._engine.tensor import TensorBase
from weft._interception.torch_function import flatten
from weft.autograd._function_operations import FunctionOperation
from weft.autograd.function import Function
from weft.ops._inplace import bump

__all__ = ["CustomOpDef", "custom_op"]


class CustomOpDef:
    """A function of tensors that weft takes as one op; `custom_op` makes it.

    Attributes
    ----------
    name : str
        With its namespace, ``"mylib::numpy_sin"``.
    """

    def __init__(self, name: str, function: Callable[..., Any], mutates_args: Any, device_types: Any) -> None:
        self.name = name
        self._function = function
        self._mutates = (mutates_args,) if isinstance(mutates_args, str) else tuple(mutates_args)
        self._kernels: dict[str, Callable[..., Any]] = {}
        self._devices = None if device_types is None else device_list(device_types)
        self._backward: Any = None
        self._setup: Any = None
        self._vmap: Any = None
        self._apply = self._make_function()
        self.__name__ = name.partition("::")[2]
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.name})>"

    def register_kernel(self, device_types: Any, func: Any = None) -> Any:
        """Say what computes it on a device (or several): a function of the op's arguments. May be a decorator."""

        def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
            for each in device_list(device_types):
                self._kernels[each] = kernel
            return kernel

        return register if func is None else register(func)

    def register_fake(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Say what the result looks like, for tools that run without values; weft computes at once and asks nobody."""
        return func

    def register_autograd(self, backward: Callable[..., Any], *, setup_context: Any = None) -> None:
        """Say how it is differentiated.

        Parameters
        ----------
        backward : callable
            ``backward(ctx, *grads)`` returns a gradient (or None) for each argument.
        setup_context : callable, optional
            ``setup_context(ctx, inputs, output)`` keeps what backward needs.
        """
        self._backward, self._setup = backward, setup_context
        self._apply = self._make_function()

    def register_vmap(self, func: Any = None) -> Any:
        """Say how it runs on a batch: ``func(info, in_dims, *args)`` returns outputs and their dimensions."""

        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            self._vmap = rule
            self._apply = self._make_function()
            return rule

        return register if func is None else register(func)

    def _kernel_for(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """The function for the device of the arguments.

        Raises
        ------
        NotImplementedError
            If there is none.
        """
        tensors = flatten(args)
        device = tensors[0]._key.device.type if tensors else "cpu"
        if device in self._kernels:
            return self._kernels[device]
        if self._devices is not None and device not in self._devices:
            raise NotImplementedError(
                f"{self.name}: no kernel for device '{device}'; there are kernels for "
                f"{', '.join(sorted({*self._devices, *self._kernels}))}. Add one with register_kernel"
            )
        return self._function

    def _make_function(self) -> Any:
        outer = self
        names = self._function.__code__.co_varnames[: self._function.__code__.co_argcount]
        written = [names.index(name) for name in self._mutates if name in names]

        class Custom(Function):
            generate_vmap_rule = outer._vmap is None

            @staticmethod
            def forward(*args: Any) -> Any:
                bare = [each.detach() if isinstance(each, TensorBase) else each for each in args]  # type: ignore[attr-defined]
                result = outer._kernel_for(args)(*bare)
                check_apart(outer.name, result, bare)
                for place in written:
                    if isinstance(args[place], TensorBase):
                        bump(args[place], outer.name)
                return result

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                if outer._setup is not None:
                    outer._setup(ctx, inputs, output)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                if outer._backward is None:
                    raise RuntimeError(
                        f"{outer.name}: Trying to backward through {outer.name} but no autograd formula was "
                        "registered. Please use register_autograd to add one."
                    )
                return outer._backward(ctx, *grads)

        Custom._operation = FunctionOperation(Custom, self.name, f"{self.name}_backward", self._function)
        if self._vmap is not None:
            Custom.vmap = staticmethod(self._vmap)  # type: ignore[assignment]
        return Custom.apply

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        names = self._function.__code__.co_varnames[: self._function.__code__.co_argcount]
        defaults = dict(zip(reversed(names), reversed(self._function.__defaults__ or ())))
        given = list(args)
        for name in names[len(args) :]:
            if name in kwargs:
                given.append(kwargs.pop(name))
            elif name in defaults:
                given.append(defaults[name])
            else:
                raise TypeError(f"{self.name}(): missing argument {name!r}; it takes {', '.join(names)}")
        if kwargs:
            raise TypeError(f"{self.name}(): takes no argument {next(iter(kwargs))!r}; it takes {', '.join(names)}")
        return self._apply(*given)


def device_list(device_types: Any) -> tuple[str, ...]:
    return (device_types,) if isinstance(device_types, str) else tuple(device_types)


def check_apart(name: str, result: Any, args: Iterable[Any]) -> None:
    """The results are new tensors.

    Raises
    ------
    RuntimeError
        If one of them is an argument: its history would be lost.
    """
    inputs = flatten(args)
    for each in flatten(result if isinstance(result, (tuple, list)) else (result,)):
        if any(each is other for other in inputs):
            raise RuntimeError(
                f"{name}: The output of this custom operator must not also be an input to this custom operator and may "
                "not alias any inputs; return a clone() instead"
            )


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
    """Make an op of a function of tensors, whatever it calls inside.

    Parameters
    ----------
    name : str
        With a namespace of your own, ``"mylib::numpy_sin"``.
    fn : callable, optional
        The function; without it the result is a decorator.
    mutates_args : iterable of str
        The arguments that it writes to.
    device_types : str or sequence of str, optional
        The devices that the function is for; default: all.

    Returns
    -------
    CustomOpDef
        Callable as the function; ``register_autograd``, ``register_kernel`` and ``register_vmap`` add the rest.

    Raises
    ------
    ValueError
        If the name has no namespace.

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
        return CustomOpDef(name, function, mutates_args, device_types)

    return make if fn is None else make(fn)
