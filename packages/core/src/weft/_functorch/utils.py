"""A permission of functorch's, by name."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["enable_single_level_autograd_function"]


def enable_single_level_autograd_function() -> NoReturn:
    """Refuse: no transform takes a Function whose ``forward`` has a ctx.

    Raises
    ------
    NotImplementedError
        Always, and says what to write instead.
    """
    raise NotImplementedError(
        "enable_single_level_autograd_function: transforms take Functions whose forward has no ctx; define "
        "setup_context(ctx, inputs, output)"
    )
