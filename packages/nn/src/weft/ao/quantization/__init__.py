"""The base classes of quantization aware training, by which fvcore and programs of their own know such modules.

Beside them are the stubs that torchvision's models have where they would convert their tensors.

weft has no quantized tensors and quantizes no modules: nothing else of ``torch.ao.quantization`` is here.
"""

from weft.ao.quantization.fake_quantize import FakeQuantizeBase
from weft.ao.quantization.observer import ObserverBase
from weft.ao.quantization.stubs import DeQuantStub, QuantStub

__all__ = ["DeQuantStub", "FakeQuantizeBase", "ObserverBase", "QuantStub"]
