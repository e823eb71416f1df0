"""Pictures and videos in files and in memory, with the names of ``torchvision.io``."""

from weft.vision.io.image import *
from weft.vision.io.video import *
