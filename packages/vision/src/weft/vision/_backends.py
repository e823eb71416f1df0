"""What reads pictures and videos: Pillow and PyAV, and nothing else."""

from __future__ import annotations

__all__ = [
    "disable_beta_transforms_warning",
    "get_image_backend",
    "get_video_backend",
    "set_image_backend",
    "set_video_backend",
]


def get_image_backend() -> str:
    """The package that reads pictures: ``"PIL"``."""
    return "PIL"


def set_image_backend(backend: str) -> None:
    """Choose the package that reads pictures.

    Parameters
    ----------
    backend : "PIL"

    Raises
    ------
    ValueError
        For any other.
    """
    if backend != "PIL":
        raise ValueError(f"Invalid backend '{backend}'. weft.vision reads pictures with 'PIL'")


def get_video_backend() -> str:
    """The package that reads videos: ``"pyav"``."""
    return "pyav"


def set_video_backend(backend: str) -> None:
    """Choose the package that reads videos.

    Parameters
    ----------
    backend : "pyav"

    Raises
    ------
    ValueError
        For any other.
    """
    if backend != "pyav":
        raise ValueError(f"Invalid backend '{backend}'. weft.vision reads videos with 'pyav'")


def disable_beta_transforms_warning() -> None:
    """Do nothing: the second version of the transforms warns of nothing."""
