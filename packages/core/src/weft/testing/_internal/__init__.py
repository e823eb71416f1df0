"""What libraries' own tests take from PyTorch's."""
