"""e3nn: irreducible representations, spherical harmonics and tensor products that are equivariant."""

# /// script
# dependencies = ["e3nn==0.6.0"]
# ///

import torch
from e3nn import nn, o3

torch.manual_seed(0)
x = torch.randn(5, 3)
harmonics = o3.spherical_harmonics([0, 1, 2, 3], x, normalize=True, normalization="component")
print("harmonics", tuple(harmonics.shape), harmonics[0, :6].tolist())
irreps = o3.Irreps("4x0e + 2x1o + 1x2e")
print("irreps", irreps, irreps.dim, irreps.lmax)
product = o3.FullyConnectedTensorProduct(irreps, "1x0e + 1x1o", "3x0e + 2x1o")
a, b = irreps.randn(5, -1), o3.Irreps("1x0e + 1x1o").randn(5, -1)
out = product(a, b)
print("product", out.mean().item(), out.std().item())
angles = torch.tensor(0.3), torch.tensor(0.7), torch.tensor(-0.4)
turned = product(a @ irreps.D_from_angles(*angles).T, b @ o3.Irreps("1x0e + 1x1o").D_from_angles(*angles).T)
error = (turned - out @ o3.Irreps("3x0e + 2x1o").D_from_angles(*angles).T).abs().max()
print("equivariant", bool(error < 1e-4))
linear = o3.Linear(irreps, "2x0e + 2x1o")
print("linear", linear(a).sum().item())
gate = nn.Gate("2x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
print("gate", gate(gate.irreps_in.randn(3, -1)).sum().item())
print("wigner", o3.wigner_3j(1, 1, 2).norm().item())
norm = nn.BatchNorm(irreps)
print("norm", norm(a).std().item())
