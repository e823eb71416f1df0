"""PyTorch's own log, by name: weft keeps none."""
