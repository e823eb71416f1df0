"""Erased rectangles, mixed batches, and the traces of JPEG compression."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.nn.functional import one_hot
from weft.utils._pytree import tree_flatten, tree_unflatten
from weft.vision import tv_tensors
from weft.vision.transforms import color as first
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2._labels import labels_getter_of
from weft.vision.transforms.v2._transform import RandomApplyTransform, Transform
from weft.vision.transforms.v2._utils import has_any, query_chw, query_size
from weft.vision.transforms.v2.functional._utils import is_pure_tensor

__all__ = ["JPEG", "CutMix", "MixUp", "RandomErasing"]


class RandomErasing(RandomApplyTransform):
    """Overwrite a random rectangle of images, with probability ``p``.

    Parameters
    ----------
    p : float, default 0.5
    scale : (float, float), default (0.02, 0.33)
        The least and greatest area, as a share of the image's.
    ratio : (float, float), default (0.3, 3.3)
        The least and greatest height : width, drawn uniformly in the logarithm.
    value : number, sequence of one number for each channel, or "random", default 0
        What to write; "random": a standard normal number for each value.
    inplace : bool, default False
        Overwrite the image itself.

    References
    ----------
    Z. Zhong et al., Random Erasing Data Augmentation, arXiv:1708.04896.
    """

    _v1_transform_cls = first.RandomErasing

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | str | Sequence[float] = 0.0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p=p)
        first.check_erasing(scale, ratio, value)
        self.scale = scale
        self.ratio = ratio
        self.value: list[float] | None = None  # for random ones
        if not isinstance(value, str):
            self.value = [float(each) for each in (value if isinstance(value, Sequence) else [value])]
        self.inplace = inplace

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        return {**super()._extract_params_for_v1_transform(), "value": "random" if self.value is None else self.value}

    def _call_kernel(self, functional: Any, inpt: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(inpt, (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)):
            warnings.warn(
                f"RandomErasing is currently passing through inputs of type tv_tensors.{type(inpt).__name__}; "
                "this may change",
                stacklevel=2,
            )
        return super()._call_kernel(functional, inpt, *args, **kwargs)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw the rectangle and its values; none after ten that do not fit."""
        channels, height, width = query_chw(flat_inputs)
        if self.value is not None and len(self.value) not in (1, channels):
            raise ValueError(
                f"RandomErasing: If value is a sequence, it should have either a single value or {channels}, "
                f"one for each channel; got {len(self.value)}"
            )
        drawn = first.draw_erasing((channels, height, width), self.scale, self.ratio, self.value)
        return dict(zip("ijhwv", drawn or (0, 0, height, width, None)))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt if params["v"] is None else self._call_kernel(F.erase, inpt, **params, inplace=self.inplace)


class _MixBatch(Transform):
    """The base of `MixUp` and `CutMix`: each sample of a batch is mixed with the one before it, and so are labels."""

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        num_classes: int | None = None,
        labels_getter: Callable[[Any], Any] | str | None = "default",
    ) -> None:
        super().__init__()
        self.alpha = float(alpha)
        self.num_classes = num_classes
        self._dist = weft.distributions.Beta(weft.tensor([alpha]), weft.tensor([alpha]))
        self._labels_getter = labels_getter_of(labels_getter, type(self).__name__)

    def forward(self, *inputs: Any) -> Any:
        """Return the sample with images, videos and labels mixed."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat_inputs, spec = tree_flatten(sample)
        name = type(self).__name__
        if has_any(flat_inputs, PIL.Image.Image, tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints):
            raise ValueError(f"{name} does not support PIL images, bounding boxes, keypoints and masks")
        labels = self._labels_getter(sample)
        self._check_labels(labels, name)
        # Labels are no image, also where they are the first plain tensor of the sample.
        needed = self._needs_transform_list([None if each is labels else each for each in flat_inputs])
        drawn = self.make_params([each for each, needs in zip(flat_inputs, needed) if needs])
        params = {"labels": labels, "batch_size": labels.shape[0], **drawn}
        mixed = [
            self.transform(each, params) if needs or each is labels else each
            for each, needs in zip(flat_inputs, needed)
        ]
        return tree_unflatten(mixed, spec)

    def _check_labels(self, labels: Any, name: str) -> None:
        if not isinstance(labels, Tensor):
            raise ValueError(f"{name}: the labels must be a tensor, but got {type(labels).__name__}")
        if labels.dim() not in (1, 2):
            raise ValueError(
                f"{name}: labels should be index based with shape (batch_size,) or probability based with shape "
                f"(batch_size, num_classes), but got a tensor of shape {tuple(labels.shape)}"
            )
        if labels.dim() == 1 and self.num_classes is None:
            raise ValueError(f"{name}: num_classes must be passed if the labels are index-based, (batch_size,)")
        if labels.dim() == 2 and self.num_classes is not None and labels.shape[-1] != self.num_classes:
            raise ValueError(
                f"{name}: When passing 2D labels, their last dimension must be num_classes: "
                f"{labels.shape[-1]} != {self.num_classes}"
            )

    def _check_image(self, inpt: Tensor, batch_size: int) -> None:
        expected = 5 if isinstance(inpt, tv_tensors.Video) else 4
        if inpt.dim() != expected:
            raise ValueError(
                f"{type(self).__name__}: Expected a batched input with {expected} dims, got {tuple(inpt.shape)}"
            )
        if inpt.shape[0] != batch_size:
            raise ValueError(
                f"{type(self).__name__}: The batch size of the image or video does not match the batch size "
                f"of the labels: {inpt.shape[0]} != {batch_size}"
            )

    def _mixed_labels(self, labels: Tensor, share: float) -> Tensor:
        if labels.dim() == 1 and self.num_classes is not None:
            labels = one_hot(labels, num_classes=self.num_classes)
        labels = labels if labels.is_floating_point() else labels.float()
        return _mix(labels, share)


def _mix(batch: Tensor, share: float) -> Tensor:
    """Return ``share`` of each sample, and the rest of the one before it."""
    return batch.roll(1, 0).mul_(1.0 - share).add_(batch.mul(share))


def _as(inpt: Tensor, values: Tensor) -> Tensor:
    """Return values in the class of the input."""
    return tv_tensors.wrap(values, like=inpt) if isinstance(inpt, tv_tensors.TVTensor) else values


class MixUp(_MixBatch):
    """Mix each image of a batch, and its label, with the one before it.

    Parameters
    ----------
    alpha : float, default 1
        Of the Beta distribution that the share is drawn from.
    num_classes : int, optional
        Needed where labels are indices (batch_size,), which become (batch_size, num_classes).
    labels_getter : callable, "default" or None
        From a sample to its labels; by default they are its second part, or what it has for the key "labels".

    References
    ----------
    H. Zhang et al., mixup: Beyond Empirical Risk Minimization, arXiv:1710.09412.
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw the share of each sample itself."""
        return {"lam": float(self._dist.sample(()))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if inpt is params["labels"]:
            return self._mixed_labels(inpt, params["lam"])
        if not (is_pure_tensor(inpt) or isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))):
            return inpt
        self._check_image(inpt, params["batch_size"])
        return _as(inpt, _mix(inpt.as_subclass(Tensor), params["lam"]))


class CutMix(_MixBatch):
    """Paste a random rectangle of the image before it into each image of a batch, and mix the labels accordingly.

    Parameters
    ----------
    alpha : float, default 1
        Of the Beta distribution that the share of the rest is drawn from.
    num_classes : int, optional
        Needed where labels are indices (batch_size,), which become (batch_size, num_classes).
    labels_getter : callable, "default" or None
        From a sample to its labels; by default they are its second part, or what it has for the key "labels".

    References
    ----------
    S. Yun et al., CutMix: Regularization Strategy to Train Strong Classifiers with Localizable Features,
    arXiv:1905.04899.
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw the rectangle (left, top, right, bottom), and compute the share of what is outside of it."""
        share = float(self._dist.sample(()))
        height, width = query_size(flat_inputs)
        x, y = int(weft.randint(width, (1,))), int(weft.randint(height, size=(1,)))
        half = 0.5 * math.sqrt(1.0 - share)
        across, down = int(half * width), int(half * height)
        left, right = max(x - across, 0), min(x + across, width)
        top, bottom = max(y - down, 0), min(y + down, height)
        return {
            "box": (left, top, right, bottom),
            "lam_adjusted": 1.0 - (right - left) * (bottom - top) / (width * height),
        }

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if inpt is params["labels"]:
            return self._mixed_labels(inpt, params["lam_adjusted"])
        if not (is_pure_tensor(inpt) or isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))):
            return inpt
        self._check_image(inpt, params["batch_size"])
        left, top, right, bottom = params["box"]
        images = inpt.as_subclass(Tensor)
        mixed = images.clone()
        mixed[..., top:bottom, left:right] = images.roll(1, 0)[..., top:bottom, left:right]
        return _as(inpt, mixed)


class JPEG(Transform):
    """Compress images of bytes by JPEG and decompress them.

    Parameters
    ----------
    quality : int or (int, int)
        From 1 to 100, or the range that it is drawn from.

    Raises
    ------
    TypeError, ValueError
        If the quality is something else.
    """

    def __init__(self, quality: int | Sequence[int]) -> None:
        super().__init__()
        if isinstance(quality, int):
            quality = [quality, quality]
        if not isinstance(quality, Sequence):
            raise TypeError(f"JPEG: quality should be a sequence of length 2, or an int, got {quality!r}")
        if len(quality) != 2:
            raise ValueError(f"JPEG: quality should be a sequence of length 2, or an int, got {quality!r}")
        if not 1 <= quality[0] <= quality[1] <= 100 or not all(isinstance(each, int) for each in quality):
            raise ValueError(f"JPEG: quality must be an integer from 1 to 100, or (least, greatest), got {quality}")
        self.quality = quality

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw the quality."""
        return {"quality": int(weft.randint(self.quality[0], self.quality[1] + 1, ()))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.jpeg, inpt, quality=params["quality"])
