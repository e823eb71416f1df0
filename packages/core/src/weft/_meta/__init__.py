"""The device ``meta``: tensors with a shape, strides, a dtype and a history, and no memory.

Core brings this backend itself, and imports it when the device is first asked for. Kernels run on its arrays as they
are: `MetaArray` has NumPy's geometry, and NumPy's functions are rules of shapes, so that an op's shape rule is
its kernel's own arithmetic. An op whose kernel reads values declares a meta kernel with ``@<op>.meta``.

- `array`: `MetaArray`.
- `layout`: strides.
- `ufuncs`, `functions`, `linear_algebra`: NumPy's functions; `namespace`: all of them by their names.
- `random_stream`: samples, of which none is drawn.
- `backend`: the backend.
"""
