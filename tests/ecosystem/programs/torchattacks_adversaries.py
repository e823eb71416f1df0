"""torchattacks: adversarial examples of a small network."""

# /// script
# dependencies = ["torchattacks==3.5.1"]
# ///

import torch
import torchattacks

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 5)
).eval()
images, labels = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
for name in ("FGSM", "BIM", "PGD", "CW", "MIFGSM", "DeepFool", "TPGD", "FFGSM"):
    torch.manual_seed(1)
    attacked = getattr(torchattacks, name)(model)(images, labels)
    print(name, (attacked - images).abs().mean().item(), model(attacked).sum().item())
