"""All rows, family by family."""

import calls_autograd
import calls_creation
import calls_data
import calls_indices
import calls_nn
import calls_reductions
import calls_shapes
import calls_types

ROWS = [
    *calls_creation.ROWS,
    *calls_shapes.ROWS,
    *calls_indices.ROWS,
    *calls_reductions.ROWS,
    *calls_nn.ROWS,
    *calls_types.ROWS,
    *calls_data.ROWS,
    *calls_autograd.ROWS,
]
