"""Which types of device are graphics processors, where PyTorch's test classes look for it."""

__all__: list[str] = []

GPU_TYPES = ["cuda", "mps", "xpu", "mtia"]
