"""What programs of torchtext's last release call first."""


def disable_torchtext_deprecation_warning() -> None:
    """Accepted: torchtext warns that it is no longer developed, weft.text does not."""
