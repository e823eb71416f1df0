"""laplace-torch: last-layer and full Laplace approximations, with Kronecker, diagonal and full Hessians."""

# /// script
# dependencies = ["laplace-torch==0.3"]
# ///

import warnings

import torch
from laplace import Laplace
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
torch.manual_seed(0)
x = torch.linspace(-2, 2, 60).unsqueeze(1)
y = torch.sin(2 * x) + 0.1 * torch.randn(60, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=20)
model = torch.nn.Sequential(torch.nn.Linear(1, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(30):
    for inputs, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
points = torch.tensor([[0.0], [1.0], [3.0]])
for subset, structure in (
    ("last_layer", "full"),
    ("last_layer", "kron"),
    ("all", "diag"),
    ("all", "full"),
    ("all", "kron"),
):
    approximation = Laplace(model, "regression", subset_of_weights=subset, hessian_structure=structure, sigma_noise=0.1)
    approximation.fit(loader)
    print(subset, structure, "marglik", round(approximation.log_marginal_likelihood().item(), 5))
    mean, variance = approximation(points)
    print(
        "mean",
        [round(v, 5) for v in mean.flatten().tolist()],
        "std",
        [round(v, 5) for v in variance.sqrt().flatten().tolist()],
    )
approximation.optimize_prior_precision(method="marglik", n_steps=5)
print("prior", round(approximation.prior_precision.mean().item(), 5))
labels = (y[:, 0] > 0).long()
classifier = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
classes = DataLoader(TensorDataset(x, labels), batch_size=20)
found = Laplace(classifier, "classification", subset_of_weights="last_layer", hessian_structure="full")
found.fit(classes)
print("probit", [round(v, 5) for v in found(points, link_approx="probit").flatten().tolist()])
torch.manual_seed(1)
print(
    "sampled", [round(v, 5) for v in found(points, pred_type="glm", link_approx="mc", n_samples=20).flatten().tolist()]
)
