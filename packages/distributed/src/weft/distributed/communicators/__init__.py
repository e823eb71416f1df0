"""Communicators: what carries the messages of a process group.

`Communicator` is the interface; `tcp`, `mpi` and `nccl` are weft's own, and `single` is that of one process. Another
package brings one by the hook `weft.plugins.Hooks.weft_communicator`, or a program by
`weft.distributed.Backend.register_backend`. `weft.testing.CommunicatorSuite` shows that it is right.
"""

from weft.distributed.communicators.base import Communicator

__all__ = ["Communicator"]
