"""The name by which weft prints its dtypes, shapes and types.

Programs print them, compare them as strings (``str(x.dtype) == "torch.float32"``) and take them apart, so under
``weft run`` it is the name that the program knows.
"""

name = "weft"
