"""Names of collectives that a compiler may order; several processes make them."""

from weft.distributed._several import refused

all_to_all_single_autograd = refused("all_to_all_single_autograd", __name__)
wait_tensor = refused("wait_tensor", __name__)
