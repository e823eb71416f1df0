"""What `DataParallel` is made of, as functions with gradients: over one device."""

from __future__ import annotations

from typing import Any

from weft.autograd import Function
from weft.nn.parallel.wrappers import only_device


class Broadcast(Function):
    """Tensors on the one device: ``Broadcast.apply(devices, *tensors)``, with gradients on theirs."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, *inputs: Any) -> tuple[Any, ...]:
        """Copy the tensors.

        Raises
        ------
        NotImplementedError
            For more than one device.
        """
        only_device("Broadcast", target_gpus)
        if any(each.device.type == "cpu" for each in inputs):
            raise AssertionError("Broadcast function not implemented for CPU tensors")
        ctx.devices = [each.device for each in inputs]
        outputs = tuple(each.to(target_gpus[0], copy=True) for each in inputs)
        wanted = ctx.needs_input_grad[1:]
        ctx.mark_non_differentiable(*[each for each, needed in zip(outputs, wanted) if not needed])
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Any, ...]:
        """Move the gradients back."""
        return None, *(each.to(device) for each, device in zip(grad_outputs, ctx.devices))
