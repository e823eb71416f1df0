"""Runs the checks of `CommunicatorSuite` in the processes that ``mpiexec`` starts; results go into a folder."""

import json
import sys
from datetime import timedelta
from pathlib import Path

from weft.distributed.communicators.mpi import MpiCommunicator, world_store
from weft.testing import CommunicatorSuite


class OfMpi(CommunicatorSuite):
    communicator = MpiCommunicator
    timeout = timedelta(seconds=60)


if __name__ == "__main__":
    store, rank, size = world_store(OfMpi.timeout)
    Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(OfMpi().run_rank(store, rank, size)))
