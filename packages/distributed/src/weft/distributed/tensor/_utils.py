"""Shapes of the parts of divided tensors, under the name that transformers imports."""

from weft.distributed._several import refused

compute_local_shape_and_global_offset = refused("compute_local_shape_and_global_offset", __name__)
