"""What computes: loops that NumPy and oneDNN lack or that beat theirs, one module for each family of ops.

A module is imported when one of its ops, by the table in `weft.backend_cpu.compiled`, first runs on a large array.
`packed_gemm` and `matrix_vector` have no op of their own: others multiply by them.
"""
