"""Automatic mixed precision: products in half types, what needs it in float32, and gradients that do not underflow."""

from weft.amp._autocast import autocast as autocast
from weft.amp._autocast import custom_bwd as custom_bwd
from weft.amp._autocast import custom_fwd as custom_fwd
from weft.amp._autocast import is_autocast_available as is_autocast_available
from weft.amp._grad_scaler import GradScaler as GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
