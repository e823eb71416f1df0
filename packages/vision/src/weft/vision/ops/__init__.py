"""Operations of vision: boxes, losses and blocks of models, with the names of ``torchvision.ops``."""

from weft.vision.ops import boxes as boxes
from weft.vision.ops import misc as misc
from weft.vision.ops.boxes import *
from weft.vision.ops.deform_conv import *
from weft.vision.ops.drop_block import *
from weft.vision.ops.feature_pyramid_network import *
from weft.vision.ops.focal_loss import *
from weft.vision.ops.iou_losses import *
from weft.vision.ops.misc import *
from weft.vision.ops.poolers import *
from weft.vision.ops.ps_roi_align import *
from weft.vision.ops.ps_roi_pool import *
from weft.vision.ops.roi_align import *
from weft.vision.ops.roi_pool import *
from weft.vision.ops.stochastic_depth import *

__all__ = [name for name, value in globals().items() if callable(value)]
