"""segmentation-models-pytorch: decoders, losses and metrics."""

# /// script
# dependencies = ["segmentation-models-pytorch==0.6.0"]
# ///

import segmentation_models_pytorch as smp
import torch

image = torch.Generator().manual_seed(0)
x = torch.randn(2, 3, 64, 64, generator=image)
y = (torch.rand(2, 1, 64, 64, generator=image) > 0.5).float()
for architecture in ("Unet", "UnetPlusPlus", "FPN", "Linknet", "PSPNet", "DeepLabV3Plus", "MAnet"):
    torch.manual_seed(0)
    model = getattr(smp, architecture)("resnet18", encoder_weights=None, in_channels=3, classes=1)
    model.eval()
    with torch.no_grad():
        out = model(x)
    print(architecture, tuple(out.shape), out.mean().item(), out.std().item())

torch.manual_seed(0)
model = smp.Unet("mobilenet_v2", encoder_weights=None, classes=1)
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
dice, focal = smp.losses.DiceLoss("binary"), smp.losses.FocalLoss("binary")
model.eval()  # statistics of two images make gradients that follow the last digits
for step in range(3):
    optimizer.zero_grad()
    out = model(x)
    loss = dice(out, y) + focal(out, y)
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
stats = smp.metrics.get_stats((out.sigmoid() > 0.5).long(), y.long(), mode="binary")
print("iou", smp.metrics.iou_score(*stats, reduction="micro").item())
