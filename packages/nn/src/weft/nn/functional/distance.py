"""Distances and similarities of vectors; those that PyTorch also has at the top are core's."""

from __future__ import annotations

from weft.ops.distance import cosine_similarity, pairwise_distance, pdist

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]
