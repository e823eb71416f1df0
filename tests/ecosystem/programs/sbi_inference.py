"""sbi: neural posterior, likelihood and ratio estimation of a linear simulator."""

# /// script
# dependencies = ["sbi==0.27.0"]
# ///

import logging
import warnings

import torch
from sbi.inference import NLE, NPE, NRE
from sbi.neural_nets import posterior_nn
from sbi.utils import BoxUniform

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.manual_seed(0)
prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
theta = prior.sample((200,))
x = theta + 0.2 * torch.randn(200, 2)
observed = torch.tensor([[0.5, -0.5]])
for kind in ("maf", "nsf", "mdn"):
    torch.manual_seed(1)
    inference = NPE(
        prior, density_estimator=posterior_nn(kind, hidden_features=10, num_transforms=2), show_progress_bars=False
    )
    estimator = inference.append_simulations(theta, x).train(max_num_epochs=4, training_batch_size=50)
    posterior = inference.build_posterior(estimator)
    torch.manual_seed(2)
    samples = posterior.sample((50,), x=observed, show_progress_bars=False)
    print(kind, [round(v, 5) for v in samples.mean(0).tolist()])
    print(
        "log_prob",
        [round(v, 5) for v in posterior.log_prob(torch.tensor([[0.4, -0.4], [1.0, 1.0]]), x=observed).tolist()],
    )
torch.manual_seed(3)
likelihood = NLE(prior, density_estimator="maf", show_progress_bars=False)
likelihood.append_simulations(theta, x).train(max_num_epochs=3, training_batch_size=50)
potential = likelihood.build_posterior(sample_with="mcmc").set_default_x(observed)
print("nle", [round(v, 5) for v in potential.potential(torch.tensor([[0.4, -0.4]])).tolist()])
torch.manual_seed(4)
ratio = NRE(prior, classifier="mlp", show_progress_bars=False)
ratio.append_simulations(theta, x).train(max_num_epochs=3, training_batch_size=50)
ratios = ratio.build_posterior().set_default_x(observed).potential(torch.tensor([[0.4, -0.4], [1.0, 1.0]]))
print("nre", round((ratios[0] - ratios[1]).item(), 5))  # of what x alone decides the gradient is rounding, or zero
