"""Models of pictures, with the names, weights and first values of ``torchvision.models``; no training is fetched."""

from weft.vision.models.alexnet import *
from weft.vision.models.densenet import *
from weft.vision.models.mobilenetv2 import *
from weft.vision.models.resnet import *
from weft.vision.models.squeezenet import *
from weft.vision.models.vgg import *

__all__ = [name for name, value in globals().items() if callable(value)]
