"""Models of pictures, with the names, weights and first values of ``torchvision.models``."""

from typing import TYPE_CHECKING

from weft.vision._lazy import lazy_package

if TYPE_CHECKING:
    from weft.vision.models._api import *
    from weft.vision.models.alexnet import *
    from weft.vision.models.densenet import *
    from weft.vision.models.mobilenetv2 import *
    from weft.vision.models.resnet import *
    from weft.vision.models.squeezenet import *
    from weft.vision.models.vgg import *
else:
    __all__ = lazy_package(
        __name__,
        {
            "_api": "Weights WeightsEnum get_model get_model_builder get_model_weights get_weight list_models",
            "alexnet": "AlexNet AlexNet_Weights alexnet",
            "densenet": """
                DenseNet DenseNet121_Weights DenseNet161_Weights DenseNet169_Weights DenseNet201_Weights densenet121
                densenet161 densenet169 densenet201
            """,
            "mobilenetv2": "MobileNet_V2_Weights MobileNetV2 mobilenet_v2",
            "resnet": """
                ResNet ResNet18_Weights ResNet34_Weights ResNet50_Weights ResNet101_Weights ResNet152_Weights
                ResNeXt50_32X4D_Weights ResNeXt101_32X8D_Weights ResNeXt101_64X4D_Weights Wide_ResNet50_2_Weights
                Wide_ResNet101_2_Weights resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d
                resnext101_32x8d resnext101_64x4d wide_resnet50_2 wide_resnet101_2
            """,
            "squeezenet": "SqueezeNet SqueezeNet1_0_Weights SqueezeNet1_1_Weights squeezenet1_0 squeezenet1_1",
            "vgg": """
                VGG VGG11_BN_Weights VGG11_Weights VGG13_BN_Weights VGG13_Weights VGG16_BN_Weights VGG16_Weights
                VGG19_BN_Weights VGG19_Weights vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn
            """,
        },
    )
