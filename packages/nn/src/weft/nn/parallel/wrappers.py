"""Wrappers for several devices or processes: weft computes on one device in one process, so they only pass on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft.nn.module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


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


class Reducer:
    """What would exchange gradients between processes: Lightning tells it of a backward pass to come."""

    def prepare_for_backward(self, outputs: list[Any]) -> None:
        """Do nothing: no gradient is waited for."""

    def _rebuild_buckets(self) -> bool:
        """Return False: there are no buckets of gradients."""
        return False


class DistributedDataParallel(Module):
    """A module that computes with another one, in a world of one process; its parameters are named ``module.*``.

    Parameters
    ----------
    module : Module
    device_ids : sequence of int or device, optional
        At most one.
    output_device
        Accepted and not used.
    find_unused_parameters, static_graph : bool
        Kept as attributes, and not used.
    **kwargs
        What else PyTorch takes for the exchange of gradients; there is none.

    Shapes
    ------
    input, output : as of ``module``

    Raises
    ------
    NotImplementedError
        If ``device_ids`` has more than one device.

    Examples
    --------
    >>> model = weft.nn.parallel.DistributedDataParallel(weft.nn.Linear(2, 3))
    >>> with model.no_sync():
    ...     model(weft.ones(4, 2)).sum().backward()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        *,
        find_unused_parameters: bool = False,
        static_graph: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        only_device("DistributedDataParallel", device_ids)
        self.module = module
        self.device_ids = device_ids
        self.output_device = output_device
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.reducer = Reducer()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Return what is known of the exchange of gradients: nothing."""
        return {}

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Leave out the exchange of gradients."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before


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
