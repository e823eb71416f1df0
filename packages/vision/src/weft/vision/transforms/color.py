"""Colour and brightness, chosen or random; and the erasing of a random part."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.transforms import functional as F

__all__ = [
    "ColorJitter",
    "Grayscale",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPosterize",
    "RandomSolarize",
]

Range = tuple[float, float] | None


class Grayscale(nn.Module):
    """Turn the picture grey, with one channel or three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        """Return the grey picture."""
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"


class RandomGrayscale(nn.Module):
    """Turn the picture grey with probability ``p``, keeping its number of channels."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return the picture, grey or as it is."""
        channels = F.get_image_num_channels(img)
        return F.rgb_to_grayscale(img, channels) if float(weft.rand(1)) < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class ColorJitter(nn.Module):
    """Change brightness, contrast, saturation and hue by random factors, in random order.

    Parameters
    ----------
    brightness, contrast, saturation : float or (float, float), default 0
        The range of the factor; one number d means (max(0, 1 - d), 1 + d).
    hue : float or (float, float), default 0
        The range of the shift, within -0.5..0.5 of a turn; one number d means (-d, d).

    Raises
    ------
    TypeError, ValueError
        If a range has the wrong type or bounds.
    """

    def __init__(
        self,
        brightness: float | tuple[float, float] = 0,
        contrast: float | tuple[float, float] = 0,
        saturation: float | tuple[float, float] = 0,
        hue: float | tuple[float, float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = factor_range(brightness, "brightness")
        self.contrast = factor_range(contrast, "contrast")
        self.saturation = factor_range(saturation, "saturation")
        self.hue = factor_range(hue, "hue", center=0.0, least=-0.5, greatest=0.5)

    @staticmethod
    def get_params(
        brightness: Range, contrast: Range, saturation: Range, hue: Range
    ) -> tuple[Tensor, float | None, float | None, float | None, float | None]:
        """Draw the order (a permutation of four) and the four factors, None where the range is None."""
        order = weft.randperm(4)
        b, c, s, h = (
            None if bounds is None else float(weft.empty(1).uniform_(bounds[0], bounds[1]))
            for bounds in (brightness, contrast, saturation, hue)
        )
        return order, b, c, s, h

    def forward(self, img: Any) -> Any:
        """Return the picture with other colours."""
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        adjust = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for index in order.tolist():
            factor = factors[index]
            if factor is not None:
                img = adjust[index](img, factor)
        return img

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(brightness={self.brightness}, contrast={self.contrast}, "
            f"saturation={self.saturation}, hue={self.hue})"
        )


class RandomErasing(nn.Module):
    """Overwrite a random rectangle of a tensor picture, with probability ``p``.

    Parameters
    ----------
    p : float, default 0.5
    scale : (float, float), default (0.02, 0.33)
        The least and greatest area, as a share of the picture's.
    ratio : (float, float), default (0.3, 3.3)
        The least and greatest height : width, drawn uniformly in the logarithm.
    value : number, tuple of one number for each channel, or "random", default 0
        What to write; "random": a standard normal number for each value.
    inplace : bool, default False
        Overwrite the picture itself.

    References
    ----------
    Z. Zhong et al., Random Erasing Data Augmentation, arXiv:1708.04896.
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: float | str | Sequence[float] = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        check_erasing(scale, ratio, value)
        if not 0 <= p <= 1:
            raise ValueError(f"Random erasing probability should be between 0 and 1, got {p}")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: Tensor, scale: Sequence[float], ratio: Sequence[float], value: Sequence[float] | None = None
    ) -> tuple[int, int, int, int, Tensor]:
        """Draw (top, left, height, width, values); after ten that do not fit, the whole picture by itself."""
        size = tuple(img.shape[-3:])
        return draw_erasing(size, scale, ratio, value) or (0, 0, size[1], size[2], img)

    def forward(self, img: Tensor) -> Tensor:
        """Return the picture, a part of it erased or as it is."""
        if not float(weft.rand(1)) < self.p:
            return img
        top, left, height, width, fill = self.get_params(img, self.scale, self.ratio, self._values(img.shape[-3]))
        return F.erase(img, top, left, height, width, fill, self.inplace)

    def _values(self, channels: int) -> list[float] | None:
        """Return what to write as a list, or None for random numbers."""
        if isinstance(self.value, str):
            return None
        values = [float(self.value)] if isinstance(self.value, (int, float)) else list(self.value)
        if len(values) not in (1, channels):
            raise ValueError(
                f"RandomErasing: If value is a sequence, it should have either a single value or {channels}, "
                f"one for each channel; got {self.value}"
            )
        return values

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p={self.p}, scale={self.scale}, ratio={self.ratio}, value={self.value}, "
            f"inplace={self.inplace})"
        )


class RandomlyApplied(nn.Module):
    """The base of transforms that do something with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return the picture, transformed or as it is."""
        return self._transformed(img) if weft.rand(1).item() < self.p else img

    def _transformed(self, img: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomInvert(RandomlyApplied):
    """Subtract the values from white with probability ``p``."""

    def _transformed(self, img: Any) -> Any:
        return F.invert(img)


class RandomPosterize(RandomlyApplied):
    """Keep the ``bits`` highest bits of each value, with probability ``p``."""

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def _transformed(self, img: Any) -> Any:
        return F.posterize(img, self.bits)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(bits={self.bits},p={self.p})"


class RandomSolarize(RandomlyApplied):
    """Invert the values that are not below the threshold, with probability ``p``."""

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def _transformed(self, img: Any) -> Any:
        return F.solarize(img, self.threshold)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(threshold={self.threshold},p={self.p})"


class RandomAutocontrast(RandomlyApplied):
    """Stretch the values of each channel to the whole range from black to white, with probability ``p``."""

    def _transformed(self, img: Any) -> Any:
        return F.autocontrast(img)


class RandomEqualize(RandomlyApplied):
    """Make the histogram of each channel as flat as can be, with probability ``p``."""

    def _transformed(self, img: Any) -> Any:
        return F.equalize(img)


def check_erasing(scale: Any, ratio: Any, value: Any) -> None:
    """Raise if `RandomErasing` cannot have these arguments."""
    if isinstance(value, str) and value != "random":
        raise ValueError(f"RandomErasing: If value is str, it should be 'random', got {value!r}")
    if not isinstance(value, (int, float, str, tuple, list)):
        raise TypeError(
            f"RandomErasing: Argument value should be either a number or str or a sequence, got {type(value).__name__}"
        )
    for name, bounds in (("scale", scale), ("ratio", ratio)):
        if not isinstance(bounds, (tuple, list)):
            raise TypeError(f"RandomErasing: {name.capitalize()} should be a sequence, got {type(bounds).__name__}")
        if bounds[0] > bounds[1]:
            warnings.warn(
                f"RandomErasing: Scale and ratio should be of kind (min, max), got {name} {bounds}", stacklevel=3
            )
    if scale[0] < 0 or scale[1] > 1:
        raise ValueError(f"RandomErasing: Scale should be between 0 and 1, got {scale}")


@cache
def _logarithms(ratio: tuple[float, ...]) -> tuple[float, ...]:
    """Return logarithms in single precision."""
    return tuple(weft.log(weft.tensor(ratio)).tolist())


def draw_erasing(
    size: tuple[int, ...], scale: Sequence[float], ratio: Sequence[float], value: Sequence[float] | None
) -> tuple[int, int, int, int, Tensor] | None:
    """Draw (top, left, height, width, values) in a picture (C, H, W), or return None after ten that do not fit."""
    channels, height, width = size
    area = height * width
    log_ratio = _logarithms(tuple(ratio))
    for _ in range(10):
        target_area = area * weft.empty(1).uniform_(scale[0], scale[1]).item()
        aspect = weft.exp(weft.empty(1).uniform_(*log_ratio)).item()
        rows, columns = round(math.sqrt(target_area * aspect)), round(math.sqrt(target_area / aspect))
        if rows >= height or columns >= width:
            continue
        if value is None:
            fill = weft.empty([channels, rows, columns], dtype=weft.float32).normal_()
        else:
            fill = weft.tensor(value)[:, None, None]
        top = int(weft.randint(0, height - rows + 1, (1,)).item())
        left = int(weft.randint(0, width - columns + 1, (1,)).item())
        return top, left, rows, columns, fill
    return None


def factor_range(
    value: Any, name: str, center: float = 1.0, least: float = 0.0, greatest: float = math.inf
) -> tuple[float, float] | None:
    """Return the range that an argument of `ColorJitter` means, or None if it changes nothing."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"ColorJitter: If {name} is a single number, it must be non negative, got {value}")
        low, high = center - value, center + value
        low = max(low, 0.0) if center else low
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        low, high = float(value[0]), float(value[1])
    else:
        raise TypeError(f"ColorJitter: {name} should be a single number or a sequence with length 2, got {value!r}")
    if not least <= low <= high <= greatest:
        raise ValueError(
            f"ColorJitter: {name} values should be between ({least}, {greatest}) and increasing, got {value!r}"
        )
    return None if low == high == center else (low, high)
