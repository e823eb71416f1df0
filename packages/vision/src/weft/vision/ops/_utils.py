"""The two forms of boxes that poolings of regions take, and the parameters of normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn

__all__: list[str] = []


def check_roi_boxes_shape(boxes: Any) -> None:
    """The boxes of regions have one of two forms.

    Raises
    ------
    AssertionError
        If they are neither Tensor[K, 5] nor a list of Tensor[L, 4].
    """
    if isinstance(boxes, (list, tuple)):
        if any(each.ndim != 2 or each.shape[1] != 4 for each in boxes):
            shapes = [tuple(each.shape) for each in boxes]
            raise AssertionError(f"The boxes of each image must be Tensor[L, 4]; got shapes {shapes}")
    elif not isinstance(boxes, Tensor) or boxes.ndim != 2 or boxes.shape[1] != 5:
        found = tuple(boxes.shape) if isinstance(boxes, Tensor) else type(boxes).__name__
        raise AssertionError(f"boxes must be Tensor[K, 5] or a list of Tensor[L, 4]; got {found}")


def convert_boxes_to_roi_format(boxes: Sequence[Tensor]) -> Tensor:
    """The boxes of all images, with the index of their image in front, shape (K, 5)."""
    return weft.cat([weft.cat([weft.full_like(each[:, :1], image), each], 1) for image, each in enumerate(boxes)])


def split_normalization_params(
    model: nn.Module, norm_classes: Sequence[type] | None = None
) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The parameters of a model's normalizations, and all others, which an optimizer may treat differently.

    Parameters
    ----------
    model : Module
    norm_classes : sequence of type, optional
        Classes of modules; by default all that normalize.

    Raises
    ------
    ValueError
        If one is no class of modules.
    """
    default = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm, nn.modules.instancenorm._InstanceNorm)
    classes = tuple(norm_classes or (*default, nn.LocalResponseNorm))
    for each in classes:
        if not issubclass(each, nn.Module):
            raise ValueError(f"Class {each} is not a subclass of nn.Module.")
    norms: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for module in model.modules():
        own = [each for each in module.parameters(recurse=False) if each.requires_grad]
        (norms if isinstance(module, classes) else others).extend(own)
    return norms, others
