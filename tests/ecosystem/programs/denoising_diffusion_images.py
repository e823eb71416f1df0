"""denoising-diffusion-pytorch: a U-Net, the diffusion loss and samples."""

# /// script
# dependencies = ["denoising-diffusion-pytorch==2.3.4"]
# ///

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet

torch.manual_seed(0)
model = Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
diffusion = GaussianDiffusion(model, image_size=16, timesteps=20, sampling_timesteps=4)
optimizer = torch.optim.Adam(diffusion.parameters(), 1e-3)
images = torch.rand(2, 3, 16, 16)
for step in range(3):
    optimizer.zero_grad()
    loss = diffusion(images)
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
samples = diffusion.sample(batch_size=1)
print("samples", tuple(samples.shape), samples.mean().item())
