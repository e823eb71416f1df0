"""What PyTorch puts beside its core for smaller models; here `quantization`, as far as programs name its classes."""
