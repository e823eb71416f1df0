"""Models of pictures, with the names, weights and first values of ``torchvision.models``."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision.models import detection as detection
    from weft.vision.models import optical_flow as optical_flow
    from weft.vision.models import quantization as quantization
    from weft.vision.models import segmentation as segmentation
    from weft.vision.models import video as video
    from weft.vision.models._api import *
    from weft.vision.models.alexnet import *
    from weft.vision.models.convnext import *
    from weft.vision.models.densenet import *
    from weft.vision.models.efficientnet import *
    from weft.vision.models.googlenet import *
    from weft.vision.models.inception import *
    from weft.vision.models.maxvit import *
    from weft.vision.models.mnasnet import *
    from weft.vision.models.mobilenetv2 import *
    from weft.vision.models.mobilenetv3 import *
    from weft.vision.models.regnet import *
    from weft.vision.models.resnet import *
    from weft.vision.models.shufflenetv2 import *
    from weft.vision.models.squeezenet import *
    from weft.vision.models.swin_transformer import *
    from weft.vision.models.vgg import *
    from weft.vision.models.vision_transformer import *
else:
    __all__ = lazy_package(
        __name__,
        {
            "_api": "Weights WeightsEnum get_model get_model_builder get_model_weights get_weight list_models",
            "alexnet": "AlexNet AlexNet_Weights alexnet",
            "convnext": """
                ConvNeXt ConvNeXt_Base_Weights ConvNeXt_Large_Weights ConvNeXt_Small_Weights ConvNeXt_Tiny_Weights
                convnext_base convnext_large convnext_small convnext_tiny
            """,
            "densenet": """
                DenseNet DenseNet121_Weights DenseNet161_Weights DenseNet169_Weights DenseNet201_Weights densenet121
                densenet161 densenet169 densenet201
            """,
            "efficientnet": """
                EfficientNet EfficientNet_B0_Weights EfficientNet_B1_Weights EfficientNet_B2_Weights
                EfficientNet_B3_Weights EfficientNet_B4_Weights EfficientNet_B5_Weights EfficientNet_B6_Weights
                EfficientNet_B7_Weights EfficientNet_V2_L_Weights EfficientNet_V2_M_Weights
                EfficientNet_V2_S_Weights efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3
                efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_l efficientnet_v2_m
                efficientnet_v2_s
            """,
            "googlenet": "GoogLeNet GoogLeNetOutputs GoogLeNet_Weights _GoogLeNetOutputs googlenet",
            "inception": "Inception3 InceptionOutputs Inception_V3_Weights _InceptionOutputs inception_v3",
            "maxvit": "MaxVit MaxVit_T_Weights maxvit_t",
            "mnasnet": """
                MNASNet MNASNet0_5_Weights MNASNet0_75_Weights MNASNet1_0_Weights MNASNet1_3_Weights mnasnet0_5
                mnasnet0_75 mnasnet1_0 mnasnet1_3
            """,
            "mobilenetv2": "MobileNet_V2_Weights MobileNetV2 mobilenet_v2",
            "mobilenetv3": """
                MobileNetV3 MobileNet_V3_Large_Weights MobileNet_V3_Small_Weights mobilenet_v3_large
                mobilenet_v3_small
            """,
            "regnet": """
                RegNet RegNet_X_16GF_Weights RegNet_X_1_6GF_Weights RegNet_X_32GF_Weights RegNet_X_3_2GF_Weights
                RegNet_X_400MF_Weights RegNet_X_800MF_Weights RegNet_X_8GF_Weights RegNet_Y_128GF_Weights
                RegNet_Y_16GF_Weights RegNet_Y_1_6GF_Weights RegNet_Y_32GF_Weights RegNet_Y_3_2GF_Weights
                RegNet_Y_400MF_Weights RegNet_Y_800MF_Weights RegNet_Y_8GF_Weights regnet_x_16gf regnet_x_1_6gf
                regnet_x_32gf regnet_x_3_2gf regnet_x_400mf regnet_x_800mf regnet_x_8gf regnet_y_128gf regnet_y_16gf
                regnet_y_1_6gf regnet_y_32gf regnet_y_3_2gf regnet_y_400mf regnet_y_800mf regnet_y_8gf
            """,
            "resnet": """
                ResNet ResNet18_Weights ResNet34_Weights ResNet50_Weights ResNet101_Weights ResNet152_Weights
                ResNeXt50_32X4D_Weights ResNeXt101_32X8D_Weights ResNeXt101_64X4D_Weights Wide_ResNet50_2_Weights
                Wide_ResNet101_2_Weights resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d
                resnext101_32x8d resnext101_64x4d wide_resnet50_2 wide_resnet101_2
            """,
            "shufflenetv2": """
                ShuffleNetV2 ShuffleNet_V2_X0_5_Weights ShuffleNet_V2_X1_0_Weights ShuffleNet_V2_X1_5_Weights
                ShuffleNet_V2_X2_0_Weights shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5
                shufflenet_v2_x2_0
            """,
            "squeezenet": "SqueezeNet SqueezeNet1_0_Weights SqueezeNet1_1_Weights squeezenet1_0 squeezenet1_1",
            "swin_transformer": """
                SwinTransformer Swin_B_Weights Swin_S_Weights Swin_T_Weights Swin_V2_B_Weights Swin_V2_S_Weights
                Swin_V2_T_Weights swin_b swin_s swin_t swin_v2_b swin_v2_s swin_v2_t
            """,
            "vgg": """
                VGG VGG11_BN_Weights VGG11_Weights VGG13_BN_Weights VGG13_Weights VGG16_BN_Weights VGG16_Weights
                VGG19_BN_Weights VGG19_Weights vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn
            """,
            "vision_transformer": """
                ViT_B_16_Weights ViT_B_32_Weights ViT_H_14_Weights ViT_L_16_Weights ViT_L_32_Weights
                VisionTransformer vit_b_16 vit_b_32 vit_h_14 vit_l_16 vit_l_32
            """,
        },
        "detection optical_flow quantization segmentation video",
    )
