"""Arm's library of kernels, which weft does not use."""


def is_available() -> bool:
    """False: the library is not used."""
    return False
