"""Training in several processes: what weft-distributed brings, and what a program asks that may run alone.

Without weft-distributed, `is_available` is False, as in a PyTorch that was built without it.
"""

from importlib.util import find_spec
from pkgutil import extend_path
from typing import TYPE_CHECKING

__path__ = extend_path(__path__, __name__)  # weft-distributed ships what is here from a folder of its own

if TYPE_CHECKING or find_spec("weft.distributed.distributed_c10d") is not None:
    from weft.distributed.distributed_c10d import *
    from weft.distributed.distributed_c10d import _get_default_group as _get_default_group
else:

    def is_available() -> bool:
        """False: weft-distributed is not installed."""
        return False

    def is_initialized() -> bool:
        """False: there are no process groups without weft-distributed."""
        return False

    is_torchelastic_launched = is_mpi_available = is_nccl_available = is_gloo_available = is_initialized


# Names of modules that stand on weft.nn, or that few programs use: imported when they are first asked for.
LATER = {
    "DeviceMesh": "device_mesh",
    "init_device_mesh": "device_mesh",
    "BuiltinCommHookType": "data_parallel",
    "GradBucket": "data_parallel",
    "Reducer": "data_parallel",
}

if not TYPE_CHECKING:  # hidden, so that a checker still flags weft.distributed.fsbp

    def __getattr__(name):
        from weft._lazy import load

        try:
            return getattr(load(LATER[name], __name__), name) if name in LATER else load(name, __name__)
        except AttributeError as error:
            if is_available():
                raise
            raise AttributeError(f"{error}; install it with: pip install weft-distributed") from None
