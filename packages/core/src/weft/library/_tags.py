"""`Tag`: what is known of an operator."""

from __future__ import annotations

from enum import Enum

__all__ = ["Tag"]

Tag = Enum(
    "Tag",
    """
core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view
maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order
nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy
""",
    start=0,
    module="weft",
)
"""What is known of an operator, for those who ask: nothing of weft's looks at the tags of a program's operators."""
