"""What weft-vision tells core: where samples and operators are, and what torchvision calls some of its modules."""

NAMES: dict[str, str] = {}
ATEN: dict[str, str] = {}
OPERATORS = {"torchvision": "weft.vision.ops._operators"}  # defines torch.ops.torchvision
SAMPLES = "weft.vision.ops._samples"  # declares what `weft.testing` tries the ops with

_TRANSFORMS = "weft.vision.transforms.functional"
JOINED = {
    "torchvision._internally_replaced_utils": "weft.hub",
    "torchvision.models.optical_flow._utils": "weft.vision.models.optical_flow.raft",
    "torchvision.ops.ciou_loss": "weft.vision.ops.iou_losses",
    "torchvision.ops.diou_loss": "weft.vision.ops.iou_losses",
    "torchvision.ops.giou_loss": "weft.vision.ops.iou_losses",
    "torchvision.transforms._functional_pil": _TRANSFORMS,
    "torchvision.transforms._functional_tensor": f"weft.vision.transforms._functional_tensor {_TRANSFORMS}",
    "torchvision.transforms.transforms": "weft.vision.transforms weft.vision.transforms.geometry",
    "torchvision.transforms.v2._deprecated": "weft.vision.transforms.v2._type_conversion",
    "torchvision.tv_tensors._dataset_wrapper": "weft.vision.datasets._wrapper",
    "torchvision.tv_tensors._mask": "weft.vision.tv_tensors._image",
    "torchvision.tv_tensors._torch_function_helpers": "weft.vision.tv_tensors._tv_tensor",
    "torchvision.tv_tensors._video": "weft.vision.tv_tensors._image",
}
