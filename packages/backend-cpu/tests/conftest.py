"""The tests are about compiled kernels: none of them waits for NumPy to have taken long enough."""

from weft.backend_cpu import libraries

libraries.compile_at_once()
