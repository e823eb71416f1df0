"""The parts of the loader: collation, fetching, worker processes, and the memory they share with the consumer."""

from weft.utils.data._utils.worker import PARENT_CHECK_SECONDS as MP_STATUS_CHECK_INTERVAL

__all__ = ["MP_STATUS_CHECK_INTERVAL"]
