"""The class `Tensor` and what belongs to it: its memory, construction, exchange with NumPy, printing and pickling."""
