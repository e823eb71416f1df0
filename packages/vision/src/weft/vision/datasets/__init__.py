"""Vision data sets, with the names of ``torchvision.datasets``."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision.datasets import samplers as samplers
    from weft.vision.datasets import utils as utils
    from weft.vision.datasets import video_utils as video_utils
    from weft.vision.datasets._optical_flow import HD1K as HD1K
    from weft.vision.datasets._optical_flow import FlyingChairs as FlyingChairs
    from weft.vision.datasets._optical_flow import FlyingThings3D as FlyingThings3D
    from weft.vision.datasets._optical_flow import KittiFlow as KittiFlow
    from weft.vision.datasets._optical_flow import Sintel as Sintel
    from weft.vision.datasets._stereo_matching import CarlaStereo as CarlaStereo
    from weft.vision.datasets._stereo_matching import CREStereo as CREStereo
    from weft.vision.datasets._stereo_matching import ETH3DStereo as ETH3DStereo
    from weft.vision.datasets._stereo_matching import FallingThingsStereo as FallingThingsStereo
    from weft.vision.datasets._stereo_matching import InStereo2k as InStereo2k
    from weft.vision.datasets._stereo_matching import Kitti2012Stereo as Kitti2012Stereo
    from weft.vision.datasets._stereo_matching import Kitti2015Stereo as Kitti2015Stereo
    from weft.vision.datasets._stereo_matching import Middlebury2014Stereo as Middlebury2014Stereo
    from weft.vision.datasets._stereo_matching import SceneFlowStereo as SceneFlowStereo
    from weft.vision.datasets._stereo_matching import SintelStereo as SintelStereo
    from weft.vision.datasets._wrapper import wrap_dataset_for_transforms_v2 as wrap_dataset_for_transforms_v2
    from weft.vision.datasets.caltech import Caltech101 as Caltech101
    from weft.vision.datasets.caltech import Caltech256 as Caltech256
    from weft.vision.datasets.celeba import CelebA as CelebA
    from weft.vision.datasets.cifar import CIFAR10 as CIFAR10
    from weft.vision.datasets.cifar import CIFAR100 as CIFAR100
    from weft.vision.datasets.cityscapes import Cityscapes as Cityscapes
    from weft.vision.datasets.clevr import CLEVRClassification as CLEVRClassification
    from weft.vision.datasets.coco import CocoCaptions as CocoCaptions
    from weft.vision.datasets.coco import CocoDetection as CocoDetection
    from weft.vision.datasets.country211 import Country211 as Country211
    from weft.vision.datasets.digits import Digits as Digits
    from weft.vision.datasets.dtd import DTD as DTD
    from weft.vision.datasets.eurosat import EuroSAT as EuroSAT
    from weft.vision.datasets.fakedata import FakeData as FakeData
    from weft.vision.datasets.fer2013 import FER2013 as FER2013
    from weft.vision.datasets.fgvc_aircraft import FGVCAircraft as FGVCAircraft
    from weft.vision.datasets.flickr import Flickr8k as Flickr8k
    from weft.vision.datasets.flickr import Flickr30k as Flickr30k
    from weft.vision.datasets.flowers102 import Flowers102 as Flowers102
    from weft.vision.datasets.folder import DatasetFolder as DatasetFolder
    from weft.vision.datasets.folder import ImageFolder as ImageFolder
    from weft.vision.datasets.food101 import Food101 as Food101
    from weft.vision.datasets.gtsrb import GTSRB as GTSRB
    from weft.vision.datasets.hmdb51 import HMDB51 as HMDB51
    from weft.vision.datasets.imagenet import ImageNet as ImageNet
    from weft.vision.datasets.imagenette import Imagenette as Imagenette
    from weft.vision.datasets.inaturalist import INaturalist as INaturalist
    from weft.vision.datasets.kinetics import Kinetics as Kinetics
    from weft.vision.datasets.kitti import Kitti as Kitti
    from weft.vision.datasets.lfw import LFWPairs as LFWPairs
    from weft.vision.datasets.lfw import LFWPeople as LFWPeople
    from weft.vision.datasets.lsun import LSUN as LSUN
    from weft.vision.datasets.lsun import LSUNClass as LSUNClass
    from weft.vision.datasets.mnist import EMNIST as EMNIST
    from weft.vision.datasets.mnist import KMNIST as KMNIST
    from weft.vision.datasets.mnist import MNIST as MNIST
    from weft.vision.datasets.mnist import QMNIST as QMNIST
    from weft.vision.datasets.mnist import FashionMNIST as FashionMNIST
    from weft.vision.datasets.moving_mnist import MovingMNIST as MovingMNIST
    from weft.vision.datasets.omniglot import Omniglot as Omniglot
    from weft.vision.datasets.oxford_iiit_pet import OxfordIIITPet as OxfordIIITPet
    from weft.vision.datasets.pcam import PCAM as PCAM
    from weft.vision.datasets.phototour import PhotoTour as PhotoTour
    from weft.vision.datasets.places365 import Places365 as Places365
    from weft.vision.datasets.rendered_sst2 import RenderedSST2 as RenderedSST2
    from weft.vision.datasets.sbd import SBDataset as SBDataset
    from weft.vision.datasets.sbu import SBU as SBU
    from weft.vision.datasets.semeion import SEMEION as SEMEION
    from weft.vision.datasets.stanford_cars import StanfordCars as StanfordCars
    from weft.vision.datasets.stl10 import STL10 as STL10
    from weft.vision.datasets.sun397 import SUN397 as SUN397
    from weft.vision.datasets.svhn import SVHN as SVHN
    from weft.vision.datasets.ucf101 import UCF101 as UCF101
    from weft.vision.datasets.usps import USPS as USPS
    from weft.vision.datasets.vision import VisionDataset as VisionDataset
    from weft.vision.datasets.voc import VOCDetection as VOCDetection
    from weft.vision.datasets.voc import VOCSegmentation as VOCSegmentation
    from weft.vision.datasets.widerface import WIDERFace as WIDERFace
else:
    __all__ = lazy_package(
        __name__,
        {
            "_optical_flow": "FlyingChairs FlyingThings3D HD1K KittiFlow Sintel",
            "_stereo_matching": """
                CREStereo CarlaStereo ETH3DStereo FallingThingsStereo InStereo2k Kitti2012Stereo Kitti2015Stereo
                Middlebury2014Stereo SceneFlowStereo SintelStereo
            """,
            "_wrapper": "wrap_dataset_for_transforms_v2",
            "caltech": "Caltech101 Caltech256",
            "celeba": "CelebA",
            "cifar": "CIFAR10 CIFAR100",
            "cityscapes": "Cityscapes",
            "clevr": "CLEVRClassification",
            "coco": "CocoCaptions CocoDetection",
            "country211": "Country211",
            "digits": "Digits",
            "dtd": "DTD",
            "eurosat": "EuroSAT",
            "fakedata": "FakeData",
            "fer2013": "FER2013",
            "fgvc_aircraft": "FGVCAircraft",
            "flickr": "Flickr30k Flickr8k",
            "flowers102": "Flowers102",
            "folder": "DatasetFolder ImageFolder",
            "food101": "Food101",
            "gtsrb": "GTSRB",
            "hmdb51": "HMDB51",
            "imagenet": "ImageNet",
            "imagenette": "Imagenette",
            "inaturalist": "INaturalist",
            "kinetics": "Kinetics",
            "kitti": "Kitti",
            "lfw": "LFWPairs LFWPeople",
            "lsun": "LSUN LSUNClass",
            "mnist": "EMNIST FashionMNIST KMNIST MNIST QMNIST",
            "moving_mnist": "MovingMNIST",
            "omniglot": "Omniglot",
            "oxford_iiit_pet": "OxfordIIITPet",
            "pcam": "PCAM",
            "phototour": "PhotoTour",
            "places365": "Places365",
            "rendered_sst2": "RenderedSST2",
            "sbd": "SBDataset",
            "sbu": "SBU",
            "semeion": "SEMEION",
            "stanford_cars": "StanfordCars",
            "stl10": "STL10",
            "sun397": "SUN397",
            "svhn": "SVHN",
            "ucf101": "UCF101",
            "usps": "USPS",
            "vision": "VisionDataset",
            "voc": "VOCDetection VOCSegmentation",
            "widerface": "WIDERFace",
        },
        "samplers utils video_utils",
    )
