"""What portions add to the top level of `weft`: each ships one small package here, read when a name is first missed.

Its ``NAMES`` are the names by the module that has them, which is imported when one is asked for. Its ``ATEN`` are those
that PyTorch has in ``torch.ops.aten`` alone, with where they are.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)  # no portion ships this file
