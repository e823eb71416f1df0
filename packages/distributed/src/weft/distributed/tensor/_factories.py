"""New DTensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft.distributed.device_mesh import DeviceMesh, current_mesh
from weft.distributed.tensor._api import DTensor, made_of, normalized
from weft.distributed.tensor._dtensor_spec import local_sizes
from weft.distributed.tensor._redistribute import place_of, redistribute_local
from weft.distributed.tensor._utils import normalize_to_torch_size
from weft.distributed.tensor.placement_types import Placement, Replicate

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def made(
    function: Callable[..., Any],
    size: Any,
    mesh: DeviceMesh | None,
    placements: Sequence[Placement] | None,
    dtype: Any,
    requires_grad: bool,
    draws: bool = False,
) -> DTensor:
    """A DTensor whose part a function makes, or a part of the whole that it draws."""
    from weft.distributed.tensor._rules.random import synchronize

    mesh = current_mesh("DTensor") if mesh is None else mesh
    shape = normalize_to_torch_size(size)
    ways = normalized("DTensor", placements, mesh, len(shape), Replicate())
    if any(each.is_partial() for each in ways):
        raise ValueError("DTensor: placements of a new tensor cannot be Partial")
    if mesh.get_coordinate() is None:
        local = weft.empty(0, dtype=dtype, device=mesh.device_type)
    elif draws:
        synchronize(mesh)
        whole = function(shape, dtype=dtype, device=mesh.device_type)
        local = redistribute_local(whole, mesh, shape, (Replicate(),) * mesh.ndim, ways)
    else:
        local = function(local_sizes(shape, mesh.shape, place_of(mesh), ways)[0], dtype=dtype, device=mesh.device_type)
    result = made_of(local, mesh, ways, shape)
    if requires_grad:
        result.requires_grad_(True)
    return result  # type: ignore[no-any-return]


def factory(name: str, draws: bool, what: str) -> Callable[..., DTensor]:
    def function(
        *size: Any,
        dtype: Any = None,
        layout: Any = weft.strided,
        requires_grad: bool = False,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        return made(getattr(weft, name), size, device_mesh, placements, dtype, requires_grad, draws)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "weft.distributed.tensor"
    same = " The numbers are those of one process, whatever the mesh." if draws else ""
    function.__doc__ = f"""Return a DTensor of {what}.{same}

    Parameters
    ----------
    size : int or sequence of int
        Of the whole.
    dtype : dtype, optional
    requires_grad : bool
    device_mesh : DeviceMesh, optional
        Default: that of the ``with`` block.
    placements : sequence of Placement, optional
        Default: `Replicate`.
    """
    return function


zeros = factory("zeros", False, "zeros")
ones = factory("ones", False, "ones")
empty = factory("empty", False, "elements that are not set")
rand = factory("rand", True, "numbers drawn evenly from 0 to 1")
randn = factory("randn", True, "numbers drawn from the standard normal distribution")


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = weft.strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Return a DTensor filled with a value; see `zeros`."""

    def function(shape: Any, **options: Any) -> Any:
        return weft.full(tuple(shape), fill_value, **options)

    return made(function, size, device_mesh, placements, dtype, requires_grad)
