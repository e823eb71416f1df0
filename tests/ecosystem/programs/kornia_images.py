"""kornia: filters, colors, geometry, features and augmentations of image tensors."""

# /// script
# dependencies = ["kornia==0.9.0"]
# ///

import kornia
import torch

torch.manual_seed(0)
image = torch.rand(2, 3, 32, 40, requires_grad=True)


def show(name, value):
    print(name, tuple(value.shape), value.mean().item(), value.std().item())


show("blur", kornia.filters.gaussian_blur2d(image, (5, 5), (1.5, 1.5)))
show("sobel", kornia.filters.sobel(image))
show("median", kornia.filters.median_blur(image, (3, 3)))
magnitude, edges = kornia.filters.canny(image)
show("canny", magnitude)
show("hsv", kornia.color.rgb_to_hsv(image))
show("lab", kornia.color.rgb_to_lab(image))
show("gray", kornia.color.rgb_to_grayscale(image))
show("rotate", kornia.geometry.rotate(image, torch.tensor([30.0, -10.0])))
show("warp", kornia.geometry.warp_perspective(image, torch.eye(3).expand(2, 3, 3), (20, 20)))
show("resize", kornia.geometry.resize(image, (16, 16)))
show("dilate", kornia.morphology.dilation(image, torch.ones(3, 3)))
show("harris", kornia.feature.harris_response(image))
show("ssim", kornia.metrics.ssim(image, image.flip(-1), 5))
print("psnr", kornia.losses.psnr_loss(image, image * 0.9, 1.0).item())
print("tv", kornia.losses.total_variation(image).sum().item())
loss = kornia.losses.ssim_loss(image, image.detach().flip(-1), 5)
loss.backward()
show("gradient", image.grad)

augment = kornia.augmentation.AugmentationSequential(
    kornia.augmentation.RandomHorizontalFlip(p=1.0),
    kornia.augmentation.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0),
    kornia.augmentation.RandomAffine(20.0, p=1.0),
    data_keys=["input", "mask"],
)
torch.manual_seed(1)
out, mask = augment(image.detach(), (image.detach() > 0.5).float())
show("augmented", out)
show("mask", mask)
points = torch.rand(1, 8, 2)
moved = points @ torch.tensor([[0.9, 0.1], [-0.1, 0.9]]) + 0.2
show("homography", kornia.geometry.find_homography_dlt(points, moved))
quaternion = kornia.geometry.axis_angle_to_quaternion(torch.tensor([[0.1, 0.2, 0.3]]))
show("quaternion", quaternion)
