"""Pyro: SVI with an AutoGuide, NUTS and HMC, Predictive, enumeration and a Gaussian process."""

# /// script
# dependencies = ["pyro-ppl==1.9.2"]
# ///

import warnings

import pyro
import pyro.contrib.gp as gp
import pyro.distributions as dist
import torch
from pyro.infer import (
    HMC,
    MCMC,
    NUTS,
    SVI,
    Predictive,
    Trace_ELBO,
    TraceEnum_ELBO,
    TraceMeanField_ELBO,
    config_enumerate,
)
from pyro.infer.autoguide import AutoDelta, AutoDiagonalNormal, AutoMultivariateNormal, AutoNormal
from pyro.nn import PyroModule, PyroSample
from pyro.optim import Adam, ClippedAdam

warnings.filterwarnings("ignore")
pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 40)
y = 1.5 * x + 0.3 + 0.1 * torch.randn(40)


def model(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 2.0))
    bias = pyro.sample("bias", dist.Normal(0.0, 2.0))
    sigma = pyro.sample("sigma", dist.HalfNormal(1.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("obs", dist.Normal(slope * x + bias, sigma), obs=y)


for guide_type, loss in (
    (AutoNormal, Trace_ELBO()),
    (AutoDiagonalNormal, Trace_ELBO(num_particles=2)),
    (AutoDelta, TraceMeanField_ELBO()),
    (AutoMultivariateNormal, Trace_ELBO(num_particles=2, vectorize_particles=True)),
):
    pyro.clear_param_store()
    pyro.set_rng_seed(1)
    guide = guide_type(model)
    svi = SVI(model, guide, ClippedAdam({"lr": 0.05}), loss)
    for _ in range(60):
        last = svi.step(x, y)
    median = guide.median(x, y)
    print(guide_type.__name__, round(last, 5), [round(median[k].item(), 4) for k in ("slope", "bias", "sigma")])
pyro.set_rng_seed(2)
samples = Predictive(model, guide=guide, num_samples=50)(x)
print("predictive", list(samples["obs"].shape), round(samples["obs"].mean().item(), 4))
for kernel in (NUTS(model, step_size=0.05, max_tree_depth=5), HMC(model, step_size=0.02, num_steps=5)):
    pyro.set_rng_seed(3)
    mcmc = MCMC(kernel, num_samples=15, warmup_steps=15, disable_progbar=True)
    mcmc.run(x, y)
    found = mcmc.get_samples()
    print(type(kernel).__name__, [round(found[k].mean().item(), 5) for k in ("slope", "bias", "sigma")])


class Regression(PyroModule):
    def __init__(self):
        super().__init__()
        self.linear = PyroModule[torch.nn.Linear](1, 1)
        self.linear.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 1]).to_event(2))

    def forward(self, x, y=None):
        mean = self.linear(x[:, None]).squeeze(-1)
        with pyro.plate("data", len(x)):
            return pyro.sample("obs", dist.Normal(mean, 0.5), obs=y)


pyro.clear_param_store()
pyro.set_rng_seed(4)
bayesian = Regression()
svi = SVI(bayesian, AutoNormal(bayesian), Adam({"lr": 0.05}), Trace_ELBO())
print("module", [round(svi.step(x, y), 5) for _ in range(3)])


@config_enumerate
def mixture(data):
    weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2)))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 2.0))
    with pyro.plate("components", 2):
        locs = pyro.sample("locs", dist.Normal(0.0, 10.0))
    with pyro.plate("data", len(data)):
        assignment = pyro.sample("assignment", dist.Categorical(weights))
        pyro.sample("obs", dist.Normal(locs[assignment], scale), obs=data)


data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])
pyro.clear_param_store()
pyro.set_rng_seed(5)
guide = AutoDelta(pyro.poutine.block(mixture, expose=["weights", "locs", "scale"]))
svi = SVI(mixture, guide, Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
for _ in range(50):
    last = svi.step(data)
print("mixture", round(last, 5), [round(v, 5) for v in sorted(pyro.param("AutoDelta.locs").tolist())])
pyro.clear_param_store()
pyro.set_rng_seed(6)
process = gp.models.GPRegression(x, y, gp.kernels.RBF(1), noise=torch.tensor(0.1))
optimizer = torch.optim.Adam(process.parameters(), lr=0.05)
losses = gp.util.train(process, optimizer, num_steps=10)
mean, variance = process(torch.tensor([0.0, 0.5]), full_cov=False)
print("gp", round(losses[-1], 5), [round(v, 4) for v in mean.tolist()], [round(v, 4) for v in variance.tolist()])
trace = pyro.poutine.trace(pyro.poutine.condition(model, {"slope": torch.tensor(1.0)})).get_trace(x, y)
print("trace", sorted(trace.nodes), round(trace.nodes["slope"]["fn"].log_prob(torch.tensor(1.0)).item(), 4))
for each in (
    dist.Stable(1.5, 0.1),
    dist.VonMises(0.0, 2.0),
    dist.BetaBinomial(2.0, 3.0, 5),
    dist.ZeroInflatedPoisson(torch.tensor(3.0), gate=torch.tensor(0.2)),
    dist.LKJCholesky(3, 1.0),
    dist.InverseGamma(2.0, 3.0),
):
    pyro.set_rng_seed(7)
    value = each.sample()
    print(type(each).__name__, [round(v, 4) for v in value.flatten().tolist()[:3]])
