"""A library of kernels for phones' processors, which weft does not use."""

enabled = False
