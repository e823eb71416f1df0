"""Private names of PyTorch's export that its test classes import."""
