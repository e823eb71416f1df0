"""timm: features, logits and a training step of image models without pre-trained weights."""

# /// script
# dependencies = ["timm==1.0.31"]
# ///

import timm.data
import timm.loss
import timm.optim
import torch

NAMES = """
resnet18 resnetv2_50 vit_tiny_patch16_224 deit_tiny_patch16_224 convnext_atto efficientnet_b0 mobilenetv3_small_100
regnetx_002 mixer_s32_224 swin_tiny_patch4_window7_224 edgenext_xx_small densenet121 ghostnet_100 levit_128s
""".split()

for name in NAMES:
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=10)
    image = torch.randn(2, 3, 224, 224)
    model.eval()
    with torch.no_grad():
        print(name, "logits", *model(image)[0, :4].tolist())
    print(name, "parameters", sum(p.numel() for p in model.parameters()))

model = timm.create_model("resnet18", pretrained=False, num_classes=10, features_only=True)
print("features", [tuple(f.shape) for f in model(torch.randn(1, 3, 64, 64))])

torch.manual_seed(1)
model = timm.create_model("resnet10t", pretrained=False, num_classes=4)
optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=1e-3)
loss_fn = timm.loss.LabelSmoothingCrossEntropy()
x, y = torch.randn(4, 3, 64, 64), torch.tensor([0, 1, 2, 3])
for step in range(3):
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
config = timm.data.resolve_model_data_config(model)
print("size", config["input_size"], "mean", config["mean"])
