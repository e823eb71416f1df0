"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import weft
from weft import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all ``parameters``, flattened and joined in order.

    Parameters
    ----------
    parameters : iterable of Tensor

    Raises
    ------
    TypeError
        If they are on different devices.

    Examples
    --------
    >>> model = weft.nn.Linear(3, 2)
    >>> parameters_to_vector(model.parameters()).shape
    weft.Size([8])
    """
    parameters = list(parameters)
    _require_one_device(parameters, "parameters_to_vector")
    return weft.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the data of ``parameters`` to slices of ``vec``, in order. They share its memory.

    Parameters
    ----------
    vec : Tensor, shape (elements of all parameters,)
    parameters : iterable of Tensor

    Raises
    ------
    TypeError
        If ``vec`` is not a Tensor, or the parameters are on different devices.

    Examples
    --------
    >>> model = weft.nn.Linear(3, 2)
    >>> vector_to_parameters(weft.arange(8.0), model.parameters())
    >>> model.bias.detach()
    tensor([6., 7.])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: expected Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    _require_one_device(parameters, "vector_to_parameters")
    start = 0
    for parameter in parameters:
        stop = start + parameter.numel()
        parameter.data = vec[start:stop].view_as(parameter).data
        start = stop


def _require_one_device(parameters: list[Tensor], name: str) -> None:
    devices = {parameter.device for parameter in parameters}
    if len(devices) > 1:
        raise TypeError(f"{name}: found parameters on different devices {sorted(map(str, devices))}; move them to one")
