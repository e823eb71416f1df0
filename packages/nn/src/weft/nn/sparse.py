"""Embeddings: tables of vectors, looked up by index."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn._types import DeviceLike, DType
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """Base class of the embeddings: the table and its padding row."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    weight: Parameter

    def _keep_table(self, weight: Tensor | None, freeze: bool, device: DeviceLike, dtype: DType) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is None:
            self.weight = Parameter(weft.empty(shape, device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
            return
        if tuple(weight.shape) != shape:
            raise AssertionError(
                f"{self._get_name()}: Shape of weight {tuple(weight.shape)} does not match num_embeddings and "
                f"embedding_dim {shape}"
            )
        self.weight = Parameter(weight, requires_grad=not freeze)

    def _checked_padding(self, padding_idx: int | None) -> int | None:
        if padding_idx is None:
            return None
        if not -self.num_embeddings <= padding_idx < self.num_embeddings:
            raise AssertionError(
                f"{self._get_name()}: {'P' if isinstance(self, Embedding) else 'p'}adding_idx must be within "
                f"num_embeddings ({self.num_embeddings}), got {padding_idx}"
            )
        return padding_idx % self.num_embeddings

    def reset_parameters(self) -> None:
        """Draw new values from the standard normal distribution; the padding row is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with weft.no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Look up a vector for each index.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The number of vectors, and their size.
    padding_idx : int, optional
        The index of a vector that is 0 at first and gets no gradient; negative counts from the end.
    max_norm : float, optional
        Vectors that are looked up and longer than this are shortened to it, in the table.
    norm_type : float
        The p of that norm.
    scale_grad_by_freq : bool
        Whether to divide gradients by how often the index is in the batch.
    sparse : bool
        Whether the gradient of the table is a sparse tensor.
    device, dtype : optional
        Of the table.

    Shapes
    ------
    input : (...), of integers
    output : (..., embedding_dim)

    Attributes
    ----------
    weight : Parameter, shape (num_embeddings, embedding_dim)
        From the standard normal distribution.

    Raises
    ------
    IndexError
        If an index is not in [0, num_embeddings).
    AssertionError
        If ``padding_idx`` is out of range.

    Examples
    --------
    >>> table = weft.nn.Embedding(10, 3, padding_idx=0)
    >>> table(weft.tensor([[1, 2, 4, 0], [4, 3, 2, 0]])).shape
    weft.Size([2, 4, 3])
    >>> table(weft.tensor(0)).detach()
    tensor([0., 0., 0.])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = self._checked_padding(padding_idx)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._keep_table(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Map indices of shape (...) to vectors of shape (..., embedding_dim)."""
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        """Return the sizes, and what differs from the default."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        if self.sparse is not False:
            text += ", sparse=True"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """Return an Embedding over a table that is there.

        Parameters
        ----------
        embeddings : Tensor, shape (num_embeddings, embedding_dim)
            Not copied.
        freeze : bool
            Whether it is not trained.
        padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
            As of `Embedding`.

        Raises
        ------
        AssertionError
            If ``embeddings`` has other than 2 dimensions.

        Examples
        --------
        >>> table = weft.nn.Embedding.from_pretrained(weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> table(weft.tensor([1])), table.weight.requires_grad
        (tensor([[3., 4.]]), False)
        """
        _require_matrix(embeddings)
        num_embeddings, embedding_dim = embeddings.shape
        return cls(
            num_embeddings,
            embedding_dim,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the vectors of each bag of indices, without making the vectors first.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The number of vectors, and their size.
    max_norm : float, optional
        Vectors that are looked up and longer than this are shortened to it, in the table.
    norm_type : float
        The p of that norm.
    scale_grad_by_freq : bool
        Whether to divide gradients by how often the index is in the batch.
    mode : "mean", "sum" or "max"
    sparse : bool
        Whether the gradient of the table is a sparse tensor.
    include_last_offset : bool
        Whether ``offsets`` has one more entry: the number of indices.
    padding_idx : int, optional
        The index of a vector that counts in no bag; negative counts from the end.
    device, dtype : optional
        Of the table.

    Shapes
    ------
    input : (bags, indices of each bag), or (indices,) with offsets
    offsets : (bags,)
        Where each bag begins.
    per_sample_weights : the shape of input
    output : (bags, embedding_dim)

    Attributes
    ----------
    weight : Parameter, shape (num_embeddings, embedding_dim)
        From the standard normal distribution.

    Raises
    ------
    RuntimeError
        If an index is not in [0, num_embeddings).
    ValueError
        If indices come in one dimension without offsets, or in two with them.

    Examples
    --------
    >>> bags = weft.nn.EmbeddingBag.from_pretrained(weft.tensor([[1.0, 1.0], [2.0, 4.0], [5.0, 5.0]]))
    >>> bags(weft.tensor([0, 1, 2]), weft.tensor([0, 2]))  # the bags [0, 1] and [2]
    tensor([[1.5000, 2.5000],
            [5.0000, 5.0000]])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = self._checked_padding(padding_idx)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._keep_table(_weight, False, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Map bags of indices to vectors of shape (bags, embedding_dim).

        Parameters
        ----------
        input : Tensor
            Shape (bags, size of a bag), or (all indices,) with ``offsets``.
        offsets : Tensor, shape (bags,), optional
            Where each bag begins.
        per_sample_weights : Tensor, of the shape of input, optional
            What to multiply each vector by (mode "sum").

        Examples
        --------
        >>> bags = weft.nn.EmbeddingBag.from_pretrained(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), mode="sum")
        >>> bags(weft.tensor([0, 1]), weft.tensor([0]), per_sample_weights=weft.tensor([1.0, 10.0]))
        tensor([[31., 42.]])
        """
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Return the sizes, the mode, and what differs from the default."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Return an EmbeddingBag over a table that is there.

        Parameters
        ----------
        embeddings : Tensor, shape (num_embeddings, embedding_dim)
            Not copied.
        freeze : bool
            Whether it is not trained.
        max_norm, norm_type, scale_grad_by_freq, mode, sparse, include_last_offset, padding_idx
            As of `EmbeddingBag`.

        Raises
        ------
        AssertionError
            If ``embeddings`` has other than 2 dimensions.

        Examples
        --------
        >>> bags = weft.nn.EmbeddingBag.from_pretrained(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), mode="sum")
        >>> bags(weft.tensor([[0, 1]]))
        tensor([[4., 6.]])
        """
        _require_matrix(embeddings)
        num_embeddings, embedding_dim = embeddings.shape
        bag = cls(
            num_embeddings,
            embedding_dim,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad_(not freeze)
        return bag


def _require_matrix(embeddings: Any) -> None:
    if embeddings.dim() != 2:
        raise AssertionError(
            f"from_pretrained: embeddings parameter is expected to be 2-dimensional, got {tuple(embeddings.shape)}"
        )
