"""Collectives that gradients flow through: see `functional`."""

from weft.distributed.nn.functional import *
