"""What torchvision's own Python source computes: a program that runs on PyTorch, and on weft in its name.

``python source_cases.py FILE AREA...`` writes a pickle of NumPy arrays by the name of each case. The areas are those of
`AREAS`; ``models:resnet18`` is one case of one, ``transforms_v2:boxes`` all of one kind. Where the environment says
``WEFT_AS_TORCH=torch``, torch is weft, and torchvision's compiled operators are those of `operators.py`.
"""

import inspect
import pickle
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import operators
import PIL.Image
import torch

if torch.__version__.endswith("+weft"):
    operators.register()
    import torchvision
else:
    from oracle import torchvision

from torchvision import models, ops, transforms, tv_tensors, utils
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

for module in (torchvision.extension, sys.modules["torchvision.ops.roi_align"]):
    module._has_ops = lambda: True
SIZE = 37, 45


def image(*batch, channels=3, dtype=torch.uint8, seed=0):
    """An image (or a batch) with some smooth areas and some noise."""
    draws = np.random.default_rng(seed)
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    smooth = (rows * 3 + columns * 2)[None] % 200 + 20 * np.arange(channels)[:, None, None]
    values = (smooth + draws.integers(0, 36, (*batch, channels, *SIZE))).clip(0, 255).astype(np.uint8)
    found = torch.from_numpy(values)
    return found if dtype is torch.uint8 else found.to(dtype) / 255


def picture(mode="RGB"):
    """A PIL image."""
    return F.to_pil_image(image(channels=3 if mode == "RGB" else 1))


def boxes(format="XYXY"):
    """Boxes in a format."""
    corners = torch.tensor([[2.0, 3.0, 20.0, 30.0], [10.0, 5.0, 40.0, 33.0], [0.0, 0.0, 44.0, 36.0]])
    found = tv_tensors.BoundingBoxes(corners, format="XYXY", canvas_size=SIZE)
    return F.convert_bounding_box_format(found, new_format=tv_tensors.BoundingBoxFormat[format])


def rotated_boxes():
    """Boxes with angles."""
    values = torch.tensor([[20.0, 15.0, 12.0, 8.0, 30.0], [18.0, 20.0, 9.0, 14.0, -50.0]])
    return tv_tensors.BoundingBoxes(values, format="CXCYWHR", canvas_size=SIZE)


def points():
    """Some points of the image."""
    return tv_tensors.KeyPoints(torch.tensor([[3.0, 4.0], [30.0, 20.0], [44.0, 36.0]]), canvas_size=SIZE)


def mask():
    """Numbers of classes."""
    return tv_tensors.Mask(image(channels=1)[0] // 64)


INPUTS = {
    "bytes": lambda: tv_tensors.Image(image()),
    "float": lambda: tv_tensors.Image(image(dtype=torch.float32)),
    "gray": lambda: tv_tensors.Image(image(channels=1)),
    "batch": lambda: image(2),
    "pil": picture,
    "pil-L": lambda: picture("L"),
    "boxes": boxes,
    "rotated": rotated_boxes,
    "points": points,
    "mask": mask,
    "video": lambda: tv_tensors.Video(image(3)),
    "sample": lambda: {"image": tv_tensors.Image(image()), "boxes": boxes(), "labels": torch.arange(3), "mask": mask()},
}


def arrays(value):
    """A result as NumPy arrays, numbers and texts, in lists and dicts."""
    if isinstance(value, torch.Tensor):
        found = value.detach()
        kind = type(value).__name__
        plain = found.as_subclass(torch.Tensor)
        return (kind, str(plain.dtype).rpartition(".")[2], plain.double().numpy())
    if isinstance(value, PIL.Image.Image):
        return (value.mode, np.asarray(value))
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, dict):
        return {str(key): arrays(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [arrays(each) for each in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def seeded(function, *args, **kwargs):
    """The result of a call whose random numbers begin anew; of one that fails, the type of its error."""
    torch.manual_seed(7)
    random.seed(7)
    try:
        return arrays(function(*args, **kwargs))
    except Exception as error:
        return f"{type(error).__name__}"


# Transforms -------------------------------------------------------------------------------------------------

CLASSES = {
    "AutoAugment": {}, "RandAugment": {}, "TrivialAugmentWide": {}, "AugMix": {},
    "CenterCrop": {"size": 20}, "RandomCrop": {"size": (20, 25), "padding": 2}, "FiveCrop": {"size": 20},
    "TenCrop": {"size": 20}, "RandomResizedCrop": {"size": 24}, "RandomIoUCrop": {}, "Resize": {"size": (24, 30)},
    "RandomResize": {"min_size": 20, "max_size": 40}, "RandomShortestSize": {"min_size": [20, 30]},
    "Pad": {"padding": 3},
    "ScaleJitter": {"target_size": (30, 30)}, "RandomZoomOut": {"p": 1.0}, "RandomRotation": {"degrees": 30},
    "RandomAffine": {"degrees": 20, "translate": (0.1, 0.1), "scale": (0.8, 1.2), "shear": 10},
    "RandomPerspective": {"p": 1.0}, "ElasticTransform": {}, "RandomHorizontalFlip": {"p": 1.0},
    "RandomVerticalFlip": {"p": 1.0},
    "ColorJitter": {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.2},
    "RandomPhotometricDistort": {"p": 1.0}, "RandomChannelPermutation": {}, "Grayscale": {"num_output_channels": 3},
    "RGB": {}, "RandomGrayscale": {"p": 1.0}, "GaussianBlur": {"kernel_size": 5}, "GaussianNoise": {},
    "RandomInvert": {"p": 1.0}, "RandomPosterize": {"bits": 3, "p": 1.0},
    "RandomSolarize": {"threshold": 100, "p": 1.0},
    "RandomAdjustSharpness": {"sharpness_factor": 2, "p": 1.0}, "RandomAutocontrast": {"p": 1.0},
    "RandomEqualize": {"p": 1.0}, "RandomErasing": {"p": 1.0}, "Normalize": {"mean": [0.5] * 3, "std": [0.2] * 3},
    "ToDtype": {"dtype": torch.float32, "scale": True}, "ToImage": {}, "ToPureTensor": {},
    "ClampBoundingBoxes": {}, "ClampKeyPoints": {}, "ConvertBoundingBoxFormat": {"format": "CXCYWH"},
    "UniformTemporalSubsample": {"num_samples": 2}, "SanitizeBoundingBoxes": {}, "SanitizeKeyPoints": {},
    "SetClampingMode": {"clamping_mode": "soft"}, "Identity": {}, "PILToTensor": {}, "ToPILImage": {},
    "ConvertImageDtype": {"dtype": torch.float32}, "Lambda": {"lambd": lambda x: x},
    "Compose": {"transforms": [v2.RandomHorizontalFlip(), v2.RandomCrop(20)]},
    "RandomApply": {"transforms": [v2.RandomHorizontalFlip(1.0)]},
    "RandomChoice": {"transforms": [v2.RandomHorizontalFlip(1.0), v2.RandomVerticalFlip(1.0)]},
    "RandomOrder": {"transforms": [v2.RandomRotation(20), v2.Pad(3)]},
    "LinearTransformation": {
        "transformation_matrix": torch.eye(3 * 37 * 45) * 0.5, "mean_vector": torch.zeros(3 * 37 * 45)
    },
}  # fmt: skip


def transforms_v2(case):
    """Each class on each kind of input."""
    name, kind = case
    return seeded(getattr(v2, name)(**CLASSES[name]), INPUTS[kind]())


CLASSIC = {
    name: CLASSES[name]
    for name in """
CenterCrop RandomCrop FiveCrop Resize RandomResizedCrop Pad RandomRotation RandomAffine RandomPerspective
RandomHorizontalFlip RandomVerticalFlip ColorJitter Grayscale RandomGrayscale GaussianBlur RandomInvert
RandomPosterize RandomSolarize RandomAdjustSharpness RandomAutocontrast RandomEqualize RandomErasing Normalize
AutoAugment RandAugment TrivialAugmentWide AugMix ElasticTransform
""".split()
}


def transforms_v1(case):
    """Each class of the first version."""
    name, kind = case
    given = INPUTS[kind]()
    given = given.as_subclass(torch.Tensor) if isinstance(given, torch.Tensor) else given
    return seeded(getattr(transforms, name)(**CLASSIC[name]), given)


# Functionals ------------------------------------------------------------------------------------------------

ARGUMENTS = {
    "size": [24, 30], "degrees": 20.0, "angle": 25.0, "translate": [2, 3], "scale": 1.1, "shear": [5.0, 3.0],
    "padding": [1, 2, 3, 4], "top": 3, "left": 4, "height": 20, "width": 22, "i": 2, "j": 3, "h": 10, "w": 12,
    "output_size": [20, 24], "kernel_size": [5, 5], "sigma": [1.0, 1.0], "brightness_factor": 1.3,
    "contrast_factor": 1.4, "saturation_factor": 0.6, "hue_factor": 0.1, "sharpness_factor": 2.0, "bits": 3,
    "threshold": 0.5, "gamma": 1.5, "num_output_channels": 3, "permutation": [2, 0, 1], "mean": [0.4] * 3,
    "std": [0.3] * 3, "num_samples": 2, "canvas_size": SIZE, "format": tv_tensors.BoundingBoxFormat.XYXY,
    "startpoints": [[0, 0], [44, 0], [44, 36], [0, 36]], "endpoints": [[2, 3], [40, 1], [42, 33], [3, 35]],
    "new_format": tv_tensors.BoundingBoxFormat.CXCYWH, "old_format": tv_tensors.BoundingBoxFormat.XYXY,
    "dtype": torch.float32, "quality": 60, "v": 0, "clamping_mode": "soft", "expand": False,
}  # fmt: skip
LEFT_OUT = {"get_image_size", "get_video_size"} | {
    name for name in dir(F) if "jpeg" in name
}  # need torchvision's codec


def functional_names():
    """The public functions."""
    return [name for name in dir(F) if inspect.isfunction(getattr(F, name)) and name[0] != "_" and name not in LEFT_OUT]


def is_kernel(name):
    """Whether it is a functional's kernel for one type, which takes plain tensors."""
    kinds = ("_image", "_mask", "_video", "_bounding_boxes", "_keypoints")
    return any(name.endswith(each) and hasattr(F, name.removesuffix(each)) for each in kinds) and name[:4] != "get_"


def functionals(case):
    """Each functional, kernels too, on what it takes."""
    name, kind = case
    function = getattr(F, name)
    parameters = list(inspect.signature(function).parameters.values())
    given = INPUTS[kind]()
    if is_kernel(name) and isinstance(given, torch.Tensor):
        given = given.as_subclass(torch.Tensor)
    kwargs = {
        each.name: ARGUMENTS[each.name]
        for each in parameters[1:]
        if each.default is each.empty and each.name in ARGUMENTS
    }
    if "displacement" in inspect.signature(function).parameters:
        kwargs["displacement"] = (image(channels=2, dtype=torch.float32) - 0.5).permute(1, 2, 0)[None] * 0.1
    if "format" in kwargs and kind == "rotated":
        kwargs["format"] = tv_tensors.BoundingBoxFormat.CXCYWHR
    if "bits" not in kwargs and "threshold" in kwargs and kind not in ("float",):
        kwargs["threshold"] = 100
    return seeded(function, given, **kwargs)


# Operators --------------------------------------------------------------------------------------------------


def leaf(*shape, seed=0, scale=1.0):
    """A tensor that gets a gradient."""
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * scale
    return torch.from_numpy(values).requires_grad_()


def some_boxes(count=6, seed=0):
    """Boxes of floats."""
    draws = np.random.default_rng(seed)
    corner, extent = draws.random((count, 2)) * 8, draws.random((count, 2)) * 6 + 1
    return torch.from_numpy(np.concatenate([corner, corner + extent], 1).astype(np.float32)).requires_grad_()


def with_batch(rois):
    """Boxes with the number of their image."""
    return torch.cat([torch.tensor([[0.0], [1.0], [0.0], [1.0], [0.0], [1.0]]), rois], 1)


def pyramid():
    """Features of two sizes."""
    return {"a": leaf(2, 4, 16, 16), "b": leaf(2, 4, 8, 8, seed=1)}


OPERATORS = {
    "nms": lambda: (ops.nms(some_boxes(40).detach(), leaf(40).detach(), 0.3),),
    "batched_nms": lambda: (ops.batched_nms(some_boxes(40).detach(), leaf(40).detach(), torch.arange(40) % 3, 0.3),),
    "remove_small_boxes": lambda: (ops.remove_small_boxes(some_boxes().detach(), 3.0),),
    "clip_boxes_to_image": lambda: ops.clip_boxes_to_image(some_boxes(), (9, 9)),
    "box_convert": lambda: ops.box_convert(some_boxes(), "xyxy", "cxcywh"),
    "box_area": lambda: ops.box_area(some_boxes()),
    "box_iou": lambda: ops.box_iou(some_boxes(), some_boxes(seed=1)),
    "generalized_box_iou": lambda: ops.generalized_box_iou(some_boxes(), some_boxes(seed=1)),
    "distance_box_iou": lambda: ops.distance_box_iou(some_boxes(), some_boxes(seed=1)),
    "complete_box_iou": lambda: ops.complete_box_iou(some_boxes(), some_boxes(seed=1)),
    "generalized_box_iou_loss": lambda: ops.generalized_box_iou_loss(some_boxes(), some_boxes(seed=1), "mean"),
    "distance_box_iou_loss": lambda: ops.distance_box_iou_loss(some_boxes(), some_boxes(seed=1), "sum"),
    "complete_box_iou_loss": lambda: ops.complete_box_iou_loss(some_boxes(), some_boxes(seed=1), "sum"),
    "masks_to_boxes": lambda: (ops.masks_to_boxes(torch.stack([image()[0] > each for each in (100, 150)])),),
    "sigmoid_focal_loss": lambda: ops.sigmoid_focal_loss(leaf(5, 3), (leaf(5, 3, seed=1) > 0).float(), reduction="sum"),
    "roi_align": lambda: ops.roi_align(leaf(2, 3, 12, 12), with_batch(some_boxes()), 3, 0.9, 2, True),
    "roi_align-list": lambda: ops.roi_align(leaf(2, 3, 12, 12), [some_boxes(), some_boxes(seed=2)], (2, 3)),
    "ps_roi_align": lambda: ops.ps_roi_align(leaf(2, 18, 12, 12), with_batch(some_boxes()), 3),
    "roi_pool": lambda: ops.roi_pool(leaf(2, 3, 12, 12), with_batch(some_boxes()), 3),
    "ps_roi_pool": lambda: (ops.ps_roi_pool(leaf(2, 18, 12, 12).detach(), with_batch(some_boxes()).detach(), 3),),
    "deform_conv2d": lambda: ops.deform_conv2d(
        leaf(2, 4, 7, 7), leaf(2, 18, 5, 5, seed=1), leaf(6, 2, 3, 3, seed=3), leaf(6, seed=4),
        mask=leaf(2, 9, 5, 5, seed=2),
    ),
    "DeformConv2d": lambda: ops.DeformConv2d(4, 6, 3, padding=1)(leaf(2, 4, 7, 7), leaf(2, 18, 7, 7, seed=1)),
    "MultiScaleRoIAlign": lambda: ops.MultiScaleRoIAlign(["a", "b"], 3, 2)(
        pyramid(), [some_boxes(), some_boxes(seed=2)], [(32, 32), (30, 32)]
    ),
    "FeaturePyramidNetwork": lambda: ops.FeaturePyramidNetwork([4, 4], 5)(pyramid())["a"],
    "drop_block2d": lambda: ops.drop_block2d(leaf(2, 3, 12, 12), 0.3, 3),
    "drop_block3d": lambda: ops.drop_block3d(leaf(2, 3, 6, 8, 8), 0.3, 3),
    "stochastic_depth": lambda: ops.stochastic_depth(leaf(6, 3), 0.5, "row"),
    "StochasticDepth": lambda: ops.StochasticDepth(0.5, "batch")(leaf(6, 3)),
    "SqueezeExcitation": lambda: ops.SqueezeExcitation(4, 2)(leaf(2, 4, 5, 5)),
    "Conv2dNormActivation": lambda: ops.Conv2dNormActivation(4, 6)(leaf(2, 4, 5, 5)),
    "Conv3dNormActivation": lambda: ops.Conv3dNormActivation(4, 6)(leaf(2, 4, 5, 5, 5)),
    "MLP": lambda: ops.MLP(4, [8, 3])(leaf(5, 4)),
    "Permute": lambda: ops.Permute([0, 2, 1])(leaf(2, 3, 4)),
    "FrozenBatchNorm2d": lambda: ops.FrozenBatchNorm2d(4)(leaf(2, 4, 5, 5)),
}  # fmt: skip


def gradients_of(result):
    """A result, and the gradients of the leaves in its graph; a tuple is of results that have none."""
    if isinstance(result, tuple):
        return list(result)
    leaves, seen, waiting = [], set(), [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        waiting.extend(parent for parent, _ in node.next_functions)
    weights = torch.linspace(0.5, 1.5, result.numel()).reshape(result.shape)
    found = torch.autograd.grad((result * weights).sum(), leaves, allow_unused=True)
    reached = [each for each in found if each is not None]
    return [result, *sorted(reached, key=lambda each: (each.shape, each.double().abs().sum().item()))]


def operators_(case):
    """Each operator, with gradients."""
    return seeded(lambda: gradients_of(OPERATORS[case]()))


# Models, and what stands beside ---------------------------------------------------------------------------


def detection(name):
    """Whether it is a detector's name."""
    return any(each in name for each in ("rcnn", "retinanet", "fcos", "ssd"))


def model_names():
    """All models but the quantized ones."""
    return [name for name in models.list_models() if not name.startswith("quantized")]


def heads(model, images, corners):
    """What a detector's heads make of an image, and of some boxes. Which boxes it finds depends on the last digits."""
    features = model.backbone(images)
    if not hasattr(model, "rpn"):
        return model.head(list(features.values()))
    found, rois = [model.rpn.head(list(features.values()))], [torch.cat([corners * 40, corners * 50 + 40], 1)]
    for part in ("box", "mask", "keypoint"):
        if getattr(model.roi_heads, f"{part}_head", None) is not None:
            pool, head, predictor = (
                getattr(model.roi_heads, f"{part}_{each}") for each in ("roi_pool", "head", "predictor")
            )
            found.append(predictor(head(pool(features, rois, [images.shape[2:]]))))
    return found


def models_(name):
    """The first values of all that a model has, and what it makes of an input."""
    torch.manual_seed(0)
    segmentation = name in models.list_models(module=models.segmentation)
    options = {"weights": None, "weights_backbone": None} if detection(name) or segmentation else {}
    model = models.get_model(name, **options).eval()
    state = {key: arrays(value.flatten()[:3]) for key, value in model.state_dict().items()}
    draws = np.random.default_rng(0)

    def given(*shape):
        return torch.from_numpy(draws.random(shape, dtype=np.float32))

    with torch.no_grad():
        if detection(name):
            result = heads(model, given(1, 3, *((300, 300) if name[:3] == "ssd" else (96, 128))), given(4, 2))
        elif name.startswith("raft"):
            result = model(given(1, 3, 128, 128), given(1, 3, 128, 128), num_flow_updates=2)
        elif name in models.list_models(module=models.video):
            large = name.startswith(("mvit", "swin", "s3d"))
            result = model(given(1, 3, 16 if large else 4, *((224, 224) if large else (56, 56))))
        else:
            side = 299 if "inception" in name else 224 if name.startswith(("vit", "maxvit")) else 96
            result = model(given(1, 3, side, side))
    return [state, arrays(result)]


def features(name):
    """The names of a model's nodes, and what some of them give."""
    from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

    torch.manual_seed(0)
    model = models.get_model(name).eval()
    nodes = get_graph_node_names(model)[1]
    extract = create_feature_extractor(model, nodes[2 :: len(nodes) // 4])
    return [nodes, arrays(extract(image(1, dtype=torch.float32).repeat(1, 1, 2, 2)))]


DRAWINGS = {
    "make_grid": lambda: utils.make_grid(image(5), nrow=3, padding=1, pad_value=9),
    "draw_bounding_boxes": lambda: utils.draw_bounding_boxes(image(), boxes(), colors="red", width=2),
    "draw_segmentation_masks": lambda: utils.draw_segmentation_masks(image(), image()[0] > 100, colors="blue"),
    "draw_keypoints": lambda: utils.draw_keypoints(image(), points()[None], connectivity=[(0, 1)], radius=2),
    "flow_to_image": lambda: utils.flow_to_image(image(channels=2, dtype=torch.float32) - 0.5),
}


def drawings(case):
    """What draws."""
    return seeded(DRAWINGS[case])


def pairs(names, kinds):
    """Cases of two parts."""
    return [(name, kind) for name in names for kind in kinds]


AREAS = {
    "operators": (operators_, lambda: list(OPERATORS)),
    "transforms_v2": (transforms_v2, lambda: pairs(CLASSES, INPUTS)),
    "transforms_v1": (transforms_v1, lambda: pairs(CLASSIC, ["bytes", "float", "pil", "pil-L"])),
    "functionals": (functionals, lambda: pairs(functional_names(), INPUTS)),
    "drawings": (drawings, lambda: list(DRAWINGS)),
    "features": (features, lambda: ["resnet18", "mobilenet_v3_small"]),
    "models": (models_, model_names),
}  # fmt: skip


def main(file, *areas):
    results = {}
    for area in areas:
        area, _, only = area.partition(":")
        compute, names = AREAS[area]
        for case in [each for each in names() if not only or only == each or only in each[1:]]:
            results[f"{area}:{'-'.join(case) if isinstance(case, tuple) else case}"] = compute(case)
    Path(file).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    main(*sys.argv[1:])
