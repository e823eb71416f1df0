"""efficientnet-pytorch: logits, features and a step of training."""

# /// script
# dependencies = ["efficientnet-pytorch==0.3.0"]
# ///

import torch
from efficientnet_pytorch import EfficientNet

torch.manual_seed(0)
model = EfficientNet.from_name("efficientnet-b0", override_params={"num_classes": 5})
image = torch.randn(2, 3, 64, 64)
model.eval()
print("logits", *model(image).flatten().tolist())
print("features", model.extract_features(image).std().item())
model.train()
torch.manual_seed(0)
loss = model(image).square().mean()
loss.backward()
print("loss", loss.item(), model._fc.weight.grad.norm().item())
