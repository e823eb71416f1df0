"""Integer arithmetic of PyTorch's quantized tensors, which weft does not have."""

engine = "none"
supported_engines: list[str] = ["none"]
