"""nflows: a masked autoregressive flow and a spline coupling flow."""

# /// script
# dependencies = ["nflows==0.14"]
# ///

import torch
from nflows import transforms
from nflows.distributions.normal import ConditionalDiagonalNormal, StandardNormal
from nflows.flows import Flow, MaskedAutoregressiveFlow
from nflows.nn.nets import ResidualNet
from nflows.utils import create_alternating_binary_mask

torch.manual_seed(0)
x = torch.randn(128, 2) * torch.tensor([1.0, 0.3]) + 0.5
steps = []
for _ in range(3):
    steps += [transforms.ReversePermutation(2), transforms.MaskedAffineAutoregressiveTransform(2, 8)]
flow = Flow(transforms.CompositeTransform(steps), StandardNormal([2]))
optimizer = torch.optim.Adam(flow.parameters(), lr=0.01)
for _ in range(15):
    optimizer.zero_grad()
    loss = -flow.log_prob(x).mean()
    loss.backward()
    optimizer.step()
print("maf", round(loss.item(), 4), [round(v, 5) for v in flow.sample(2).flatten().tolist()])
torch.manual_seed(1)
coupling = transforms.PiecewiseRationalQuadraticCouplingTransform(
    create_alternating_binary_mask(4),
    lambda i, o: ResidualNet(i, o, hidden_features=8, num_blocks=1, context_features=2),
    tails="linear",
    tail_bound=3.0,
    num_bins=4,
)
spline = Flow(coupling, ConditionalDiagonalNormal([4], context_encoder=torch.nn.Linear(2, 8)))
y, context = torch.randn(16, 4), torch.randn(16, 2)
loss = -spline.log_prob(y, context=context).mean()
loss.backward()
print("spline", round(loss.item(), 4), list(spline.sample(3, context=context).shape))
lu = transforms.CompositeTransform(
    [transforms.LULinear(4), transforms.BatchNorm(4), transforms.QRLinear(4, 2), transforms.SVDLinear(4, 2)]
)
output, logabsdet = lu(y)
print("linear", round(output.abs().sum().item(), 5), round(logabsdet.sum().item(), 5))
print("inverse", round((transforms.LULinear(4).inverse(y)[0] - y).abs().sum().item(), 5))
torch.manual_seed(2)
print("ready", round(MaskedAutoregressiveFlow(2, 8, 2, 1).log_prob(x).mean().item(), 4))
