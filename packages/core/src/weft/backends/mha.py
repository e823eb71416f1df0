"""Whether attention layers may take their short way in inference: the setting is kept."""

_is_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` was given; True at first."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allow or forbid the short way."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
