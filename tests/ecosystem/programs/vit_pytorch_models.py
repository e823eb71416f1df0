"""vit-pytorch: vision transformers of several designs, and a gradient."""

# /// script
# dependencies = ["vit-pytorch==1.26.11"]
# ///

import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT

image = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
common = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 32, "mlp_dim": 64, "heads": 4}
for name, make in {
    "vit": lambda: ViT(depth=2, **common),
    "simple": lambda: SimpleViT(depth=2, **common),
    "cait": lambda: CaiT(depth=2, cls_depth=1, **common),
    "cct": lambda: CCT(img_size=(32, 32), embedding_dim=32, num_layers=2, num_heads=4, num_classes=5),
}.items():
    torch.manual_seed(0)
    model = make().eval()
    print(name, *model(image)[0].tolist())
torch.manual_seed(0)
model = ViT(depth=2, **common)
model(image).square().mean().backward()
print("gradient", sum(p.grad.square().sum() for p in model.parameters()).sqrt().item())
