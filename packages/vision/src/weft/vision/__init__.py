"""Vision for weft: data sets, models, transforms and pictures, with the names of torchvision."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision import datasets as datasets
    from weft.vision import io as io
    from weft.vision import models as models
    from weft.vision import ops as ops
    from weft.vision import transforms as transforms
    from weft.vision import tv_tensors as tv_tensors
    from weft.vision import utils as utils
    from weft.vision._backends import *
else:
    __all__ = lazy_package(
        __name__,
        {
            "_backends": """
                disable_beta_transforms_warning get_image_backend get_video_backend set_image_backend
                set_video_backend
            """,
        },
        "datasets io models ops transforms tv_tensors utils",
    )
