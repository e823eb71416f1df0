"""Recurrent layers and attention in steps that can be watched: each sum and product is a module of its own.

`weft.ao.quantization.prepare` puts observers beside modules, and sees nothing of what happens inside of `weft.nn.LSTM`.
"""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Tensor, nn
from weft.ao.quantization.stubs import DeQuantStub, QuantStub
from weft.nn import functional as F
from weft.nn.module import Module
from weft.nn.quantized import FloatFunctional

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]

Pair = tuple[Tensor, Tensor]


class LSTMCell(Module):
    """`weft.nn.LSTMCell`, whose two products with weights are linear layers.

    Parameters
    ----------
    input_dim, hidden_dim : int
    bias : bool
    device, dtype
        Of the parameters.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_dim, hidden_dim, bias
        self.igates = nn.Linear(input_dim, 4 * hidden_dim, bias=bias, device=device, dtype=dtype)
        self.hgates = nn.Linear(hidden_dim, 4 * hidden_dim, bias=bias, device=device, dtype=dtype)
        self.gates = FloatFunctional()
        self.input_gate, self.forget_gate = nn.Sigmoid(), nn.Sigmoid()
        self.cell_gate, self.output_gate = nn.Tanh(), nn.Sigmoid()
        self.fgate_cx, self.igate_cgate = FloatFunctional(), FloatFunctional()
        self.fgate_cx_igate_cgate, self.ogate_cy = FloatFunctional(), FloatFunctional()

    def forward(self, x: Tensor, hidden: Pair | None = None) -> Pair:
        """Compute one step.

        Parameters
        ----------
        x : Tensor, shape (N, input_dim)
        hidden : pair of Tensor, shape (N, hidden_dim), default zeros

        Returns
        -------
        The new hidden state and cell.
        """
        before, cell = self.initialize_hidden(x.shape[0], like=x) if hidden is None else hidden
        gates = self.gates.add(self.igates(x), self.hgates(before))
        entering, kept, candidate, shown = gates.chunk(4, 1)
        remembered = self.fgate_cx.mul(self.forget_gate(kept), cell)
        added = self.igate_cgate.mul(self.input_gate(entering), self.cell_gate(candidate))
        cell = self.fgate_cx_igate_cgate.add(remembered, added)
        return self.ogate_cy.mul(self.output_gate(shown), weft.tanh(cell)), cell

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False, like: Tensor | None = None) -> Pair:
        """Return zeros, of the dtype and device of ``like``.

        Parameters
        ----------
        batch_size : int
        is_quantized : bool
            PyTorch's; not here.
        like : Tensor, default the weight
        """
        made = (self.igates.weight if like is None else like).new_zeros(batch_size, self.hidden_size)
        return made, made.clone()

    @classmethod
    def from_params(cls, wi: Tensor, wh: Tensor, bi: Tensor | None = None, bh: Tensor | None = None) -> LSTMCell:
        """Return the cell with weights and biases, as `weft.nn.LSTMCell` has them.

        Raises
        ------
        AssertionError
            If one bias is given without the other.
        """
        if (bi is None) != (bh is None):
            raise AssertionError("bi and bh must both be None or both have values")
        cell = cls(wi.shape[1], wh.shape[1], bias=bi is not None)
        for layer, weight, bias in ((cell.igates, wi, bi), (cell.hgates, wh, bh)):
            layer.weight = nn.Parameter(weight)
            if bias is not None:
                layer.bias = nn.Parameter(bias)
        return cell

    @classmethod
    def from_float(cls, other: Any, use_precomputed_fake_quant: bool = False) -> LSTMCell:
        """Return the cell with the parameters of a `weft.nn.LSTMCell`, and its ``qconfig``.

        Parameters
        ----------
        other : LSTMCell
        use_precomputed_fake_quant : bool
            PyTorch's; not here.

        Raises
        ------
        AssertionError
            If ``other`` is no such cell, or has no ``qconfig``.
        """
        _check_float("LSTMCell", other, nn.LSTMCell)
        biases = (other.bias_ih, other.bias_hh) if other.bias else (None, None)
        cell = cls.from_params(other.weight_ih, other.weight_hh, *biases)
        return _configured(cell, other.qconfig)


def _check_float(name: str, other: Any, wanted: type[Module], qconfig: Any = None) -> None:
    if not isinstance(other, wanted):
        raise AssertionError(f"{name}.from_float: expected a {wanted.__name__}, got {type(other).__name__}")
    if qconfig is None and not hasattr(other, "qconfig"):
        raise AssertionError(f"{name}.from_float: the float module must have 'qconfig', which says how it is rounded")


def _configured(made: Any, qconfig: Any) -> Any:
    """Give all the steps of a layer its ``qconfig``."""
    made.qconfig = qconfig
    for each in made.modules():
        each.qconfig = qconfig
    return made


class _Direction(Module):
    """A cell, taken over the steps of a sequence."""

    def __init__(self, cell: LSTMCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor, hidden: Pair) -> tuple[Tensor, Pair]:
        """Return the hidden states of all steps, and the last state."""
        states = []
        for step in x:
            hidden = self.cell(step, hidden)
            states.append(hidden[0])
        return weft.stack(states), hidden


class _Layer(Module):
    """One layer of an LSTM: a direction, or two beside each other."""

    layer_bw: _Direction

    def __init__(self, cells: list[LSTMCell]) -> None:
        super().__init__()
        self.layer_fw = _Direction(cells[0])
        if len(cells) == 2:
            self.layer_bw = _Direction(cells[1])

    def forward(self, x: Tensor, hidden: list[Pair]) -> tuple[Tensor, list[Pair]]:
        """Return the states of all steps, those of both directions joined, and the last ones."""
        forwards, last = self.layer_fw(x, hidden[0])
        if len(hidden) == 1:
            return forwards, [last]
        backwards, first = self.layer_bw(x.flip(0), hidden[1])
        return weft.cat([forwards, backwards.flip(0)], -1), [last, first]


class LSTM(Module):
    """`weft.nn.LSTM` of batches, as `LSTMCell` computes it.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    bias, batch_first, bidirectional : bool
    dropout : float
        In [0, 1]; has no effect.
    device, dtype
        Of the parameters.

    Raises
    ------
    ValueError
        If dropout is not in [0, 1].

    Examples
    --------
    >>> output, (hidden, cell) = LSTM(3, 4, num_layers=2)(weft.zeros(5, 1, 3))
    >>> output.shape, hidden.shape
    (weft.Size([5, 1, 4]), weft.Size([2, 1, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, "
                f"got {dropout}"
            )
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, float(dropout), bidirectional
        directions = 2 if bidirectional else 1
        sizes = [input_size, *([hidden_size * directions] * (num_layers - 1))]
        self.layers = nn.ModuleList(
            _Layer([LSTMCell(size, hidden_size, bias, device, dtype) for _ in range(directions)]) for size in sizes
        )

    def forward(self, x: Tensor, hidden: Pair | None = None) -> tuple[Tensor, Pair]:
        """Compute the states of all steps.

        Parameters
        ----------
        x : Tensor, shape (L, N, input_size); (N, L, input_size) with batch_first
        hidden : pair of Tensor, shape (layers * directions, N, hidden_size), default zeros

        Returns
        -------
        The last layer's states, and the last hidden states and cells of each layer and direction.
        """
        if self.batch_first:
            x = x.transpose(0, 1)
        directions = 2 if self.bidirectional else 1
        if hidden is None:
            zeros = x.new_zeros(self.num_layers * directions, x.shape[1], self.hidden_size)
            hidden = (zeros, zeros)
        states = list(zip(*hidden, strict=True))
        last: list[Pair] = []
        for place, layer in enumerate(self.layers):
            x, found = layer(x, states[place * directions : (place + 1) * directions])
            last += found
        output = x.transpose(0, 1) if self.batch_first else x
        return output, (weft.stack([each[0] for each in last]), weft.stack([each[1] for each in last]))

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None) -> LSTM:
        """Return the layer with the parameters of a `weft.nn.LSTM`.

        Parameters
        ----------
        other : LSTM
        qconfig : object, default that of ``other``

        Raises
        ------
        AssertionError
            If ``other`` is no LSTM, or there is no ``qconfig``.
        """
        _check_float("LSTM", other, nn.LSTM, qconfig)
        names = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional")
        made = cls(**{name: getattr(other, name) for name in names})
        for place, layer in enumerate(made.layers):
            for end, name in (("", "layer_fw"), ("_reverse", "layer_bw")):
                if hasattr(layer, name):
                    parts = (f"{each}_l{place}{end}" for each in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
                    given: Any = (getattr(other, each, None) for each in parts)
                    getattr(layer, name).cell = LSTMCell.from_params(*given)
        return _configured(made, other.qconfig if qconfig is None else qconfig)


class MultiheadAttention(nn.MultiheadAttention):
    """`weft.nn.MultiheadAttention`, whose projections are linear layers, between places to round at.

    Parameters
    ----------
    embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, device, dtype
        See `weft.nn.MultiheadAttention`.
    """

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
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = {"kdim": kdim, "vdim": vdim, "batch_first": batch_first, "device": device, "dtype": dtype}
        super().__init__(embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, **options)  # type: ignore[arg-type]
        for name, size in (("linear_Q", embed_dim), ("linear_K", self.kdim), ("linear_V", self.vdim)):
            setattr(self, name, nn.Linear(size, embed_dim, bias=bias, device=device, dtype=dtype))
        self.q_scaling_product = FloatFunctional()
        self.quant_attn_output, self.quant_attn_output_weights = QuantStub(), QuantStub()
        self.dequant_q, self.dequant_k, self.dequant_v = DeQuantStub(), DeQuantStub(), DeQuantStub()

    def forward(  # type: ignore[override]
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
        """Attend; see `weft.nn.MultiheadAttention.forward`. Inputs are batches.

        Raises
        ------
        AssertionError
            If ``is_causal``, or masks have another dtype or size.
        """
        if is_causal:
            raise AssertionError("MultiheadAttention: is_causal is not taken here; pass the mask as attn_mask")
        if self.batch_first:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        length, batch, _ = query.shape
        q = self.q_scaling_product.mul_scalar(self.linear_Q(query), 1 / math.sqrt(self.head_dim))
        k, v = self.linear_K(key), self.linear_V(value)
        if self.bias_k is not None and self.bias_v is not None:
            k = weft.cat([k, self.bias_k.expand(1, batch, -1)])
            v = weft.cat([v, self.bias_v.expand(1, batch, -1)])
        q, k, v = self.dequant_q(self._heads(q)), self.dequant_k(self._heads(k)), self.dequant_v(self._heads(v))
        if self.add_zero_attn:
            k, v = (weft.cat([each, each.new_zeros(each.shape[0], 1, self.head_dim)], 1) for each in (k, v))
        scores = weft.bmm(q, k.mT)  # (N * heads, L, S)
        mask = self._mask(attn_mask, key_padding_mask, key.shape[0], scores)
        weights = F.dropout((scores if mask is None else scores + mask).softmax(-1), self.dropout, self.training)
        attended = weft.bmm(weights, v).transpose(0, 1).reshape(length, batch, self.embed_dim)
        output = self.out_proj(self.quant_attn_output(attended))
        output = output.transpose(0, 1) if self.batch_first else output
        if not need_weights:
            return output, None
        weights = self.quant_attn_output_weights(weights).view(batch, self.num_heads, length, -1)
        return output, weights.mean(1) if average_attn_weights else weights

    def _heads(self, projected: Tensor) -> Tensor:
        """From (L, N, embed_dim) to (N * heads, L, head_dim)."""
        return projected.reshape(projected.shape[0], -1, self.head_dim).transpose(0, 1)

    def _mask(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, source: int, scores: Tensor
    ) -> Tensor | None:
        """What is added to the scores, shape (N * heads, L, S) or what broadcasts to it."""
        more = scores.shape[-1] - source  # the keys that add_bias_kv and add_zero_attn brought are never masked
        found = None if attn_mask is None else F.pad(self._added("attn_mask", attn_mask, scores), (0, more))
        if key_padding_mask is None:
            return found
        if key_padding_mask.shape[-1] != source:
            raise AssertionError(f"key_padding_mask.size(1) must be {source}, got {key_padding_mask.shape[-1]}")
        padding = F.pad(self._added("key_padding_mask", key_padding_mask, scores), (0, more))
        padding = padding.repeat_interleave(self.num_heads, 0)[:, None]  # (N * heads, 1, S)
        return padding if found is None else found + padding

    @staticmethod
    def _added(name: str, mask: Tensor, scores: Tensor) -> Tensor:
        """A mask as numbers to add: minus infinity where a bool is True."""
        if mask.dtype in (weft.bool, weft.uint8):
            return scores.new_zeros(mask.shape).masked_fill(mask.bool(), -math.inf)
        if not mask.is_floating_point():
            raise AssertionError(f"Only float and bool types are supported for {name}, not {mask.dtype}")
        return mask

    @classmethod
    def from_float(cls, other: Any) -> MultiheadAttention:
        """Return the layer with the parameters of a `weft.nn.MultiheadAttention`, and its ``qconfig``.

        Raises
        ------
        AssertionError
            If ``other`` is no such layer, or has no ``qconfig``.
        """
        _check_float("MultiheadAttention", other, nn.MultiheadAttention)
        made = cls(
            other.embed_dim,
            other.num_heads,
            other.dropout,
            other.in_proj_bias is not None,
            other.bias_k is not None,
            other.add_zero_attn,
            other.kdim,
            other.vdim,
            other.batch_first,
        )
        weights = other.in_proj_weight
        parts = (other.q_proj_weight, other.k_proj_weight, other.v_proj_weight) if weights is None else weights.chunk(3)
        biases = (None, None, None) if other.in_proj_bias is None else other.in_proj_bias.chunk(3)
        for name, weight, bias in zip(("linear_Q", "linear_K", "linear_V"), parts, biases, strict=True):
            layer = getattr(made, name)
            layer.weight = nn.Parameter(weight)
            if bias is not None:
                layer.bias = nn.Parameter(bias)
        made.bias_k, made.bias_v, made.out_proj = other.bias_k, other.bias_v, other.out_proj
        return _configured(made, other.qconfig)
