"""`weft.utils._pytree` by the name under which PyTorch has its compiled twin: weft has one of both."""

from weft.utils._pytree import *  # noqa: F403
from weft.utils._pytree import BUILTIN_TYPES as BUILTIN_TYPES
from weft.utils._pytree import STANDARD_DICT_TYPES as STANDARD_DICT_TYPES
from weft.utils._pytree import PyTreeSpec as PyTreeSpec
from weft.utils._pytree import __all__ as __all__
from weft.utils._pytree import _broadcast_to_and_flatten as _broadcast_to_and_flatten
