"""What PyTorch puts beside its core for smaller models; here static `quantization` to 8 bits."""
