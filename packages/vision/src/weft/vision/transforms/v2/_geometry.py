"""Size and position, chosen or random."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.vision import transforms as first
from weft.vision import tv_tensors
from weft.vision.ops import box_iou
from weft.vision.transforms._draws import affine_arguments, displacements, moved_corners, random_rectangle, uniform
from weft.vision.transforms.functional._padding import four_sides
from weft.vision.transforms.functional._warping import perspective_coefficients
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2._transform import RandomApplyTransform, Transform
from weft.vision.transforms.v2._utils import (
    check_padding,
    check_sequence,
    fill_for,
    get_bounding_boxes,
    has_all,
    has_any,
    is_pure_tensor,
    query_size,
    setup_angle,
    setup_fill,
    setup_number_or_sequence,
    setup_size,
)
from weft.vision.transforms.v2.functional._utils import Interpolation
from weft.vision.tv_tensors import BoundingBoxFormat

__all__ = [
    "CenterCrop",
    "ElasticTransform",
    "FiveCrop",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomIoUCrop",
    "RandomPerspective",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "ScaleJitter",
    "TenCrop",
]

Params = dict[str, Any]


class RandomHorizontalFlip(RandomApplyTransform):
    """Mirror the sample left to right with probability ``p``."""

    _v1_transform_cls = first.RandomHorizontalFlip

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, mirrored."""
        return self._call_kernel(F.horizontal_flip, inpt)


class RandomVerticalFlip(RandomApplyTransform):
    """Mirror the sample top to bottom with probability ``p``."""

    _v1_transform_cls = first.RandomVerticalFlip

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, mirrored."""
        return self._call_kernel(F.vertical_flip, inpt)


class Resize(Transform):
    """Resize the sample; masks take the nearest values.

    Parameters
    ----------
    size : int, sequence of one or two int, or None
        (height, width); or the shorter edge's length, the longer one in proportion; or None: see ``max_size``.
    interpolation : InterpolationMode, its name, or Pillow's constant, default "bilinear"
        Tensors know all but "box" and "hamming", and "lanczos" only with ``antialias``.
    max_size : int, optional
        What the longer edge may have at most, where ``size`` is one number; its length where ``size`` is None.
    antialias : bool, default True
        For tensors: average over all pixels that fall into a new one. PIL images always do.

    Raises
    ------
    ValueError
        If ``size`` is something else, or both sizes are None.
    """

    _v1_transform_cls = first.Resize

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: Interpolation = "bilinear",
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if size is None and not isinstance(max_size, int):
            raise ValueError(f"max_size must be an integer when size is None, but got {max_size} instead.")
        if size is not None and not isinstance(size, int) and not (isinstance(size, Sequence) and len(size) in (1, 2)):
            raise ValueError(f"size can be an integer, a sequence of one or two integers, or None, but got {size}")
        self.size = [size] if isinstance(size, int) else None if size is None else list(size)
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, resized."""
        options = {"interpolation": self.interpolation, "max_size": self.max_size, "antialias": self.antialias}
        return self._call_kernel(F.resize, inpt, self.size, **options)


class CenterCrop(Transform):
    """Cut out the middle of the sample; what is smaller is padded with 0.

    Parameters
    ----------
    size : int or sequence of one or two int
        (height, width); one number is both.
    """

    _v1_transform_cls = first.CenterCrop

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = setup_size(size)

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return the middle of one part of the sample."""
        return self._call_kernel(F.center_crop, inpt, output_size=self.size)


class RandomResizedCrop(Transform):
    """Cut a rectangle of random area, shape and place out of the sample, and resize it.

    Parameters
    ----------
    size : int or sequence of one or two int
        (height, width) of the result; one number is both.
    scale : (float, float), default (0.08, 1)
        The least and greatest area of the rectangle, as a share of the picture's.
    ratio : (float, float), default (3/4, 4/3)
        Its least and greatest width : height, drawn uniformly in the logarithm.
    interpolation, antialias
        As of `Resize`.

    References
    ----------
    C. Szegedy et al., Going deeper with convolutions, arXiv:1409.4842, section 6.
    """

    _v1_transform_cls = first.RandomResizedCrop

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = setup_size(size)
        for name, bounds in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(bounds, Sequence) or len(bounds) != 2:
                raise TypeError(f"{name} should be a sequence of two floats, got {bounds!r}")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn(f"Scale and ratio should be of kind (min, max), got {scale} and {ratio}", stacklevel=2)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw the rectangle."""
        rectangle = random_rectangle(*query_size(flat_inputs), self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), rectangle))

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return the rectangle of one part of the sample, resized."""
        options = {"size": self.size, "interpolation": self.interpolation, "antialias": self.antialias}
        return self._call_kernel(F.resized_crop, inpt, **params, **options)


class _Crops(Transform):
    """The base of what returns several crops of a picture."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = setup_size(size)

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise a TypeError if there are boxes or masks."""
        if has_any(flat_inputs, tv_tensors.BoundingBoxes, tv_tensors.Mask):
            raise TypeError(f"BoundingBoxes'es and Mask's are not supported by {type(self).__name__}()")

    def _call_kernel(self, functional: Any, inpt: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(inpt, (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)):
            warnings.warn(
                f"{type(self).__name__}() is currently passing through inputs of type "
                f"tv_tensors.{type(inpt).__name__}. This will likely change in the future.",
                stacklevel=2,
            )
        return super()._call_kernel(functional, inpt, *args, **kwargs)


class FiveCrop(_Crops):
    """Return a tuple of the corners and the middle of each image or video: upper ones first, the middle last.

    Parameters
    ----------
    size : int or sequence of one or two int
        (height, width); one number is both.
    """

    _v1_transform_cls = first.FiveCrop

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return the five crops of one part of the sample."""
        return self._call_kernel(F.five_crop, inpt, self.size)


class TenCrop(_Crops):
    """Return a tuple of the five crops of `FiveCrop`, and those of the mirrored image or video.

    Parameters
    ----------
    size : int or sequence of one or two int
        (height, width); one number is both.
    vertical_flip : bool, default False
        Mirror top to bottom instead of left to right.
    """

    _v1_transform_cls = first.TenCrop

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return the ten crops of one part of the sample."""
        return self._call_kernel(F.ten_crop, inpt, self.size, vertical_flip=self.vertical_flip)


class Pad(Transform):
    """Add pixels around the sample.

    Parameters
    ----------
    padding : int or sequence of one, two or four int
        For all sides; or left and right, top and bottom; or left, top, right, bottom. Negative numbers cut off.
    fill : number, sequence of one for each channel, None or dict, default 0
        What to pad with in mode "constant". A dictionary has it by the type of what is padded, and "others".
    padding_mode : {"constant", "edge", "reflect", "symmetric"}
        Repeat the last pixel, or mirror the picture without ("reflect") or with it. Boxes and key points know
        "constant" only.

    Raises
    ------
    TypeError, ValueError
        If an argument is something else.
    """

    _v1_transform_cls = first.Pad

    def __init__(self, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        check_padding(padding, padding_mode)
        self.padding = padding if isinstance(padding, int) else list(padding)
        self.fill = fill
        self._fill = setup_fill(fill)
        self.padding_mode = padding_mode

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, padded."""
        fill = fill_for(self._fill, type(inpt))
        return self._call_kernel(F.pad, inpt, padding=self.padding, fill=fill, padding_mode=self.padding_mode)


class RandomZoomOut(RandomApplyTransform):
    """Put the sample at a random place of a larger canvas, with probability ``p``.

    Parameters
    ----------
    fill
        Of the canvas, as of `Pad`.
    side_range : (float, float), default (1, 4)
        How many times as long the canvas is at least and at most.
    p : float, default 0.5

    References
    ----------
    W. Liu et al., SSD: Single shot multibox detector, arXiv:1512.02325, section 3.6.
    """

    def __init__(self, fill: Any = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5) -> None:
        super().__init__(p=p)
        self.fill = fill
        self._fill = setup_fill(fill)
        check_sequence(side_range, "side_range", (2,))
        if not 1.0 <= side_range[0] <= side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")
        self.side_range = side_range

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw the padding."""
        height, width = query_size(flat_inputs)
        times = self.side_range[0] + weft.rand(1) * (self.side_range[1] - self.side_range[0])
        columns, rows = int(width * times), int(height * times)
        place = weft.rand(2)
        left, top = int((columns - width) * place[0]), int((rows - height) * place[1])
        return {"padding": [left, top, columns - (left + width), rows - (top + height)]}

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, padded."""
        return self._call_kernel(F.pad, inpt, **params, fill=fill_for(self._fill, type(inpt)))


class RandomRotation(Transform):
    """Turn the sample by a random angle.

    Parameters
    ----------
    degrees : float or (float, float)
        The range of the angle, against the clock; one number d means (-d, d).
    interpolation : InterpolationMode, its name, or Pillow's constant, default "nearest"
        Tensors know "nearest" and "bilinear".
    expand : bool, default False
        Make the canvas big enough for the whole turned picture.
    center : (x, y), optional
        The point that stays; by default the middle.
    fill
        Of what comes from outside, as of `Pad`.
    """

    _v1_transform_cls = first.RandomRotation

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Interpolation = "nearest",
        expand: bool = False,
        center: list[float] | None = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = setup_angle(degrees, "degrees")
        self.interpolation = interpolation
        self.expand = expand
        self.fill = fill
        self._fill = setup_fill(fill)
        if center is not None:
            check_sequence(center, "center", (2,))
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw the angle."""
        return {"angle": uniform(self.degrees[0], self.degrees[1])}

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, turned."""
        options = {"interpolation": self.interpolation, "expand": self.expand, "center": self.center}
        return self._call_kernel(F.rotate, inpt, **params, **options, fill=fill_for(self._fill, type(inpt)))


class RandomAffine(Transform):
    """Turn, shift, scale and shear the sample by random amounts; its size stays.

    Parameters
    ----------
    degrees : float or (float, float)
        The range of the angle, with the clock; one number d means (-d, d).
    translate : (float, float), optional
        How far to shift at most, as shares of width and height.
    scale : (float, float), optional
        The range of the scale.
    shear : float, or two or four floats, optional
        The range of the shear of x in degrees (one number d means (-d, d)), and then that of y.
    interpolation, fill, center
        As of `RandomRotation`.
    """

    _v1_transform_cls = first.RandomAffine

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Interpolation = "nearest",
        fill: Any = 0,
        center: list[float] | None = None,
    ) -> None:
        super().__init__()
        self.degrees = setup_angle(degrees, "degrees")
        if translate is not None:
            check_sequence(translate, "translate", (2,))
            if not all(0.0 <= each <= 1.0 for each in translate):
                raise ValueError(f"translation values should be between 0 and 1, got {translate}")
        self.translate = translate
        if scale is not None:
            check_sequence(scale, "scale", (2,))
            if min(scale) <= 0:
                raise ValueError(f"scale values should be positive, got {scale}")
        self.scale = scale
        self.shear = None if shear is None else setup_angle(shear, "shear", (2, 4))
        self.interpolation = interpolation
        self.fill = fill
        self._fill = setup_fill(fill)
        if center is not None:
            check_sequence(center, "center", (2,))
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw angle, shift, scale and shears."""
        size = query_size(flat_inputs)
        found = affine_arguments(self.degrees, self.translate, self.scale, self.shear, *size)
        return dict(zip(("angle", "translate", "scale", "shear"), found))

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, moved."""
        options = {"interpolation": self.interpolation, "center": self.center}
        return self._call_kernel(F.affine, inpt, **params, **options, fill=fill_for(self._fill, type(inpt)))


class RandomCrop(Transform):
    """Cut a rectangle out of the sample, at a random place.

    Parameters
    ----------
    size : int or sequence of one or two int
        (height, width); one number is both.
    padding : int or sequence of one, two or four int, optional
        Pad the sample first, as `Pad` does.
    pad_if_needed : bool, default False
        Pad what is too small, on both sides.
    fill, padding_mode
        As of `Pad`.

    Raises
    ------
    ValueError
        When called, if the sample is too small.
    """

    _v1_transform_cls = first.RandomCrop

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = setup_size(size)
        if pad_if_needed or padding is not None:
            check_padding(0 if padding is None else padding, padding_mode)
        left, top, right, bottom = four_sides(padding or 0)
        self.padding = [left, right, top, bottom] if padding else None
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self._fill = setup_fill(fill)
        self.padding_mode = padding_mode

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw the place, where there is more than one."""
        left, right, top, bottom = self.padding or (0, 0, 0, 0)
        size = query_size(flat_inputs)
        rows, columns = size[0] + top + bottom, size[1] + left + right
        height, width = self.size
        if self.pad_if_needed:
            more_rows, more_columns = max(height - rows, 0), max(width - columns, 0)
            top, bottom, rows = top + more_rows, bottom + more_rows, rows + 2 * more_rows
            left, right, columns = left + more_columns, right + more_columns, columns + 2 * more_columns
        if rows < height or columns < width:
            padded = "padded " if self.padding is not None else ""
            raise ValueError(
                f"Required crop size {(height, width)} is larger than {padded}input image size {(rows, columns)}."
            )
        start = int(weft.randint(0, rows - height + 1, size=())) if rows > height else 0
        return {
            "needs_crop": rows > height or columns > width,
            "top": start,
            "left": int(weft.randint(0, columns - width + 1, size=())) if columns > width else 0,
            "height": height,
            "width": width,
            "needs_pad": any((left, top, right, bottom)),
            "padding": [left, top, right, bottom],
        }

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return the rectangle of one part of the sample."""
        if params["needs_pad"]:
            fill = fill_for(self._fill, type(inpt))
            inpt = self._call_kernel(F.pad, inpt, params["padding"], fill, self.padding_mode)
        if params["needs_crop"]:
            inpt = self._call_kernel(
                F.crop, inpt, **{name: params[name] for name in ("top", "left", "height", "width")}
            )
        return inpt

    def _extract_params_for_v1_transform(self) -> Params:
        params = super()._extract_params_for_v1_transform()
        if self.padding is not None:
            left, right, top, bottom = self.padding
            params["padding"] = [left, top, right, bottom]
        return params


class RandomPerspective(RandomApplyTransform):
    """Move the corners of the sample inwards by random amounts, with probability ``p``.

    Parameters
    ----------
    distortion_scale : float, default 0.5
        How far at most, as a share of half the width and height.
    p : float, default 0.5
    interpolation, fill
        As of `RandomRotation`, with "bilinear" as default.
    """

    _v1_transform_cls = first.RandomPerspective

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Interpolation = "bilinear",
        fill: Any = 0,
    ) -> None:
        super().__init__(p=p)
        if not 0 <= distortion_scale <= 1:
            raise ValueError(f"Argument distortion_scale value should be between 0 and 1, got {distortion_scale}")
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill
        self._fill = setup_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw where the corners go."""
        height, width = query_size(flat_inputs)
        return {"coefficients": perspective_coefficients(*moved_corners(width, height, self.distortion_scale))}

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, in perspective."""
        options = {"interpolation": self.interpolation, "fill": fill_for(self._fill, type(inpt))}
        return self._call_kernel(F.perspective, inpt, startpoints=None, endpoints=None, **options, **params)


class ElasticTransform(Transform):
    """Move each pixel of the sample by a random displacement that changes smoothly.

    Boxes and key points move by the displacement of their pixels, which is right where it changes slowly.

    Parameters
    ----------
    alpha : float or sequence of one or two float, default 50
        How far pixels move at most, across and down, before smoothing.
    sigma : float or sequence of one or two float, default 5
        The deviation of the Gaussian that smooths displacements, in pixels.
    interpolation, fill
        As of `RandomRotation`, with "bilinear" as default.
    """

    _v1_transform_cls = first.ElasticTransform

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Interpolation = "bilinear",
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.alpha = setup_number_or_sequence(alpha, "alpha")
        self.sigma = setup_number_or_sequence(sigma, "sigma")
        self.interpolation = interpolation
        self.fill = fill
        self._fill = setup_fill(fill)

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw the displacements."""
        return {"displacement": displacements(self.alpha, self.sigma, *query_size(flat_inputs))}

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, displaced."""
        options = {"interpolation": self.interpolation, "fill": fill_for(self._fill, type(inpt))}
        return self._call_kernel(F.elastic, inpt, **params, **options)


class RandomIoUCrop(Transform):
    """Cut out a random rectangle that overlaps with a box as much as a random option asks for, or none.

    Boxes whose center is outside become 0: `SanitizeBoundingBoxes` removes them.

    Parameters
    ----------
    min_scale, max_scale : float, default 0.3 and 1
        The least and greatest height and width, as shares of the picture's.
    min_aspect_ratio, max_aspect_ratio : float, default 0.5 and 2
        The least and greatest width : height.
    sampler_options : list of float, optional
        Intersection over union that one box must have with the rectangle at least; 1 or more leaves the sample as it
        is. Default 0, 0.1, 0.3, 0.5, 0.7, 0.9 and 1.
    trials : int, default 40
        How many rectangles to try before another option is drawn.

    Raises
    ------
    TypeError
        When called, if the sample has no boxes or no image.

    References
    ----------
    W. Liu et al., SSD: Single shot multibox detector, arXiv:1512.02325, section 2.2.
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: list[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.min_scale = min_scale
        self.max_scale = max_scale
        self.min_aspect_ratio = min_aspect_ratio
        self.max_aspect_ratio = max_aspect_ratio
        self.options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] if sampler_options is None else sampler_options
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise a TypeError if there are no boxes or no image."""
        has_image = has_any(flat_inputs, PIL.Image.Image, tv_tensors.Image, is_pure_tensor)
        if not (has_image and has_all(flat_inputs, tv_tensors.BoundingBoxes)):
            raise TypeError(
                f"{type(self).__name__}() requires input sample to contain tensor or PIL images "
                "and bounding boxes. Sample can also contain masks."
            )

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw options and rectangles until one is right; nothing means that the sample stays."""
        size = query_size(flat_inputs)
        found = get_bounding_boxes(flat_inputs)
        boxes = F.convert_bounding_box_format(found.as_subclass(Tensor), found.format, BoundingBoxFormat.XYXY)
        while True:
            overlap = self.options[int(weft.randint(0, len(self.options), (1,)))]
            if overlap >= 1.0:
                return {}
            for _ in range(self.trials):
                params = self._drawn(size, boxes, overlap)
                if params is not None:
                    return params

    def _drawn(self, size: tuple[int, int], boxes: Tensor, overlap: float) -> Params | None:
        """Draw a rectangle; None if it has not the right shape, or overlaps too little with boxes (N, 4)."""
        shares = self.min_scale + (self.max_scale - self.min_scale) * weft.rand(2)
        width, height = int(size[1] * shares[0]), int(size[0] * shares[1])
        if not self.min_aspect_ratio <= width / height <= self.max_aspect_ratio:
            return None
        place = weft.rand(2)
        left, top = int((size[1] - width) * place[0]), int((size[0] - height) * place[1])
        if width == 0 or height == 0:
            return None
        x, y = 0.5 * (boxes[..., 0] + boxes[..., 2]), 0.5 * (boxes[..., 1] + boxes[..., 3])
        inside = (left < x) & (x < left + width) & (top < y) & (y < top + height)
        if not inside.any():
            return None
        rectangle = weft.tensor([[left, top, left + width, top + height]], dtype=boxes.dtype, device=boxes.device)
        if box_iou(boxes[inside], rectangle).max() < overlap:
            return None
        return {"top": top, "left": left, "height": height, "width": width, "is_within_crop_area": inside}

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return the rectangle of one part of the sample."""
        if not params:
            return inpt
        place = {name: params[name] for name in ("top", "left", "height", "width")}
        output = self._call_kernel(F.crop, inpt, **place)
        if isinstance(output, tv_tensors.BoundingBoxes):
            output[~params["is_within_crop_area"]] = 0
        return output


class _RandomSize(Transform):
    """The base of transforms that resize to a random size: their `make_params` draw ``size``."""

    interpolation: Interpolation
    antialias: bool | None

    def transform(self, inpt: Any, params: Params) -> Any:
        """Return one part of the sample, resized."""
        options = {"interpolation": self.interpolation, "antialias": self.antialias}
        return self._call_kernel(F.resize, inpt, size=params["size"], **options)


class ScaleJitter(_RandomSize):
    """Resize the sample by a random factor, keeping its proportions.

    Parameters
    ----------
    target_size : (int, int)
        The sample fits into it with a factor of 1.
    scale_range : (float, float), default (0.1, 2)
        The range of the factor.
    interpolation, antialias
        As of `Resize`.

    References
    ----------
    G. Ghiasi et al., Simple copy-paste is a strong data augmentation method, arXiv:2012.07177, section 3.
    """

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.target_size = target_size
        self.scale_range = scale_range
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw the size."""
        height, width = query_size(flat_inputs)
        factor = self.scale_range[0] + weft.rand(1) * (self.scale_range[1] - self.scale_range[0])
        # As torchvision: the target's second number goes with the height.
        times = min(self.target_size[1] / height, self.target_size[0] / width) * factor
        return {"size": (int(height * times), int(width * times))}


class RandomShortestSize(_RandomSize):
    """Resize the sample so that its shorter edge has one of some lengths.

    Parameters
    ----------
    min_size : int or sequence of int
        The lengths to choose from.
    max_size : int, optional
        What the longer edge may have at most.
    interpolation, antialias
        As of `Resize`.
    """

    def __init__(
        self,
        min_size: list[int] | tuple[int, ...] | int,
        max_size: int | None = None,
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw the length."""
        height, width = query_size(flat_inputs)
        times = self.min_size[int(weft.randint(len(self.min_size), ()))] / min(height, width)
        if self.max_size is not None:
            times = min(times, self.max_size / max(height, width))
        return {"size": (int(height * times), int(width * times))}


class RandomResize(_RandomSize):
    """Resize the sample so that its shorter edge has a random length.

    Parameters
    ----------
    min_size, max_size : int
        The length is drawn from ``min_size`` up to, but without, ``max_size``.
    interpolation, antialias
        As of `Resize`.
    """

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: Interpolation = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = min_size
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> Params:
        """Draw the length."""
        return {"size": [int(weft.randint(self.min_size, self.max_size, ()))]}
