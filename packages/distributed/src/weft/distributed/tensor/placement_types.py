"""How a tensor is divided along a dim of a mesh: plain values, which plans of parallel layers are written in."""

from __future__ import annotations

from typing import Any

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """Base of the ways. Two are equal if they are of one class and have the same values."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether the tensor is divided, and along ``dim`` if that is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has the whole tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process has a term, joined by ``reduce_op`` if that is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def _values(self) -> tuple[Any, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._values() == other._values())  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._values()))


class Shard(Placement):
    """Each process has a part of the tensor along ``dim``: of n elements among p processes ceil(n / p), the last fewer.

    Examples
    --------
    >>> from weft.distributed.tensor import Shard
    >>> [Shard.local_shard_size_and_offset(5, 4, rank) for rank in range(4)]
    [(2, 0), (2, 2), (1, 4), (0, 5)]
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def _values(self) -> tuple[Any, ...]:
        return (self.dim,)

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """Return the length of the part of a process, and where it begins."""
        chunk = -(-curr_local_size // num_chunks)
        start = min(chunk * rank, curr_local_size)
        return min(chunk, curr_local_size - start), start

    _local_shard_size_and_offset = local_shard_size_and_offset

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


class _StridedShard(Shard):
    """A part along a dimension that later dims of the mesh divide first, in ``split_factor`` parts: FSDP over TP."""

    def __init__(self, dim: int, *, split_factor: int) -> None:
        super().__init__(dim)
        self.split_factor = split_factor

    def _values(self) -> tuple[Any, ...]:
        return self.dim, self.split_factor

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


class Replicate(Placement):
    """Each process has the whole tensor."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


class Partial(Placement):
    """Each process has a term of the tensor; ``reduce_op`` joins them: sum, avg, product, min or max."""

    LINEAR_REDUCE_OPS = frozenset(("sum", "avg"))
    ALL_REDUCE_OPS = frozenset(("sum", "avg", "product", "min", "max"))

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op

    def _values(self) -> tuple[Any, ...]:
        return (self.reduce_op,)

    def before(self, term: Any) -> Any:
        """What is joined of a process's term."""
        return term

    def after(self, joined: Any) -> Any:
        """The tensor, from what was joined."""
        return joined

    def term(self, whole: Any, size: int) -> Any:
        """The term of each of ``size`` processes that have the whole."""
        return whole / size if self.reduce_op == "sum" else whole

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


class _NormPartial(Partial):
    """Each process has the norm of its part, of which the tensor is the norm: powers are summed."""

    def __init__(self, norm_type: float = 2.0) -> None:
        super().__init__("max" if norm_type == float("inf") else "sum")
        self.norm_type = norm_type

    def _values(self) -> tuple[Any, ...]:
        return (self.norm_type,)

    def before(self, term: Any) -> Any:
        return term if self.reduce_op == "max" else term**self.norm_type

    def after(self, joined: Any) -> Any:
        return joined if self.reduce_op == "max" else joined ** (1 / self.norm_type)

    def term(self, whole: Any, size: int) -> Any:
        return whole if self.reduce_op == "max" else whole / size ** (1 / self.norm_type)

    def __repr__(self) -> str:
        return f"_NormPartial(norm_type={self.norm_type})"
