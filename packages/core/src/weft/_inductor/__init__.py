"""A name of PyTorch's compiler, which weft has not: its test classes ask here which devices are GPUs."""
