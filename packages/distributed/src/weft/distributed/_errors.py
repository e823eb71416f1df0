"""Errors of process groups, by PyTorch's names."""

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "QueueEmptyError", "DistStoreError", "MismatchError"]


class DistError(RuntimeError):
    """Base of the errors of process groups.

    Attributes
    ----------
    is_consequence : bool
        True: it may follow from the failure of another process, which launchers tell of first.
    """

    is_consequence = True


class DistBackendError(DistError):
    """A collective failed: another process is gone, came too late, or called something else."""


class MismatchError(DistBackendError):
    """Two processes called collectives that do not fit; the message has both, and nobody else need be asked."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store has not what was asked of it."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""
