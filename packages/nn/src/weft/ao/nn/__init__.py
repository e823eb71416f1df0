"""Layers that quantization makes: `intrinsic`, several layers as one, and `quantized`, with weights of 8 bits."""
