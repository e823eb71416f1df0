"""Pyro: hidden Markov models, flows, other estimators and guides, reparametrization, effect handlers."""

# /// script
# dependencies = ["pyro-ppl==1.9.2"]
# ///

import warnings

import pyro
import pyro.distributions as dist
import pyro.distributions.transforms as T
import torch
from pyro import poutine
from pyro.infer import SVI, Importance, JitTrace_ELBO, RenyiELBO, TraceEnum_ELBO, TraceGraph_ELBO, infer_discrete
from pyro.infer.autoguide import AutoIAFNormal, AutoLaplaceApproximation, AutoLowRankMultivariateNormal, init_to_mean
from pyro.infer.reparam import LocScaleReparam, TransformReparam
from pyro.ops.indexing import Vindex
from pyro.ops.stats import effective_sample_size, gelman_rubin, hpdi, quantile

warnings.filterwarnings("ignore")
assert JitTrace_ELBO
sequence = torch.tensor([0.1, 0.2, 2.1, 1.9, 0.0])


def hmm(data):
    transition = pyro.param("transition", torch.tensor([[0.7, 0.3], [0.4, 0.6]]), constraint=dist.constraints.simplex)
    locs = pyro.param("locs", torch.tensor([0.0, 1.5]))
    state = 0
    for t in pyro.markov(range(len(data))):
        state = pyro.sample(f"x_{t}", dist.Categorical(Vindex(transition)[state]), infer={"enumerate": "parallel"})
        pyro.sample(f"y_{t}", dist.Normal(locs[state], 0.5), obs=data[t])


elbo = TraceEnum_ELBO(max_plate_nesting=0)
svi = SVI(hmm, lambda data: None, pyro.optim.Adam({"lr": 0.05}), elbo)
print("hmm", [round(svi.step(sequence), 4) for _ in range(3)])
states = infer_discrete(hmm, first_available_dim=-1, temperature=0)
trace = poutine.trace(states).get_trace(sequence)
print("states", [int(trace.nodes[f"x_{t}"]["value"]) for t in range(5)])
discrete = dist.DiscreteHMM(
    torch.zeros(2), torch.tensor([[0.0, -1.0], [-1.0, 0.0]]), dist.Normal(torch.tensor([0.0, 2.0]), 0.5)
)
print("discrete_hmm", round(discrete.log_prob(sequence).item(), 4))
gaussian = dist.GaussianHMM(
    dist.Normal(torch.zeros(1), torch.ones(1)).to_event(1),
    torch.eye(1),
    dist.Normal(torch.zeros(1), torch.ones(1)).to_event(1),
    torch.eye(1),
    dist.Normal(torch.zeros(1), torch.ones(1)).to_event(1),
    duration=5,
)
print("gaussian_hmm", round(gaussian.log_prob(sequence[:, None]).item(), 4))
pyro.set_rng_seed(0)  # some draw a permutation as they are made
for transform in (
    T.spline(2),
    T.affine_autoregressive(2, hidden_dims=[4]),
    T.planar(2),
    T.radial(2),
    T.spline_coupling(2, hidden_dims=[4]),
    T.householder(2),
    T.batchnorm(2),
    T.Permute(torch.tensor([1, 0])),
):
    pyro.set_rng_seed(1)
    for parameter in getattr(transform, "parameters", list)():
        torch.nn.init.normal_(parameter, std=0.1)
    flow = dist.TransformedDistribution(dist.Normal(torch.zeros(2), torch.ones(2)).to_event(1), [transform])
    value = flow.rsample((3,))
    print(type(transform).__name__, round(value.sum().item(), 5), round(flow.log_prob(value).sum().item(), 5))
data = torch.tensor([1.1, 0.9, 1.3, 0.8])


def model():
    loc = pyro.sample("loc", dist.Normal(0.0, 2.0))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 0.5))
    with pyro.plate("data", 4):
        pyro.sample("obs", dist.Normal(loc, scale), obs=data)


for kind, loss in (
    (AutoIAFNormal, RenyiELBO(alpha=0.5, num_particles=2)),
    (AutoLowRankMultivariateNormal, TraceGraph_ELBO()),
    (AutoLaplaceApproximation, TraceGraph_ELBO()),
):
    pyro.clear_param_store()
    pyro.set_rng_seed(2)
    guide = kind(model, init_loc_fn=init_to_mean) if kind is not AutoIAFNormal else kind(model, hidden_dim=[4])
    svi = SVI(model, guide, pyro.optim.ClippedAdam({"lr": 0.02}), loss)
    print(kind.__name__, [round(svi.step(), 5) for _ in range(5)][-1])
pyro.set_rng_seed(3)
posterior = Importance(model, num_samples=50).run()
print("importance", round(posterior.get_log_normalizer().item(), 5), round(posterior.get_ESS().item(), 5))
reparametrized = poutine.reparam(model, {"loc": LocScaleReparam(), "scale": TransformReparam()})
print("reparam", sorted(poutine.trace(reparametrized).get_trace().stochastic_nodes))
substituted = poutine.trace(poutine.do(poutine.scale(model, 0.5), {"loc": torch.tensor(1.0)})).get_trace()
substituted.compute_log_prob()
print(
    "scaled",
    round(
        substituted.nodes["obs"]["log_prob_sum"].item() / substituted.nodes["obs"]["unscaled_log_prob"].sum().item(), 5
    ),
)
with poutine.mask(mask=torch.tensor([True, False])):
    masked = poutine.trace(lambda: pyro.sample("z", dist.Normal(torch.zeros(2), 1.0), obs=torch.ones(2))).get_trace()
print("masked", round(masked.log_prob_sum().item(), 4))
chains = torch.randn(4, 100, generator=torch.Generator().manual_seed(0))
print("stats", round(gelman_rubin(chains).item(), 5), round(effective_sample_size(chains).item(), 5))
print(
    "hpdi",
    [round(v, 5) for v in hpdi(chains.flatten(), 0.5).tolist()],
    round(quantile(chains.flatten(), 0.9).item(), 5),
)
