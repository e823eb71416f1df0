"""Models of optical flow: how each pixel moves from one image to the next."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision.models.optical_flow.raft import *
else:
    __all__ = lazy_package(
        __name__,
        {
            "raft": "RAFT Raft_Large_Weights Raft_Small_Weights raft_large raft_small",
        },
    )
