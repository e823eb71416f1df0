"""The CPU keeps what every backend promises."""

from weft.testing import BackendSuite


class TestCPU(BackendSuite):
    device = "cpu"
