"""Fast paths of common call forms: positional arguments on plain tensors, straight to the kernel.

`activation`, `affine`, `along` and `variant` make one for an op. It returns None for a call of another form, which the
declared function then runs, or explains. `run_op` and `run_for_first` run an op on arrays that are checked already, and
record it for the tensors in a mask.
"""

from weft._engine.dimensions import along
from weft._engine.functions import activation, affine, variant
from weft._engine.functions import first as run_for_first
from weft._engine.functions import run as run_op

__all__ = ["activation", "affine", "along", "run_for_first", "run_op", "variant"]
