"""Runs the checks of `CommunicatorSuite` with the engine on NCCL over its stand-in; prints the failures as JSON."""

import json
import sys
from datetime import timedelta

import nccl_stand_in

cupy = nccl_stand_in.install()

from weft.distributed.communicators.nccl import NcclCommunicator  # noqa: E402  # after the stand-in
from weft.distributed.communicators.suite import COMPLEX, FLOATS, INTEGERS, CommunicatorSuite  # noqa: E402


class OfNccl(CommunicatorSuite):
    communicator = NcclCommunicator
    dtypes = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
    timeout = timedelta(seconds=60)
    skip = frozenset(  # NCCL sends no tags
        {"tags_are_received_in_any_order", "messages_from_any_source", "messages_during_collectives"}
    )

    def asarray(self, values):
        return cupy.asarray(values)

    def asnumpy(self, array):
        return array.get()


if __name__ == "__main__":
    print(json.dumps(OfNccl().start(int(sys.argv[1]))))
