"""Attention with several heads, and its projections."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn._types import DeviceLike, DType
from weft.nn.linear import NonDynamicallyQuantizableLinear
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Let each query gather values, weighted by how well its key matches theirs, in several subspaces at once.

    Parameters
    ----------
    embed_dim : int
        The size of queries and outputs, a multiple of ``num_heads``.
    num_heads : int
    dropout : float
        Of the attention weights, in training mode.
    bias : bool
        Whether the projections have biases.
    add_bias_kv : bool
        Whether to add one trained key and value to each sequence.
    add_zero_attn : bool
        Whether to add one key and value of zeros to each sequence.
    kdim, vdim : int, optional
        The sizes of keys and values, by default ``embed_dim``.
    batch_first : bool
        Whether inputs and outputs are (N, L, E) rather than (L, N, E).
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    query : (L, N, embed_dim), or (N, L, embed_dim) with ``batch_first``; N may be absent
    key, value : (S, N, kdim) and (S, N, vdim), likewise
    output : the shape of query
    weights : (N, L, S), or (N, num_heads, L, S) if they are not averaged

    Attributes
    ----------
    in_proj_weight : Parameter, shape (3 * embed_dim, embed_dim), or None
        The projections of queries, keys and values; None where their sizes differ, and then there are
        ``q_proj_weight``, ``k_proj_weight`` and ``v_proj_weight``.
    in_proj_bias : Parameter, shape (3 * embed_dim,), or None
    out_proj : Linear
    bias_k, bias_v : Parameter, shape (1, 1, embed_dim), or None

    Raises
    ------
    ValueError
        If ``embed_dim`` or ``num_heads`` is not positive.
    AssertionError
        If ``embed_dim`` is not divisible by ``num_heads``.
    AssertionError, RuntimeError
        If the shapes do not fit together.

    References
    ----------
    arXiv:1706.03762, section 3.2.2.

    Examples
    --------
    >>> attention = weft.nn.MultiheadAttention(16, 4, batch_first=True)
    >>> x = weft.randn(2, 5, 16)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (weft.Size([2, 5, 16]), weft.Size([2, 5, 5]))

    True in the mask hides a key from a query; so each position sees those before it alone:

    >>> later = weft.ones(5, 5, dtype=weft.bool).triu(1)
    >>> attention(x, x, x, attn_mask=later)[1][0, 0].tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"MultiheadAttention: embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads}"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"MultiheadAttention: embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}"
            )
        self._make_parameters(bias, add_bias_kv, device, dtype)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _make_parameters(self, bias: bool, add_bias_kv: bool, device: DeviceLike, dtype: DType) -> None:
        def parameter(*shape: int) -> Parameter:
            return Parameter(weft.empty(shape, device=device, dtype=dtype))

        size = self.embed_dim
        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * size, size)
            self.register_parameter("q_proj_weight", None)
            self.register_parameter("k_proj_weight", None)
            self.register_parameter("v_proj_weight", None)
        else:
            self.q_proj_weight = parameter(size, size)
            self.k_proj_weight = parameter(size, self.kdim)
            self.v_proj_weight = parameter(size, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * size) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(size, size, bias=bias, device=device, dtype=dtype)
        self.bias_k = parameter(1, 1, size) if add_bias_kv else None
        self.bias_v = parameter(1, 1, size) if add_bias_kv else None

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)  # type: ignore[arg-type]
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)  # what all had before kdim and vdim
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend.

        Parameters
        ----------
        query, key, value : Tensor
            Shapes (L, N, embed_dim), (S, N, kdim) and (S, N, vdim); with ``batch_first`` N comes first; without a batch
            N is absent.
        key_padding_mask : Tensor, shape (N, S) or (S,), optional
            True hides that key from all queries; numbers are added to the scores.
        need_weights : bool
            Whether to return the weights. Without them it may be faster.
        attn_mask : Tensor, shape (L, S) or (N * num_heads, L, S), optional
            True hides that key from that query; numbers are added to the scores.
        average_attn_weights : bool
            Whether to return the mean of the weights over heads rather than those of each head.
        is_causal : bool
            A hint that ``attn_mask`` is causal; it must be given, too.

        Returns
        -------
        (attn_output, attn_output_weights)
            Of the shape of ``query``; of shape (N, L, S), or (N, num_heads, L, S), or None.

        Examples
        --------
        >>> attention = weft.nn.MultiheadAttention(8, 2)
        >>> query, key = weft.randn(3, 1, 8), weft.randn(5, 1, 8)
        >>> output, weights = attention(query, key, key, average_attn_weights=False)
        >>> output.shape, weights.shape
        (weft.Size([3, 1, 8]), weft.Size([1, 2, 3, 5]))
        """
        batched = query.dim() == 3
        transposed = self.batch_first and batched
        if transposed:
            query, key, value = _transposed_alike(query, key, value)
        options: dict[str, Any] = {}
        if not self._qkv_same_embed_dim:
            options = {
                "use_separate_proj_weight": True,
                "q_proj_weight": self.q_proj_weight,
                "k_proj_weight": self.k_proj_weight,
                "v_proj_weight": self.v_proj_weight,
            }
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **options,
        )
        return (output.transpose(1, 0) if transposed else output), weights


def _transposed_alike(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Swap the first two axes of each. What was one object stays one, so that it can be projected in one product."""
    new_query = query.transpose(1, 0)
    new_key = new_query if key is query else key.transpose(1, 0)
    if value is key:
        return new_query, new_key, new_key
    return new_query, new_key, new_query if value is query else value.transpose(1, 0)
