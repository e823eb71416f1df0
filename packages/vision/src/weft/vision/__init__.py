"""Vision for weft: data sets, models, transforms and pictures, with the names of torchvision."""

import importlib
from typing import TYPE_CHECKING

from weft.vision import datasets as datasets
from weft.vision import transforms as transforms
from weft.vision import utils as utils

if TYPE_CHECKING:
    from weft.vision import io as io
    from weft.vision import models as models
    from weft.vision import ops as ops
else:

    def __getattr__(name):
        if name in ("io", "models", "ops"):  # when first asked for: most programs define their own
            return importlib.import_module(f"weft.vision.{name}")
        raise AttributeError(f"module 'weft.vision' has no attribute {name!r}")
