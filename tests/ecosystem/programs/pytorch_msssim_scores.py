"""pytorch-msssim: structural similarity as a score and as a loss."""

# /// script
# dependencies = ["pytorch-msssim==1.0.0"]
# ///

import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim

torch.manual_seed(0)
x = torch.rand(1, 3, 192, 192) * 255
y = (x + torch.randn_like(x) * 10).requires_grad_()
print("ssim", ssim(x, y, data_range=255).item(), "ms", ms_ssim(x, y, data_range=255).item())
loss = 2 - SSIM(data_range=255)(x, y) - MS_SSIM(data_range=255)(x, y)
loss.backward()
print("gradient", y.grad.norm().item())
