"""Graphs of operators: `proxy_tensor.make_fx`."""
