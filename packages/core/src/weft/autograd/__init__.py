"""Automatic differentiation: backward and grad, modes, custom functions, hooks and checks."""

from weft.autograd._backward import backward as backward
from weft.autograd._backward import grad as grad
from weft.autograd.grad_mode import enable_grad as enable_grad
from weft.autograd.grad_mode import inference_mode as inference_mode
from weft.autograd.grad_mode import no_grad as no_grad
from weft.autograd.grad_mode import set_grad_enabled as set_grad_enabled
