"""Augmentation by chains of random operations: AutoAugment, RandAugment, TrivialAugment and AugMix."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import ModuleType
from typing import Any

import weft
from weft import Tensor, nn
from weft.distributions import Dirichlet
from weft.vision.transforms import functional as F
from weft.vision.transforms.functional import InterpolationMode

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

# An operation of a policy: its name, its probability, and which of ten magnitudes it has.
Operation = tuple[str, float, int | None]
Policy = tuple[Operation, Operation]
# From the number of magnitudes, the height and the width of the picture to the magnitudes, None if the operation has
# none; and whether their sign is random.
Magnitudes = Callable[[int, int, int], Tensor | None]
Space = Mapping[str, tuple[Magnitudes, bool]]


class AutoAugmentPolicy(Enum):
    """The data set that a policy of `AutoAugment` was learned on."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


def _line(first: float, last: float) -> Magnitudes:
    return lambda bins, height, width: weft.linspace(first, last, bins)


def _line_of_width(last: float) -> Magnitudes:
    return lambda bins, height, width: weft.linspace(0.0, last * width, bins)


def _line_of_height(last: float) -> Magnitudes:
    return lambda bins, height, width: weft.linspace(0.0, last * height, bins)


def _bits(first: int, steps: int) -> Magnitudes:
    """From ``first`` bits down in so many steps."""
    return lambda bins, height, width: first - (weft.arange(bins) / ((bins - 1) / steps)).round().int()


def _no_magnitudes(bins: int, height: int, width: int) -> None:
    """For operations without magnitude."""


_MODERATE: Space = {
    "ShearX": (_line(0.0, 0.3), True),
    "ShearY": (_line(0.0, 0.3), True),
    "TranslateX": (_line_of_width(150.0 / 331.0), True),
    "TranslateY": (_line_of_height(150.0 / 331.0), True),
    "Rotate": (_line(0.0, 30.0), True),
    "Brightness": (_line(0.0, 0.9), True),
    "Color": (_line(0.0, 0.9), True),
    "Contrast": (_line(0.0, 0.9), True),
    "Sharpness": (_line(0.0, 0.9), True),
    "Posterize": (_bits(8, 4), False),
    "Solarize": (_line(1.0, 0.0), False),
    "AutoContrast": (_no_magnitudes, False),
    "Equalize": (_no_magnitudes, False),
}
# In the order that operations are drawn in. Thresholds of Solarize are shares of white.
AUTO_AUGMENT: Space = {**_MODERATE, "Invert": (_no_magnitudes, False)}
RAND_AUGMENT: Space = {"Identity": (_no_magnitudes, False), **_MODERATE}
TRIVIAL_AUGMENT: Space = {
    **RAND_AUGMENT,
    "ShearX": (_line(0.0, 0.99), True),
    "ShearY": (_line(0.0, 0.99), True),
    "TranslateX": (_line(0.0, 32.0), True),
    "TranslateY": (_line(0.0, 32.0), True),
    "Rotate": (_line(0.0, 135.0), True),
    "Brightness": (_line(0.0, 0.99), True),
    "Color": (_line(0.0, 0.99), True),
    "Contrast": (_line(0.0, 0.99), True),
    "Sharpness": (_line(0.0, 0.99), True),
    "Posterize": (_bits(8, 6), False),
}
_COLOR_OPERATIONS = ("Brightness", "Color", "Contrast", "Sharpness")
AUG_MIX_WITHOUT_COLOR: Space = {
    **{name: found for name, found in _MODERATE.items() if name not in _COLOR_OPERATIONS},
    "TranslateX": (_line_of_width(1.0 / 3.0), True),
    "TranslateY": (_line_of_height(1.0 / 3.0), True),
    "Posterize": (_bits(4, 4), False),
}
AUG_MIX: Space = {**AUG_MIX_WITHOUT_COLOR, **{name: _MODERATE[name] for name in _COLOR_OPERATIONS}}


def policies_of(policy: AutoAugmentPolicy) -> list[Policy]:
    """Return the 25 policies learned on a data set: arXiv:1805.09501, tables 7 to 9.

    Raises
    ------
    ValueError
        If it is no `AutoAugmentPolicy`.
    """
    if not isinstance(policy, AutoAugmentPolicy):
        raise ValueError(f"AutoAugment: the provided policy {policy} is not recognized, expected an AutoAugmentPolicy")
    lines = _POLICIES[policy].strip().splitlines()
    return [(_operation(*words[:3]), _operation(*words[3:])) for words in (line.split() for line in lines)]


def _operation(name: str, probability: str, magnitude: str) -> Operation:
    return name, float(probability), None if magnitude == "-" else int(magnitude)


_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize 0.4 8 Rotate 0.6 9
        Solarize 0.6 5 AutoContrast 0.6 -
        Equalize 0.8 - Equalize 0.6 -
        Posterize 0.6 7 Posterize 0.6 6
        Equalize 0.4 - Solarize 0.2 4
        Equalize 0.4 - Rotate 0.8 8
        Solarize 0.6 3 Equalize 0.6 -
        Posterize 0.8 5 Equalize 1.0 -
        Rotate 0.2 3 Solarize 0.6 8
        Equalize 0.6 - Posterize 0.4 6
        Rotate 0.8 8 Color 0.4 0
        Rotate 0.4 9 Equalize 0.6 -
        Equalize 0.0 - Equalize 0.8 -
        Invert 0.6 - Equalize 1.0 -
        Color 0.6 4 Contrast 1.0 8
        Rotate 0.8 8 Color 1.0 2
        Color 0.8 8 Solarize 0.8 7
        Sharpness 0.4 7 Invert 0.6 -
        ShearX 0.6 5 Equalize 1.0 -
        Color 0.4 0 Equalize 0.6 -
        Equalize 0.4 - Solarize 0.2 4
        Solarize 0.6 5 AutoContrast 0.6 -
        Invert 0.6 - Equalize 1.0 -
        Color 0.6 4 Contrast 1.0 8
        Equalize 0.8 - Equalize 0.6 -
    """,
    AutoAugmentPolicy.CIFAR10: """
        Invert 0.1 - Contrast 0.2 6
        Rotate 0.7 2 TranslateX 0.3 9
        Sharpness 0.8 1 Sharpness 0.9 3
        ShearY 0.5 8 TranslateY 0.7 9
        AutoContrast 0.5 - Equalize 0.9 -
        ShearY 0.2 7 Posterize 0.3 7
        Color 0.4 3 Brightness 0.6 7
        Sharpness 0.3 9 Brightness 0.7 9
        Equalize 0.6 - Equalize 0.5 -
        Contrast 0.6 7 Sharpness 0.6 5
        Color 0.7 7 TranslateX 0.5 8
        Equalize 0.3 - AutoContrast 0.4 -
        TranslateY 0.4 3 Sharpness 0.2 6
        Brightness 0.9 6 Color 0.2 8
        Solarize 0.5 2 Invert 0.0 -
        Equalize 0.2 - AutoContrast 0.6 -
        Equalize 0.2 - Equalize 0.6 -
        Color 0.9 9 Equalize 0.6 -
        AutoContrast 0.8 - Solarize 0.2 8
        Brightness 0.1 3 Color 0.7 0
        Solarize 0.4 5 AutoContrast 0.9 -
        TranslateY 0.9 9 TranslateY 0.7 9
        AutoContrast 0.9 - Solarize 0.8 3
        Equalize 0.8 - Invert 0.1 -
        TranslateY 0.7 9 AutoContrast 0.9 -
    """,
    AutoAugmentPolicy.SVHN: """
        ShearX 0.9 4 Invert 0.2 -
        ShearY 0.9 8 Invert 0.7 -
        Equalize 0.6 - Solarize 0.6 6
        Invert 0.9 - Equalize 0.6 -
        Equalize 0.6 - Rotate 0.9 3
        ShearX 0.9 4 AutoContrast 0.8 -
        ShearY 0.9 8 Invert 0.4 -
        ShearY 0.9 5 Solarize 0.2 6
        Invert 0.9 - AutoContrast 0.8 -
        Equalize 0.6 - Rotate 0.9 3
        ShearX 0.9 4 Solarize 0.3 3
        ShearY 0.8 8 Invert 0.7 -
        Equalize 0.9 - TranslateY 0.6 6
        Invert 0.9 - Equalize 0.6 -
        Contrast 0.3 3 Rotate 0.8 4
        Invert 0.8 - TranslateY 0.0 2
        ShearY 0.7 6 Solarize 0.4 8
        Invert 0.6 - Rotate 0.8 4
        ShearY 0.3 7 TranslateX 0.9 3
        ShearX 0.1 6 Invert 0.6 -
        Solarize 0.7 2 TranslateY 0.6 7
        ShearY 0.8 4 Invert 0.8 -
        ShearX 0.7 9 TranslateY 0.8 3
        ShearY 0.8 5 AutoContrast 0.7 -
        ShearX 0.7 2 Invert 0.1 -
    """,
}


def apply_operation(
    functional: ModuleType | Any, img: Any, name: str, magnitude: float, interpolation: Any, fill: Any
) -> Any:
    """Return the picture after one operation, by the functions of ``functional``."""
    if name in _WARPS:
        angle, translate, shear, center = _WARPS[name](magnitude)
        warp = {"angle": angle, "translate": translate, "scale": 1.0, "shear": shear, "center": center}
        return functional.affine(img, **warp, interpolation=interpolation, fill=fill)
    if name == "Rotate":
        return functional.rotate(img, angle=magnitude, interpolation=interpolation, fill=fill)
    if name in _ADJUSTMENTS:
        return getattr(functional, _ADJUSTMENTS[name])(img, 1.0 + magnitude)
    if name == "Posterize":
        return functional.posterize(img, int(magnitude))
    if name == "Solarize":
        return functional.solarize(img, magnitude)
    if name in ("AutoContrast", "Equalize", "Invert"):
        return getattr(functional, name.lower())(img)
    if name == "Identity":
        return img
    raise ValueError(f"The provided operator {name} is not recognized.")


# The angle, translation, shear in degrees and center of the operations that are affine.
_WARPS: dict[str, Callable[[float], tuple[float, list[int], list[float], list[int] | None]]] = {
    "ShearX": lambda magnitude: (0.0, [0, 0], [math.degrees(math.atan(magnitude)), 0.0], [0, 0]),
    "ShearY": lambda magnitude: (0.0, [0, 0], [0.0, math.degrees(math.atan(magnitude))], [0, 0]),
    "TranslateX": lambda magnitude: (0.0, [int(magnitude), 0], [0.0, 0.0], None),
    "TranslateY": lambda magnitude: (0.0, [0, int(magnitude)], [0.0, 0.0], None),
}
_ADJUSTMENTS = {
    "Brightness": "adjust_brightness",
    "Color": "adjust_saturation",
    "Contrast": "adjust_contrast",
    "Sharpness": "adjust_sharpness",
}


def _apply_op(img: Any, op_name: str, magnitude: float, interpolation: InterpolationMode, fill: Any) -> Any:
    """`apply_operation` by the functions of this version."""
    return apply_operation(F, img, op_name, magnitude, interpolation, fill)


class _Augment(nn.Module):
    """The base of the augmentations of this module."""

    interpolation: InterpolationMode
    fill: Any

    def _magnitudes(self, space: Space, name: str, bins: int, img: Any) -> Tensor | None:
        if name == "Solarize":
            return weft.linspace(255.0, 0.0, bins)  # of bytes, so 255 is white
        _, height, width = F.get_dimensions(img)
        return space[name][0](bins, height, width)

    def _after(self, img: Any, name: str, magnitude: float) -> Any:
        return _apply_op(img, name, magnitude, self.interpolation, self._fill_of(img))

    def _fill_of(self, img: Any) -> Any:
        if self.fill is None or not isinstance(img, Tensor):
            return self.fill
        if isinstance(self.fill, (int, float)):
            return [float(self.fill)] * F.get_image_num_channels(img)
        return [float(each) for each in self.fill]


def _draw(count: int) -> int:
    return int(weft.randint(count, (1,)).item())


class AutoAugment(_Augment):
    """Apply two operations by a policy that was learned on a data set.

    Parameters
    ----------
    policy : AutoAugmentPolicy, default IMAGENET
    interpolation : InterpolationMode, default NEAREST
    fill : number or sequence of numbers, optional
        What pixels from outside of the picture are, by channel.

    References
    ----------
    E. Cubuk et al., AutoAugment: Learning Augmentation Policies from Data, arXiv:1805.09501.
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.policy = policy
        self.interpolation = interpolation
        self.fill = fill
        self.policies = policies_of(policy)

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, Tensor, Tensor]:
        """Draw which policy, and for its two operations a number from 0 to 1 and a sign."""
        return _draw(transform_num), weft.rand((2,)), weft.randint(2, (2,))

    def forward(self, img: Any) -> Any:
        """Return the picture, augmented."""
        policy, draws, signs = self.get_params(len(self.policies))
        for index, (name, probability, level) in enumerate(self.policies[policy]):
            if draws[index] > probability:
                continue
            magnitudes = self._magnitudes(AUTO_AUGMENT, name, 10, img)
            magnitude = 0.0 if magnitudes is None or level is None else float(magnitudes[level].item())
            if AUTO_AUGMENT[name][1] and signs[index] == 0:
                magnitude = -magnitude
            img = self._after(img, name, magnitude)
        return img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(policy={self.policy}, fill={self.fill})"


class RandAugment(_Augment):
    """Apply some random operations of one magnitude.

    Parameters
    ----------
    num_ops : int, default 2
    magnitude : int, default 9
    num_magnitude_bins : int, default 31
        How many magnitudes there are.
    interpolation : InterpolationMode, default NEAREST
    fill : number or sequence of numbers, optional
        What pixels from outside of the picture are, by channel.

    References
    ----------
    E. Cubuk et al., RandAugment: Practical automated data augmentation with a reduced search space, arXiv:1909.13719.
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, img: Any) -> Any:
        """Return the picture, augmented."""
        for _ in range(self.num_ops):
            name = list(RAND_AUGMENT)[_draw(len(RAND_AUGMENT))]
            magnitudes = self._magnitudes(RAND_AUGMENT, name, self.num_magnitude_bins, img)
            magnitude = 0.0 if magnitudes is None else float(magnitudes[self.magnitude].item())
            if RAND_AUGMENT[name][1] and _draw(2):
                magnitude = -magnitude
            img = self._after(img, name, magnitude)
        return img

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_ops={self.num_ops}, magnitude={self.magnitude}, "
            f"num_magnitude_bins={self.num_magnitude_bins}, interpolation={self.interpolation}, fill={self.fill})"
        )


class TrivialAugmentWide(_Augment):
    """Apply one random operation of random magnitude.

    Parameters
    ----------
    num_magnitude_bins : int, default 31
        How many magnitudes there are.
    interpolation : InterpolationMode, default NEAREST
    fill : number or sequence of numbers, optional
        What pixels from outside of the picture are, by channel.

    References
    ----------
    S. Müller, F. Hutter, TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation, arXiv:2103.10158.
    """

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, img: Any) -> Any:
        """Return the picture, augmented."""
        name = list(TRIVIAL_AUGMENT)[_draw(len(TRIVIAL_AUGMENT))]
        magnitudes = self._magnitudes(TRIVIAL_AUGMENT, name, self.num_magnitude_bins, img)
        magnitude = 0.0 if magnitudes is None else float(magnitudes[_draw(len(magnitudes))].item())
        if TRIVIAL_AUGMENT[name][1] and _draw(2):
            magnitude = -magnitude
        return self._after(img, name, magnitude)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_magnitude_bins={self.num_magnitude_bins}, "
            f"interpolation={self.interpolation}, fill={self.fill})"
        )


class AugMix(_Augment):
    """Mix a picture with the results of several chains of random operations.

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
    interpolation : InterpolationMode, default BILINEAR
    fill : number or sequence of numbers, optional
        What pixels from outside of the picture are, by channel.

    Raises
    ------
    ValueError
        If ``severity`` is not from 1 to 10.

    References
    ----------
    D. Hendrycks et al., AugMix: A Simple Data Processing Method to Improve Robustness and Uncertainty,
    arXiv:1912.02781.
    """

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        check_severity(severity)
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, orig_img: Any) -> Any:
        """Return the picture, mixed."""
        img = orig_img if isinstance(orig_img, Tensor) else F.pil_to_tensor(orig_img)
        mixed = mix_chains(img, 4, self, self._chain)
        return mixed if isinstance(orig_img, Tensor) else F.to_pil_image(mixed)

    def _chain(self, img: Any) -> Any:
        space = AUG_MIX if self.all_ops else AUG_MIX_WITHOUT_COLOR
        for _ in range(self.chain_depth if self.chain_depth > 0 else int(weft.randint(1, 4, (1,)).item())):
            name = list(space)[_draw(len(space))]
            magnitudes = self._magnitudes(space, name, 10, img)
            magnitude = 0.0 if magnitudes is None else float(magnitudes[_draw(self.severity)].item())
            if space[name][1] and _draw(2):
                magnitude = -magnitude
            img = self._after(img, name, magnitude)
        return img

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(severity={self.severity}, mixture_width={self.mixture_width}, "
            f"chain_depth={self.chain_depth}, alpha={self.alpha}, all_ops={self.all_ops}, "
            f"interpolation={self.interpolation}, fill={self.fill})"
        )


def check_severity(severity: int) -> None:
    """Raise if it is not from 1 to 10."""
    if not 1 <= severity <= 10:
        raise ValueError(f"AugMix: The severity must be between 1 and 10, got {severity}")


def mix_chains(img: Tensor, axes: int, settings: Any, chain: Callable[[Tensor], Tensor]) -> Tensor:
    """Return pictures mixed with what chains make of them, by random shares.

    Parameters
    ----------
    img : Tensor
        Given a batch's first axis if it has less than ``axes``.
    settings
        The `AugMix`, for its ``alpha`` and ``mixture_width``.
    chain : callable
    """
    batch = img.reshape([1] * max(axes - img.dim(), 0) + list(img.shape))
    count = batch.shape[0]
    by_picture = (count, *[1] * (batch.dim() - 1))

    def drawn(parts: int) -> Tensor:
        alpha = weft.full((count, parts), float(settings.alpha), device=img.device)
        return Dirichlet(alpha, validate_args=False).sample()

    kept, mixed_in = drawn(2).unbind(1)
    shares = drawn(settings.mixture_width) * mixed_in[:, None]
    mixed = kept.reshape(by_picture) * batch
    for index in range(settings.mixture_width):
        mixed.add_(shares[:, index].reshape(by_picture) * chain(batch))
    return mixed.reshape(img.shape).to(img.dtype)
