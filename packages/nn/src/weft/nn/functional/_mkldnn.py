"""Operators of oneDNN by the namespace that PyTorch gives them: ``torch.ops.mkldnn``."""

from __future__ import annotations

from weft.library import Library


def _is_mkldnn_acl_supported() -> bool:
    """False: no backend of weft's uses Arm's library of kernels under oneDNN."""
    return False


_library = Library("mkldnn", "FRAGMENT")
_library.define("_is_mkldnn_acl_supported() -> bool")
_library.impl("_is_mkldnn_acl_supported", _is_mkldnn_acl_supported, "CompositeExplicitAutograd")
