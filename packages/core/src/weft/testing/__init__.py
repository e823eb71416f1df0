"""For tests of programs, ops and backends: comparison with tolerances, random inputs, the suite a backend must pass."""

from weft.testing._comparison import assert_close
from weft.testing._creation import make_tensor
from weft.testing.backend_suite import BackendSuite

__all__ = ["BackendSuite", "assert_close", "make_tensor"]
