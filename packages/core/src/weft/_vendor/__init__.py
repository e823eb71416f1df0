"""Libraries that PyTorch ships a copy of: here those that are installed."""
