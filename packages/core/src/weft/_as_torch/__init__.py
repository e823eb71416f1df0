"""weft under PyTorch's names: ``import torch`` gives the module ``weft`` itself.

========== ==================================================================================================
`switch`   `as_torch`, for a program and the processes that it starts
`names`    the specs of PyTorch's names, and what weft's modules, classes and functions are called under them
`paths`    PyTorch's names of what weft keeps in other files, and which modules importing PyTorch brings along
`unloaded` modules that stand in ``sys.modules`` and are loaded when somebody looks into them
========== ==================================================================================================

What stands ready before weft is imported is ``_weft_as_torch``, beside the folder of weft.
"""
