"""GPyTorch: inducing points, grid interpolation, deep kernels, natural gradients and multitask variational models."""

# /// script
# dependencies = ["gpytorch==1.15.2"]
# ///

import warnings

import gpytorch
import torch

warnings.filterwarnings("ignore")
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
x = torch.rand(60, 2)
y = torch.sin(x[:, 0] * 6) + x[:, 1] + 0.05 * torch.randn(60)
points = torch.tensor([[0.2, 0.3], [0.7, 0.9]])
K = gpytorch.kernels


class Exact(gpytorch.models.ExactGP):
    def __init__(self, likelihood, kernel, network=None):
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module, self.network = gpytorch.means.LinearMean(2), kernel, network

    def forward(self, x):
        x = x if self.network is None else self.network(x)
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def fit(name, kernel, network=None):
    torch.manual_seed(1)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-3))
    model = Exact(likelihood, kernel(likelihood), network)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(10):
        optimizer.zero_grad()
        loss = -mll(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        found = likelihood(model(points))
    print(
        name,
        round(loss.item(), 5),
        [round(v, 5) for v in found.mean.tolist()],
        [round(v, 5) for v in found.stddev.tolist()],
    )


fit("inducing", lambda likelihood: K.InducingPointKernel(K.ScaleKernel(K.RBFKernel()), x[:10].clone(), likelihood))
fit("ard", lambda likelihood: K.ScaleKernel(K.MaternKernel(1.5, ard_num_dims=2)))
fit(
    "grid",
    lambda likelihood: K.GridInterpolationKernel(
        K.ScaleKernel(K.RBFKernel()), grid_size=12, num_dims=2, grid_bounds=[(0, 1), (0, 1)]
    ),
)
fit(
    "additive",
    lambda likelihood: K.ScaleKernel(K.RBFKernel(active_dims=[0])) + K.ScaleKernel(K.RBFKernel(active_dims=[1])),
)
torch.manual_seed(2)
fit(
    "deep",
    lambda likelihood: K.ScaleKernel(K.RBFKernel()),
    torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)),
)
torch.manual_seed(3)
fit("features", lambda likelihood: K.RFFKernel(num_samples=10, num_dims=2))


class Approximate(gpytorch.models.ApproximateGP):
    def __init__(self, kind):
        batch = torch.Size([2]) if kind == "lmc" else torch.Size()
        inducing = x[:8].clone()
        natural = gpytorch.variational.NaturalVariationalDistribution
        cholesky = gpytorch.variational.CholeskyVariationalDistribution
        meanfield = gpytorch.variational.MeanFieldVariationalDistribution
        distribution = {"natural": natural, "meanfield": meanfield}.get(kind, cholesky)(8, batch_shape=batch)
        inner = gpytorch.variational.VariationalStrategy(
            self, inducing, distribution, learn_inducing_locations=kind != "natural"
        )
        if kind == "lmc":
            inner = gpytorch.variational.LMCVariationalStrategy(inner, num_tasks=3, num_latents=2, latent_dim=-1)
        super().__init__(inner)
        self.mean_module = gpytorch.means.ConstantMean(batch_shape=batch)
        self.covar_module = K.ScaleKernel(K.RBFKernel(batch_shape=batch), batch_shape=batch)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


for kind in ("natural", "meanfield", "lmc"):
    torch.manual_seed(4)
    model = Approximate(kind)
    many = kind == "lmc"
    likelihood = (
        gpytorch.likelihoods.MultitaskGaussianLikelihood(3) if many else gpytorch.likelihoods.GaussianLikelihood()
    )
    targets = torch.stack([y, -y, y * 2], -1) if many else y
    mll = (
        gpytorch.mlls.PredictiveLogLikelihood(likelihood, model, 60)
        if kind == "meanfield"
        else gpytorch.mlls.VariationalELBO(likelihood, model, 60)
    )
    optimizers = [torch.optim.Adam([*model.hyperparameters(), *likelihood.parameters()], lr=0.05)]
    optimizers.append(
        gpytorch.optim.NGD(model.variational_parameters(), 60, lr=0.1)
        if kind == "natural"
        else torch.optim.Adam(model.variational_parameters(), lr=0.05)
    )
    for _ in range(10):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = -mll(model(x), targets)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    print(kind, round(loss.item(), 5), round(model(points).mean.sum().item(), 5))
with (
    gpytorch.settings.max_cholesky_size(1),
    gpytorch.settings.cg_tolerance(1e-4),
    gpytorch.settings.num_trace_samples(50),
):
    torch.manual_seed(5)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(likelihood, K.ScaleKernel(K.RBFKernel()))
    print("conjugate", round(gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(x), y).item(), 5))
