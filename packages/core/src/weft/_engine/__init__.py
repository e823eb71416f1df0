"""The hot engine: tensor fields, dispatch, recording and the backward walk, in typed, plain Python.

These modules are what mypyc compiles, unchanged, for the platform wheels; the pure wheel runs them
as they are. They import nothing of weft but each other. What they need from the ops (the sum of two
gradients, a copy) is put into ``state`` when the ops are declared.
"""
