"""Nested tensors as libraries use them: a transformer of images of several sizes."""

# /// script
# dependencies = ["vit-pytorch==1.26.11", "packaging==26.3"]
# ///

import torch
from vit_pytorch.na_vit_nested_tensor import NaViT

torch.manual_seed(0)
model = NaViT(
    image_size=32, patch_size=8, num_classes=5, dim=16, depth=2, heads=2, dim_head=8, mlp_dim=32, dropout=0.0
).eval()
images = [torch.randn(3, 32, 16), torch.randn(3, 16, 16), torch.randn(3, 32, 32)]
logits = model(images)
logits.sum().backward()
print(
    logits.shape, logits.sum().item(), sum(p.grad.abs().sum().item() for p in model.parameters() if p.grad is not None)
)
