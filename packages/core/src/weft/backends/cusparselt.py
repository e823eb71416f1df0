"""NVIDIA's library for half-empty matrices, which weft does not use."""


def is_available() -> bool:
    """False: the library is not used."""
    return False


def version() -> int | None:
    """None: the library is not used."""
    return None


def get_max_alg_id() -> int | None:
    """None: the library is not used."""
    return None
