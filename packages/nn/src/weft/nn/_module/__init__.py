"""The chapters of `weft.nn.Module`; see the README beside this file."""
