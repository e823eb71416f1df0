"""Masked language modelling: which tokens a model is to guess."""

from __future__ import annotations

import weft
from weft import Tensor, nn


class MaskTransform(nn.Module):
    """Choose a part of the tokens for a model to predict, as BERT is trained.

    Of those that are chosen 80 % become the mask token, 10 % a random token, and the others stay what they are.
    The random numbers are those that torchtext draws, so that one seed gives its masks.

    Parameters
    ----------
    vocab_len : int
        Random tokens are drawn from 0 to ``vocab_len - 1``.
    mask_idx, bos_idx, pad_idx : int
        The numbers of these tokens. Padding is never chosen.
    mask_bos : bool, default False
        Whether the token at the beginning may be chosen.
    mask_prob : float, default 0.15
        The part of each sequence that is chosen, rounded down to whole tokens.

    References
    ----------
    J. Devlin et al.: BERT, arXiv:1810.04805, section 3.1.
    """

    mask_mask_prob = 0.8
    rand_mask_prob = 0.1

    def __init__(
        self,
        vocab_len: int,
        mask_idx: int,
        bos_idx: int,
        pad_idx: int,
        mask_bos: bool = False,
        mask_prob: float = 0.15,
    ) -> None:
        super().__init__()
        self.vocab_len = vocab_len
        self.mask_idx = mask_idx
        self.bos_idx = bos_idx
        self.pad_idx = pad_idx
        self.mask_prob = mask_prob
        self.mask_bos = mask_bos

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return masked tokens, the targets and the mask.

        Parameters
        ----------
        tokens : integer Tensor, shape (N, L)

        Returns
        -------
        masked_tokens : Tensor, shape (N, L)
        target_tokens : Tensor, shape (M,)
            The tokens that were chosen, row by row; there is at least one.
        mask : int32 Tensor, shape (N, L)
            1 where a token was chosen.
        """
        mask, mask_mask, rand_mask = self._generate_mask(tokens)
        masked = self._mask_input(tokens, mask_mask, self.mask_idx)
        masked = self._mask_input(masked, rand_mask, weft.randint_like(tokens, high=self.vocab_len))
        return masked, weft.masked_select(tokens, mask.bool()), mask

    def _generate_mask(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the masks of the chosen tokens, of those to be masked, and of those to be random."""
        mask = self._random_masking(tokens)
        if not self.mask_bos:
            mask *= tokens != self.bos_idx
        mask *= tokens != self.pad_idx
        if not mask.any():
            mask[0, 0] = 1  # a loss over no token would be nan
        probs = weft.rand_like(tokens, dtype=weft.float)
        return mask, (probs >= 1 - self.mask_mask_prob).long() * mask, (probs < self.rand_mask_prob).long() * mask

    def _random_masking(self, tokens: Tensor) -> Tensor:
        """Return a mask with the same number of ones in each row, at random places."""
        rows, length = tokens.shape
        mask = weft.zeros((rows, length), dtype=weft.int, device=tokens.device)
        mask[:, : int(length * self.mask_prob)] = 1
        for row in range(rows):
            mask[row] = mask[row, weft.randperm(length)]
        return mask

    def _mask_input(self, tokens: Tensor, mask: Tensor, replacement: Tensor | int) -> Tensor:
        return tokens * (1 - mask) + replacement * mask
