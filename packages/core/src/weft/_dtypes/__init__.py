"""The dtypes, the rules by which they combine, and the arithmetic of the 8-bit floats."""
