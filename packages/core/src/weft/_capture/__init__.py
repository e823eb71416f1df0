"""Capture: a function's kernel calls, recorded once and run again without dispatch, autograd and modules."""
