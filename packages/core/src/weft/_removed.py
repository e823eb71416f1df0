"""Functions that PyTorch has removed and still names, to say what took their place."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["eig", "lstsq", "matrix_rank", "solve", "symeig"]


def removed(name: str, advice: str) -> Any:
    """A function that raises RuntimeError with advice."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name}: This function was deprecated since version 1.9 and is now removed. {advice}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Removed. {advice}"
    return function


eig = removed("eig", "Use linalg.eig(A) or linalg.eigvals(A), whose results are complex.")
lstsq = removed("lstsq", "Use linalg.lstsq(A, B): its arguments are in the other order.")
matrix_rank = removed("matrix_rank", "Use linalg.matrix_rank(A), whose argument is hermitian rather than symmetric.")
solve = removed("solve", "Use linalg.solve(A, B): its arguments are in the other order, and it gives no factorization.")
symeig = removed("symeig", "Use linalg.eigh(A, UPLO='L') or linalg.eigvalsh(A), which read the lower triangle.")
