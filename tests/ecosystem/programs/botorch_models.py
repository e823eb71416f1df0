"""BoTorch: multitask and fixed-noise models, several objectives, knowledge gradient, entropy search, a whole loop."""

# /// script
# dependencies = ["botorch==0.18.1", "gpytorch==1.15.2"]
# ///

import warnings

import torch
from botorch.acquisition import PosteriorMean, qKnowledgeGradient, qNoisyExpectedImprovement, qSimpleRegret
from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy
from botorch.acquisition.multi_objective import qExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.objective import GenericMCObjective, LinearMCObjective
from botorch.fit import fit_gpytorch_mll
from botorch.generation import MaxPosteriorSampling
from botorch.models import KroneckerMultiTaskGP, ModelListGP, MultiTaskGP, SingleTaskGP, SingleTaskVariationalGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf, optimize_acqf_discrete
from botorch.sampling import IIDNormalSampler, SobolQMCNormalSampler
from botorch.test_functions import BraninCurrin
from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
from botorch.utils.sampling import sample_hypersphere, sample_simplex
from botorch.utils.transforms import normalize, unnormalize
from gpytorch.mlls import SumMarginalLogLikelihood

warnings.filterwarnings("ignore")
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
problem = BraninCurrin(negate=True)
bounds = torch.stack([torch.zeros(2), torch.ones(2)])
x = torch.rand(12, 2)
y = problem(unnormalize(x, problem.bounds))
print("roundtrip", round((normalize(unnormalize(x, problem.bounds), problem.bounds) - x).abs().max().item(), 6))
models = [SingleTaskGP(x, y[:, i : i + 1], outcome_transform=Standardize(1)) for i in range(2)]
model = ModelListGP(*models)
fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
sampler = SobolQMCNormalSampler(torch.Size([32]), seed=1)
reference = problem.ref_point
partitioning = FastNondominatedPartitioning(ref_point=reference, Y=y)
points = torch.tensor([[[0.1, 0.9]], [[0.6, 0.2]]])
improvement = qExpectedHypervolumeImprovement(model, reference.tolist(), partitioning, sampler)
print("ehvi", [round(v, 5) for v in improvement(points).tolist()])
noisy = qLogNoisyExpectedHypervolumeImprovement(model, reference.tolist(), x, sampler, prune_baseline=True)
print("log_nehvi", [round(v, 5) for v in noisy(points).tolist()])
single = models[0]
candidates = torch.rand(30, 2)
torch.manual_seed(1)
print("nei", [round(v, 5) for v in qNoisyExpectedImprovement(single, x, sampler, prune_baseline=True)(points).tolist()])
gradient = qKnowledgeGradient(single, num_fantasies=4)
torch.manual_seed(2)
print("kg", [round(v, 5) for v in gradient(torch.rand(2, 5, 2)).tolist()])
torch.manual_seed(3)
print("mes", [round(v, 5) for v in qMaxValueEntropy(single, candidates, num_mv_samples=4)(points).tolist()])
regret = qSimpleRegret(model, sampler, LinearMCObjective(torch.tensor([0.5, 0.5])))
print("regret", [round(v, 5) for v in regret(points).tolist()])
objective = qSimpleRegret(
    single, IIDNormalSampler(torch.Size([8]), seed=4), GenericMCObjective(lambda y, X: y[..., 0] ** 2 / 100)
)
print("generic", [round(v, 5) for v in objective(points).tolist()])
best, value = optimize_acqf_discrete(PosteriorMean(single), q=1, choices=candidates)
print("discrete", [round(v, 5) for v in best.flatten().tolist()], round(value.item(), 5))
torch.manual_seed(5)
thompson = MaxPosteriorSampling(single, replacement=False)(candidates, num_samples=2)
print("thompson", [round(v, 5) for v in thompson.flatten().tolist()])
tasks = torch.cat([torch.cat([x, torch.full((12, 1), float(i))], 1) for i in range(2)])
multitask = MultiTaskGP(tasks, torch.cat([y[:, :1], y[:, 1:]]), task_feature=-1)
print("multitask", [round(v, 5) for v in multitask.posterior(points[0]).mean.flatten().tolist()])
kronecker = KroneckerMultiTaskGP(x, (y - y.mean(0)) / y.std(0))
print("kronecker", [round(v, 5) for v in kronecker.posterior(points[0]).mean.flatten().tolist()])
noise = SingleTaskGP(x, y[:, :1], train_Yvar=torch.full((12, 1), 0.1))
print("fixed_noise", round(noise.posterior(points[0]).variance.item(), 5))
variational = SingleTaskVariationalGP(x, y[:, :1], inducing_points=5)
print("variational", list(variational.posterior(points).mean.shape))
fantasy = single.fantasize(points[0], SobolQMCNormalSampler(torch.Size([3]), seed=6))
print("fantasy", list(fantasy.posterior(points[1]).mean.shape))
print(
    "samplers",
    [round(v, 5) for v in sample_simplex(3, qmc=True, seed=7).flatten().tolist()],
    [round(v, 5) for v in sample_hypersphere(2, seed=8).flatten().tolist()],
)
for step in range(2):
    torch.manual_seed(step)
    candidate, _ = optimize_acqf(
        improvement, bounds, q=1, num_restarts=2, raw_samples=8, options={"maxiter": 10, "seed": step}
    )
    print("candidate", [round(v, 5) for v in candidate.flatten().tolist()])
