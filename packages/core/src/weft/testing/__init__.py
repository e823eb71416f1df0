"""For tests of programs, ops and backends: comparison with tolerances, random inputs, the suite a backend must pass."""

from weft.testing._comparison import assert_allclose, assert_close
from weft.testing._creation import make_tensor
from weft.testing._samples import call, samples
from weft.testing.backend_suite import BackendSuite, checks

__all__ = ["BackendSuite", "assert_allclose", "assert_close", "call", "checks", "make_tensor", "samples"]
