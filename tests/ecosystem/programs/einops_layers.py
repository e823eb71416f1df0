"""einops: rearrangements, reductions and layers."""

# /// script
# dependencies = ["einops==0.8.2"]
# ///

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8, requires_grad=True)
patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)
print("patches", tuple(patches.shape), patches.sum().item())
print("pooled", reduce(x, "b c (h p) (w q) -> b c h w", "max", p=2, q=2).sum().item())
print("repeated", repeat(x, "b c h w -> b (r c) h w", r=2).sum().item())
print("einsum", einsum(patches, patches, "b i d, b j d -> b i j").std().item())
net = torch.nn.Sequential(
    Rearrange("b c h w -> b h w c"),
    EinMix("b h w c -> b h w o", weight_shape="c o", c=3, o=4),
    Reduce("b h w o -> b o", "mean"),
)
net(x).square().sum().backward()
print("gradient", x.grad.norm().item())
packed, shapes = pack([torch.ones(2, 3), torch.zeros(2, 4, 5)], "b *")
print("packed", tuple(packed.shape), [tuple(t.shape) for t in unpack(packed, shapes, "b *")])
