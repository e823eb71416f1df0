"""Names that torchtext kept apart as not settled, with the names of ``torchtext.prototype``."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.text.prototype import transforms as transforms
    from weft.text.prototype import vectors as vectors
    from weft.text.prototype import vocab_factory as vocab_factory
else:
    __all__ = lazy_package(__name__, {}, "transforms vectors vocab_factory")
