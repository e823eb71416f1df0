"""weft: tensors, automatic differentiation and neural networks, in parts that plug together."""

from pkgutil import extend_path
from typing import TYPE_CHECKING

__path__ = extend_path(__path__, __name__)  # editable installs keep each portion in a folder of its own
__version__ = "0.1.0"

from weft._api import *  # the portions must be findable first

if not TYPE_CHECKING:  # hidden, so that a checker still flags weft.tensro

    def __getattr__(name):
        from weft._lazy import load

        return load(name)

    def __dir__():
        from weft._lazy import names

        return sorted(set(globals()) | names())
