"""Random streams: bit for bit those of PyTorch."""
