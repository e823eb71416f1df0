"""PyTorch's names of modules, where they are others than weft's, and those that importing it brings along."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from weft._lazy import PRIVATE as LISTED
from weft._lazy import portions

PRIVATE = LISTED  # modules with an underscore that programs import all the same

# Modules of PyTorch's whose names weft keeps elsewhere: they are made of these when they are first looked into.
JOINED = {
    "torch._functorch.apis": "weft.func._vmap weft.func",
    "torch._functorch.batch_norm_replacement": "weft.func._modules",
    "torch._functorch.eager_transforms": "weft.func weft.func._arguments",
    "torch._functorch.functional_call": "weft.func",
    "torch._jit_internal": "weft.jit",
    "torch._linalg_utils": "weft._removed",
    "torch._refs.fft": "weft.fft",
    "torch._refs.linalg": "weft.linalg",
    "torch._refs.nn": "weft.nn",
    "torch._refs.nn.functional": "weft.nn.functional",
    "torch._refs.special": "weft.special",
    "torch._tensor": "weft._tensor.base",
    "torch.amp.autocast_mode": "weft.amp._autocast",
    "torch.amp.grad_scaler": "weft.amp._grad_scaler",
    "torch._vmap_internals": "weft.func",
    "torch.cpu.amp.autocast_mode": "weft.cpu.amp",
    "torch.cpu.amp.grad_scaler": "weft.cpu.amp",
    "torch.cuda.amp.autocast_mode": "weft.cuda.amp",
    "torch.cuda.amp.common": "weft.cuda.amp",
    "torch.cuda.amp.grad_scaler": "weft.cuda.amp",
    "torch.jit._script": "weft.jit",
    "torch.jit._trace": "weft.jit",
    "torch.masked.maskedtensor": "weft.masked._tensor",
    "torch.masked.maskedtensor.core": "weft.masked._tensor",
    "torch.nn.modules.linear_cross_entropy_options": "weft.nn.functional.loss",
    "torch.nn.parallel.data_parallel": "weft.nn.parallel",
    "torch.nn.utils.spectral_norm": "weft.nn.utils.spectral_norm_hook",
    "torch.nn.utils.weight_norm": "weft.nn.utils.weight_norm_hook",
    "torch.quantization.fake_quantize": "weft.ao.quantization.fake_quantize",
    "torch.quantization.fuse_modules": "weft.ao.quantization.fuse_modules",
    "torch.quantization.observer": "weft.ao.quantization.observer",
    "torch.quantization.qconfig": "weft.ao.quantization.qconfig",
    "torch.quantization.quantize": "weft.ao.quantization.quantize",
    "torch.quantization.stubs": "weft.ao.quantization.stubs",
    "torch.signal.windows.windows": "weft.signal.windows",
}
# Classes and functions that PyTorch has in another module than weft: as `FILES` of portions, see `weft._portions`.
FILES = {
    "weft.masked._tensor": {"": "torch.masked"},
    "weft.nested._construction": {"": "torch.nested"},
    "weft.overrides": {"DisableTorchFunction": "torch._C", "": "torch.overrides"},
    "weft.random": {"Generator": "torch", "": "torch.random"},
    "weft.storage": {"is_storage": "torch", "": "torch.storage"},
}
WITHOUT_FILES = ("weft.nn.modules",)  # packages that make their modules as they are imported
# What stands in ``sys.modules`` after ``import torch``: programs look there, and reach it as an attribute without
# importing it. It is loaded when somebody looks into it.
BROUGHT_ALONG = """
accelerator amp amp.autocast_mode amp.grad_scaler autograd.forward_ad autograd.functional autograd.gradcheck
autograd.profiler backends backends.cpu backends.cuda backends.cudnn backends.cusparselt backends.kleidiai
backends.mha backends.miopen backends.mkl backends.mkldnn backends.mps backends.nnpack backends.openmp
backends.opt_einsum backends.quantized compiler cpu cpu.amp cpu.amp.autocast_mode cpu.amp.grad_scaler cuda cuda.amp
cuda.amp.autocast_mode cuda.amp.common cuda.amp.grad_scaler cuda.memory cuda.profiler cuda.random cuda.streams
distributed distributions
distributions.bernoulli distributions.beta distributions.binomial distributions.categorical distributions.cauchy
distributions.chi2 distributions.constraint_registry distributions.constraints distributions.continuous_bernoulli
distributions.dirichlet distributions.distribution distributions.exp_family distributions.exponential
distributions.fishersnedecor distributions.gamma distributions.generalized_pareto distributions.geometric
distributions.gumbel distributions.half_cauchy distributions.half_normal distributions.independent
distributions.inverse_gamma distributions.kl distributions.kumaraswamy distributions.laplace
distributions.lkj_cholesky distributions.log_normal distributions.logistic_normal
distributions.lowrank_multivariate_normal distributions.mixture_same_family distributions.multinomial
distributions.multivariate_normal distributions.negative_binomial distributions.normal
distributions.one_hot_categorical distributions.pareto distributions.poisson distributions.relaxed_bernoulli
distributions.relaxed_categorical distributions.studentT distributions.transformed_distribution
distributions.transforms distributions.uniform distributions.utils distributions.von_mises distributions.weibull
distributions.wishart fft func functional futures fx fx.graph fx.graph_module fx.immutable_collections fx.interpreter
fx.node fx.passes fx.passes.shape_prop fx.proxy fx.subgraph_rewriter hub jit jit.annotations linalg masked
masked.maskedtensor masked.maskedtensor.core mps multiprocessing multiprocessing.reductions multiprocessing.spawn nn
nn.attention nn.common_types nn.functional nn.grad nn.init nn.modules nn.modules.activation nn.modules.adaptive
nn.modules.batchnorm nn.modules.channelshuffle nn.modules.container nn.modules.conv nn.modules.distance
nn.modules.dropout nn.modules.flatten nn.modules.fold nn.modules.instancenorm nn.modules.lazy nn.modules.linear
nn.modules.linear_cross_entropy_options nn.modules.loss nn.modules.module nn.modules.normalization nn.modules.padding
nn.modules.pixelshuffle nn.modules.pooling nn.modules.rnn nn.modules.sparse nn.modules.transformer
nn.modules.upsampling nn.modules.utils nn.parallel nn.parallel.data_parallel nn.parameter nn.utils nn.utils.clip_grad
nn.utils.convert_parameters nn.utils.fusion nn.utils.init nn.utils.memory_format nn.utils.parametrizations
nn.utils.parametrize nn.utils.rnn nn.utils.spectral_norm nn.utils.stateless nn.utils.weight_norm optim optim.adadelta
optim.adagrad optim.adam optim.adamax optim.adamw optim.asgd optim.lbfgs optim.lr_scheduler optim.nadam
optim.optimizer optim.radam optim.rmsprop optim.rprop optim.sgd optim.sparse_adam optim.swa_utils profiler
profiler.profiler return_types serialization signal signal.windows signal.windows.windows sparse special testing
utils.checkpoint utils.collect_env utils.data utils.data.dataloader utils.data.dataset utils.data.distributed
utils.data.sampler utils.deterministic utils.dlpack version xpu
""".split()
# Beside which PyTorch has a function of the same name: the package's attribute is that one.
FUNCTIONS = frozenset(
    """
autograd.gradcheck multiprocessing.spawn nn.parallel.data_parallel nn.utils.spectral_norm nn.utils.weight_norm
""".split()
)


@cache
def of_portions() -> dict[str, dict[str, str]]:
    """What core and installed portions say of their files that are others than PyTorch's."""
    return FILES | {file: modules for each in portions() for file, modules in getattr(each, "FILES", {}).items()}


@cache
def joined() -> dict[str, str]:
    """`JOINED`, and what installed portions say of theirs."""
    return JOINED | {path: homes for each in portions() for path, homes in getattr(each, "JOINED", {}).items()}


def file_of_portion(module: str) -> Callable[[str], str] | None:
    """For a module of a portion: what gives the module of PyTorch's that has a name; None if theirs is called so."""
    modules = of_portions().get(module) or of_portions().get(f"{module.rpartition('.')[0]}.*")
    if modules is None:
        return None
    return lambda name: next(module for part, module in modules.items() if part in name)
