"""Attention in parts that can be exchanged, with the names of ``torchtext.nn``."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.nn import Module
from weft.nn import functional as F

__all__ = ["InProjContainer", "MultiheadAttentionContainer", "ScaledDotProduct"]


class InProjContainer(Module):
    """The three layers that project query, key and value.

    Parameters
    ----------
    query_proj, key_proj, value_proj : Module
        As a rule ``nn.Linear``.
    """

    def __init__(self, query_proj: Module, key_proj: Module, value_proj: Module) -> None:
        super().__init__()
        self.query_proj = query_proj
        self.key_proj = key_proj
        self.value_proj = value_proj

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the three projections."""
        return self.query_proj(query), self.key_proj(key), self.value_proj(value)


class ScaledDotProduct(Module):
    """Attention ``softmax(q k^T / sqrt(E)) v`` over the last three axes.

    Parameters
    ----------
    dropout : float, default 0
        The probability that an attention weight is dropped.
    batch_first : bool, default False
        Inputs and output are (..., N, L, E) in place of (..., L, N, E).
    """

    def __init__(self, dropout: float = 0.0, batch_first: bool = False) -> None:
        super().__init__()
        self.dropout = dropout
        self.batch_first = batch_first

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        bias_k: Tensor | None = None,
        bias_v: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return what each query attends to, and the attention weights.

        Parameters
        ----------
        query : Tensor, shape (..., L, N, E)
        key, value : Tensor, shape (..., S, N, E)
        attn_mask : bool Tensor, shape (N, L, S) or (1, L, S), optional
            True keeps a query from a key.
        bias_k, bias_v : Tensor, shape (1, N, E), optional
            One more key and value for all queries; given together.

        Returns
        -------
        output : Tensor, shape (..., L, N, E)
        weights : Tensor, shape (..., N, L, S), or S + 1 with a bias

        Raises
        ------
        AssertionError
            If the shapes of query, key, value and the biases do not go together.
        RuntimeError
            If the mask has another shape or is not of type bool.
        """
        if self.batch_first:
            query, key, value = query.transpose(-3, -2), key.transpose(-3, -2), value.transpose(-3, -2)
        if bias_k is not None and bias_v is not None:
            _check_bias("bias_k", bias_k, key)
            _check_bias("bias_v", bias_v, value)
            key, value = weft.cat([key, bias_k]), weft.cat([value, bias_v])
            attn_mask = attn_mask if attn_mask is None else F.pad(attn_mask, (0, 1))
        _check_inputs(query, key, value)

        q, k, v = query.transpose(-2, -3), key.transpose(-2, -3), value.transpose(-2, -3)  # (..., N, L or S, E)
        scores = (q * float(q.size(-1)) ** -0.5) @ k.transpose(-2, -1)  # (..., N, L, S)
        if attn_mask is not None:
            _check_mask(attn_mask, query, key)
            scores = scores.masked_fill(attn_mask, -1e8)
        weights = F.dropout(F.softmax(scores, dim=-1), p=self.dropout, training=self.training)
        output = weights @ v  # (..., N, L, E)
        return output if self.batch_first else output.transpose(-3, -2), weights


class MultiheadAttentionContainer(Module):
    """Multi-head attention: project, attend per head, project.

    Parameters
    ----------
    nhead : int
        The number of heads H.
    in_proj_container : Module
        Such as `InProjContainer`.
    attention_layer : Module
        Such as `ScaledDotProduct`; called with (L, N * H, E / H) and (S, N * H, E / H).
    out_proj : Module
    batch_first : bool, default False
        Inputs and output are (..., N, L, E) in place of (..., L, N, E).
    """

    def __init__(
        self,
        nhead: int,
        in_proj_container: Module,
        attention_layer: Module,
        out_proj: Module,
        batch_first: bool = False,
    ) -> None:
        super().__init__()
        self.nhead = nhead
        self.in_proj_container = in_proj_container
        self.attention_layer = attention_layer
        self.out_proj = out_proj
        self.batch_first = batch_first

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        bias_k: Tensor | None = None,
        bias_v: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the attention's output, of the shape of query, and its weights of shape (N * H, L, S).

        Parameters
        ----------
        query : Tensor, shape (L, N, E)
        key, value : Tensor, shape (S, N, E)
        attn_mask, bias_k, bias_v
            As of the attention layer.

        Raises
        ------
        AssertionError
            If the number of heads does not divide E.
        """
        if self.batch_first:
            query, key, value = query.transpose(-3, -2), key.transpose(-3, -2), value.transpose(-3, -2)
        length, batch, features = query.size(-3), query.size(-2), query.size(-1)
        projected = self.in_proj_container(query, key, value)
        q, k, v = (self._split(part, batch, name) for part, name in zip(projected, ("query", "key", "value")))
        attended, weights = self.attention_layer(q, k, v, attn_mask=attn_mask, bias_k=bias_k, bias_v=bias_v)
        output = self.out_proj(attended.reshape(length, batch, features))
        return output.transpose(-3, -2) if self.batch_first else output, weights

    def _split(self, part: Tensor, batch: int, name: str) -> Tensor:
        """From (L, N, E) to (L, N * H, E / H)."""
        if part.size(-1) % self.nhead:
            raise AssertionError(
                f"MultiheadAttentionContainer: {name}'s embed_dim ({part.size(-1)}) must be divisible by the number "
                f"of heads ({self.nhead})"
            )
        return part.reshape(part.size(-3), batch * self.nhead, part.size(-1) // self.nhead)


def generate_square_subsequent_mask(nbatch: int, sz: int) -> Tensor:
    """Return a mask of shape (nbatch, sz, sz) that is True on and below the diagonal.

    Examples
    --------
    >>> generate_square_subsequent_mask(1, 2)
    tensor([[[ True, False],
             [ True,  True]]])
    """
    return weft.ones(sz, sz, dtype=weft.bool).tril().repeat(nbatch, 1, 1)


def _check_bias(name: str, bias: Tensor, of: Tensor) -> None:
    if bias.shape[-2:] != of.shape[-2:] or bias.size(-3) != 1:
        raise AssertionError(
            f"ScaledDotProduct: Shape of {name} is not supported: expected {(1, *of.shape[-2:])}, got "
            f"{tuple(bias.shape)}"
        )


def _check_inputs(query: Tensor, key: Tensor, value: Tensor) -> None:
    if not query.size(-1) == key.size(-1) == value.size(-1):
        raise AssertionError(
            "ScaledDotProduct: The feature dim of query, key, value must be equal; got "
            f"{query.size(-1)}, {key.size(-1)}, {value.size(-1)}"
        )
    if key.shape != value.shape:
        raise AssertionError(
            f"ScaledDotProduct: Shape of key, value must match; got {tuple(key.shape)}, {tuple(value.shape)}"
        )


def _check_mask(mask: Tensor, query: Tensor, key: Tensor) -> None:
    if mask.dim() != 3:
        raise RuntimeError(f"ScaledDotProduct: attn_mask must be a 3D tensor, got {mask.dim()} dimensions")
    batch_heads = max(query.size(-2), key.size(-2))
    if mask.shape[1:] != (query.size(-3), key.size(-3)) or mask.size(0) not in (1, batch_heads):
        raise RuntimeError(
            f"ScaledDotProduct: The size of the attn_mask is not correct: expected ({batch_heads} or 1, "
            f"{query.size(-3)}, {key.size(-3)}), got {tuple(mask.shape)}"
        )
    if mask.dtype != weft.bool:
        raise RuntimeError(f"ScaledDotProduct: Only bool tensor is supported for attn_mask, got {mask.dtype}")
