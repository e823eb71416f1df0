"""Layers and the ReLU after them as one module, so that no observer comes between."""

from __future__ import annotations

from weft import Tensor, nn

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]


class _WithReLU(nn.Sequential):
    """A layer, then a ReLU."""

    kind: type[nn.Module]

    def __init__(self, layer: nn.Module, relu: nn.Module) -> None:
        if not isinstance(layer, self.kind) or not isinstance(relu, nn.ReLU):
            raise TypeError(
                f"{type(self).__name__}: expected {self.kind.__name__} and ReLU, got {type(layer).__name__} and "
                f"{type(relu).__name__}"
            )
        super().__init__(layer, relu)

    def forward(self, input: Tensor) -> Tensor:
        """Run the two, and not the observers that stand beside them."""
        return self[1](self[0](input))


class LinearReLU(_WithReLU):
    """`Linear`, then `ReLU`."""

    kind = nn.Linear


class ConvReLU1d(_WithReLU):
    """`Conv1d`, then `ReLU`."""

    kind = nn.Conv1d


class ConvReLU2d(_WithReLU):
    """`Conv2d`, then `ReLU`."""

    kind = nn.Conv2d


class ConvReLU3d(_WithReLU):
    """`Conv3d`, then `ReLU`."""

    kind = nn.Conv3d
