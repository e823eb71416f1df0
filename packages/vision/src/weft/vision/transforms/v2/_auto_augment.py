"""Augmentation by chains of random operations: AutoAugment, RandAugment, TrivialAugment and AugMix."""

from __future__ import annotations

from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.utils._pytree import tree_flatten, tree_unflatten
from weft.vision import tv_tensors
from weft.vision.transforms import autoaugment as first
from weft.vision.transforms.autoaugment import AutoAugmentPolicy
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2._transform import Transform
from weft.vision.transforms.v2._utils import check_type, fill_for, setup_fill
from weft.vision.transforms.v2.functional._misc import greatest_value
from weft.vision.transforms.v2.functional._utils import is_pure_tensor

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

_IMAGES = (is_pure_tensor, tv_tensors.Image, PIL.Image.Image, tv_tensors.Video)
_OTHERS = (tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints)


class _Augment(Transform):
    """The base of the augmentations of this module: of a sample, they change the one image or video."""

    def __init__(self, interpolation: Any, fill: Any) -> None:
        super().__init__()
        self.interpolation = interpolation
        self.fill = fill
        self._fill = setup_fill(fill)

    def forward(self, *inputs: Any) -> Any:
        """Return the sample with its image augmented."""
        flat_inputs, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        place = self._place_of_image(flat_inputs)
        flat_inputs[place] = self._augmented(flat_inputs[place])
        return tree_unflatten(flat_inputs, spec)

    def _place_of_image(self, flat_inputs: list[Any]) -> int:
        places = []
        for place, (each, needs) in enumerate(zip(flat_inputs, self._needs_transform_list(flat_inputs))):
            if needs and check_type(each, _IMAGES):
                places.append(place)
            elif isinstance(each, _OTHERS):
                raise TypeError(f"Inputs of type {type(each).__name__} are not supported by {type(self).__name__}()")
        if not places:
            raise TypeError("Found no image in the sample.")
        if len(places) > 1:
            raise TypeError(
                "Auto augment transformations are only properly defined for a single image or video, "
                f"but found {len(places)}."
            )
        return places[0]

    def _augmented(self, image: Any) -> Any:
        raise NotImplementedError

    def _magnitudes(self, space: first.Space, name: str, bins: int, image: Any) -> Tensor | None:
        height, width = F.get_size(image)
        return space[name][0](bins, height, width)

    def _apply_image_or_video_transform(
        self, image: Any, transform_id: str, magnitude: float, interpolation: Any, fill: dict[Any, Any]
    ) -> Any:
        """Return the image after one operation; subclasses of the user's may override it."""
        if transform_id == "Solarize":
            white = 255 if isinstance(image, PIL.Image.Image) else greatest_value(image.dtype)
            magnitude = white * magnitude
        return first.apply_operation(F, image, transform_id, magnitude, interpolation, fill_for(fill, type(image)))


def _draw(count: int) -> int:
    return int(weft.randint(count, ()))


def _sign() -> float:
    return -1.0 if weft.rand(()) <= 0.5 else 1.0


class AutoAugment(_Augment):
    """Apply two operations by a policy that was learned on a data set.

    Parameters
    ----------
    policy : AutoAugmentPolicy, default IMAGENET
    interpolation : InterpolationMode or str, default "nearest"
    fill : number, sequence of numbers or dict, optional
        What pixels from outside of the image are, by channel; in a dictionary by the type of the input.

    References
    ----------
    E. Cubuk et al., AutoAugment: Learning Augmentation Policies from Data, arXiv:1805.09501.
    """

    _v1_transform_cls = first.AutoAugment
    _AUGMENTATION_SPACE = first.AUTO_AUGMENT

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Any = "nearest",
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.policy = policy
        self._policies = first.policies_of(policy)

    def _augmented(self, image: Any) -> Any:
        for name, probability, level in self._policies[_draw(len(self._policies))]:
            if not weft.rand(()) <= probability:
                continue
            magnitudes = self._magnitudes(self._AUGMENTATION_SPACE, name, 10, image)
            magnitude = 0.0 if magnitudes is None or level is None else float(magnitudes[level])
            if magnitudes is not None and self._AUGMENTATION_SPACE[name][1]:
                magnitude *= _sign()
            image = self._apply_image_or_video_transform(
                image, name, magnitude, interpolation=self.interpolation, fill=self._fill
            )
        return image


class RandAugment(_Augment):
    """Apply some random operations of one magnitude.

    Parameters
    ----------
    num_ops : int, default 2
    magnitude : int, default 9
    num_magnitude_bins : int, default 31
        How many magnitudes there are.
    interpolation : InterpolationMode or str, default "nearest"
    fill : number, sequence of numbers or dict, optional
        What pixels from outside of the image are, by channel; in a dictionary by the type of the input.

    References
    ----------
    E. Cubuk et al., RandAugment: Practical automated data augmentation with a reduced search space, arXiv:1909.13719.
    """

    _v1_transform_cls = first.RandAugment
    _AUGMENTATION_SPACE = first.RAND_AUGMENT

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = "nearest",
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        if not isinstance(num_ops, int) or num_ops < 0:
            raise ValueError(f"RandAugment: num_ops should be a non-negative integer, but got {num_ops} instead.")
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def _augmented(self, image: Any) -> Any:
        for _ in range(self.num_ops):
            name = list(self._AUGMENTATION_SPACE)[_draw(len(self._AUGMENTATION_SPACE))]
            magnitudes = self._magnitudes(self._AUGMENTATION_SPACE, name, self.num_magnitude_bins, image)
            magnitude = 0.0 if magnitudes is None else float(magnitudes[self.magnitude])
            if self._AUGMENTATION_SPACE[name][1]:
                magnitude *= _sign()
            image = self._apply_image_or_video_transform(
                image, name, magnitude, interpolation=self.interpolation, fill=self._fill
            )
        return image


class TrivialAugmentWide(_Augment):
    """Apply one random operation of random magnitude.

    Parameters
    ----------
    num_magnitude_bins : int, default 31
        How many magnitudes there are.
    interpolation : InterpolationMode or str, default "nearest"
    fill : number, sequence of numbers or dict, optional
        What pixels from outside of the image are, by channel; in a dictionary by the type of the input.

    References
    ----------
    S. Müller, F. Hutter, TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation, arXiv:2103.10158.
    """

    _v1_transform_cls = first.TrivialAugmentWide
    _AUGMENTATION_SPACE = first.TRIVIAL_AUGMENT

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Any = "nearest", fill: Any = None) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_magnitude_bins = num_magnitude_bins

    def _augmented(self, image: Any) -> Any:
        name = list(self._AUGMENTATION_SPACE)[_draw(len(self._AUGMENTATION_SPACE))]
        magnitudes = self._magnitudes(self._AUGMENTATION_SPACE, name, self.num_magnitude_bins, image)
        magnitude = 0.0 if magnitudes is None else float(magnitudes[_draw(self.num_magnitude_bins)])
        if self._AUGMENTATION_SPACE[name][1]:
            magnitude *= _sign()
        return self._apply_image_or_video_transform(
            image, name, magnitude, interpolation=self.interpolation, fill=self._fill
        )


class AugMix(_Augment):
    """Mix an image with the results of several chains of random operations.

    Parameters
    ----------
    severity : int, default 3
        How many magnitudes are drawn from, of ten.
    mixture_width : int, default 3
        How many chains there are.
    chain_depth : int, default -1
        How many operations a chain has; if not positive, one to three by chance.
    alpha : float, default 1
        Of the distributions of the shares.
    all_ops : bool, default True
        Use brightness, colour, contrast and sharpness, too.
    interpolation : InterpolationMode or str, default "bilinear"
    fill : number, sequence of numbers or dict, optional
        What pixels from outside of the image are, by channel; in a dictionary by the type of the input.

    Raises
    ------
    ValueError
        If ``severity`` is not from 1 to 10.

    References
    ----------
    D. Hendrycks et al., AugMix: A Simple Data Processing Method to Improve Robustness and Uncertainty,
    arXiv:1912.02781.
    """

    _v1_transform_cls = first.AugMix
    _AUGMENTATION_SPACE = first.AUG_MIX
    _PARTIAL_AUGMENTATION_SPACE = first.AUG_MIX_WITHOUT_COLOR

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Any = "bilinear",
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        first.check_severity(severity)
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops

    def _augmented(self, image: Any) -> Any:
        pixels = F.pil_to_tensor(image) if isinstance(image, PIL.Image.Image) else image.as_subclass(Tensor)
        mixed = first.mix_chains(pixels, 5 if isinstance(image, tv_tensors.Video) else 4, self, self._chain)
        if isinstance(image, PIL.Image.Image):
            return F.to_pil_image(mixed)
        return tv_tensors.wrap(mixed, like=image) if isinstance(image, tv_tensors.TVTensor) else mixed

    def _chain(self, image: Any) -> Any:
        space = self._AUGMENTATION_SPACE if self.all_ops else self._PARTIAL_AUGMENTATION_SPACE
        for _ in range(self.chain_depth if self.chain_depth > 0 else int(weft.randint(low=1, high=4, size=()))):
            name = list(space)[_draw(len(space))]
            magnitudes = self._magnitudes(space, name, 10, image)
            magnitude = 0.0 if magnitudes is None else float(magnitudes[_draw(self.severity)])
            if space[name][1]:
                magnitude *= _sign()
            image = self._apply_image_or_video_transform(
                image, name, magnitude, interpolation=self.interpolation, fill=self._fill
            )
        return image
