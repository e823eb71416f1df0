"""Limiting gradients, by the norm of all of them or value by value."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import weft
from weft import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all ``tensors`` as if they were one vector.

    Parameters
    ----------
    tensors : Tensor or iterable of Tensor
    norm_type : float
        The p; may be infinity.
    error_if_nonfinite : bool
        Whether to raise if the norm is infinite or not a number.
    foreach : bool, optional
        Accepted; the result is the same.

    Raises
    ------
    RuntimeError
        See ``error_if_nonfinite``.

    Examples
    --------
    >>> weft.nn.utils.get_total_norm([weft.tensor([3.0]), weft.tensor([[4.0]])])
    tensor(5.)
    """
    with weft.no_grad():
        tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        if not tensors:
            return weft.tensor(0.0)
        norm_type = float(norm_type)
        device = tensors[0].device
        norms = weft._foreach_norm(tensors, norm_type)  # type: ignore[attr-defined]  # made by name
        total_norm = weft.stack([norm if norm.device == device else norm.to(device) for norm in norms]).norm(norm_type)
        if error_if_nonfinite and not bool(weft.isfinite(total_norm)):
            raise RuntimeError(
                f"get_total_norm: The total norm of order {norm_type} for gradients from `parameters` is non-finite "
                f"({total_norm.item()}), so it cannot be clipped. To clip nevertheless, set error_if_nonfinite=False"
            )
        return total_norm


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients of ``parameters``, in place, by ``max_norm / total_norm`` if that is below 1.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
    max_norm : float
    total_norm : Tensor
        As `get_total_norm` gives it.
    foreach : bool, optional
        Accepted; the result is the same.

    Examples
    --------
    >>> weight = weft.nn.Parameter(weft.zeros(2))
    >>> weight.grad = weft.tensor([3.0, 4.0])
    >>> weft.nn.utils.clip_grads_with_norm_(weight, 1.0, weft.tensor(10.0))
    >>> weight.grad
    tensor([0.3000, 0.4000])
    """
    with weft.no_grad():
        # No branch on the value: on a GPU that would wait for it.
        scale = weft.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        gradients = _gradients(parameters)
        for device in {gradient.device for gradient in gradients}:
            there = [gradient for gradient in gradients if gradient.device == device]
            weft._foreach_mul_(there, scale.to(device))  # type: ignore[attr-defined]


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of ``parameters``, in place, so that their norm as one vector is at most ``max_norm``.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
    max_norm : float
    norm_type : float
        The p of the norm; may be infinity.
    error_if_nonfinite : bool
        Whether to raise if the norm is infinite or not a number.
    foreach : bool, optional
        Accepted; the result is the same.

    Returns
    -------
    Tensor, shape ()
        The norm before.

    Raises
    ------
    RuntimeError
        See ``error_if_nonfinite``.

    Examples
    --------
    >>> weight = weft.nn.Parameter(weft.zeros(2))
    >>> weight.grad = weft.tensor([3.0, 4.0])
    >>> weft.nn.utils.clip_grad_norm_([weight], 1.0), weight.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    once = isinstance(parameters, Iterator)
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if once and not parameters:
        warnings.warn(
            "clip_grad_norm_: `parameters` is an empty generator, no gradient clipping will occur; a generator can be "
            "used once only",
            stacklevel=3,
        )
    total_norm = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated name of `clip_grad_norm_`.

    Parameters
    ----------
    parameters, max_norm, norm_type, error_if_nonfinite, foreach
        As of `clip_grad_norm_`.

    Examples
    --------
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     weft.nn.utils.clip_grad_norm(weft.nn.Parameter(weft.zeros(2)), 1.0)
    tensor(0.)
    """
    warnings.warn("`clip_grad_norm` is now deprecated in favor of `clip_grad_norm_`.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Bring each element of the gradients of ``parameters``, in place, into [-clip_value, clip_value].

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
    clip_value : float
    foreach : bool, optional
        Accepted; the result is the same.

    Examples
    --------
    >>> weight = weft.nn.Parameter(weft.zeros(2))
    >>> weight.grad = weft.tensor([3.0, 4.0])
    >>> weft.nn.utils.clip_grad_value_(weight, 3.5)
    >>> weight.grad
    tensor([3.0000, 3.5000])
    """
    limit = float(clip_value)
    with weft.no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(min=-limit, max=limit)
