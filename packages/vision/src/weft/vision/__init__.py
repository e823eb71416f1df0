"""Vision for weft: data sets, models, transforms and pictures, with the names of torchvision."""

from typing import TYPE_CHECKING

from weft.vision import _lazy

if TYPE_CHECKING:
    from weft.vision import datasets as datasets
    from weft.vision import io as io
    from weft.vision import models as models
    from weft.vision import ops as ops
    from weft.vision import transforms as transforms
    from weft.vision import tv_tensors as tv_tensors
    from weft.vision import utils as utils
else:
    __all__ = _lazy.lazy_package(__name__, {}, "datasets io models ops transforms tv_tensors utils")
