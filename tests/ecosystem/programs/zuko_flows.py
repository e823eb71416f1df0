"""Zuko: conditional normalizing flows, trained and sampled."""

# /// script
# dependencies = ["zuko==1.6.0"]
# ///

import torch
import zuko

torch.manual_seed(0)
data = torch.randn(128, 3) @ torch.tensor([[1.0, 0.5, 0.0], [0.0, 1.0, 0.2], [0.0, 0.0, 0.5]])
context = data[:, :2] * 0.1
for name in ("MAF", "NSF", "NICE", "GMM", "SOSPF", "NAF", "UNAF", "BPF", "CNF", "GF", "RealNVP", "NCSF"):
    torch.manual_seed(1)
    options = (
        {"components": 3} if name == "GMM" else {"hidden_features": (16, 16)} if name == "CNF" else {"transforms": 2}
    )
    if name not in ("GMM", "CNF", "GF"):
        options["hidden_features"] = (16, 16)
    flow = getattr(zuko.flows, name)(3, context=2, **options)
    optimizer = torch.optim.Adam(flow.parameters(), lr=0.01)
    values = torch.tanh(data) if name in ("BPF", "NCSF") else data
    for _ in range(3):
        loss = -flow(context).log_prob(values).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.manual_seed(2)
    try:
        sample = [round(v, 5) for v in flow(context[0]).sample((2,)).flatten().tolist()[:3]]
    except NotImplementedError:
        sample = []
    print(name, round(loss.item(), 4), sample)
print(
    "kl",
    round(
        torch.distributions.kl_divergence(
            zuko.distributions.DiagNormal(torch.zeros(2), torch.ones(2)),
            zuko.distributions.DiagNormal(torch.ones(2), torch.ones(2)),
        ).item(),
        4,
    ),
)
