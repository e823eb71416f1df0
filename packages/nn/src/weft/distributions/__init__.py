"""Probability distributions: samples, densities, moments, transforms and divergences.

>>> from weft.distributions import Normal, kl_divergence
>>> kl_divergence(Normal(0.0, 1.0), Normal(0.0, 2.0))
tensor(0.3181)
"""

from weft.distributions import constraints as constraints
from weft.distributions import transforms as transforms
from weft.distributions.bernoulli import *
from weft.distributions.beta import *
from weft.distributions.binomial import *
from weft.distributions.categorical import *
from weft.distributions.cauchy import *
from weft.distributions.chi2 import *
from weft.distributions.constraint_registry import biject_to as biject_to
from weft.distributions.constraint_registry import transform_to as transform_to
from weft.distributions.continuous_bernoulli import *
from weft.distributions.dirichlet import *
from weft.distributions.distribution import *
from weft.distributions.exponential import *
from weft.distributions.fishersnedecor import *
from weft.distributions.gamma import *
from weft.distributions.generalized_pareto import *
from weft.distributions.geometric import *
from weft.distributions.gumbel import *
from weft.distributions.half_cauchy import *
from weft.distributions.half_normal import *
from weft.distributions.independent import *
from weft.distributions.inverse_gamma import *
from weft.distributions.kl import *
from weft.distributions.kumaraswamy import *
from weft.distributions.laplace import *
from weft.distributions.lkj_cholesky import *
from weft.distributions.log_normal import *
from weft.distributions.logistic_normal import *
from weft.distributions.lowrank_multivariate_normal import *
from weft.distributions.mixture_same_family import *
from weft.distributions.multinomial import *
from weft.distributions.multivariate_normal import *
from weft.distributions.negative_binomial import *
from weft.distributions.normal import *
from weft.distributions.one_hot_categorical import *
from weft.distributions.pareto import *
from weft.distributions.poisson import *
from weft.distributions.relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from weft.distributions.relaxed_categorical import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from weft.distributions.studentT import *
from weft.distributions.transformed_distribution import *
from weft.distributions.transforms import *
from weft.distributions.uniform import *
from weft.distributions.von_mises import *
from weft.distributions.weibull import *
from weft.distributions.wishart import *

__all__ = [name for name, value in globals().items() if callable(value)]
