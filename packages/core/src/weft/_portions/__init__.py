"""What portions add to the top level of `weft`: each ships one small package here, read when a name is first missed.

Its ``NAMES`` are the names by the module that has them, which is imported when one is asked for. Its ``ATEN`` are those
that PyTorch has in ``torch.ops.aten`` alone, with where they are. Its ``FILES`` say what PyTorch calls modules of its
own that are called otherwise: for each, or for all in a package (``weft.nn.functional.*``), a dict from a part of the
names in it (the last part: any) to PyTorch's module. Its ``JOINED`` say of which modules of weft those of PyTorch's are
made whose names weft keeps elsewhere. Its ``LOWERING`` declares what modes of ``__torch_dispatch__`` are shown, and its
``SAMPLES`` the inputs that every backend's suite tries its functions with: both are modules. Its ``OPERATORS`` name the
module that defines the operators of a namespace of ``weft.ops``, imported when one that is not there is asked for.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)  # no portion ships this file
