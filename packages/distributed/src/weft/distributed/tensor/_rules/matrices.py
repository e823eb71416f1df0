"""Products of matrices: by rows of the first, columns of the second, or what both have in common, in terms."""

from __future__ import annotations

from weft.distributed.tensor._dispatch import Call, R, Strategy, replicates, rule
from weft.distributed.tensor._rules.placing import moved
from weft.distributed.tensor.placement_types import Partial, Placement, Shard

# For each product the dimensions of both operands and of the result; letters are shared.
PRODUCTS = {
    "aten.mm": "mk,kn->mn",
    "aten.bmm": "bmk,bkn->bmn",
    "aten.mv": "mk,k->m",
    "aten.dot": "k,k->",
    "aten.addmm": "mk,kn->mn",
    "aten.baddbmm": "bmk,bkn->bmn",
    "aten.addmv": "mk,k->m",
}


@rule("aten.mm", "aten.bmm", "aten.mv", "aten.dot")
def product(call: Call, dim: int) -> list[Strategy]:
    return products(call, dim, PRODUCTS[call.name], 0)


def products(call: Call, dim: int, formula: str, first: int) -> list[Strategy]:
    """The strategies of the product of tensors ``first`` and ``first + 1``."""
    operands, result = formula.split("->")
    left, right = operands.split(",")
    found = [Strategy(R, (R, R))]
    for index, letters in ((first, left), (first + 1, right)):
        now = call.at(index, dim)
        if isinstance(now, Shard):
            letter = letters[now.dim]
            inputs = tuple(shard_of(now, each, letter) for each in (left, right))
            found.append(Strategy(shard_of(now, result, letter) if letter in result else Partial(), inputs))
        elif type(now) is Partial and now.reduce_op in Partial.LINEAR_REDUCE_OPS:
            found.append(Strategy(now, (now, R) if index == first else (R, now)))
    return found


def shard_of(placement: Placement, letters: str, letter: str) -> Placement:
    return moved(placement, letters.index(letter)) if letter in letters else R


@rule("aten.addmm", "aten.baddbmm", "aten.addmv")
def sum_of_products(call: Call, dim: int) -> list[Strategy]:
    """What is added is divided as the result is, where it is not broadcast."""
    found = []
    added = call.tensors[0]
    formula = PRODUCTS[call.name]
    for way in products(call, dim, formula, 1):
        output = way.output
        placement: Placement = R
        if isinstance(output, Shard):
            own = output.dim - len(formula.split("->")[1]) + added.ndim
            placement = moved(output, own) if own >= 0 and added.shape[own] != 1 else R
        elif isinstance(output, Partial):
            placement = output
        found.append(Strategy(output, (placement, *way.inputs)))
    return found


for _name in """
_linalg_det _linalg_eigh _linalg_slogdet _linalg_solve_ex _linalg_svd cholesky cholesky_inverse inverse
linalg_cholesky_ex linalg_eig linalg_householder_product linalg_inv_ex linalg_lu linalg_lu_factor_ex linalg_matrix_exp
linalg_qr linalg_solve_triangular triangular_solve unique_consecutive _unique2 histc bincount linalg_pinv linalg_svd
linalg_inv linalg_det linalg_slogdet linalg_solve linalg_cholesky linalg_eigh
""".split():
    rule(f"aten.{_name}", f"core.{_name}")(replicates)
