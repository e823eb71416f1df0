"""Programs of function transforms: functions of views, writes and reductions under vmap and derivatives of all orders.

Values alone are compared. ``cdist`` is left out: PyTorch's jacrev of it differs from its own jacobian and from
differences.
"""

from __future__ import annotations

import math
from typing import Any

VERSIONS = False  # not compared
COST = 24  # of one program, in those of other kinds


def start(random: Any, run: Any) -> None:
    """A batch of vectors or matrices: distinct numbers, away from kinks."""
    size = random.choice([(2,), (3,), (2, 2), (2, 3), (3, 3)])
    shape = (2, *size)
    run.run(f"x = torch.arange(1.0, {math.prod(shape) + 1}, dtype=torch.float64).cos().reshape({shape}) + 1.5")


def line(random: Any, run: Any) -> str:
    rank = run.tensors["x"].ndim - 1
    body = random.choice(BODIES if rank == 2 else BODIES[: -len(OF_MATRICES)])
    function = body.format(d=random.randrange(-rank, rank), i=random.choice([0, 1, -1]), n=random.choice([1, 2]))
    transform = random.choice(TRANSFORMS)
    run.count += 1
    return f"y{run.count} = " + transform.format(f=f"lambda y: {function}", s=f"lambda y: ({function}).square().sum()")


TRANSFORMS = [
    "torch.func.vmap({f})(x).tolist()",
    "torch.func.vmap({f}, in_dims=-1, out_dims=-1)(x.movedim(0, -1)).tolist()",
    "torch.func.vmap(torch.func.vmap({f}))(x.expand(2, *x.shape)).tolist()",
    "torch.func.jacrev({f})(x[0]).tolist()",
    "torch.func.jacfwd({f})(x[0]).tolist()",
    "torch.func.jvp({f}, (x[0],), (x[1],))[1].tolist()",
    "torch.func.vmap(torch.func.grad({s}))(x).tolist()",
    "torch.func.hessian({s})(x[0]).tolist()",
    "torch.func.vmap(torch.func.hessian({s}))(x).tolist()",
    "torch.func.jacrev(torch.func.jacrev({s}))(x[0]).tolist()",
    "torch.func.jvp(torch.func.grad({s}), (x[0],), (x[1],))[1].tolist()",
]
OF_MATRICES = [
    "y.diagonal() * y[{i}, 0]", "y @ y.mT", "y.mT.matmul(y).sum({d})", "y.tril() * y", "y.rot90(1, (0, 1))",
    "y.diagonal({n} - 1)", "torch.einsum('ij,ik->jk', y, y)", "y[:, {i}] * y[:, :1].mT", "y.flatten().roll({n})",
    "torch.linalg.inv(y @ y.mT + 9 * torch.eye(y.shape[0], dtype=y.dtype))", "y.T.reshape(-1)",
]  # fmt: skip
BODIES = [
    "y[{i}] * y", "y[1:] * y[:-1] ** 2", "y.roll({i})", "y.roll({n}, {d}) * y", "y.flip(0) * y", "y.cumsum({d})",
    "y.cumprod({d})", "y.select({d}, 0) * 2", "y.narrow({d}, 0, 1) * y", "y.unbind({d})[1].exp()", "y.chunk(2, {d})[0]",
    "y.sort({d})[0] * y", "y.max({d})[0]", "y.amin({d})", "y.prod({d})", "y.prod()", "y.softmax({d})",
    "y.logsumexp({d})",
    "y.std({d})", "y.var({d}, correction=0)", "y.norm(3)", "y.index_select({d}, torch.tensor([0, 0, 1])) * 2",
    "y.gather({d}, torch.zeros_like(y, dtype=torch.int64))", "y.clone().mul_(2).add_(y)", "y.clone().zero_() + y",
    "torch.cat([y, y[:1]], 0) ** 2", "torch.stack([y, y * y], {d})", "y.expand(3, *y.shape).sum(0)",
    "y.unsqueeze({d}) * y",
    "torch.where(y > 1.5, y, y * 2)", "y.masked_fill(y > 1.5, 0) * y", "y.repeat_interleave(2, {d})", "y.tile(2)",
    "y.diff(dim={d})", "y.movedim(0, {d})", "y.flatten() @ y.flatten()", "torch.outer(y.flatten(), y.flatten())",
    "torch.nn.functional.pad(y, (1, {n})) ** 3", "y.unfold({d}, 2, 1) * 2", "y.atan2(y.flip(0))", "y.pow(y)",
    "y.sigmoid().log()",
    "y.scatter_add({d}, torch.zeros_like(y, dtype=torch.int64), y * y)", "y.median({d})[0]", "y.argmax({d}) + y.sum()",
    "y.index_add(0, torch.tensor([0]), y[:1] * y[1:2])", "y.new_zeros(y.shape).copy_(y) * y",
    "torch.lerp(y, y * y, 0.25)",
    *OF_MATRICES,
]  # fmt: skip
