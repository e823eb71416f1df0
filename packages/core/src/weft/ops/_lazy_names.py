"""What families have that are imported when first asked for.

Made by scripts/make_stubs.py (./dev lint --fix), not by hand.
"""

FUNCTIONS = {
    "random": """
bernoulli binomial multinomial normal poisson rand rand_like randint randint_like randn randn_like randperm
""",
    "bessel_functions": """
i0
""",
    "distance": """
cdist cosine_similarity pairwise_distance pdist
""",
    "linear_systems": """
inverse triangular_solve
""",
    "decompositions": """
cholesky cholesky_inverse cholesky_solve geqrf lu lu_solve lu_unpack orgqr ormqr qr svd
""",
    "matrix_functions": """
det logdet matrix_exp matrix_power pinverse slogdet
""",
    "low_rank": """
lobpcg pca_lowrank randn svd_lowrank
""",
    "fourier": """
istft stft
""",
    "windows": """
bartlett_window blackman_window hamming_window hann_window kaiser_window
""",
    "statistics": """
combinations corrcoef cov gradient histogram histogramdd unravel_index
""",
    "segments": """
index_reduce scatter_reduce segment_reduce
""",
    "older_linalg": """
chain_matmul frobenius_norm norm_except_dim nuclear_norm
""",
}
METHODS = {
    "random": """
bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_ uniform_
""",
    "bessel_functions": """
i0 i0_
""",
    "linear_systems": """
inverse triangular_solve
""",
    "decompositions": """
cholesky cholesky_inverse cholesky_solve geqrf lu lu_solve orgqr ormqr qr svd
""",
    "matrix_functions": """
det logdet matrix_exp matrix_power pinverse slogdet
""",
    "fourier": """
istft stft
""",
    "statistics": """
corrcoef cov histogram
""",
    "segments": """
index_reduce index_reduce_ scatter_reduce scatter_reduce_
""",
}
