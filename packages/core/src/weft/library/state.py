"""What is going on in this thread and process, for functions on hot paths, which ask an attribute.

``local`` has this thread's settings: ``grad_enabled``, ``levels`` (the function transforms that run), ``modes`` (of
``__torch_function__``), ``precision`` (of autocast), ``backward_pass``. ``profiling.recorder`` is the profiler that
runs, or None; its ``span(name)`` is a context manager.
"""

from weft._engine.tensor import local, set_grad
from weft._interception import profiling

__all__ = ["local", "profiling", "set_grad"]
