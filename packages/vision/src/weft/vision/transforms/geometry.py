"""Size and position: resize, pad, crop, flip and rotate, chosen or random."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.transforms import functional as F
from weft.vision.transforms._draws import affine_arguments, displacements, moved_corners, random_rectangle, uniform
from weft.vision.transforms.functional import InterpolationMode
from weft.vision.transforms.functional.geometry import Fill

__all__ = [
    "CenterCrop",
    "ElasticTransform",
    "FiveCrop",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
]


class Resize(nn.Module):
    """Resize the picture.

    Parameters
    ----------
    size : int or (height, width) or None
        One number is the shorter edge's length, the longer one in proportion; None: ``max_size`` is the longer's.
    interpolation : InterpolationMode, default BILINEAR
    max_size : int, optional
        What the longer edge may have at most; only with a ``size`` of one number or None.
    antialias : bool, default True
        For tensors: average over all pixels that fall into a new one. PIL images always do.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if size is not None and not isinstance(size, (int, Sequence)):
            raise TypeError(f"Resize: Size should be int or sequence, got {type(size).__name__}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError(f"Resize: If size is a sequence, it should have 1 or 2 values, got {size!r}")
        self.size = size
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def forward(self, img: Any) -> Any:
        """Return the resized picture."""
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class Pad(nn.Module):
    """Add pixels around the picture.

    Parameters
    ----------
    padding : int or sequence of 1, 2 or 4 int
        For all sides; or left and right, top and bottom; or left, top, right, bottom.
    fill : number or tuple of numbers, default 0
    padding_mode : {"constant", "edge", "reflect", "symmetric"}
    """

    def __init__(self, padding: int | Sequence[int], fill: Fill = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        if not isinstance(padding, (int, tuple, list)):
            raise TypeError(
                f"Pad: Got inappropriate padding arg: wanted an int or a sequence of int, got {type(padding).__name__}"
            )
        if not isinstance(fill, (int, float, str, tuple, list)):
            raise TypeError(
                f"Pad: Got inappropriate fill arg: wanted a number or a tuple of numbers, got {type(fill).__name__}"
            )
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError(
                f"Pad: Padding mode should be either constant, edge, reflect or symmetric, got {padding_mode!r}"
            )
        if not isinstance(padding, int) and len(padding) not in (1, 2, 4):
            raise ValueError(f"Pad: Padding must be an int or a 1, 2, or 4 element tuple, got {padding!r}")
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Any) -> Any:
        """Return the padded picture."""
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode})"


class CenterCrop(nn.Module):
    """Cut the middle out of the picture; a smaller picture is padded with zero."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = _pair(size, "CenterCrop")

    def forward(self, img: Any) -> Any:
        """Return the middle of the picture."""
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class RandomCrop(nn.Module):
    """Cut a rectangle out of the picture, at a random place.

    Parameters
    ----------
    size : int or (height, width)
        Of the rectangle.
    padding : int or sequence of 1, 2 or 4 int, optional
        Pad the picture first, as `Pad` does.
    pad_if_needed : bool, default False
        Pad a picture that is too small, on both sides.
    fill, padding_mode
        As in `Pad`.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Fill = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = _pair(size, "RandomCrop")
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Draw (top, left, height, width); a picture of just that size draws nothing.

        Raises
        ------
        ValueError
            If the picture is smaller.
        """
        _, height, width = F.get_dimensions(img)
        rows, columns = output_size
        if height < rows or width < columns:
            raise ValueError(
                f"RandomCrop: Required crop size {tuple(output_size)} is larger than input image size "
                f"{(height, width)}; "
                "pass padding or pad_if_needed=True"
            )
        if (width, height) == (columns, rows):
            return 0, 0, height, width
        top = int(weft.randint(0, height - rows + 1, (1,)).item())
        left = int(weft.randint(0, width - columns + 1, (1,)).item())
        return top, left, rows, columns

    def forward(self, img: Any) -> Any:
        """Return a part of the picture."""
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, height, width = F.get_dimensions(img)
        if self.pad_if_needed and width < self.size[1]:
            img = F.pad(img, [self.size[1] - width, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and height < self.size[0]:
            img = F.pad(img, [0, self.size[0] - height], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class RandomResizedCrop(nn.Module):
    """Cut a rectangle of random area, shape and place out of the picture, and resize it.

    Parameters
    ----------
    size : int or (height, width)
        Of the result.
    scale : (float, float), default (0.08, 1)
        The least and greatest area of the rectangle, as a share of the picture's.
    ratio : (float, float), default (3/4, 4/3)
        Its least and greatest width : height, drawn uniformly in the logarithm.
    interpolation : InterpolationMode, default BILINEAR
    antialias : bool, default True

    References
    ----------
    C. Szegedy et al., Going deeper with convolutions, arXiv:1409.4842, section 6.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = _pair(size, "RandomResizedCrop")
        for name, bounds in (("scale", scale), ("ratio", ratio)):
            if not isinstance(bounds, Sequence):
                raise TypeError(f"RandomResizedCrop: {name.capitalize()} should be a sequence, got {bounds!r}")
            if len(bounds) != 2:
                raise ValueError(f"RandomResizedCrop: {name.capitalize()} should be a sequence of two, got {bounds!r}")
            if bounds[0] > bounds[1]:
                warnings.warn(
                    f"RandomResizedCrop: Scale and ratio should be of kind (min, max), got {name} {bounds}",
                    stacklevel=2,
                )
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation
        self.antialias = antialias

    @staticmethod
    def get_params(img: Any, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
        """Draw (top, left, height, width); after ten that do not fit, take the greatest in the middle that does."""
        _, height, width = F.get_dimensions(img)
        return random_rectangle(height, width, scale, ratio)

    def forward(self, img: Any) -> Any:
        """Return a part of the picture, resized."""
        top, left, height, width = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, top, left, height, width, self.size, self.interpolation, self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(bound, 4) for bound in bounds) for bounds in (self.scale, self.ratio))
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


class RandomHorizontalFlip(nn.Module):
    """Mirror the picture left to right with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return the picture or its mirror image."""
        return F.hflip(img) if float(weft.rand(1)) < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomVerticalFlip(nn.Module):
    """Mirror the picture top to bottom with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return the picture or its mirror image."""
        return F.vflip(img) if float(weft.rand(1)) < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomRotation(nn.Module):
    """Turn the picture by a random angle.

    Parameters
    ----------
    degrees : float or (float, float)
        The range of the angle, against the clock; one number d means (-d, d).
    interpolation, expand, center, fill
        As in `functional.rotate`.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Fill = 0,
    ) -> None:
        super().__init__()
        self.degrees = _setup_angle(degrees, "degrees")
        if center is not None:
            _check_sequence_input(center, "center", (2,))
        _check_fill(fill, "RandomRotation")
        self.interpolation = interpolation
        self.expand = expand
        self.center = center
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Draw the angle."""
        return uniform(float(degrees[0]), float(degrees[1]))

    def forward(self, img: Any) -> Any:
        """Return the picture, turned."""
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)

    def __repr__(self) -> str:
        center = "" if self.center is None else f", center={self.center}"
        return (
            f"{type(self).__name__}(degrees={self.degrees}, interpolation={self.interpolation.value}, "
            f"expand={self.expand}{center}, fill={self.fill})"
        )


class RandomAffine(nn.Module):
    """Turn, shift, scale and shear the picture by random amounts; its size stays.

    Parameters
    ----------
    degrees : float or (float, float)
        The range of the angle; one number d means (-d, d).
    translate : (float, float), optional
        How far to shift at most, as shares of the width and height.
    scale : (float, float), optional
        The range of the scale.
    shear : float or two or four floats, optional
        The range of the shear of x in degrees (one number d means (-d, d)), and then that of y.
    interpolation, fill, center
        As in `functional.affine`.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Fill = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.degrees = _setup_angle(degrees, "degrees")
        for name, pair in (("translate", translate), ("scale", scale), ("center", center)):
            if pair is not None:
                _check_sequence_input(pair, name, (2,))
        if translate is not None and not all(0.0 <= each <= 1.0 for each in translate):
            raise ValueError(f"RandomAffine: translation values should be between 0 and 1, got {translate}")
        if scale is not None and min(scale) <= 0:
            raise ValueError(f"RandomAffine: scale values should be positive, got {scale}")
        _check_fill(fill, "RandomAffine")
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else _setup_angle(shear, "shear", (2, 4))
        self.interpolation = interpolation
        self.fill = 0 if fill is None else fill
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Draw angle, shift, scale and shears, for a picture of size (width, height)."""
        return affine_arguments(degrees, translate, scale_ranges, shears, img_size[1], img_size[0])

    def forward(self, img: Any) -> Any:
        """Return the picture, moved."""
        _, height, width = F.get_dimensions(img)
        params = self.get_params(self.degrees, self.translate, self.scale, self.shear, [width, height])
        return F.affine(img, *params, interpolation=self.interpolation, fill=self.fill, center=self.center)

    def __repr__(self) -> str:
        told = {"translate": self.translate, "scale": self.scale, "shear": self.shear}
        parts = [f"degrees={self.degrees}", *(f"{name}={value}" for name, value in told.items() if value is not None)]
        if self.interpolation is not InterpolationMode.NEAREST:
            parts.append(f"interpolation={self.interpolation.value}")
        parts += [f"fill={self.fill}"] if self.fill != 0 else []
        parts += [f"center={self.center}"] if self.center is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"


class FiveCrop(nn.Module):
    """Return the four corners of the picture and its middle, a tuple of five.

    Parameters
    ----------
    size : int or (height, width)
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = _pair(size, "FiveCrop")

    def forward(self, img: Any) -> tuple[Any, ...]:
        """Return upper left, upper right, lower left, lower right and middle."""
        return F.five_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class TenCrop(nn.Module):
    """Return what `FiveCrop` does, of the picture and of its mirror image.

    Parameters
    ----------
    size : int or (height, width)
    vertical_flip : bool, default False
        Mirror top to bottom, instead of left to right.
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = _pair(size, "TenCrop")
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> tuple[Any, ...]:
        """Return ten pictures."""
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, vertical_flip={self.vertical_flip})"


class RandomPerspective(nn.Module):
    """Move the corners of the picture inwards by random amounts, with probability ``p``.

    Parameters
    ----------
    distortion_scale : float, default 0.5
        How far at most, as a share of half the width and height.
    p : float, default 0.5
    interpolation : InterpolationMode, default BILINEAR
    fill : number or sequence of numbers, default 0
        What pixels from outside of the picture are, for all channels or for each.
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: Fill = 0,
    ) -> None:
        super().__init__()
        self.distortion_scale = distortion_scale
        self.p = p
        self.interpolation = interpolation
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
        """Draw where the corners go, and return where they are and where they go."""
        return moved_corners(width, height, distortion_scale)

    def forward(self, img: Any) -> Any:
        """Return the picture, in perspective or as it is."""
        _, height, width = F.get_dimensions(img)
        if not weft.rand(1).item() < self.p:
            return img
        corners = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, *corners, self.interpolation, self.fill)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class ElasticTransform(nn.Module):
    """Move each pixel of the picture by a random displacement that changes smoothly.

    Parameters
    ----------
    alpha : float or (float, float), default 50
        How far pixels move at most, across and down, before smoothing.
    sigma : float or (float, float), default 5
        The deviation of the Gaussian that smooths displacements, in pixels.
    interpolation : InterpolationMode, default BILINEAR
    fill : number or sequence of numbers, default 0
        What pixels from outside of the picture are, for all channels or for each.

    Raises
    ------
    TypeError, ValueError
        If ``alpha`` or ``sigma`` is something else.
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: Fill = 0,
    ) -> None:
        super().__init__()
        self.alpha = _pair_of_floats(alpha, "alpha")
        self.sigma = _pair_of_floats(sigma, "sigma")
        self.interpolation = _mode_of(interpolation)
        if not isinstance(fill, (int, float, list, tuple)):
            raise TypeError(f"ElasticTransform: fill must be a number or a sequence of numbers, got {fill!r}")
        self.fill = [float(each) for each in (fill if isinstance(fill, (list, tuple)) else [fill])]

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]) -> Tensor:
        """Draw the displacements (1, H, W, 2) of a picture of ``size`` (height, width)."""
        return displacements(alpha, sigma, size[0], size[1])

    def forward(self, tensor: Any) -> Any:
        """Return the picture, displaced."""
        _, height, width = F.get_dimensions(tensor)
        moves = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(tensor, moves, self.interpolation, self.fill)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(alpha={self.alpha}, sigma={self.sigma}, interpolation={self.interpolation}, "
            f"fill={self.fill})"
        )


def _pair_of_floats(value: Any, name: str) -> list[float]:
    """Return one number, or one for each of x and y, as two."""
    if not isinstance(value, (float, Sequence)):
        raise TypeError(f"ElasticTransform: {name} should be a float or a pair of floats, got {type(value).__name__}")
    values = [value, value] if isinstance(value, float) else list(value)
    if len(values) != 2:
        raise ValueError(f"ElasticTransform: {name} should have two entries, got {len(values)}")
    if not all(isinstance(each, float) for each in values):
        raise TypeError(f"ElasticTransform: {name} should have floats, got {values}")
    return values


def _mode_of(interpolation: Any) -> InterpolationMode:
    """Return the mode, also when it is given by Pillow's constant."""
    if isinstance(interpolation, int):
        return next(mode for mode, constant in F.pil_modes_mapping.items() if constant == interpolation)
    return interpolation


def _pair(size: int | Sequence[int], name: str) -> tuple[int, int]:
    """Return a size given as one number or as a pair, as (height, width)."""
    if isinstance(size, int):
        return size, size
    return _setup_size(size, f"{name}: Please provide only two dimensions (h, w) for size, got {size!r}")


def _setup_size(size: Any, error_msg: str) -> tuple[int, int]:
    """Return a size given as one number, or as a sequence of one or two, as (height, width)."""
    if isinstance(size, numbers.Number):
        return int(size), int(size)  # type: ignore[call-overload]
    if not isinstance(size, Sequence) or len(size) not in (1, 2):
        raise ValueError(error_msg)
    return size[0], size[-1]


def _check_fill(fill: Any, name: str) -> None:
    if fill is not None and not isinstance(fill, (Sequence, numbers.Number)):
        raise TypeError(f"{name}: Fill should be either a sequence or a number, got {type(fill).__name__}")


def _check_sequence_input(x: Any, name: str, req_sizes: Sequence[int]) -> None:
    """Raise unless an argument is a sequence of one of these lengths."""
    wanted = f"{name} should be a sequence of length {' or '.join(map(str, req_sizes))}"
    if not isinstance(x, Sequence):
        raise TypeError(f"{wanted}, got {type(x).__name__}")
    if len(x) not in req_sizes:
        raise ValueError(f"{wanted}, got {x!r}")


def _setup_angle(x: float | Sequence[float], name: str, req_sizes: Sequence[int] = (2,)) -> list[float]:
    """Return the range of angles that an argument means, [least, greatest]: one number d is (-d, d)."""
    if isinstance(x, numbers.Number):
        if x < 0:  # type: ignore[operator]
            raise ValueError(f"If {name} is a single number, it must be positive, got {x}")
        x = [-x, x]  # type: ignore[operator,list-item]
    else:
        _check_sequence_input(x, name, req_sizes)
    return [float(angle) for angle in x]  # type: ignore[union-attr]
