"""The suite of every backend on the CUDA device: each op as on the CPU, in all dtypes, with its gradients."""

from weft.testing import BackendSuite


class TestCUDA(BackendSuite):
    device = "cuda"
