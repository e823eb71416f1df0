"""Ways of training in several processes; see `weft.distributed.algorithms.join`."""

from weft.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
