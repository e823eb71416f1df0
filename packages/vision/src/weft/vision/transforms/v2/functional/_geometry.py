"""Size and position, in one namespace; each family has a module."""

from weft.vision.transforms.v2.functional._crop import *  # noqa: F403
from weft.vision.transforms.v2.functional._flip import *  # noqa: F403
from weft.vision.transforms.v2.functional._pad import *  # noqa: F403
from weft.vision.transforms.v2.functional._resize import *  # noqa: F403
from weft.vision.transforms.v2.functional._warp import *  # noqa: F403
