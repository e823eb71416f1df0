"""Wrappers for several devices of one process: weft computes on one device in a process, so they only pass on."""

from __future__ import annotations

from typing import Any

from weft.nn.module import Module

__all__ = ["DataParallel", "data_parallel"]


def only_device(name: str, device_ids: Any) -> None:
    """Refuse what would split a batch.

    Raises
    ------
    NotImplementedError
        For more than one device.
    """
    if device_ids is not None and len(device_ids) > 1:
        raise NotImplementedError(
            f"{name}: device_ids has {len(device_ids)} devices ({list(device_ids)}); weft computes a batch on one "
            "device: leave device_ids out, or give one"
        )


class DataParallel(Module):
    """A module that computes with another one, on the device where that is; its parameters are named ``module.*``.

    Parameters
    ----------
    module : Module
    device_ids : sequence of int or device, optional
        At most one: a batch is not split over several devices.
    output_device, dim
        Accepted and not used.

    Shapes
    ------
    input, output : as of ``module``

    Raises
    ------
    NotImplementedError
        If ``device_ids`` has more than one device.

    Examples
    --------
    >>> model = weft.nn.DataParallel(weft.nn.Linear(2, 3))
    >>> list(model.state_dict()), model(weft.ones(4, 2)).shape
    (['module.weight', 'module.bias'], weft.Size([4, 3]))
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        only_device("DataParallel", device_ids)
        self.module = module
        self.dim = dim
        self.device_ids: list[Any] = list(device_ids or ())
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a module with a tensor or a tuple of them, as `DataParallel` does.

    Parameters
    ----------
    module : Module
    inputs : Tensor or tuple
        The positional arguments.
    device_ids : sequence of int or device, optional
        At most one.
    output_device, dim
        Accepted and not used.
    module_kwargs : dict, optional
        The other arguments.

    Raises
    ------
    NotImplementedError
        If ``device_ids`` has more than one device.

    Examples
    --------
    >>> weft.nn.parallel.data_parallel(weft.nn.Linear(2, 3), weft.ones(4, 2)).shape
    weft.Size([4, 3])
    """
    only_device("data_parallel", device_ids)
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*given, **(module_kwargs or {}))
