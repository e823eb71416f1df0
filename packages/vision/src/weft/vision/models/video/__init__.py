"""Models of video: classes of clips."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision.models.video.mvit import *
    from weft.vision.models.video.resnet import *
    from weft.vision.models.video.s3d import *
    from weft.vision.models.video.swin_transformer import *
else:
    __all__ = lazy_package(
        __name__,
        {
            "mvit": "MViT MViT_V1_B_Weights MViT_V2_S_Weights mvit_v1_b mvit_v2_s",
            "resnet": "VideoResNet R3D_18_Weights MC3_18_Weights R2Plus1D_18_Weights r3d_18 mc3_18 r2plus1d_18",
            "s3d": "S3D S3D_Weights s3d",
            "swin_transformer": """
                SwinTransformer3d Swin3D_T_Weights Swin3D_S_Weights Swin3D_B_Weights swin3d_t swin3d_s swin3d_b
            """,
        },
    )
