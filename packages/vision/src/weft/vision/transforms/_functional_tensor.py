"""The ranges of pixel values and the other colours, under the names that torchvision's module of this name has."""

from weft import Tensor, stack
from weft.vision.transforms.v2.functional._color import _hsv_to_rgb, _rgb_to_hsv
from weft.vision.transforms.v2.functional._misc import greatest_value as _max_value  # noqa: F401


def _rgb2hsv(img: Tensor) -> Tensor:
    """Return hue, saturation and value (..., 3, H, W), all from 0 to 1, of red, green and blue."""
    return stack(_rgb_to_hsv(img), dim=-3)


def _hsv2rgb(img: Tensor) -> Tensor:
    """Return red, green and blue (..., 3, H, W) of hue, saturation and value."""
    return _hsv_to_rgb(*img.unbind(dim=-3))
