"""Vision data sets, with the names of ``torchvision.datasets``."""

from weft.vision.datasets.cifar import CIFAR10, CIFAR100
from weft.vision.datasets.digits import Digits
from weft.vision.datasets.fakedata import FakeData
from weft.vision.datasets.folder import DatasetFolder, ImageFolder
from weft.vision.datasets.mnist import EMNIST, KMNIST, MNIST, FashionMNIST
from weft.vision.datasets.vision import VisionDataset

__all__ = [
    "VisionDataset",
    "Digits",
    "MNIST",
    "FashionMNIST",
    "KMNIST",
    "EMNIST",
    "DatasetFolder",
    "ImageFolder",
    "FakeData",
    "CIFAR10",
    "CIFAR100",
]
