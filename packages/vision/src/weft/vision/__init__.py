"""Vision for weft: data sets, transforms and pictures, with the names of torchvision."""

from weft.vision import datasets as datasets
from weft.vision import transforms as transforms
from weft.vision import utils as utils
