"""torchvision's models of 8-bit integers: none, for weft quantizes no modules. Suites ask for the list of them.

Examples
--------
>>> from weft.vision import models
>>> models.list_models(module=models.quantization)
[]
"""

__all__: list[str] = []
