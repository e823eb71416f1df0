"""normflows: RealNVP, neural spline flow and residual flow layers on a two-dimensional target."""

# /// script
# dependencies = ["normflows==1.7.3"]
# ///

import normflows as nf
import torch

torch.manual_seed(0)
base = nf.distributions.base.DiagGaussian(2)
flows = []
for _ in range(4):
    network = nf.nets.MLP([1, 16, 16, 2], init_zeros=True)
    flows += [nf.flows.AffineCouplingBlock(network), nf.flows.Permute(2, mode="swap"), nf.flows.ActNorm(2)]
model = nf.NormalizingFlow(base, flows, nf.distributions.TwoMoons())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(10):
    optimizer.zero_grad()
    loss = model.reverse_kld(64)
    loss.backward()
    optimizer.step()
print("reverse", round(loss.item(), 4))
x = model.p.sample(64)
print("forward", round(model.forward_kld(x).item(), 4))
z, log_q = model.sample(5)
print("sample", [round(v, 5) for v in z.flatten().tolist()[:4]], round(log_q.sum().item(), 5))
torch.manual_seed(1)
spline = nf.NormalizingFlow(
    nf.distributions.DiagGaussian(2, trainable=False),
    [
        nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 16),
        nf.flows.LULinearPermute(2),
        nf.flows.CoupledRationalQuadraticSpline(2, 1, 16),
    ],
)
loss = spline.forward_kld(x)
loss.backward()
print(
    "spline",
    round(loss.item(), 4),
    round(sum(p.grad.abs().sum().item() for p in spline.parameters() if p.grad is not None), 5),
)
torch.manual_seed(2)
planar = nf.NormalizingFlow(
    base, [nf.flows.Planar((2,)), nf.flows.Radial((2,)), nf.flows.MaskedAffineFlow(torch.tensor([1.0, 0.0]))]
)
print("planar", round(planar.q0.log_prob(planar(torch.ones(1, 2))).item(), 5))
net = nf.nets.LipschitzMLP([2, 16, 2], init_zeros=True, lipschitz_const=0.9)
residual = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), [nf.flows.Residual(net, reverse=True)])
torch.manual_seed(3)
print("residual", round(residual.forward_kld(x).item(), 5))
