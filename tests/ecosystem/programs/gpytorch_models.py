"""GPyTorch: exact, multitask and variational Gaussian processes."""

# /// script
# dependencies = ["gpytorch==1.15.2"]
# ///

import warnings

import gpytorch
import torch

warnings.filterwarnings("ignore")
torch.manual_seed(0)
x = torch.linspace(0, 1, 40)
y = torch.sin(x * 6.28) + 0.1 * torch.randn(40)


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


K = gpytorch.kernels
for kernel in (
    K.ScaleKernel(K.RBFKernel()),
    K.ScaleKernel(K.MaternKernel(2.5)),
    K.ScaleKernel(K.PeriodicKernel()) + K.LinearKernel(),
    K.ScaleKernel(K.RQKernel()),
    K.SpectralMixtureKernel(num_mixtures=2),
    K.ScaleKernel(K.RBFKernel() * K.PolynomialKernel(2)),
):
    torch.manual_seed(1)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood, kernel)
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(15):
        optimizer.zero_grad()
        loss = -mll(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        predicted = likelihood(model(torch.tensor([0.25, 0.5, 1.1])))
        lower, upper = predicted.confidence_region()
    name = type(kernel.base_kernel if hasattr(kernel, "base_kernel") else kernel).__name__
    print(
        name,
        round(loss.item(), 4),
        [round(v, 5) for v in predicted.mean.tolist()],
        [round(v, 5) for v in upper.tolist()],
    )


class Multitask(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2)
        self.covar_module = K.MultitaskKernel(K.RBFKernel(), num_tasks=2, rank=1)

    def forward(self, x):
        return gpytorch.distributions.MultitaskMultivariateNormal(self.mean_module(x), self.covar_module(x))


torch.manual_seed(2)
both = torch.stack([torch.sin(x * 6.28), torch.cos(x * 6.28)], -1)
likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
model = Multitask(x, both, likelihood)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
for _ in range(10):
    optimizer.zero_grad()
    loss = -mll(model(x), both)
    loss.backward()
    optimizer.step()
model.eval()
likelihood.eval()
with torch.no_grad():
    mean = likelihood(model(torch.tensor([0.25, 0.6]))).mean
print("multitask", round(loss.item(), 4), [round(v, 5) for v in mean.flatten().tolist()])


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, inducing):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(inducing.size(0))
        super().__init__(
            gpytorch.variational.VariationalStrategy(self, inducing, distribution, learn_inducing_locations=True)
        )
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = K.ScaleKernel(K.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


torch.set_default_dtype(torch.float64)  # in float32 the covariance's inverse has few digits
x, y = x.double(), y.double()
for likelihood, targets in (
    (gpytorch.likelihoods.GaussianLikelihood(), y),
    (gpytorch.likelihoods.BernoulliLikelihood(), (y > 0).double()),
    (gpytorch.likelihoods.StudentTLikelihood(), y),
):
    torch.manual_seed(3)
    model = Variational(x[::4].unsqueeze(-1).clone())
    mll = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=40)
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        loss = -mll(model(x.unsqueeze(-1)), targets)
        loss.backward()
        optimizer.step()
    model.eval()
    mean = model(torch.tensor([[0.2], [0.7]])).mean
    print(type(likelihood).__name__, round(loss.item(), 4), [round(v, 5) for v in mean.tolist()])
torch.manual_seed(4)
samples = model(torch.tensor([[0.2], [0.7]])).rsample(torch.Size([3]))
print("samples", list(samples.shape), round(samples.sum().item(), 5))
