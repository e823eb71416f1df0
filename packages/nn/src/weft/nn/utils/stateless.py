"""Modules called with other parameters than their own."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from typing import Any

import weft
from weft import Tensor, func
from weft.nn.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call ``module`` with tensors in place of its own: the older path of `weft.func.functional_call`.

    Parameters
    ----------
    module : Module
    parameters_and_buffers : dict of str to Tensor
        By the names of ``named_parameters()``; what it lacks stays the module's.
    args, kwargs
        What the module is called with; ``args`` that is no tuple is the only argument.
    tie_weights, strict : bool
        As in `weft.func.functional_call`.

    Raises
    ------
    RuntimeError
        For a `DataParallel`.
    """
    warnings.warn(
        f"functional_call: {weft.__name__}.nn.utils.stateless.functional_call is deprecated. Please use "
        f"{weft.__name__}.func.functional_call",
        FutureWarning,
        stacklevel=2,
    )
    return func.functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """Return a block in which ``module`` has tensors in place of its own.

    zuko's Bayesian models are run in it with weights that were drawn. ``stack_weights`` is accepted: what the block
    replaced is put back in the reverse order in any case.
    """
    return func.replaced_tensors(module, parameters_and_buffers, tie_weights, strict)
