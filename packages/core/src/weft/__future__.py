"""Switches for what conversions of modules do with their parameters; PyTorch's module of this name.

By default ``module.to()``, ``module.double()`` and their like keep each Parameter and give it new memory.
"""

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Choose whether conversions of a module give it new Parameters, so that the old ones stay as they are.

    Parameters
    ----------
    value : bool
        False at first: the Parameters stay the same objects, and an optimizer keeps hold of them.

    Examples
    --------
    >>> from weft import nn
    >>> set_overwrite_module_params_on_conversion(True)
    >>> layer = nn.Linear(1, 1)
    >>> weight = layer.weight
    >>> weight is layer.double().weight, weight.dtype
    (False, weft.float32)
    >>> set_overwrite_module_params_on_conversion(False)
    """
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Return what `set_overwrite_module_params_on_conversion` chose."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Choose whether conversions swap what Parameters hold, rather than give them new memory.

    Here both keep the Parameter and what refers to it, so that the choice is remembered and changes nothing; it has
    precedence over `set_overwrite_module_params_on_conversion`.

    Parameters
    ----------
    value : bool
    """
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Return what `set_swap_module_params_on_conversion` chose."""
    return _swap
