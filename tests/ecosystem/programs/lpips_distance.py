"""lpips: the perceptual distance, with a backbone that is not pre-trained."""

# /// script
# dependencies = ["lpips==0.1.4"]
# ///

import lpips
import torch

torch.manual_seed(0)
loss = lpips.LPIPS(net="squeeze", pretrained=True, pnet_rand=True, verbose=False).eval()
a, b = torch.rand(2, 3, 64, 64) * 2 - 1, (torch.rand(2, 3, 64, 64) * 2 - 1).requires_grad_()
distance = loss(a, b)
distance.sum().backward()
print("distance", distance.flatten().tolist(), "gradient", b.grad.norm().item())
