"""What PyTorch's tracers have under way, as tensordict asks before it maps a file: here a mode of fake tensors."""

from __future__ import annotations

from weft._subclasses.fake_tensor import FakeTensorMode
from weft.utils._python_dispatch import _get_current_dispatch_mode_stack

__all__ = ["active_fake_mode"]


def active_fake_mode() -> FakeTensorMode | None:
    """The mode of fake tensors that was entered last in this thread; None outside of their blocks."""
    modes = reversed(_get_current_dispatch_mode_stack())
    return next((each for each in modes if isinstance(each, FakeTensorMode)), None)
