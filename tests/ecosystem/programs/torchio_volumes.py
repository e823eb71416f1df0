"""torchio: augmentations of medical volumes and patches of them."""

# /// script
# dependencies = ["torchio==1.2.1"]
# ///

import torch
import torchio

torch.manual_seed(0)
subject = torchio.Subject(
    image=torchio.ScalarImage(tensor=torch.rand(1, 20, 20, 20)),
    label=torchio.LabelMap(tensor=(torch.rand(1, 20, 20, 20) > 0.5).to(torch.int64)),
)
transforms = {
    "flip": torchio.RandomFlip(axes=(0, 1), flip_probability=1.0),
    "noise": torchio.RandomNoise(std=(0.1, 0.1)),
    "affine": torchio.RandomAffine(scales=0.1, degrees=10),
    "blur": torchio.RandomBlur(),
    "gamma": torchio.RandomGamma(),
    "znorm": torchio.ZNormalization(),
    "crop": torchio.CropOrPad((16, 16, 16)),
}
for name, transform in transforms.items():
    torch.manual_seed(1)
    out = transform(subject)
    print(name, tuple(out.shape), out.image.data.float().mean().item(), out.label.data.float().mean().item())
sampler = torchio.data.GridSampler(subject, patch_size=8, patch_overlap=2)
aggregator = torchio.data.GridAggregator(sampler)
loader = torchio.SubjectsLoader(sampler, batch_size=8)
for batch in loader:
    aggregator.add_batch(batch["image"][torchio.DATA] * 2, batch[torchio.LOCATION])
print("aggregated", aggregator.get_output_tensor().mean().item())
