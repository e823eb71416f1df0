"""The base of transforms: which parts of a sample are transformed, with parameters that all of them share."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, ClassVar

import PIL.Image

import weft
from weft import Tensor, nn
from weft.utils._pytree import tree_flatten, tree_unflatten
from weft.vision import tv_tensors
from weft.vision.transforms.functional import InterpolationMode
from weft.vision.transforms.v2._utils import check_type, has_any
from weft.vision.transforms.v2.functional._utils import has_kernel, is_pure_tensor

__all__ = ["RandomApplyTransform", "Transform"]


class Transform(nn.Module):
    """The base of the transforms, and of those of the user's: they override `make_params` and `transform`.

    A sample is any nest of tuples, lists and dictionaries, or several arguments. Its images (tensors or PIL), videos,
    masks, boxes and key points are transformed with the same parameters; all else is returned as it is. A plain tensor
    is an image only where the sample has no `Image`, `Video` or PIL image, and then only the first.

    Examples
    --------
    >>> from weft.vision.transforms import v2
    >>> class Darker(v2.Transform):
    ...     def transform(self, inpt, params):
    ...         return inpt / 2
    >>> image, label = Darker()(weft.ones(1, 1, 1), 3)
    >>> image.item(), label
    (0.5, 3)
    """

    # Types, and functions that tell whether something is of a type.
    _transformed_types: tuple[type | Callable[[Any], bool], ...] = (Tensor, PIL.Image.Image)
    # The transform of the first version of the same name, whose `get_params` this has too.
    _v1_transform_cls: ClassVar[Any] = None

    def __init_subclass__(cls) -> None:
        if cls._v1_transform_cls is not None and hasattr(cls._v1_transform_cls, "get_params"):
            cls.get_params = staticmethod(cls._v1_transform_cls.get_params)  # type: ignore[attr-defined]

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise if the transform is not for such a sample; overridden by some."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Return what `transform` needs to know, random numbers among it, for these parts of a sample."""
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Return one part of the sample, transformed.

        Raises
        ------
        NotImplementedError
            If a subclass does not override it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define transform(inpt, params)")

    def forward(self, *inputs: Any) -> Any:
        """Return the sample, transformed."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat_inputs, spec = tree_flatten(sample)
        self.check_inputs(flat_inputs)
        return tree_unflatten(self._transformed(flat_inputs), spec)

    def _transformed(self, flat_inputs: list[Any]) -> list[Any]:
        needed = self._needs_transform_list(flat_inputs)
        params = self.make_params([each for each, needs in zip(flat_inputs, needed) if needs])
        return [self.transform(each, params) if needs else each for each, needs in zip(flat_inputs, needed)]

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        """Return which parts are transformed."""
        images_are_told = has_any(flat_inputs, tv_tensors.Image, tv_tensors.Video, PIL.Image.Image)
        needed = []
        for each in flat_inputs:
            needs = check_type(each, self._transformed_types)
            if needs and is_pure_tensor(each):
                needs = not images_are_told
                images_are_told = True  # by this one
            needed.append(needs)
        return needed

    def _call_kernel(self, functional: Any, inpt: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a functional, or return the input as it is if it has no kernel for its type."""
        return functional(inpt, *args, **kwargs) if has_kernel(functional, type(inpt)) else inpt

    def extra_repr(self) -> str:
        shown = (bool, int, float, str, tuple, list, enum.Enum)
        return ", ".join(
            f"{name}={value}"
            for name, value in vars(self).items()
            if not name.startswith("_") and name != "training" and isinstance(value, shown)
        )

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        """Return the arguments that make the same transform of the first version."""
        of_modules = vars(nn.Module())
        params = {
            name: value for name, value in vars(self).items() if not name.startswith("_") and name not in of_modules
        }
        if isinstance(params.get("interpolation"), str):
            params["interpolation"] = InterpolationMode(params["interpolation"])
        return params


class RandomApplyTransform(Transform):
    """The base of transforms that do something with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"`p` should be a floating point value in the interval [0.0, 1.0], got {p}")
        super().__init__()
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        """Return the sample, transformed or as it is."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat_inputs, spec = tree_flatten(sample)
        self.check_inputs(flat_inputs)
        if weft.rand(1).item() >= self.p:
            return sample
        return tree_unflatten(self._transformed(flat_inputs), spec)


_RandomApplyTransform = RandomApplyTransform
