"""Softmax over very many classes, by frequency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import weft
from weft import Tensor
from weft.library.checks import values_known
from weft.nn import functional as F
from weft.nn._types import DeviceLike, DType
from weft.nn.containers import ModuleList, Sequential
from weft.nn.linear import Linear
from weft.nn.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax of classes that are sorted by frequency, and its loss, cheaper than over all classes.

    The most frequent classes (the shortlist) and the clusters of the others share one softmax, the head; within a
    cluster there is another, over vectors that shrink from cluster to cluster.

    Parameters
    ----------
    in_features, n_classes : int
    cutoffs : sequence of int
        Where the clusters begin.
    div_value : float
        By what the vectors shrink from cluster to cluster.
    head_bias : bool
        Whether the head has a bias.
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input : (N, in_features) or (in_features,)
    target : (N,) or (), of classes, 0 being the most frequent
    output : the shape of target
        Log-probabilities of the targets.
    loss : ()
        The mean of their negatives.

    Raises
    ------
    ValueError
        If ``cutoffs`` do not increase from at least 1 to at most ``n_classes - 1``.
    RuntimeError
        If the shapes do not fit, or a target is not in [0, n_classes).

    References
    ----------
    arXiv:1609.04309.

    Examples
    --------
    >>> layer = weft.nn.AdaptiveLogSoftmaxWithLoss(16, 1000, cutoffs=[10, 100])
    >>> output, loss = layer(weft.randn(8, 16), weft.arange(0, 800, 100))
    >>> output.shape, bool(loss == -output.mean())
    (weft.Size([8]), True)
    >>> layer.predict(weft.randn(8, 16)).shape
    weft.Size([8])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(cutoff) != cutoff for cutoff in cutoffs)
        ):
            raise ValueError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of unique, positive integers sorted in an "
                f"increasing order, where each value is between 1 and n_classes-1 ({n_classes - 1}), got {cutoffs}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for cluster in range(self.n_clusters):
            hidden_size = int(in_features // (div_value ** (cluster + 1)))
            cluster_size = self.cutoffs[cluster + 1] - self.cutoffs[cluster]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden_size, bias=False, device=device, dtype=dtype),
                    Linear(hidden_size, cluster_size, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster.children():
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Return the log-probability of each target, and the mean of their negatives.

        Parameters
        ----------
        input_ : Tensor, shape (N, in_features) or (in_features,)
        target_ : Tensor, shape (N,) or ()
            Classes.

        Returns
        -------
        (output, loss)
            Of the shape of ``target_``, and of shape ().
        """
        self._check(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)

        head_class = target
        tail_output = input.new_zeros(target.size(0))
        for cluster in range(self.n_clusters):
            low, high = self.cutoffs[cluster], self.cutoffs[cluster + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(-1)
            if rows.numel() == 0:
                continue
            log_probs = F.log_softmax(self.tail[cluster](input.index_select(0, rows)), dim=1)
            own = log_probs.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
            tail_output = tail_output.index_add(0, rows, own)
            head_class = head_class.index_fill(0, rows, self.shortlist_size + cluster)
        head_output = F.log_softmax(self.head(input), dim=1).gather(1, head_class.unsqueeze(1)).squeeze(1)
        output = head_output + tail_output
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        name = self._get_name()
        if target.dim() > 1:
            raise RuntimeError(f"{name}: 0D or 1D target tensor expected, multi-target not supported")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{name}: {target.dim() + 1}D input tensor expected for {target.dim()}D target, "
                f"got {tuple(input.shape)}"
            )
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError(
                f"{name}: Input and target should have the same size in the batch dimension, got {input.size(0)} and "
                f"{target.size(0)}"
            )
        if (
            target.numel() > 0
            and values_known(target)
            and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes
        ):
            raise RuntimeError(
                f"{name}: Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found"
            )

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities (N, n_classes) of all classes for ``input`` (N, in_features)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for cluster in range(self.n_clusters):
            within = F.log_softmax(self.tail[cluster](input), dim=1)
            parts.append(within + head[:, self.shortlist_size + cluster].unsqueeze(1))
        return weft.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the likeliest class for each row of ``input``."""
        return self.log_prob(input).argmax(dim=1)
