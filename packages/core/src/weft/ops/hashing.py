"""A number that tells whether tensors are equal, without keeping them."""

from __future__ import annotations

import numpy

from weft.ops._declare import op
from weft.ops._geometry import wrap_dims


@op("hash_tensor", out="exact", accepts="bool int float", gradient=None)
def hash_tensor(input, dim=(), *, keepdim=False, mode=0):
    """The exclusive or of the bits of all elements, or of those along dimensions.

    Integers are taken as int64, floating-point numbers as float64; so tensors of equal values have equal hashes
    whatever their width. It does not see an order: a permutation has the same hash.

    Parameters
    ----------
    input : Tensor
        Of any real dtype but uint16, uint32 and uint64.
    dim : int or tuple of int
        Default: all.
    keepdim : bool
    mode : int
        0, the only one.

    Returns
    -------
    Tensor of uint64

    Raises
    ------
    RuntimeError
        For another mode, or an empty tensor without ``dim``.
    IndexError
        For a dimension of size 0.

    Examples
    --------
    >>> weft.hash_tensor(weft.tensor([1, 2, 4]))
    tensor(7, dtype=weft.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"hash_tensor: Unknown hash_tensor mode: {mode}; 0 is the exclusive or")
    if input.dtype.is_complex or input.dtype.name in ("uint16", "uint32", "uint64"):
        raise NotImplementedError(f"hash_tensor: not implemented for {input.dtype.spoken!r} ({input.dtype})")
    dims = tuple(dim) if isinstance(dim, list | tuple) else (dim,)
    if not dims and not input.numel():
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    dims = wrap_dims("hash_tensor", dims, input.ndim) if dims else tuple(range(input.ndim))
    for each in dims:
        if input.ndim and input.shape[each] == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {each} to have non-zero size.")
    return hash_tensor.op(input, dims if input.ndim else (), keepdim)


@hash_tensor.kernel
def _(xp, input, dims, keepdim):
    wide = input.astype(xp.float64 if input.dtype.kind not in "biu" else xp.int64)
    return xp.bitwise_xor.reduce(xp.asarray(wide, order="C").view(numpy.uint64), axis=dims, keepdims=keepdim)
