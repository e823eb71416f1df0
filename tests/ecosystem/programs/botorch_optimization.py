"""BoTorch: a Gaussian process fitted, acquisition functions and their optimization."""

# /// script
# dependencies = ["botorch==0.18.1", "gpytorch==1.15.2"]
# ///

import warnings

import torch
from botorch.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    UpperConfidenceBound,
    qExpectedImprovement,
    qLogExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.test_functions import Branin, Hartmann
from botorch.utils.multi_objective.hypervolume import Hypervolume
from botorch.utils.multi_objective.pareto import is_non_dominated
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood

warnings.filterwarnings("ignore")
torch.manual_seed(0)
bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
train_x = draw_sobol_samples(bounds, n=10, q=1, seed=1).squeeze(1)
print("sobol", [round(v, 4) for v in train_x.flatten().tolist()[:6]])
branin = Branin(negate=True)
span = branin.bounds[1] - branin.bounds[0]
train_y = branin(branin.bounds[0] + train_x * span).unsqueeze(-1)
print("branin", [round(v, 5) for v in train_y.flatten().tolist()[:4]])
model = SingleTaskGP(train_x, train_y, input_transform=Normalize(2), outcome_transform=Standardize(1))
mll = fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
posterior = model.posterior(torch.tensor([[0.3, 0.4], [0.8, 0.1]]).double())
print("posterior", [round(v, 5) for v in posterior.mean.flatten().tolist()])
points = torch.tensor([[[0.1, 0.8]], [[0.5, 0.2]]]).double()
sampler = SobolQMCNormalSampler(torch.Size([64]), seed=3)
best = train_y.max()
for function in (
    ExpectedImprovement(model, best),
    LogExpectedImprovement(model, best),
    UpperConfidenceBound(model, 0.2),
    qExpectedImprovement(model, best, sampler),
    qLogExpectedImprovement(model, best, sampler),
    qUpperConfidenceBound(model, 0.2, sampler),
):
    print(type(function).__name__, [round(v, 5) for v in function(points).tolist()])
for function, q in ((LogExpectedImprovement(model, best), 1), (qLogExpectedImprovement(model, best, sampler), 2)):
    torch.manual_seed(5)
    candidate, value = optimize_acqf(function, bounds, q=q, num_restarts=2, raw_samples=16, options={"seed": 2})
    print("candidate", [round(v, 5) for v in candidate.flatten().tolist()], round(value.item(), 5))
listed = ModelListGP(SingleTaskGP(train_x, train_y), SingleTaskGP(train_x, train_x.sum(-1, keepdim=True)))
fit_gpytorch_mll(SumMarginalLogLikelihood(listed.likelihood, listed))
print("list", list(listed.posterior(train_x[:3]).mean.shape))
objectives = torch.tensor([[1.0, 2.0], [2.0, 1.0], [0.5, 0.5]])
print("pareto", is_non_dominated(objectives).tolist(), Hypervolume(torch.zeros(2)).compute(objectives[:2]))
print("hartmann", round(Hartmann()(torch.full((6,), 0.3)).item(), 4))
