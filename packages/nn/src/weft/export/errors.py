"""Errors of exports."""

__all__ = ["UserError"]


class UserError(RuntimeError):
    """A program that cannot be exported: the message says which op does what, and in which line."""
