"""What makes code: Numba, taught to compile what deep learning needs.

Out of the box Numba runs loops on its own threads, takes half of the vector width, knows no float16 or bfloat16, calls
the C library for each exponential, and mixes up the cached kernels of two processes. Each module here mends one of
these; none knows an op.

- `parallel`: a loop over a range, in the OpenMP threads that oneDNN shares. Read it first.
- `mathematics`: exp, log, erf and their like as vector code; `instructions`: what AVX-512 has for them.
- `elementwise`: operations on arrays of any layout by a formula of one element; `contiguous`: their fast path.
- `simd_loop`: a formula over many arrays side by side.
- `vectors`: the widest vectors, several at a time. `float16`: half precision.
- `array_header`, `multi_tensor`: arrays, and lists of them, by their identities.
- `disk_cache`: compiled kernels on disk.
- `deferred`: functions for Numba that stand there without it; `numba_types`, `llvm_types`: imported with Numba alone.
"""
