"""Functionals, which call the kernel for the type of their input, and the registry of kernels."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms.functional._sizes import pil_modes_mapping
from weft.vision.transforms.functional._types import InterpolationMode

__all__ = [
    "Fill",
    "Interpolation",
    "functional",
    "has_kernel",
    "interpolation_mode",
    "is_pure_tensor",
    "kernel",
    "register_kernel",
]

Fill = float | Sequence[float] | None
Interpolation = InterpolationMode | str | int

_HOME = "weft.vision.transforms.v2.functional"
_METADATA = ("format", "canvas_size", "clamping_mode")
_COORDINATES = (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)
_BUILTIN_TYPES = {tv_tensors.TVTensor, tv_tensors.Image, tv_tensors.Video, tv_tensors.Mask, *_COORDINATES}

# Of each functional, its kernels by the type of the input; and the names of its parameters after the input.
_KERNEL_REGISTRY: dict[Any, dict[type, Callable[..., Any]]] = {}
_parameters: dict[Any, tuple[str, ...]] = {}


def is_pure_tensor(inpt: Any) -> bool:
    """Return whether something is a tensor, and none of `weft.vision.tv_tensors`."""
    return isinstance(inpt, Tensor) and not isinstance(inpt, tv_tensors.TVTensor)


def interpolation_mode(interpolation: Any) -> InterpolationMode:
    """Return a mode, also when it is given by its name or by Pillow's constant.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    for mode, constant in pil_modes_mapping.items():
        if interpolation == (mode.value if isinstance(interpolation, str) else constant):
            return mode
    if isinstance(interpolation, str):
        known = [mode.value for mode in InterpolationMode]
        raise ValueError(f"Invalid interpolation mode: '{interpolation}'. Supported string values are: {known}.")
    raise ValueError(
        "Argument interpolation should be an `InterpolationMode`, its name or a corresponding Pillow integer constant, "
        f"but got {interpolation!r}."
    )


def functional(declaration: Callable[..., Any]) -> Any:
    """Decorator: a function whose work is done by the kernel for its input's type; its own body is a docstring.

    The kernel is given all arguments by name, defaults included.
    """
    declared = list(inspect.signature(declaration).parameters.values())[1:]
    names = tuple(each.name for each in declared)
    defaults = {each.name: each.default for each in declared if each.default is not each.empty}

    @functools.wraps(declaration)
    def dispatch(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            given = len(args) + 1
            raise TypeError(f"{dispatch.__name__}() takes {len(names) + 1} positional arguments but {given} were given")
        log_use(dispatch)
        run = _get_kernel(dispatch, type(inpt))
        return run(inpt, **{**defaults, **dict(zip(names, args)), **kwargs})

    _KERNEL_REGISTRY[dispatch] = {}
    _parameters[dispatch] = names
    return dispatch


def log_use(function: Any) -> None:
    """Tell `torch._C._log_api_usage_once`, which a test may watch, of a call."""
    weft._C._log_api_usage_once(f"{function.__module__}.{function.__name__}")


def kernel(of: Any, *types: type, tv_tensor_wrapper: bool = True) -> Callable[[Any], Any]:
    """Decorator: a function of plain tensors is the kernel of a functional for these types.

    It has the functional's parameters, without those that mean nothing to it. Of a tv_tensor it is given a plain
    tensor, and, where it has parameters of these names, the ``format``, ``canvas_size`` and ``clamping_mode``. A tensor
    that it returns gets the class of the input, one of boxes or key points also a ``canvas_size`` returned beside it.
    With ``tv_tensor_wrapper=False`` it is given the tv_tensor itself and all arguments, and its result stays as it is.
    """

    def register(run: Any) -> Any:
        for each in types:
            wrapped = _with_its_parameters(of, run)
            if issubclass(each, tv_tensors.TVTensor):
                wrapped = _on_plain_tensors(of, run) if tv_tensor_wrapper else run
            _register(of, each, wrapped)
        return run

    return register


_register_kernel_internal = kernel  # its name in torchvision


def register_kernel(functional: Any, tv_tensor_cls: type) -> Callable[[Any], Any]:
    """Decorator: a function is the kernel of a functional for a class of tv_tensors of the user's.

    Parameters
    ----------
    functional : function or str
        One of `weft.vision.transforms.v2.functional`, or its name.
    tv_tensor_cls : type
        A subclass of `weft.vision.tv_tensors.TVTensor` that is none of weft's own.

    Returns
    -------
    decorator
        The function is called with the tv_tensor itself, and the functional's arguments by name.

    Raises
    ------
    ValueError
        If an argument is none of these, or the class has a kernel already.
    """
    if isinstance(functional, str):
        found = getattr(importlib.import_module(_HOME), functional, None)
        if found is None:
            raise ValueError(f"Could not find functional with name '{functional}' in {_HOME}.")
        functional = found
    elif functional not in _KERNEL_REGISTRY:
        raise ValueError(f"Kernels can only be registered on functionals from the {_HOME} namespace, got {functional}.")
    if not (isinstance(tv_tensor_cls, type) and issubclass(tv_tensor_cls, tv_tensors.TVTensor)):
        raise ValueError(
            "Kernels can only be registered for subclasses of weft.vision.tv_tensors.TVTensor, "
            f"but got {tv_tensor_cls}."
        )
    if tv_tensor_cls in _BUILTIN_TYPES:
        raise ValueError(f"Kernels cannot be registered for the builtin tv_tensor classes, but got {tv_tensor_cls}")

    def register(run: Any) -> Any:
        _register(functional, tv_tensor_cls, run)
        return run

    return register


def has_kernel(of: Any, input_type: type) -> bool:
    """Return whether a functional knows what to do with an input of this type."""
    return _found(of, input_type) is not None


def _get_kernel(of: Any, input_type: type) -> Callable[..., Any]:
    """Return the kernel of a functional for a type.

    Raises
    ------
    TypeError
        If there is none.
    ValueError
        If the function has none for any type.
    """
    if of not in _KERNEL_REGISTRY:
        raise ValueError(f"No kernel registered for functional {of.__name__}.")
    found = _found(of, input_type)
    if found is None:
        known = ", ".join(each.__name__ for each in _KERNEL_REGISTRY[of])
        raise TypeError(f"Functional F.{of.__name__} supports inputs of type {known}, but got {input_type} instead.")
    return found


def _found(of: Any, input_type: type) -> Callable[..., Any] | None:
    """Look for a kernel for a type or its bases; tv_tensors do not fall back to the kernel for plain tensors."""
    kernels = _KERNEL_REGISTRY[of]
    for each in input_type.__mro__:
        if each in kernels:
            return kernels[each]
        if each is tv_tensors.TVTensor:
            return None
    return None


def _register(of: Any, input_type: type, run: Callable[..., Any]) -> None:
    kernels = _KERNEL_REGISTRY.setdefault(of, {})
    if input_type in kernels:
        raise ValueError(f"Functional {of} already has a kernel registered for type {input_type}.")
    kernels[input_type] = run


def _with_its_parameters(of: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that ignores those of the functional's arguments for which it has no parameter."""
    ignored = _ignored(of, run)
    if not ignored:
        return run

    @functools.wraps(run)
    def called(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        return run(inpt, *args, **{name: value for name, value in kwargs.items() if name not in ignored})

    return called


def _on_plain_tensors(of: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel for tv_tensors, made of one for plain tensors."""
    ignored = _ignored(of, run)
    metadata = tuple(name for name in _METADATA if name in inspect.signature(run).parameters)

    @functools.wraps(run)
    def called(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs = {name: value for name, value in kwargs.items() if name not in ignored}
        kwargs.update((name, getattr(inpt, name)) for name in metadata)
        output = run(inpt.as_subclass(Tensor), *args, **kwargs)
        if isinstance(output, Tensor):
            return tv_tensors.wrap(output, like=inpt)
        if isinstance(inpt, _COORDINATES):
            return tv_tensors.wrap(output[0], like=inpt, canvas_size=output[1])
        return type(output)(tv_tensors.wrap(each, like=inpt) for each in output)

    return called


def _ignored(of: Any, run: Callable[..., Any]) -> frozenset[str]:
    """Return which of a functional's parameters a kernel does not have."""
    taken = inspect.signature(run).parameters
    if any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        return frozenset()
    return frozenset(_parameters.get(of, ())) - set(taken)


IMAGES = (Tensor, tv_tensors.Image)
IMAGES_AND_VIDEOS = (Tensor, tv_tensors.Image, tv_tensors.Video)
PICTURES = (Tensor, tv_tensors.Image, tv_tensors.Video, tv_tensors.Mask)
PIL_IMAGE = PIL.Image.Image
