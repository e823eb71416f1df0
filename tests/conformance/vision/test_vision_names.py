"""What programs import from torchvision by the paths of its files is found where torchvision's name is weft's."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

NAMES = """
torchvision._internally_replaced_utils:load_state_dict_from_url
torchvision._utils:StrEnum,sequence_to_str
torchvision.extension:_assert_has_ops,_check_cuda_version,_has_ops
torchvision.models.segmentation._utils:_SimpleSegmentationModel
torchvision.ops.ciou_loss:complete_box_iou_loss
torchvision.ops.diou_loss:distance_box_iou_loss
torchvision.ops.giou_loss:generalized_box_iou_loss
torchvision.transforms._functional_pil:adjust_hue,to_grayscale
torchvision.transforms._functional_tensor:_max_value,rgb_to_grayscale
torchvision.transforms.autoaugment:_apply_op
torchvision.transforms.transforms:Compose,RandomResizedCrop
torchvision.transforms.v2._deprecated:ToTensor
torchvision.transforms.v2.functional._meta:_xyxy_to_keypoints
torchvision.tv_tensors._mask:Mask
torchvision.tv_tensors._video:Video
""".split()
FIRST = {False: "import oracle; ", True: "import torch, weft; assert torch is weft; "}


def imports() -> str:
    return "; ".join(f"from {home} import {names}" for home, _, names in (each.partition(":") for each in NAMES))


@pytest.mark.parametrize("on_weft", [False, True] if os.environ.get("WEFT_CONFORMANCE") == "all" else [True])
def test_names_are_found(on_weft):
    environment = os.environ | {"WEFT_AS_TORCH": "1"} if on_weft else os.environ
    program = FIRST[on_weft] + imports()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment,
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
