"""Names that torchtext kept apart as not settled, with the names of ``torchtext.prototype``."""

from typing import TYPE_CHECKING

from weft.text import _lazy

if TYPE_CHECKING:
    from weft.text.prototype import transforms as transforms
    from weft.text.prototype import vectors as vectors
    from weft.text.prototype import vocab_factory as vocab_factory
else:
    __all__, __getattr__, __dir__ = _lazy.lazy_names(__name__, {}, "transforms vectors vocab_factory")
