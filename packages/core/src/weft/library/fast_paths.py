"""Fast paths of common call forms: plain tensors, and arguments of the annotated types, straight to the kernel.

Give a `FastPath` to the declaration of a function. Its signature is read from the annotations: the tensors of a call
have to be plain, of one dtype and device, and dims, numbers and flags of their types; what else there is to see of them
is a function of yours. A call of another form is left to the declared function, which runs it, or explains.
`Affine`, `AlongDim` and `OneOf` are fast paths of several functions.
"""

from weft._engine.dimensions import AlongDim
from weft._engine.fast_paths import FastPath
from weft._engine.functions import Affine, OneOf

__all__ = ["Affine", "AlongDim", "FastPath", "OneOf"]
