"""Functions of the user's, dtype and range, normalization, blur and noise; and what makes boxes and points sound."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.utils._pytree import tree_flatten, tree_unflatten
from weft.vision import tv_tensors
from weft.vision.transforms import conversion, filtering
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2._labels import labels_getter_of
from weft.vision.transforms.v2._transform import Transform
from weft.vision.transforms.v2._utils import get_bounding_boxes, get_keypoints, has_any
from weft.vision.transforms.v2.functional._misc import normalize_bytes
from weft.vision.transforms.v2.functional._utils import is_pure_tensor

__all__ = [
    "GaussianBlur",
    "GaussianNoise",
    "Identity",
    "Lambda",
    "LinearTransformation",
    "Normalize",
    "SanitizeBoundingBoxes",
    "SanitizeKeyPoints",
    "ToDtype",
]


class Identity(Transform):
    """Return the sample."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt


class Lambda(Transform):
    """A function of the user's, for the parts of a sample that are of some types.

    Parameters
    ----------
    lambd : callable
    *types : type
        By default, all parts.
    """

    _transformed_types = (object,)

    def __init__(self, lambd: Callable[[Any], Any], *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or self._transformed_types

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.lambd(inpt) if isinstance(inpt, self.types) else inpt

    def extra_repr(self) -> str:
        name = getattr(self.lambd, "__name__", None)
        types = f"types={[each.__name__ for each in self.types]}"
        return f"{name}, {types}" if name else types


class LinearTransformation(Transform):
    """Flatten an image, subtract a mean, multiply by a square matrix (whitening, say) and give it its shape again.

    Parameters
    ----------
    transformation_matrix : Tensor, shape (C * H * W, C * H * W)
    mean_vector : Tensor, shape (C * H * W,)

    Raises
    ------
    ValueError
        If shapes, dtypes or devices do not suit each other, or the image.
    TypeError
        If the sample has a PIL image.
    """

    _v1_transform_cls = conversion.LinearTransformation
    _transformed_types = (is_pure_tensor, tv_tensors.Image, tv_tensors.Video)

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        conversion.check_linear_transformation(transformation_matrix, mean_vector)
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise if the sample has a PIL image."""
        _refuse_pil(self, flat_inputs)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        found = conversion.linearly_transformed(inpt.as_subclass(Tensor), self.transformation_matrix, self.mean_vector)
        return tv_tensors.wrap(found, like=inpt) if isinstance(inpt, tv_tensors.TVTensor) else found


class Normalize(Transform):
    """``(image - mean) / std``, with one mean and deviation for each channel of floating images and videos.

    Parameters
    ----------
    mean, std : sequence of float, one for each channel
    inplace : bool, default False
        Overwrite the image.
    """

    _v1_transform_cls = conversion.Normalize

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = list(mean)
        self.std = list(std)
        self.inplace = inplace

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise if the sample has a PIL image."""
        _refuse_pil(self, flat_inputs)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.normalize, inpt, mean=self.mean, std=self.std, inplace=self.inplace)


def _refuse_pil(transform: Transform, flat_inputs: list[Any]) -> None:
    if has_any(flat_inputs, PIL.Image.Image):
        raise TypeError(f"{type(transform).__name__} does not support PIL images; apply ToImage and ToDtype first")


class GaussianBlur(Transform):
    """Blur images by a Gaussian of random deviation.

    Parameters
    ----------
    kernel_size : int or (int, int)
        Along x and y, odd.
    sigma : float or (float, float), default (0.1, 2.0)
        The deviation in pixels, or the range that it is drawn from.

    Raises
    ------
    ValueError
        If a size is even or not positive, or the range has wrong bounds.
    """

    _v1_transform_cls = filtering.GaussianBlur

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = filtering.odd_sizes(kernel_size, "GaussianBlur")
        if not isinstance(sigma, (int, float, Sequence)):
            raise TypeError(f"GaussianBlur: sigma should be a number or a sequence of numbers, got {sigma!r}")
        bounds = [sigma] if isinstance(sigma, (int, float)) else list(sigma)
        if len(bounds) not in (1, 2):
            raise ValueError(f"GaussianBlur: If sigma is a sequence its length should be 1 or 2. Got {len(bounds)}")
        self.sigma = [float(bounds[0]), float(bounds[-1])]
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"GaussianBlur: sigma values should be positive and of the form (min, max), got {sigma}")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw the deviation."""
        sigma = weft.empty(1).uniform_(self.sigma[0], self.sigma[1]).item()
        return {"sigma": [sigma, sigma]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.gaussian_blur, inpt, self.kernel_size, **params)


class GaussianNoise(Transform):
    """Add normal noise to images: floating ones of values from 0 to 1, or bytes.

    Parameters
    ----------
    mean, sigma : float, default 0 and 0.1
        In units of white.
    clip : bool, default True
        Keep the values in their range; bytes wrap around without it.
    """

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean = mean
        self.sigma = sigma
        self.clip = clip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.gaussian_noise, inpt, mean=self.mean, sigma=self.sigma, clip=self.clip)


class ToDtype(Transform):
    """Convert the dtype, and on request the range of the values.

    Parameters
    ----------
    dtype : dtype or dict
        Of images and videos; or for each type its dtype, None for none, ``"others"`` for all types that are not named.
    scale : bool, default False
        Whether images and videos go from the one dtype's range (0 to 255 for uint8) to the other's (0 to 1 for floats).

    Raises
    ------
    ValueError
        If ``dtype`` is something else, or names none for a type in the sample.
    """

    _transformed_types = (Tensor,)

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, (dict, weft.dtype)):
            raise ValueError(f"ToDtype: dtype must be a dict or a dtype, got {type(dtype).__name__}")
        if isinstance(dtype, dict) and Tensor in dtype and (tv_tensors.Image in dtype or tv_tensors.Video in dtype):
            warnings.warn(
                "ToDtype: dtype names Tensor, and Image or Video; but a plain `torch.Tensor` will *not* be transformed "
                "where a sample has one of these",
                stacklevel=2,
            )
        self.dtype = dtype
        self.scale = scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        is_image = is_pure_tensor(inpt) or isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))
        if not isinstance(self.dtype, dict):
            dtype = self.dtype if is_image else None
        elif type(inpt) in self.dtype or "others" in self.dtype:
            dtype = self.dtype.get(type(inpt), self.dtype.get("others"))
            if dtype is None and is_image and self.scale:
                warnings.warn("ToDtype: scale is True, but images have no dtype: no scaling will be done", stacklevel=2)
        else:
            raise ValueError(
                f"ToDtype: No dtype was specified for type {type(inpt).__name__}. Give one for images and videos, "
                'or "others", e.g. {tv_tensors.Mask: weft.int64, "others": None}'
            )
        return inpt if dtype is None else self._call_kernel(F.to_dtype, inpt, dtype=dtype, scale=self.scale)


def normalized_bytes(sample: Any, to_dtype: Any = None, normalize: Any = None) -> Any:
    """Return an image after `ToDtype` and `Normalize` in one pass; None where these are not just that.

    They are if both are of these very classes, without hooks, and the sample is an image of integers that becomes
    floating, with a mean and a deviation for each channel.
    """
    if type(to_dtype) is not ToDtype or type(normalize) is not Normalize or not to_dtype.scale:
        return None
    if not isinstance(to_dtype.dtype, weft.dtype) or not to_dtype.dtype.is_floating_point:
        return None
    if type(sample) not in (Tensor, tv_tensors.Image, tv_tensors.Video) or sample.dim() < 3:
        return None
    is_for_channels = len(normalize.mean) == len(normalize.std) == sample.shape[-3] and all(normalize.std)
    if sample.is_floating_point() or not is_for_channels or to_dtype._forward_hooks or normalize._forward_hooks:
        return None
    if to_dtype._forward_pre_hooks or normalize._forward_pre_hooks:
        return None
    pixels = sample.as_subclass(Tensor)
    found = normalize_bytes(pixels, to_dtype.dtype, normalize.mean, normalize.std)
    return found if pixels is sample else tv_tensors.wrap(found, like=sample)


class _Sanitize(Transform):
    """The base of the transforms that remove parts of boxes or points, together with the labels of these."""

    _NOUN: str

    def __init__(self, labels_getter: Callable[[Any], Any] | str | None) -> None:
        super().__init__()
        self._labels_getter = labels_getter_of(labels_getter, type(self).__name__)

    def _find(self, flat_inputs: list[Any]) -> Tensor:
        """Return the boxes or points of a sample."""
        raise NotImplementedError

    def _valid(self, found: Any) -> Tensor:
        """Return which of them stay."""
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        """Return the sample without what is not valid."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = self._labels(sample)
        flat_inputs, spec = tree_flatten(sample)
        found = self._find(flat_inputs)
        for each in labels:
            if len(each) != len(found):
                raise ValueError(
                    f"{type(self).__name__}: Number of {self._NOUN}, {len(found)}, must match the number of labels, "
                    f"got {tuple(each.shape)}"
                )
        valid = self._valid(found)
        params = {"valid": valid, "labels": labels}
        return tree_unflatten([self.transform(each, params) for each in flat_inputs], spec)

    def _labels(self, sample: Any) -> tuple[Tensor, ...]:
        labels = self._labels_getter(sample)
        labels = () if labels is None else (labels,) if isinstance(labels, Tensor) else labels
        for each in labels if isinstance(labels, (tuple, list)) else (labels,):
            if not isinstance(each, Tensor):
                raise ValueError(
                    f"{type(self).__name__}: the labels must be a tensor, tensors or None, got {type(each).__name__}"
                )
        return tuple(labels)

    def _concerns(self, inpt: Any, valid: Tensor) -> bool:
        """Return whether a part of the sample has one entry for each box or point."""
        raise NotImplementedError

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        valid = params["valid"]
        if not (any(inpt is each for each in params["labels"]) or self._concerns(inpt, valid)):
            return inpt
        kept = inpt.as_subclass(Tensor)[valid]
        return tv_tensors.wrap(kept, like=inpt) if isinstance(inpt, tv_tensors.TVTensor) else kept


class SanitizeBoundingBoxes(_Sanitize):
    """Remove the boxes that are too small or not wholly on the canvas, with their labels and masks.

    Masks (N, H, W) of N boxes go with their box. `ClampBoundingBoxes` before keeps boxes that only reach out.

    Parameters
    ----------
    min_size, min_area : float, default 1
        What width and height, and their product, must have at least.
    labels_getter : callable, "default" or None
        From a sample to its labels (a tensor, or several). By default they are the second part of the sample, or what
        that or the sample has for the key "labels".

    Raises
    ------
    ValueError
        If a limit is less than 1, the labels are not found, or their number is another.
    """

    _NOUN = "boxes"

    def __init__(
        self,
        min_size: float = 1.0,
        min_area: float = 1.0,
        labels_getter: Callable[[Any], Any] | str | None = "default",
    ) -> None:
        for name, limit in (("min_size", min_size), ("min_area", min_area)):
            if limit < 1:
                raise ValueError(f"SanitizeBoundingBoxes: {name} must be >= 1, got {limit}")
        super().__init__(labels_getter)
        self.min_size = min_size
        self.min_area = min_area
        self.labels_getter = labels_getter

    def _find(self, flat_inputs: list[Any]) -> Tensor:
        return get_bounding_boxes(flat_inputs)

    def _valid(self, found: Any) -> Tensor:
        return F.sanitize_bounding_boxes(found, min_size=self.min_size, min_area=self.min_area)[1]

    def _concerns(self, inpt: Any, valid: Tensor) -> bool:
        is_mask = isinstance(inpt, tv_tensors.Mask) and inpt.dim() == 3 and len(inpt) == len(valid)
        return is_mask or isinstance(inpt, tv_tensors.BoundingBoxes)


class SanitizeKeyPoints(_Sanitize):
    """Remove the points that are not on the canvas, or the groups with such a point, with their labels.

    Parameters
    ----------
    labels_getter : callable, "default" or None
        From a sample to its labels; see `SanitizeBoundingBoxes`. By default there are none.
    """

    _NOUN = "keypoints"

    def __init__(self, labels_getter: Callable[[Any], Any] | str | None = None) -> None:
        super().__init__(labels_getter)
        self.labels_getter = labels_getter

    def _find(self, flat_inputs: list[Any]) -> Tensor:
        return get_keypoints(flat_inputs)

    def _valid(self, found: Any) -> Tensor:
        return F.sanitize_keypoints(found)[1]

    def _concerns(self, inpt: Any, valid: Tensor) -> bool:
        return isinstance(inpt, tv_tensors.KeyPoints)
