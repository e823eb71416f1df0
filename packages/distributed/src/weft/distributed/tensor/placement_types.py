"""How a tensor is divided along a dimension of a mesh: plain values, which plans of parallel layers are written in."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """Base of the ways."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether the tensor is divided, and along ``dim`` if that is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has the whole tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process has a term, joined by ``reduce_op`` if that is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part of the tensor along ``dim``."""

    dim: int


@dataclass(frozen=True)
class _StridedShard(Shard):
    """A part of a tensor that was divided along the same dimension before, in ``split_factor`` pieces."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has the whole tensor."""


@dataclass(frozen=True)
class Partial(Placement):
    """Each process has a term of the tensor; ``reduce_op`` joins them."""

    reduce_op: str = "sum"
