"""The base classes of quantization aware training, by which fvcore and programs of their own know such modules.

weft has no quantized tensors and quantizes no modules: nothing else of ``torch.ao.quantization`` is here.
"""

from weft.ao.quantization.fake_quantize import FakeQuantizeBase
from weft.ao.quantization.observer import ObserverBase

__all__ = ["FakeQuantizeBase", "ObserverBase"]
