"""Published models of pictures: inference and training steps of weft.vision's and torchvision's."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rounds import Effort

from suites import is_weft

EFFORT = Effort(rounds=7, turns=1, seconds=0.2)
ORACLE = Path(__file__).parents[2] / "tests" / "conformance" / "vision"  # where torchvision's library does not load


def vision_of(lib: Any) -> Any:
    """The library's package of vision."""
    if is_weft(lib):
        return importlib.import_module("weft.vision")
    sys.path.insert(0, str(ORACLE))
    return importlib.import_module("oracle").torchvision


def inference(lib: Any, name: str, batch: int) -> Callable[[], Any]:
    """A batch of pictures of 224 x 224 through a model."""
    lib.manual_seed(0)
    model = vision_of(lib).models.get_model(name).eval()
    x = lib.randn(batch, 3, 224, 224)

    def infer() -> Any:
        with lib.inference_mode():
            return model(x)

    return infer


def step(lib: Any, name: str, batch: int) -> Callable[[], Any]:
    """A training step on a batch of pictures of 224 x 224."""
    lib.manual_seed(0)
    model = vision_of(lib).models.get_model(name).train()
    x, y = lib.randn(batch, 3, 224, 224), lib.randint(0, 1000, (batch,))
    update = lib.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)

    def run() -> None:
        update.zero_grad()
        lib.nn.functional.cross_entropy(model(x), y).backward()
        update.step()

    return run


CASES: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "inference: ResNet-50, one picture": lambda lib: inference(lib, "resnet50", 1),
    "inference: ResNet-50, 8 pictures": lambda lib: inference(lib, "resnet50", 8),
    "inference: ViT-B/16, one picture": lambda lib: inference(lib, "vit_b_16", 1),
    "inference: ViT-B/16, 8 pictures": lambda lib: inference(lib, "vit_b_16", 8),
    "training step: ResNet-18, 8 pictures": lambda lib: step(lib, "resnet18", 8),
}
