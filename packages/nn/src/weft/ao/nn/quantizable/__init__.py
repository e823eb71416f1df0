"""Layers in steps that can be watched, see `weft.ao.nn.quantizable.modules`."""

from weft.ao.nn.quantizable.modules import LSTM, LSTMCell, MultiheadAttention

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]
