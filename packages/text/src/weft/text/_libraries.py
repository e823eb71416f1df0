"""The libraries that some names need, imported when they are first used."""

from __future__ import annotations

import importlib
from types import ModuleType


def imported(module: str, user: str, distribution: str | None = None) -> ModuleType:
    """Return a module, or raise the error that says what to install.

    Parameters
    ----------
    module : str
    user : str
        The public name that needs it.
    distribution : str, optional
        What brings the module, by default of the same name.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        wanted = distribution or module.partition(".")[0]
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise  # it is there, and lacks something itself
        raise ModuleNotFoundError(
            f"{user} needs the library {wanted}, which is not installed: pip install {wanted}", name=error.name
        ) from error
