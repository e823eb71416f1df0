"""PowerSGD: gradients as products of thin matrices, by a step of power iteration; the rest is added to the next step.

References
----------
Vogels, Karimireddy, Jaggi: PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization.
arXiv:1905.13727, algorithms 1 and 2.
"""

from __future__ import annotations

from typing import Any

import weft
from weft.distributed._collectives import all_reduce
from weft.distributed._groups import _get_default_group
from weft.distributed.algorithms.ddp_comm_hooks.default_hooks import mean_of
from weft.distributed.data_parallel.buckets import GradBucket
from weft.futures import Future

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What the hooks keep between steps.

    Parameters
    ----------
    process_group : ProcessGroup, optional
        Default: all processes.
    matrix_approximation_rank : int
        The number of columns of the thin matrices.
    start_powerSGD_iter : int
        How many steps exchange gradients whole.
    min_compression_rate : float
        A gradient is compressed if that makes it smaller by more than this factor.
    use_error_feedback : bool
        Add to each gradient what the last approximation left out.
    warm_start : bool
        Begin the power iteration where the last step ended.
    orthogonalization_epsilon : float
        Added to norms that columns are divided by, in Gram-Schmidt; 0: by a QR decomposition instead.
    random_seed : int
        Of the first matrices, which are the same in all processes.
    compression_stats_logging_frequency : int
        Accepted and not used; see `compression_stats`.
    batch_tensors_with_same_shape : bool
        Accepted and not used: one collective sends the matrices of all gradients of a bucket.

    Raises
    ------
    ValueError
        If error feedback or a warm start is wanted and ``start_powerSGD_iter`` is less than 2: the first step's buckets
        are not those of the following ones.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD "
                "can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.random_seed = random_seed
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.generator = weft.Generator().manual_seed(random_seed)
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0
        self.error_dict: dict[int, Any] = {}  # by bucket
        self.q_memory_dict: dict[Any, Any] = {}  # by bucket and gradient

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the process group, which is of this program."""
        state = dict(self.__dict__, generator=self.generator.get_state())
        del state["process_group"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the group of all processes."""
        self.__dict__.update(state)
        self.process_group = _get_default_group()
        self.generator = weft.Generator()
        self.generator.set_state(state["generator"])

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step at its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self) -> tuple[float, int, int]:
        """Return the rate of compression, and the numbers of elements before and after it."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Any]:
    """Exchange approximations of rank ``state.matrix_approximation_rank`` of a bucket's gradients, matrix by matrix.

    Gradients of one dimension, and those that would not become smaller, are exchanged whole.
    """
    buffer, group = bucket.buffer(), state.process_group or _get_default_group()
    state.maybe_increase_iter(bucket)
    if state.iter <= state.start_powerSGD_iter:
        return mean_of(group, buffer)
    with weft.no_grad():
        uncompressed = add_error(state, bucket)
        whole, matrices = [], []
        for position, gradient in enumerate(bucket.gradients()):
            matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() > 1 else None
            if matrix is not None and is_worth_compressing(state, matrix):
                matrices.append((position, matrix))
            else:
                whole.append(gradient)
        exchange_whole(whole, group)
        approximate(state, bucket.index(), matrices, group)
        keep_error(state, bucket, uncompressed)
    return done(buffer)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Any]:
    """Exchange an approximation of a whole bucket as one square matrix: faster, and less exact."""
    buffer, group = bucket.buffer(), state.process_group or _get_default_group()
    state.maybe_increase_iter(bucket)
    if state.iter <= state.start_powerSGD_iter:
        return mean_of(group, buffer)
    with weft.no_grad():
        uncompressed = add_error(state, bucket)
        side = int(buffer.numel() ** 0.5 + 0.999999)
        square = weft.nn.functional.pad(buffer, (0, side * side - buffer.numel())).view(side, side)
        approximate(state, bucket.index(), [(0, square)], group)
        buffer.copy_(square.view(-1)[: buffer.numel()])
        keep_error(state, bucket, uncompressed)
    return done(buffer)


def add_error(state: PowerSGDState, bucket: GradBucket) -> Any:
    """Add what the last approximation left out; return a copy of the sum, for `keep_error`."""
    if not state.use_error_feedback:
        return None
    buffer, index = bucket.buffer(), bucket.index()
    if index in state.error_dict:
        buffer.add_(state.error_dict[index])
    return buffer.clone()


def keep_error(state: PowerSGDState, bucket: GradBucket, uncompressed: Any) -> None:
    """Keep what the approximation leaves out of this process's gradients."""
    if uncompressed is not None:
        state.error_dict[bucket.index()] = uncompressed.sub_(bucket.buffer())


def is_worth_compressing(state: PowerSGDState, matrix: Any) -> bool:
    """Whether the thin matrices are smaller by the factor that the state wants; counts both."""
    rows, columns = matrix.shape
    rank = min(rows, columns, state.matrix_approximation_rank)
    compressed = (rows + columns) * rank
    worth = bool(compressed * state.min_compression_rate < rows * columns)
    state.total_numel_before_compression += rows * columns
    state.total_numel_after_compression += compressed if worth else rows * columns
    return worth


def exchange_whole(gradients: list[Any], group: Any) -> None:
    """Take the mean of gradients that are not compressed, in one collective."""
    if not gradients:
        return
    flat = weft.cat([each.reshape(-1) for each in gradients]).div_(group.size())
    all_reduce(flat, group=group)
    for each, part in zip(gradients, flat.split([each.numel() for each in gradients])):
        each.copy_(part.view_as(each))


def approximate(state: PowerSGDState, bucket: int, matrices: list[tuple[int, Any]], group: Any) -> None:
    """Replace matrices M by P Q^T of the mean: P = orthogonal columns of mean(M Q), then Q = mean(M^T P)."""
    if not matrices:
        return
    lefts, rights = [], []
    for position, matrix in matrices:
        right = first_right(state, (bucket, position), matrix)
        lefts.append(matrix @ right)
        rights.append(right)
    exchange_whole(lefts, group)
    lefts = [orthogonal(left, state.orthogonalization_epsilon) for left in lefts]
    for (_, matrix), left, right in zip(matrices, lefts, rights):
        right.copy_(matrix.T @ left)
    exchange_whole(rights, group)
    for (position, matrix), left, right in zip(matrices, lefts, rights):
        matrix.copy_(left @ right.T)
        if state.warm_start:
            state.q_memory_dict[bucket, position] = right


def first_right(state: PowerSGDState, key: Any, matrix: Any) -> Any:
    """Where the power iteration begins: at the last step's end, or at random columns, the same in all processes."""
    columns = matrix.shape[1]
    rank = min(*matrix.shape, state.matrix_approximation_rank)
    kept = state.q_memory_dict.get(key)
    if kept is None:
        kept = weft.randn(columns, rank, generator=state.generator).to(matrix)
    return orthogonal(kept, state.orthogonalization_epsilon)


def orthogonal(matrix: Any, epsilon: float) -> Any:
    """The columns made orthogonal to each other and of norm one; with ``epsilon`` by Gram-Schmidt, else by QR."""
    if epsilon == 0:
        return weft.linalg.qr(matrix.to(weft.promote_types(matrix.dtype, weft.float32)))[0].to(matrix.dtype)
    wide = matrix.to(weft.float32) if matrix.dtype in (weft.float16, weft.bfloat16) else matrix.clone()
    for column in range(wide.shape[1]):
        current = wide[:, column]
        norm = current.norm() + epsilon
        current.div_(norm)
        if column + 1 < wide.shape[1]:
            rest = wide[:, column + 1 :]
            rest.sub_(weft.outer(current, current @ rest))
    return wide.to(matrix.dtype)


def done(buffer: Any) -> Future[Any]:
    """A future that has its result."""
    future: Future[Any] = Future()
    future.set_result(buffer)
    return future
