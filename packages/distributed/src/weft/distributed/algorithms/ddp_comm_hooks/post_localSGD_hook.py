"""Names of the exchange of gradients that ends with means of parameters; Lightning's DDP strategy asks for the type."""

from weft.distributed._several import OfSeveral, refused

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState(OfSeveral):
    """What such an exchange keeps."""


post_localSGD_hook = refused("post_localSGD_hook", __name__)
