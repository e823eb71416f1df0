"""Colours, chosen or random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft.vision.transforms import color as first
from weft.vision.transforms import filtering
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2._transform import RandomApplyTransform, Transform
from weft.vision.transforms.v2._utils import query_chw

__all__ = [
    "RGB",
    "ColorJitter",
    "Grayscale",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomEqualize",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomSolarize",
]


class Grayscale(Transform):
    """Turn images grey, with one channel or three equal ones."""

    _v1_transform_cls = first.Grayscale

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.rgb_to_grayscale, inpt, num_output_channels=self.num_output_channels)


class RandomGrayscale(RandomApplyTransform):
    """Turn images grey with probability ``p``; they keep their number of channels."""

    _v1_transform_cls = first.RandomGrayscale

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p=p)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Return the number of channels that the images have."""
        return {"num_input_channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.rgb_to_grayscale, inpt, num_output_channels=params["num_input_channels"])


class RGB(Transform):
    """Give grey images three equal channels; others stay as they are."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.grayscale_to_rgb, inpt)


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue by random factors, in random order.

    Parameters
    ----------
    brightness, contrast, saturation : float or (float, float), optional
        The range of the factor; one number d means (max(0, 1 - d), 1 + d).
    hue : float or (float, float), optional
        The range of the shift, within -0.5..0.5 of a turn; one number d means (-d, d).

    Raises
    ------
    TypeError, ValueError
        If a range has the wrong type or bounds.
    """

    _v1_transform_cls = first.ColorJitter

    def __init__(
        self,
        brightness: float | Sequence[float] | None = None,
        contrast: float | Sequence[float] | None = None,
        saturation: float | Sequence[float] | None = None,
        hue: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.brightness = _optional_range(brightness, "brightness")
        self.contrast = _optional_range(contrast, "contrast")
        self.saturation = _optional_range(saturation, "saturation")
        self.hue = None if hue is None else first.factor_range(hue, "hue", center=0.0, least=-0.5, greatest=0.5)

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        return {name: value or 0 for name, value in super()._extract_params_for_v1_transform().items()}

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw the order (a permutation of four) and the four factors, None where there is no range."""
        order, *factors = first.ColorJitter.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        return {"fn_idx": order, **dict(zip(_FACTORS, factors))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        for index in params["fn_idx"].tolist():
            inpt = _adjusted(self, inpt, _FACTORS[index], params)
        return inpt


# The factors by the names that the functionals have for them.
_FACTORS = ("brightness_factor", "contrast_factor", "saturation_factor", "hue_factor")


def _adjusted(transform: Transform, inpt: Any, factor: str, params: dict[str, Any]) -> Any:
    """Return a part of a sample with brightness, contrast, saturation or hue adjusted, unless the factor is None."""
    if params[factor] is None:
        return inpt
    functional = getattr(F, f"adjust_{factor.removesuffix('_factor')}")
    return transform._call_kernel(functional, inpt, **{factor: params[factor]})


def _optional_range(value: float | Sequence[float] | None, name: str) -> tuple[float, float] | None:
    return None if value is None else first.factor_range(value, name)


class RandomPhotometricDistort(Transform):
    """Change brightness, contrast, saturation and hue, and permute the channels, each with probability ``p``.

    Parameters
    ----------
    brightness, contrast, saturation, hue : (float, float)
        The ranges of the factors.
    p : float, default 0.5

    References
    ----------
    W. Liu et al., SSD: Single Shot MultiBox Detector, arXiv:1512.02325.
    """

    def __init__(
        self,
        brightness: tuple[float, float] = (0.875, 1.125),
        contrast: tuple[float, float] = (0.5, 1.5),
        saturation: tuple[float, float] = (0.5, 1.5),
        hue: tuple[float, float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        super().__init__()
        self.brightness = brightness
        self.contrast = contrast
        self.hue = hue
        self.saturation = saturation
        self.p = p

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw the factors, None for what stays; whether contrast comes before the others; the order of channels."""
        channels = query_chw(flat_inputs)[0]
        params: dict[str, Any] = {}
        for name, bounds in zip(_FACTORS, (self.brightness, self.contrast, self.saturation, self.hue)):
            params[name] = weft.empty(1).uniform_(*bounds).item() if weft.rand(1).item() < self.p else None
        params["contrast_before"] = weft.rand(()).item() < 0.5
        params["channel_permutation"] = weft.randperm(channels).tolist() if weft.rand(1).item() < self.p else None
        return params

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        last = ["saturation_factor", "hue_factor"]
        last.insert(0 if params["contrast_before"] else 2, "contrast_factor")
        for factor in ("brightness_factor", *last):
            inpt = _adjusted(self, inpt, factor, params)
        if params["channel_permutation"] is None:
            return inpt
        return self._call_kernel(F.permute_channels, inpt, permutation=params["channel_permutation"])


class RandomChannelPermutation(Transform):
    """Put the channels into random order."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw the order."""
        return {"permutation": weft.randperm(query_chw(flat_inputs)[0]).tolist()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.permute_channels, inpt, permutation=params["permutation"])


class RandomEqualize(RandomApplyTransform):
    """Make the histogram of each channel as flat as can be, with probability ``p``."""

    _v1_transform_cls = first.RandomEqualize

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.equalize, inpt)


class RandomInvert(RandomApplyTransform):
    """Subtract the values from white with probability ``p``."""

    _v1_transform_cls = first.RandomInvert

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.invert, inpt)


class RandomAutocontrast(RandomApplyTransform):
    """Stretch the values of each channel to the whole range from black to white, with probability ``p``."""

    _v1_transform_cls = first.RandomAutocontrast

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.autocontrast, inpt)


class RandomPosterize(RandomApplyTransform):
    """Keep the ``bits`` highest bits of each value, with probability ``p``."""

    _v1_transform_cls = first.RandomPosterize

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.bits = bits

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.posterize, inpt, bits=self.bits)


class RandomSolarize(RandomApplyTransform):
    """Invert the values that are not below the threshold, with probability ``p``."""

    _v1_transform_cls = first.RandomSolarize

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.threshold = threshold

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.solarize, inpt, threshold=self.threshold)


class RandomAdjustSharpness(RandomApplyTransform):
    """Change the sharpness by a factor (0 gives a smooth image, 1 the same), with probability ``p``."""

    _v1_transform_cls = filtering.RandomAdjustSharpness

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.adjust_sharpness, inpt, sharpness_factor=self.sharpness_factor)
