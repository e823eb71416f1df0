"""Control flow as functions, under the names that libraries import it by."""

from weft._control_flow import cond, while_loop
from weft._higher_order_ops.associative_scan import associative_scan

__all__ = ["associative_scan", "cond", "while_loop"]
