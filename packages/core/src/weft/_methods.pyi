"""What the ops put on Tensor. Made by scripts/make_stubs.py (./dev lint --fix), not by hand."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable
from collections.abc import Sequence
from numpy import ndarray
from typing import Any
from typing import Literal
from typing import NoReturn
from typing import overload as _overload
from weft import return_types as _return_types
from weft._dtypes.dtypes import dtype
from weft._engine.tensor import TensorBase
from weft.autograd._nodes import GradientEdge
from weft.random import Generator
from weft.storage import TypedStorage
from weft.storage import UntypedStorage
from weft.types import DType
from weft.types import Device
from weft.types import Layout
from weft.types import MemoryFormat
from weft.types import Number
from weft.types import Scalar
from weft.types import Size
from weft.types import Tensor
from weft.utils.hooks import RemovableHandle

class Methods(TensorBase):
    """The methods and operators that declarations and other modules attach."""

    @property
    def H(self) -> Tensor: ...

    @property
    def T(self) -> Tensor: ...

    def __abs__(self) -> Tensor:
        ...

    def __add__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __and__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> ndarray[Any, Any]:
        """What NumPy's functions see: the tensor's memory, or a copy in another dtype."""

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of the Python array API standard for this tensor: the module `weft.array_api`."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: _bool = False) -> Any:
        """Make a tensor of what a ufunc of NumPy's has computed from one."""

    def __bool__(self) -> _bool:
        ...

    def __complex__(self) -> complex:
        ...

    def __contains__(self, element: Any) -> _bool:
        ...

    @property
    def __cuda_array_interface__(self) -> Any: ...

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        """Copy memory, gradient and attributes of a leaf; tensors that share memory share the copy."""

    def __div__(self, other: Tensor | Scalar) -> Tensor:
        """Division by the name that Python 2 looked for."""

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[_int, _int] | None = None, dl_device: tuple[Any, _int] | None = None, copy: _bool | None = None) -> Any:
        """Give the tensor's memory to another library, as the array API standard of 2023.12 says."""

    def __dlpack_device__(self) -> tuple[_int, _int]:
        """Where the memory is: DLPack's number of the device type, and the index."""

    def __eq__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __float__(self) -> _float:
        ...

    def __floordiv__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __ge__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __getitem__(self, index: Any) -> Tensor:
        """Elements by position: numbers, slices, None, Ellipsis, and tensors or lists of numbers or bool."""

    def __gt__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __iadd__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        """In-place variant of `weft.plus`: writes into ``self`` and returns it."""

    def __iand__(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.bitwise_and`: writes into ``self`` and returns it."""

    def __idiv__(self, other: Tensor | Scalar) -> Tensor:
        """Division in place by the name that Python 2 looked for."""

    def __ifloordiv__(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.floor_divide`: writes into ``self`` and returns it."""

    def __ilshift__(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.bitwise_left_shift`: writes into ``self`` and returns it."""

    def __imod__(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.remainder`: writes into ``self`` and returns it."""

    def __imul__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        """In-place variant of `weft.mul`: writes into ``self`` and returns it."""

    def __index__(self) -> _int:
        ...

    def __int__(self) -> _int:
        ...

    def __invert__(self) -> Tensor:
        """``~self``: all bits flipped."""

    def __ior__(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.bitwise_or`: writes into ``self`` and returns it."""

    def __ipow__(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.power`: writes into ``self`` and returns it."""

    def __irshift__(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.bitwise_right_shift`: writes into ``self`` and returns it."""

    def __isub__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        """In-place variant of `weft.minus`: writes into ``self`` and returns it."""

    def __itruediv__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        """In-place variant of `weft.true_divide`: writes into ``self`` and returns it."""

    def __ixor__(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.bitwise_xor`: writes into ``self`` and returns it."""

    def __le__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __long__(self) -> _int:
        """The only element as an integer, by the name that Python 2 looked for."""

    def __lshift__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __lt__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __matmul__(self, other: Tensor) -> Tensor:  # type: ignore[override]
        ...

    def __mod__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __mul__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __ne__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __neg__(self) -> Tensor:
        ...

    def __nonzero__(self) -> _bool:
        """Whether the only element is not 0, by the name that Python 2 looked for."""

    def __or__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __pos__(self) -> Tensor:
        """The tensor itself."""

    def __pow__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __radd__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __rand__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __rdiv__(self, other: Tensor | Scalar) -> Tensor:
        """``other / self`` of a number, as PyTorch rounds it: in about a quarter of cases not as a division would."""

    def __reversed__(self) -> Tensor:
        """The tensor with the order along its first dimension reversed."""

    def __rfloordiv__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __rlshift__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __rmatmul__(self, other: Tensor) -> Tensor:
        ...

    def __rmod__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __rmul__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __ror__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __round__(self, digits: _int = 0) -> Tensor:
        """``round(tensor, digits)``, as Python calls it."""

    def __rpow__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __rrshift__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __rshift__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __rsub__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __rtruediv__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __rxor__(self, other: Tensor | Scalar) -> Tensor:
        ...

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write elements by position."""

    def __sub__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __truediv__(self, other: Tensor | Scalar) -> Tensor:  # type: ignore[override]
        ...

    def __xor__(self, other: Tensor | Scalar) -> Tensor:
        ...

    @property
    def _backward_hooks(self) -> Any: ...
    @_backward_hooks.setter
    def _backward_hooks(self, value: Any) -> None: ...

    def _conj(self) -> Tensor:
        """Return the complex conjugate: a view; a real tensor is returned itself."""

    def _conj_copy(self) -> Tensor:
        """The complex conjugate of each element, in new memory."""

    def _conj_physical(self) -> Tensor:
        """Compute the complex conjugate in new memory; a real tensor is returned itself."""

    _execution_engine: Any

    def _fix_weakref(self) -> None:
        """Do nothing: a weak reference to a tensor stays good. PyTorch's programs call it after they follow one."""

    @property
    def _grad_fn(self) -> Any: ...

    def _neg_view(self) -> Tensor:
        """The negative, sharing memory: what is written to it is written with the other sign."""

    def _typed_storage(self) -> TypedStorage:
        """`storage` without its warning, as PyTorch's own code calls it."""

    def abs(self) -> Tensor:
        """The absolute value of each element; real for complex input."""

    def abs_(self) -> Tensor:
        """In-place variant of `weft.abs`: writes into ``self`` and returns it."""

    def absolute(self) -> Tensor:
        """The absolute value of each element; real for complex input."""

    def absolute_(self) -> Tensor:
        """In-place variant of `weft.abs`: writes into ``self`` and returns it."""

    def acos(self) -> Tensor:
        """The angle whose cosine is each element, in radians."""

    def acos_(self) -> Tensor:
        """In-place variant of `weft.acos`: writes into ``self`` and returns it."""

    def acosh(self) -> Tensor:
        """The inverse hyperbolic cosine of each element."""

    def acosh_(self) -> Tensor:
        """In-place variant of `weft.acosh`: writes into ``self`` and returns it."""

    def add(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """``input + alpha * other``, element by element."""

    def add_(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """In-place variant of `weft.add`: writes into ``self`` and returns it."""

    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * input + alpha * bmm(batch1, batch2).sum(0)``."""

    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        ...

    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``input + value * tensor1 / tensor2``."""

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """In-place variant of `weft.addcdiv`: writes into ``self`` and returns it."""

    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``input + value * tensor1 * tensor2``."""

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """In-place variant of `weft.addcmul`: writes into ``self`` and returns it."""

    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)``."""

    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """In-place variant of `weft.addmm`: writes into ``self`` and returns it."""

    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * input + alpha * (mat @ vec)``."""

    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """In-place variant of `weft.addmv`: writes into ``self`` and returns it."""

    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``."""

    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """In-place variant of `weft.addr`: writes into ``self`` and returns it."""

    def adjoint(self) -> Tensor:
        """Return the conjugate transpose of a matrix or a batch of matrices: a view."""

    def all(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether all elements are true (not 0), over some dimensions or in all."""

    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all elements are close, see `isclose`."""

    def amax(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = False) -> Tensor:
        """The largest element over some dimensions, or over all; gradients are shared by equal elements."""

    def amin(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = False) -> Tensor:
        """The smallest element over some dimensions, or over all; gradients are shared by equal elements."""

    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> _return_types.aminmax:
        """The smallest and the largest element."""

    def angle(self) -> Tensor:
        """The angle of each element as a complex number: pi for negative real ones."""

    def any(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether any element is true (not 0), over some dimensions or in all."""

    def apply_(self, callable: Callable[[Any], Scalar]) -> Tensor:
        """Replace each element by what a Python function makes of it; slow, and on the CPU only."""

    def arccos(self) -> Tensor:
        """The angle whose cosine is each element, in radians."""

    def arccos_(self) -> Tensor:
        """In-place variant of `weft.acos`: writes into ``self`` and returns it."""

    def arccosh(self) -> Tensor:
        """The inverse hyperbolic cosine of each element."""

    def arccosh_(self) -> Tensor:
        """In-place variant of `weft.acosh`: writes into ``self`` and returns it."""

    def arcsin(self) -> Tensor:
        """The angle whose sine is each element, in radians."""

    def arcsin_(self) -> Tensor:
        """In-place variant of `weft.asin`: writes into ``self`` and returns it."""

    def arcsinh(self) -> Tensor:
        """The inverse hyperbolic sine of each element."""

    def arcsinh_(self) -> Tensor:
        """In-place variant of `weft.asinh`: writes into ``self`` and returns it."""

    def arctan(self) -> Tensor:
        """The angle whose tangent is each element, in radians."""

    def arctan2(self, other: Tensor) -> Tensor:
        """The angle of the point (other, input) from the x axis, in radians, in (-pi, pi]."""

    def arctan2_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.atan2`: writes into ``self`` and returns it."""

    def arctan_(self) -> Tensor:
        """In-place variant of `weft.atan`: writes into ``self`` and returns it."""

    def arctanh(self) -> Tensor:
        """The inverse hyperbolic tangent of each element."""

    def arctanh_(self) -> Tensor:
        """In-place variant of `weft.atanh`: writes into ``self`` and returns it."""

    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The position of the largest element along a dimension, or in the flat tensor."""

    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The position of the smallest element along a dimension, or in the flat tensor."""

    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """The positions that put the elements in order along a dimension."""

    def argwhere(self) -> Tensor:
        """The positions of elements that are not 0, one in a row."""

    def as_strided(self, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """View a tensor's storage with any sizes and strides, counted in elements."""

    def as_strided_(self, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """In-place variant of `weft.as_strided`: writes into ``self`` and returns it."""

    def as_strided_scatter(self, src: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """Copy ``input``, with the memory around it, and replace the view that `as_strided` makes."""

    def asin(self) -> Tensor:
        """The angle whose sine is each element, in radians."""

    def asin_(self) -> Tensor:
        """In-place variant of `weft.asin`: writes into ``self`` and returns it."""

    def asinh(self) -> Tensor:
        """The inverse hyperbolic sine of each element."""

    def asinh_(self) -> Tensor:
        """In-place variant of `weft.asinh`: writes into ``self`` and returns it."""

    def atan(self) -> Tensor:
        """The angle whose tangent is each element, in radians."""

    def atan2(self, other: Tensor) -> Tensor:
        """The angle of the point (other, input) from the x axis, in radians, in (-pi, pi]."""

    def atan2_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.atan2`: writes into ``self`` and returns it."""

    def atan_(self) -> Tensor:
        """In-place variant of `weft.atan`: writes into ``self`` and returns it."""

    def atanh(self) -> Tensor:
        """The inverse hyperbolic tangent of each element."""

    def atanh_(self) -> Tensor:
        """In-place variant of `weft.atanh`: writes into ``self`` and returns it."""

    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge] | None = None) -> None:
        """Add the gradient of this tensor to ``.grad`` of the leaves that it was computed from."""

    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * input + alpha * bmm(batch1, batch2)``."""

    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """In-place variant of `weft.baddbmm`: writes into ``self`` and returns it."""

    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None) -> Tensor:
        """Draw 1 with the probability that each element of `input` gives, else 0."""

    def bernoulli_(self, p: _float | Tensor = 0.5, *, generator: Generator | None = None) -> Tensor:
        """In-place variant of `weft._bernoulli`: writes into ``self`` and returns it."""

    def bfloat16(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as bfloat16."""

    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each integer from 0 on occurs, or the sum of the weights at its places."""

    def bitwise_and(self, other: Tensor | Number) -> Tensor:
        """The bits that are set in both."""

    def bitwise_and_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.bitwise_and`: writes into ``self`` and returns it."""

    def bitwise_left_shift(self, other: Tensor | Number) -> Tensor:
        """``input * 2 ** other``: the bits moved to the left."""

    def bitwise_left_shift_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.bitwise_left_shift`: writes into ``self`` and returns it."""

    def bitwise_not(self) -> Tensor:
        """All bits flipped; for bool, the other truth value."""

    def bitwise_not_(self) -> Tensor:
        """In-place variant of `weft.bitwise_not`: writes into ``self`` and returns it."""

    def bitwise_or(self, other: Tensor | Number) -> Tensor:
        """The bits that are set in one or both."""

    def bitwise_or_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.bitwise_or`: writes into ``self`` and returns it."""

    def bitwise_right_shift(self, other: Tensor | Number) -> Tensor:
        """``input / 2 ** other``, rounded down: the bits moved to the right."""

    def bitwise_right_shift_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.bitwise_right_shift`: writes into ``self`` and returns it."""

    def bitwise_xor(self, other: Tensor | Number) -> Tensor:
        """The bits that are set in exactly one."""

    def bitwise_xor_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.bitwise_xor`: writes into ``self`` and returns it."""

    def bmm(self, mat2: Tensor, *, out_dtype: DType | None = None) -> Tensor:
        """The products of two batches of matrices of one batch size."""

    def bool(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as bool."""

    def broadcast_to(self, *args: _int | Sequence[_int], size: Sequence[_int] | None = None) -> Tensor:
        """Broadcast a tensor to a shape: a view, as `Tensor.expand` gives it."""

    def byte(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as uint8."""

    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place variant of `weft._cauchy`: writes into ``self`` and returns it."""

    def ccol_indices(self) -> Tensor:
        """Where the entries of each column begin: of tensors with compressed columns (see `weft.sparse_csc_tensor`)."""

    def cdouble(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as complex128."""

    def ceil(self) -> Tensor:
        """The smallest integer not below each element."""

    def ceil_(self) -> Tensor:
        """In-place variant of `weft.ceil`: writes into ``self`` and returns it."""

    def cfloat(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as complex64."""

    def char(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as int8."""

    def cholesky(self, upper: _bool = False) -> Tensor:
        """The triangular factor L of a positive-definite matrix, ``input = L L^H``; with ``upper=True`` its adjoint."""

    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of a matrix A from its Cholesky factor."""

    def cholesky_solve(self, input2: Tensor, upper: _bool = False) -> Tensor:
        """The solution of ``A X = input`` from A's Cholesky factor ``input2``."""

    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """Split a tensor into at most ``chunks`` pieces of equal size (the last may be smaller)."""

    def clamp(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Each element moved into [min, max]."""

    def clamp_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """In-place variant of `weft.clamp`: writes into ``self`` and returns it."""

    def clamp_max(self, max: Tensor | Number) -> Tensor:
        """Each element, but at most ``max``."""

    def clamp_max_(self, max: Tensor | Number) -> Tensor:
        """In-place variant of `weft.clamp_max`: writes into ``self`` and returns it."""

    def clamp_min(self, min: Tensor | Number) -> Tensor:
        """Each element, but at least ``min``."""

    def clamp_min_(self, min: Tensor | Number) -> Tensor:
        """In-place variant of `weft.clamp_min`: writes into ``self`` and returns it."""

    def clip(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Each element moved into [min, max]."""

    def clip_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """In-place variant of `weft.clamp`: writes into ``self`` and returns it."""

    def clone(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Copy a tensor; gradients flow through the copy, which is dense in the input's order of dimensions."""

    def coalesce(self) -> Tensor:
        """The sparse tensor with each coordinate once, in order (see `weft.sparse_coo_tensor`)."""

    def col_indices(self) -> Tensor:
        """The column of each entry: of tensors with compressed rows (see `weft.sparse_csr_tensor`)."""

    def conj(self) -> Tensor:
        """Return the complex conjugate: a view; a real tensor is returned itself."""

    def conj_physical(self) -> Tensor:
        """Compute the complex conjugate in new memory; a real tensor is returned itself."""

    def conj_physical_(self) -> Tensor:
        """In-place variant of `weft.conj_physical`: writes into ``self`` and returns it."""

    def const_data_ptr(self) -> _int:
        """Return the address of the first element, for reading only; 0 if there is none."""

    def contiguous(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """Return the tensor itself if its elements are in order in memory, else a copy in which they are."""

    def copy_(self, other: Tensor | Scalar, non_blocking: _bool = False) -> Tensor:
        """Write the values of another tensor, converted to this dtype and device, and broadcast."""

    def copysign(self, other: Tensor | Number) -> Tensor:
        """The size of ``input`` with the sign of ``other``."""

    def copysign_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.copysign`: writes into ``self`` and returns it."""

    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables: one in each row, one observation in each column."""

    def cos(self) -> Tensor:
        """The cosine of each element, in radians."""

    def cos_(self) -> Tensor:
        """In-place variant of `weft.cos`: writes into ``self`` and returns it."""

    def cosh(self) -> Tensor:
        """The hyperbolic cosine of each element."""

    def cosh_(self) -> Tensor:
        """In-place variant of `weft.cosh`: writes into ``self`` and returns it."""

    def count_nonzero(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """Count the elements that are not 0, along some dimensions or in all."""

    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariances of variables: one in each row, one observation in each column."""

    def cpu(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """Copy the tensor to the CPU; return it unchanged if it is there."""

    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """The vector product in three dimensions."""

    def crow_indices(self) -> Tensor:
        """Where the entries of each row begin: of tensors with compressed rows (see `weft.sparse_csr_tensor`)."""

    def cuda(self, device: Device = None, non_blocking: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
        """Copy the tensor to a CUDA device; return it unchanged if it is there."""

    def cummax(self, dim: _int) -> _return_types.cummax:
        """The largest element up to each one along a dimension, and where it is."""

    def cummin(self, dim: _int) -> _return_types.cummin:
        """The smallest element up to each one along a dimension, and where it is."""

    def cumprod(self, dim: _int, *, dtype: DType | None = None) -> Tensor:
        """The products of all elements up to each one, along a dimension."""

    def cumprod_(self, dim: _int, *, dtype: DType | None = None) -> Tensor:
        """In-place variant of `weft.cumprod`: writes into ``self`` and returns it."""

    def cumsum(self, dim: _int, *, dtype: DType | None = None) -> Tensor:
        """The sums of all elements up to each one, along a dimension."""

    def cumsum_(self, dim: _int, *, dtype: DType | None = None) -> Tensor:
        """In-place variant of `weft.cumsum`: writes into ``self`` and returns it."""

    def data_ptr(self) -> _int:
        """Return the address of the first element; 0 if there is none."""

    def deg2rad(self) -> Tensor:
        """Degrees to radians."""

    def deg2rad_(self) -> Tensor:
        """In-place variant of `weft.deg2rad`: writes into ``self`` and returns it."""

    def dense_dim(self) -> _int:
        """The number of dimensions: all are dense."""

    def dequantize(self) -> Tensor:
        """The numbers of a quantized tensor (see `weft.quantize_per_tensor`); any other tensor in float32."""

    def det(self) -> Tensor:
        """The determinant of each square matrix of a batch."""

    def detach(self) -> Tensor:
        """Return a view that autograd takes for a new leaf, which does not require grad."""

    def detach_(self) -> Tensor:
        """Forget the history: from here on the tensor is a leaf that does not require grad."""

    def diag(self, diagonal: _int = 0) -> Tensor:
        """Make a matrix with a vector on a diagonal, or return a diagonal of a matrix."""

    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Make matrices with the last dimension of ``input`` on a diagonal and zeros elsewhere."""

    def diagflat(self, offset: _int = 0) -> Tensor:
        """Make a matrix with all elements of a tensor on a diagonal."""

    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Return the diagonal of two dimensions as the last dimension: a view."""

    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Copy ``input`` and replace a diagonal."""

    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """The differences of neighbours along a dimension, n times over."""

    def digamma(self) -> Tensor:
        """The derivative of `lgamma`: nan at the negative integers, infinite at 0."""

    def digamma_(self) -> Tensor:
        """In-place variant of `weft.digamma`: writes into ``self`` and returns it."""

    def dim_order(self, *, ambiguity_check: _bool | list[MemoryFormat] = False) -> tuple[_int, ...]:
        """The dimensions from the outermost to the innermost in memory."""

    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The p-norm of ``input - other``."""

    def div(self, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
        """The quotient of each pair of elements."""

    def div_(self, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
        """In-place variant of `weft.div`: writes into ``self`` and returns it."""

    def divide(self, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
        """The quotient of each pair of elements."""

    def divide_(self, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
        """In-place variant of `weft.div`: writes into ``self`` and returns it."""

    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements."""

    def double(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as float64."""

    def dsplit(self, indices_or_sections: _int | Sequence[_int] | None = None, *, sections: _int | None = None, indices: Sequence[_int] | None = None) -> tuple[Tensor, ...]:
        """Split into equal parts, or before given indices, along the third dimension."""

    def eig(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Removed. Use linalg.eig(A) or linalg.eigvals(A), whose results are complex."""

    def eq(self, other: Tensor | Scalar) -> Tensor:
        """Where the elements are equal."""

    def eq_(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.eq`: writes into ``self`` and returns it."""

    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape and elements."""

    def erf(self) -> Tensor:
        """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t * t)`` from 0 to each element."""

    def erf_(self) -> Tensor:
        """In-place variant of `weft.erf`: writes into ``self`` and returns it."""

    def erfc(self) -> Tensor:
        """``1 - erf(x)``, without loss of precision for large x."""

    def erfc_(self) -> Tensor:
        """In-place variant of `weft.erfc`: writes into ``self`` and returns it."""

    def erfinv(self) -> Tensor:
        """The number whose `erf` is the element; infinite at -1 and 1, nan outside."""

    def erfinv_(self) -> Tensor:
        """In-place variant of `weft.erfinv`: writes into ``self`` and returns it."""

    def exp(self) -> Tensor:
        """The exponential of each element."""

    def exp2(self) -> Tensor:
        """2 raised to the power of each element."""

    def exp2_(self) -> Tensor:
        """In-place variant of `weft.exp2`: writes into ``self`` and returns it."""

    def exp_(self) -> Tensor:
        """In-place variant of `weft.exp`: writes into ``self`` and returns it."""

    def expand(self, *args: _int | Sequence[_int], size: Sequence[_int] | None = None, implicit: _bool = False) -> Tensor:
        """Repeat dimensions of size 1 without copying: a view; -1 leaves a size as it is."""

    def expand_as(self, other: Tensor) -> Tensor:
        """Expand a tensor to the shape of another, see `Tensor.expand`."""

    def expm1(self) -> Tensor:
        """The exponential of each element, minus 1, exact near 0."""

    def expm1_(self) -> Tensor:
        """In-place variant of `weft.expm1`: writes into ``self`` and returns it."""

    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place variant of `weft._exponential`: writes into ``self`` and returns it."""

    def fill_(self, value: Scalar | Tensor) -> Tensor:
        """In-place variant of `weft.fill`: writes into ``self`` and returns it."""

    def fill_diagonal_(self, fill_value: Scalar, wrap: _bool = False) -> Tensor:
        """Write a value to the main diagonal: of a matrix, or where all indices are equal."""

    def fix(self) -> Tensor:
        """Each element without its fraction."""

    def fix_(self) -> Tensor:
        """In-place variant of `weft.trunc`: writes into ``self`` and returns it."""

    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Merge the dimensions from ``start_dim`` to ``end_dim`` into one."""

    def flip(self, *args: _int | Sequence[_int], dims: Sequence[_int] | None = None) -> Tensor:
        """Reverse the order of elements along some dimensions: a copy."""

    def fliplr(self) -> Tensor:
        """Reverse the order of the columns."""

    def flipud(self) -> Tensor:
        """Reverse the order of the rows."""

    def float(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as float32."""

    def float_power(self, exponent: Tensor | Scalar) -> Tensor:
        """`pow` in float64, or complex128 if one of the two is complex."""

    def float_power_(self, exponent: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.float_power`, for tensors of the dtype that it computes in."""

    def floor(self) -> Tensor:
        """The largest integer not above each element."""

    def floor_(self) -> Tensor:
        """In-place variant of `weft.floor`: writes into ``self`` and returns it."""

    def floor_divide(self, other: Tensor | Number) -> Tensor:
        """The quotient of each pair of elements, rounded down."""

    def floor_divide_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.floor_divide`: writes into ``self`` and returns it."""

    def fmax(self, other: Tensor) -> Tensor:
        """The larger of each pair of elements; the other one if one is nan."""

    def fmin(self, other: Tensor) -> Tensor:
        """The smaller of each pair of elements; the other one if one is nan."""

    def fmod(self, other: Tensor | Number) -> Tensor:
        """The remainder of the division rounded towards zero: it has the dividend's sign."""

    def fmod_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.fmod`: writes into ``self`` and returns it."""

    def frac(self) -> Tensor:
        """The fraction of each element, with its sign."""

    def frac_(self) -> Tensor:
        """In-place variant of `weft.frac`: writes into ``self`` and returns it."""

    def frexp(self) -> _return_types.frexp:
        """Each element as ``mantissa * 2 ** exponent``, with a mantissa whose size is in [0.5, 1)."""

    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """Gather one element for each position in ``index``: ``out[i][j] = input[index[i][j]][j]`` for dim 0."""

    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor of each pair of elements."""

    def gcd_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.gcd`: writes into ``self`` and returns it."""

    def ge(self, other: Tensor | Number) -> Tensor:
        """Where ``input`` is greater than or equal to ``other``."""

    def ge_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.ge`: writes into ``self`` and returns it."""

    def geometric_(self, p: _float | None = None, *, generator: Generator | None = None) -> Tensor:
        """In-place variant of `weft._geometric`: writes into ``self`` and returns it."""

    def geqrf(self) -> _return_types.geqrf:
        """The QR decomposition as LAPACK keeps it: R, and below it the vectors of the reflections that `orgqr` takes."""

    def ger(self, vec2: Tensor) -> Tensor:
        """The products of all pairs of elements of two vectors."""

    @property
    def grad_dtype(self) -> dtype | None: ...
    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None: ...

    def greater(self, other: Tensor | Number) -> Tensor:
        """Where ``input`` is greater than ``other``."""

    def greater_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.gt`: writes into ``self`` and returns it."""

    def greater_equal(self, other: Tensor | Number) -> Tensor:
        """Where ``input`` is greater than or equal to ``other``."""

    def greater_equal_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.ge`: writes into ``self`` and returns it."""

    def gt(self, other: Tensor | Number) -> Tensor:
        """Where ``input`` is greater than ``other``."""

    def gt_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.gt`: writes into ``self`` and returns it."""

    def half(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as float16."""

    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """0 for elements in [-lambd, lambd]; the others as they are."""

    def hash_tensor(self, dim: _int | Sequence[_int] | None = ..., *, keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """A number that depends on each bit of the elements: their 64-bit forms, combined by exclusive or."""

    def heaviside(self, values: Tensor) -> Tensor:
        """0 for negative elements (and nan), 1 for positive, and that of ``values`` for 0."""

    def heaviside_(self, values: Tensor) -> Tensor:
        """In-place variant of `weft.heaviside`: writes into ``self`` and returns it."""

    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """How many elements lie in each of ``bins`` intervals of equal width between min and max."""

    def histogram(self, bins: _int | Tensor, *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _return_types.histogram:
        """How many elements lie between neighbouring edges, and the edges."""

    def hsplit(self, indices_or_sections: _int | Sequence[_int] | None = None, *, sections: _int | None = None, indices: Sequence[_int] | None = None) -> tuple[Tensor, ...]:
        """Split into equal parts, or before given indices, along the second dimension (the first, if there is one only)."""

    def hypot(self, other: Tensor) -> Tensor:
        """The length of the hypotenuse for each pair of legs, without overflow."""

    def hypot_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.hypot`: writes into ``self`` and returns it."""

    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""

    def i0_(self) -> Tensor:
        """In-place variant of `weft.i0`: writes into ``self`` and returns it."""

    def igamma(self, other: Tensor) -> Tensor:
        """The regularized lower incomplete gamma function."""

    def igamma_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.igamma`: writes into ``self`` and returns it."""

    def igammac(self, other: Tensor) -> Tensor:
        """The regularized upper incomplete gamma function, ``1 - igamma(input, other)``. It needs SciPy."""

    def igammac_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.igammac`: writes into ``self`` and returns it."""

    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Tensor | Scalar) -> None: ...

    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """Copy ``input`` and add ``alpha * source`` to the slices at some positions along a dimension."""

    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """In-place variant of `weft.index_add`: writes into ``self`` and returns it."""

    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """Copy ``input`` and write the slices of ``source`` at some positions along a dimension."""

    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """In-place variant of `weft.index_copy`: writes into ``self`` and returns it."""

    def index_fill(self, dim: _int, index: Tensor, value: Scalar | Tensor) -> Tensor:
        """Copy ``input`` and fill the slices at some positions along a dimension with one value."""

    def index_fill_(self, dim: _int, index: Tensor, value: Scalar | Tensor) -> Tensor:
        """In-place variant of `weft.index_fill`: writes into ``self`` and returns it."""

    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
        """Copy ``input`` and write ``values`` at the positions that a tuple of index tensors gives."""

    def index_put_(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place variant of `weft.index_put`: writes into ``self`` and returns it."""

    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """A copy of ``input`` with the slices of ``source`` combined at positions along a dimension."""

    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place variant of `weft.index_reduce`: writes into ``self`` and returns it."""

    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """Select the slices at some positions along a dimension."""

    def indices(self) -> Tensor:
        """The coordinates of a sparse tensor (see `weft.sparse_coo_tensor`)."""

    def inner(self, other: Tensor) -> Tensor:
        """Inner products along the last dimension of both."""

    def int(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as int32."""

    def int_repr(self) -> Tensor:
        """A copy of the integers of a quantized tensor (see `weft.quantize_per_tensor`)."""

    def inverse(self) -> Tensor:
        """The inverse of each square matrix of a batch."""

    def is_coalesced(self) -> _bool:
        """Whether a sparse tensor has each coordinate once, in order (see `weft.sparse_coo_tensor`)."""

    def is_conj(self) -> _bool:
        """Whether the tensor is a view whose values are the conjugates of what is in memory."""

    def is_contiguous(self, memory_format: MemoryFormat | None = None) -> _bool:
        """Whether the elements are in order in memory."""

    def is_distributed(self) -> _bool:
        """False: tensors are not spread over processes."""

    def is_inference(self) -> _bool:
        """Whether a tensor was made in inference mode, so that it can never be recorded."""

    @property
    def is_ipu(self) -> _bool: ...

    @property
    def is_maia(self) -> _bool: ...

    @property
    def is_mkldnn(self) -> _bool: ...

    @property
    def is_mps(self) -> _bool: ...

    @property
    def is_mtia(self) -> _bool: ...

    def is_neg(self) -> _bool:
        """Whether the tensor is a view whose values are the negatives of what is in memory."""

    @property
    def is_nested(self) -> _bool: ...

    def is_nonzero(self) -> _bool:
        """Whether the only element of a tensor is not 0."""

    def is_pinned(self, device: Device = None) -> _bool:
        """Whether the memory is page-locked, see `pin_memory`; False where there is no accelerator."""

    @property
    def is_quantized(self) -> _bool: ...

    def is_same_size(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape."""

    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both are the same view of the same memory."""

    def is_shared(self) -> _bool:
        """Whether another process sees the same memory."""

    @property
    def is_sparse(self) -> _bool: ...

    @property
    def is_sparse_csr(self) -> _bool: ...

    @property
    def is_vulkan(self) -> _bool: ...

    @property
    def is_xla(self) -> _bool: ...

    @property
    def is_xpu(self) -> _bool: ...

    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Where ``|input - other| <= atol + rtol * |other|``."""

    def isfinite(self) -> Tensor:
        """Where the element is neither infinite nor nan."""

    def isin(self, test_elements: Tensor | Number | None = None, *, assume_unique: _bool = False, invert: _bool = False, element: Number | None = None, test_element: Number | None = None) -> Tensor:
        """Where each element is one of ``test_elements``."""

    def isinf(self) -> Tensor:
        """Where the element is infinite."""

    def isnan(self) -> Tensor:
        """Where the element is not a number."""

    def isneginf(self) -> Tensor:
        """Where the element is negative infinity."""

    def isposinf(self) -> Tensor:
        """Where the element is positive infinity."""

    def isreal(self) -> Tensor:
        """Where the imaginary part is 0."""

    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal that has these spectra: the inverse of `stft`, with the parameters that it was called with."""

    def item(self) -> Number:
        """Return the only element as a Python number."""

    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: each element of ``input`` times all of ``other``, as blocks."""

    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> _return_types.kthvalue:
        """The k-th smallest element along a dimension, and where it is."""

    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple of each pair of elements."""

    def lcm_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.lcm`: writes into ``self`` and returns it."""

    def ldexp(self, other: Tensor) -> Tensor:
        """``input * 2 ** other``, element by element."""

    def ldexp_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.ldexp`: writes into ``self`` and returns it."""

    def le(self, other: Tensor | Number) -> Tensor:
        """Where ``input`` is less than or equal to ``other``."""

    def le_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.le`: writes into ``self`` and returns it."""

    def lerp(self, end: Tensor, weight: Tensor | Scalar) -> Tensor:
        """The point between ``input`` (weight 0) and ``end`` (weight 1), element by element."""

    def lerp_(self, end: Tensor, weight: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.lerp`: writes into ``self`` and returns it."""

    def less(self, other: Tensor | Number) -> Tensor:
        """Where ``input`` is less than ``other``."""

    def less_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.lt`: writes into ``self`` and returns it."""

    def less_equal(self, other: Tensor | Number) -> Tensor:
        """Where ``input`` is less than or equal to ``other``."""

    def less_equal_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.le`: writes into ``self`` and returns it."""

    def lgamma(self) -> Tensor:
        """The logarithm of the gamma function's absolute value; infinite at 0 and the negative integers."""

    def lgamma_(self) -> Tensor:
        """In-place variant of `weft.lgamma`: writes into ``self`` and returns it."""

    def log(self) -> Tensor:
        """The natural logarithm of each element."""

    def log10(self) -> Tensor:
        """The logarithm to base 10 of each element."""

    def log10_(self) -> Tensor:
        """In-place variant of `weft.log10`: writes into ``self`` and returns it."""

    def log1p(self) -> Tensor:
        """The natural logarithm of 1 plus each element, exact near 0."""

    def log1p_(self) -> Tensor:
        """In-place variant of `weft.log1p`: writes into ``self`` and returns it."""

    def log2(self) -> Tensor:
        """The logarithm to base 2 of each element."""

    def log2_(self) -> Tensor:
        """In-place variant of `weft.log2`: writes into ``self`` and returns it."""

    def log_(self) -> Tensor:
        """In-place variant of `weft.log`: writes into ``self`` and returns it."""

    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Tensor:
        """In-place variant of `weft._log_normal`: writes into ``self`` and returns it."""

    def log_softmax(self, dim: _int, dtype: DType | None = None) -> Tensor:
        """The logarithm of `softmax`, accurate where that is close to 0."""

    def logaddexp(self, other: Tensor) -> Tensor:
        """``log(exp(input) + exp(other))`` without overflow."""

    def logaddexp2(self, other: Tensor) -> Tensor:
        """``log2(2 ** input + 2 ** other)`` without overflow."""

    def logcumsumexp(self, dim: _int) -> Tensor:
        """The logarithm of the running sum of exponentials along a dimension, without overflow."""

    def logdet(self) -> Tensor:
        """The logarithm of the determinant; nan where it is negative."""

    def logical_and(self, other: Tensor) -> Tensor:
        """Where both are true (not 0)."""

    def logical_and_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.logical_and`: writes into ``self`` and returns it."""

    def logical_not(self) -> Tensor:
        """Where the element is 0."""

    def logical_not_(self) -> Tensor:
        """In-place variant of `weft.logical_not`: writes into ``self`` and returns it."""

    def logical_or(self, other: Tensor) -> Tensor:
        """Where at least one is true (not 0)."""

    def logical_or_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.logical_or`: writes into ``self`` and returns it."""

    def logical_xor(self, other: Tensor) -> Tensor:
        """Where exactly one is true (not 0)."""

    def logical_xor_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.logical_xor`: writes into ``self`` and returns it."""

    def logit(self, eps: _float | None = None) -> Tensor:
        """The logarithm of the odds ``x / (1 - x)``: the inverse of `sigmoid`."""

    def logit_(self, eps: _float | None = None) -> Tensor:
        """In-place variant of `weft.logit`: writes into ``self`` and returns it."""

    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = False) -> Tensor:
        """The logarithm of the sum of exponentials over some dimensions, without overflow."""

    def long(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as int64."""

    def lstsq(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Removed. Use linalg.lstsq(A, B): its arguments are in the other order."""

    def lt(self, other: Tensor | Number) -> Tensor:
        """Where ``input`` is less than ``other``."""

    def lt_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.lt`: writes into ``self`` and returns it."""

    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> tuple[Tensor, ...] | list[Tensor]:
        """The LU factorization in one matrix, the row exchanges, and with ``get_infos`` LAPACK's integers."""

    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """The solution of ``A X = input`` by the factorization of A that `weft.linalg.lu_factor` returns."""

    @property
    def mH(self) -> Tensor: ...

    @property
    def mT(self) -> Tensor: ...

    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Scalar]) -> Tensor:
        """As `map_`, with two other tensors."""

    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Scalar]) -> Tensor:
        """Replace each element by ``callable(element, other element)``, with another tensor of the same dtype."""

    def masked_fill(self, mask: Tensor, value: Tensor | Scalar) -> Tensor:
        """``input`` with another value where the mask holds."""

    def masked_fill_(self, mask: Tensor, value: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.masked_fill`: writes into ``self`` and returns it."""

    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Copy ``input`` and write the elements of ``source``, one after the other, where the mask is true."""

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place variant of `weft.masked_scatter`: writes into ``self`` and returns it."""

    def masked_select(self, mask: Tensor) -> Tensor:
        """Select the elements where the mask is true, as one dimension."""

    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product; of batches of matrices, broadcast; of vectors the inner product."""

    def matrix_exp(self) -> Tensor:
        """The exponential of each square matrix of a batch: the sum of ``input^k / k!``."""

    def matrix_power(self, n: _int) -> Tensor:
        """A square matrix multiplied with itself n times; with negative n its inverse."""

    @_overload
    def max(self) -> Tensor:
        """The maximum over all elements, along a dimension with its position, or of two tensors."""
    @_overload
    def max(self, other: Tensor) -> Tensor:
        """The maximum over all elements, along a dimension with its position, or of two tensors."""
    @_overload
    def max(self, dim: _int, keepdim: _bool=False) -> _return_types.max:
        """The maximum over all elements, along a dimension with its position, or of two tensors."""

    def maximum(self, other: Tensor) -> Tensor:
        """The larger of each pair of elements; nan if one is nan."""

    def mean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: _int | Sequence[_int] | None = None, keepdims: _bool | None = None) -> Tensor:
        """The mean over some dimensions, or over all."""

    @_overload
    def median(self) -> Tensor:
        """The lower median over all elements, or along a dimension with its position."""
    @_overload
    def median(self, dim: _int, keepdim: _bool=False) -> _return_types.median:
        """The lower median over all elements, or along a dimension with its position."""

    @_overload
    def min(self) -> Tensor:
        """The minimum over all elements, along a dimension with its position, or of two tensors."""
    @_overload
    def min(self, other: Tensor) -> Tensor:
        """The minimum over all elements, along a dimension with its position, or of two tensors."""
    @_overload
    def min(self, dim: _int, keepdim: _bool=False) -> _return_types.min:
        """The minimum over all elements, along a dimension with its position, or of two tensors."""

    def minimum(self, other: Tensor) -> Tensor:
        """The smaller of each pair of elements; nan if one is nan."""

    def mm(self, mat2: Tensor, *, out_dtype: DType | None = None) -> Tensor:
        """The product of two matrices."""

    def mode(self, dim: _int = -1, keepdim: _bool = False) -> _return_types.mode:
        """The most frequent value along a dimension, and a position of it."""

    def module_load(self, other: Tensor, assign: _bool = False) -> Tensor:
        """Return what takes this tensor's place when a module loads another: that itself, or this after a copy."""

    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move dimensions to other places; the others keep their order."""

    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move dimensions to other places; the others keep their order."""

    def msort(self) -> Tensor:
        """The elements in order along the first dimension."""

    def mul(self, other: Tensor | Scalar) -> Tensor:
        """The product of each pair of elements."""

    def mul_(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.mul`: writes into ``self`` and returns it."""

    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None) -> Tensor:
        """Draw column indices from each row, with the elements as weights."""

    def multiply(self, other: Tensor | Scalar) -> Tensor:
        """The product of each pair of elements."""

    def multiply_(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.mul`: writes into ``self`` and returns it."""

    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""

    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p``."""

    def mvlgamma_(self, p: _int) -> Tensor:
        """In-place variant of `weft.mvlgamma`: writes into ``self`` and returns it."""

    @property
    def name(self) -> None: ...

    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """Replace nan and infinities."""

    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """In-place variant of `weft.nan_to_num`: writes into ``self`` and returns it."""

    def nanmean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The mean of the elements that are not nan."""

    @_overload
    def nanmedian(self) -> Tensor:
        """The lower median over all elements, or along a dimension with its position."""
    @_overload
    def nanmedian(self, dim: _int, keepdim: _bool=False) -> _return_types.nanmedian:
        """The lower median over all elements, or along a dimension with its position."""

    def nanquantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear') -> Tensor:
        """`quantile` of the elements that are not nan."""

    def nansum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The sum of the elements that are not nan."""

    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """Select ``length`` positions from ``start`` on along a dimension: a view."""

    def narrow_copy(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """`narrow`, in new memory."""

    def ne(self, other: Tensor | Scalar) -> Tensor:
        """Where the elements differ."""

    def ne_(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.ne`: writes into ``self`` and returns it."""

    def neg(self) -> Tensor:
        """The negative of each element."""

    def neg_(self) -> Tensor:
        """In-place variant of `weft.neg`: writes into ``self`` and returns it."""

    def negative(self) -> Tensor:
        """The negative of each element."""

    def negative_(self) -> Tensor:
        """In-place variant of `weft.neg`: writes into ``self`` and returns it."""

    def new(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return a tensor of this dtype and device as ``weft.Tensor(...)`` makes them; `new_empty` is the clearer name."""

    def new_empty(self, *size: _int | Sequence[_int], dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor:
        """Make a tensor of this one's dtype and device, without setting its elements."""

    def new_empty_strided(self, size: _int | Sequence[_int], stride: _int | Sequence[_int], dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor:
        """Make a tensor with these strides and this one's dtype and device, without setting its elements."""

    def new_full(self, size: _int | Sequence[_int], fill_value: Scalar | Tensor, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor:
        """Make a tensor filled with one value, with this one's dtype and device."""

    def new_ones(self, *size: _int | Sequence[_int], dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor:
        """Make a tensor of ones with this one's dtype and device."""

    def new_tensor(self, data: Any, *, dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor:
        """Copy data into a new tensor of this one's dtype and device."""

    def new_zeros(self, *size: _int | Sequence[_int], dtype: DType | None = None, device: Device = None, requires_grad: _bool = False, layout: Layout | None = None, pin_memory: _bool = False) -> Tensor:
        """Make a tensor of zeros with this one's dtype and device."""

    def nextafter(self, other: Tensor) -> Tensor:
        """The next floating-point number from ``input`` in the direction of ``other``."""

    def nextafter_(self, other: Tensor) -> Tensor:
        """In-place variant of `weft.nextafter`: writes into ``self`` and returns it."""

    @_overload
    def nonzero(self, *, as_tuple: Literal[False]=False) -> Tensor:
        """Find the positions of elements that are not 0, in the order of the elements."""
    @_overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """Find the positions of elements that are not 0, in the order of the elements."""

    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """Find the positions of the first ``size`` elements that are not 0; missing ones are ``fill_value``."""

    def norm(self, p: _float | str | None = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, dtype: DType | None = None) -> Tensor:
        """The p-norm over some dimensions, or over all."""

    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place variant of `weft._normal`: writes into ``self`` and returns it."""

    def not_equal(self, other: Tensor | Scalar) -> Tensor:
        """Where the elements differ."""

    def not_equal_(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.ne`: writes into ``self`` and returns it."""

    def numpy(self, *, force: _bool = False) -> ndarray[Any, Any]:
        """Return a NumPy array that shares memory with the tensor."""

    def orgqr(self, input2: Tensor) -> Tensor:
        """The first columns of a product of Householder reflections ``I - tau v v^H``."""

    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """``Q input3`` with the Q of Householder reflections, all its columns."""

    def outer(self, vec2: Tensor) -> Tensor:
        """The products of all pairs of elements of two vectors."""

    @property
    def output_nr(self) -> _int: ...

    def permute(self, *args: _int | Sequence[_int], dims: Sequence[_int] | None = None) -> Tensor:
        """Reorder the dimensions: a view."""

    def pin_memory(self, device: Device = None) -> Tensor:
        """Return the tensor in page-locked memory, from which an accelerator copies by itself; itself, if it is there."""

    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The Moore-Penrose inverse of each matrix of a batch."""

    def polygamma(self, n: _int) -> Tensor:
        ...

    def polygamma_(self, n: _int) -> Tensor:
        """In-place variant of `weft._polygamma_method`: writes into ``self`` and returns it."""

    def positive(self) -> Tensor:
        """The tensor itself."""

    def pow(self, exponent: Tensor | Scalar) -> Tensor:
        """Each element of ``input`` raised to the power of the element of ``exponent``."""

    def pow_(self, exponent: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.pow`: writes into ``self`` and returns it."""

    def prelu(self, weight: Tensor) -> Tensor:
        """``x`` where it is positive, else ``weight * x``, with one weight for all or one for each channel."""

    def prod(self, dim: _int | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The product over one dimension, or over all."""

    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Copy the tensor and write ``source`` at positions of the flattened copy."""

    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place variant of `weft._put`: writes into ``self`` and returns it."""

    def q_scale(self) -> _float:
        """The scale of a quantized tensor (see `weft.quantize_per_tensor`)."""

    def q_zero_point(self) -> _int:
        """Which integer stands for 0 in a quantized tensor (see `weft.quantize_per_tensor`)."""

    def qr(self, some: _bool = True) -> _return_types.qr:
        """``input = Q R`` with orthonormal columns in Q and an upper triangular R."""

    def qscheme(self) -> Any:
        """How the integers of a quantized tensor stand for numbers (see `weft.quantize_per_tensor`)."""

    def quantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear') -> Tensor:
        """The value below which a share q of the elements lies, along a dimension or over all."""

    def rad2deg(self) -> Tensor:
        """Radians to degrees."""

    def rad2deg_(self) -> Tensor:
        """In-place variant of `weft.rad2deg`: writes into ``self`` and returns it."""

    def random_(self, *bounds: _int | Tensor | None, generator: Generator | None = None, **named: _int | Tensor | None) -> Tensor:
        """In-place variant of `weft._random`: writes into ``self`` and returns it."""

    def ravel(self) -> Tensor:
        """Flatten a tensor to one dimension: a view where the strides allow it, else a copy."""

    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Tensor | Scalar) -> None: ...

    def reciprocal(self) -> Tensor:
        """1 divided by each element."""

    def reciprocal_(self) -> Tensor:
        """In-place variant of `weft.reciprocal`: writes into ``self`` and returns it."""

    def record_stream(self, s: Any) -> None:
        """Keep the memory until a stream of an accelerator has done what it has now; a CPU has none."""

    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call ``hook(grad)`` whenever the gradient of this tensor has been computed; what it returns replaces it."""

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` whenever a gradient has been added to ``.grad`` of this leaf."""

    def reinforce(self, reward: Tensor | Scalar) -> None:
        """Refuse: stochastic nodes were removed from PyTorch; `distributions` have ``log_prob`` for that."""

    def relu(self) -> Tensor:
        """Each element, but at least 0."""

    def relu_(self) -> Tensor:
        """In-place variant of `weft.relu`: writes into ``self`` and returns it."""

    def remainder(self, other: Tensor | Number) -> Tensor:
        """The remainder of the division rounded down: it has the divisor's sign."""

    def remainder_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.remainder`: writes into ``self`` and returns it."""

    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Scale down each slice along a dimension whose p-norm exceeds ``maxnorm``."""

    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """In-place variant of `weft.renorm`: writes into ``self`` and returns it."""

    def repeat(self, *args: _int | Sequence[_int], repeats: Sequence[_int] | None = None) -> Tensor:
        """Repeat the tensor along each dimension; more repeats than dimensions add some in front."""

    def repeat_interleave(self, repeats: _int | Tensor | None = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Repeat each element, or each slice along ``dim``."""

    def reshape(self, *args: _int | Sequence[_int], shape: Sequence[_int] | None = None) -> Tensor:
        """Change the shape: a view where the strides allow it, else a copy."""

    def reshape_as(self, other: Tensor) -> Tensor:
        """Change the shape to that of another tensor, see `reshape`."""

    def resize(self, *sizes: _int) -> Tensor:
        """Return the elements in another shape, as `reshape` does; kept for old programs."""

    def resize_(self, *size: _int | Sequence[_int], memory_format: MemoryFormat | None = None) -> Tensor:
        """Change the size of the tensor itself, in the same memory where that is enough, else in more."""

    def resize_as(self, tensor: Tensor) -> Tensor:
        """Return the elements in the shape of another tensor, as `reshape` does; kept for old programs."""

    def resize_as_(self, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Change the size of the tensor itself to that of another (see `Tensor.resize_`)."""

    def resize_as_sparse_(self, the_template: Tensor) -> Tensor:
        """Give a sparse tensor, in place, the size of another one, and no elements."""

    def resolve_conj(self) -> Tensor:
        """A copy with the values in memory, if the conjugate bit is set; else the tensor itself."""

    def resolve_neg(self) -> Tensor:
        """A copy with the values in memory, if the negative bit is set; else the tensor itself."""

    def retain_grad(self) -> None:
        """Keep the gradient of this tensor in ``.grad`` although it is no leaf."""

    @property
    def retains_grad(self) -> _bool: ...

    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ...) -> Tensor:
        """Shift elements along some dimensions; those pushed out come in at the other end."""

    def rot90(self, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
        """Rotate a tensor by 90 degrees, k times, in the plane of two dimensions."""

    def round(self, *, decimals: _int = 0) -> Tensor:
        """Each element rounded to the nearest value with so many decimals; halves to even."""

    def round_(self, *, decimals: _int = 0) -> Tensor:
        """In-place variant of `weft.round`: writes into ``self`` and returns it."""

    def row_indices(self) -> Tensor:
        """The row of each entry: of tensors with compressed columns (see `weft.sparse_csc_tensor`)."""

    def rsqrt(self) -> Tensor:
        """1 divided by the square root of each element."""

    def rsqrt_(self) -> Tensor:
        """In-place variant of `weft.rsqrt`: writes into ``self`` and returns it."""

    def scatter(self, dim: _int, index: Tensor, src: Tensor | Scalar | None = None, *, value: Scalar | None = None, reduce: str | None = None) -> Tensor:
        """Copy ``input`` and write ``src`` (a Tensor or a number) at the positions of ``index`` along a dimension."""

    def scatter_(self, dim: _int, index: Tensor, src: Tensor | Scalar | None = None, *, value: Scalar | None = None, reduce: str | None = None) -> Tensor:
        """In-place variant of `weft.scatter`: writes into ``self`` and returns it."""

    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Copy ``input`` and add ``src`` at the positions of ``index`` along a dimension."""

    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """In-place variant of `weft.scatter_add`: writes into ``self`` and returns it."""

    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """A copy of ``input`` with the elements of ``src`` combined at the positions of ``index`` along a dimension."""

    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place variant of `weft.scatter_reduce`: writes into ``self`` and returns it."""

    def select(self, dim: _int, index: _int) -> Tensor:
        """Select one position along a dimension, which is removed: a view."""

    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """Copy ``input`` and replace one position along a dimension."""

    def set_(self, source: Tensor | TypedStorage | UntypedStorage | None = None, storage_offset: _int = 0, size: _int | Sequence[_int] | None = None, stride: Sequence[_int] | None = None) -> Tensor:
        """Make this tensor a view of other memory."""

    def sgn(self) -> Tensor:
        """Each element divided by its absolute value; 0 stays 0."""

    def sgn_(self) -> Tensor:
        """In-place variant of `weft.sgn`: writes into ``self`` and returns it."""

    def share_memory_(self) -> Tensor:
        """Move the tensor to memory that processes share; itself does not notice."""

    def short(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor as int16."""

    def sigmoid(self) -> Tensor:
        """``1 / (1 + exp(-x))`` of each element x."""

    def sigmoid_(self) -> Tensor:
        """In-place variant of `weft.sigmoid`: writes into ``self`` and returns it."""

    def sign(self) -> Tensor:
        """-1, 0 or 1, by the sign of each element."""

    def sign_(self) -> Tensor:
        """In-place variant of `weft.sign`: writes into ``self`` and returns it."""

    def signbit(self) -> Tensor:
        """Where the sign bit is set: negative elements, and -0."""

    def sin(self) -> Tensor:
        """The sine of each element, in radians."""

    def sin_(self) -> Tensor:
        """In-place variant of `weft.sin`: writes into ``self`` and returns it."""

    def sinc(self) -> Tensor:
        """``sin(pi x) / (pi x)`` of each element x; 1 at 0."""

    def sinc_(self) -> Tensor:
        """In-place variant of `weft.sinc`: writes into ``self`` and returns it."""

    def sinh(self) -> Tensor:
        """The hyperbolic sine of each element."""

    def sinh_(self) -> Tensor:
        """In-place variant of `weft.sinh`: writes into ``self`` and returns it."""

    @_overload
    def size(self, dim: None=None) -> Size:
        ...
    @_overload
    def size(self, dim: _int) -> _int:
        ...

    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """Copy ``input`` and replace a slice along a dimension."""

    def slogdet(self) -> _return_types.slogdet:
        """The sign of the determinant and the logarithm of its modulus, which neither overflows nor underflows."""

    def smm(self, mat2: Tensor) -> Tensor:
        """Product of a sparse matrix and a dense one, as a sparse matrix: see `weft.smm`."""

    def softmax(self, dim: _int, dtype: DType | None = None) -> Tensor:
        """``exp(input)`` divided by its sum along a dimension, without overflow."""

    def solve(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Removed. Use linalg.solve(A, B): its arguments are in the other order, and it gives no factorization."""

    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> _return_types.sort:
        """The elements in order along a dimension, and where they were."""

    def sparse_dim(self) -> _int:
        """0: no dimension is sparse."""

    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements at the coordinates of a sparse tensor of the same size, as a sparse tensor."""

    def sparse_resize_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Give a sparse tensor another size, in place, that holds all its elements."""

    def sparse_resize_and_clear_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Give a sparse tensor another size, in place, and no elements."""

    def split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Split a tensor into pieces of equal size, or of the sizes given, see `weft.split`."""

    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Split a tensor into pieces of the sizes given, see `split`."""

    def sqrt(self) -> Tensor:
        """The square root of each element; nan for negative real ones."""

    def sqrt_(self) -> Tensor:
        """In-place variant of `weft.sqrt`: writes into ``self`` and returns it."""

    def square(self) -> Tensor:
        """The square of each element; bool becomes int64."""

    def square_(self) -> Tensor:
        """In-place variant of `weft.square`: writes into ``self`` and returns it."""

    def squeeze(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """Remove dimensions of size 1, all or those among ``dim``: a view."""

    def squeeze_(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """In-place variant of `weft.squeeze`: writes into ``self`` and returns it."""

    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)`` as a sparse matrix: see `weft.sspaddmm`."""

    def std(self, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> Tensor:
        """The standard deviation: the square root of `var`."""

    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """The spectra of a signal seen through a window that moves along it."""

    def storage(self) -> TypedStorage:
        """Return the memory that this tensor is a view of, as elements of its dtype."""

    def storage_offset(self) -> _int:
        """Return how many elements of the storage are before the first of this tensor."""

    def storage_type(self) -> _type[TypedStorage]:
        """Return the legacy type of the tensor's storage."""

    def sub(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """``input - alpha * other``, element by element."""

    def sub_(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """In-place variant of `weft.sub`: writes into ``self`` and returns it."""

    def subtract(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """``input - alpha * other``, element by element."""

    def subtract_(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """In-place variant of `weft.sub`: writes into ``self`` and returns it."""

    def sum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: _int | Sequence[_int] | None = None, keepdims: _bool | None = None) -> Tensor:
        """The sum over some dimensions, or over all."""

    def sum_to_size(self, *size: _int | Sequence[_int]) -> Tensor:
        """The sum over the dimensions that broadcasting would have to expand from ``size``."""

    def svd(self, some: _bool = True, compute_uv: _bool = True) -> _return_types.svd:
        """``input = U diag(S) V^H``."""

    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Swap two dimensions: a view, see `transpose`."""

    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """In-place variant of `weft.swapaxes`: writes into ``self`` and returns it."""

    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dimensions: a view."""

    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place variant of `weft.transpose`: writes into ``self`` and returns it."""

    def symeig(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Removed. Use linalg.eigh(A, UPLO='L') or linalg.eigvalsh(A), which read the lower triangle."""

    def t(self) -> Tensor:
        """Transpose a matrix: a view; a vector stays as it is."""

    def t_(self) -> Tensor:
        """In-place variant of `weft.t`: writes into ``self`` and returns it."""

    def take(self, index: Tensor) -> Tensor:
        """Select elements at positions of the flattened tensor."""

    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """Gather elements at positions along a dimension, broadcasting the others."""

    def tan(self) -> Tensor:
        """The tangent of each element, in radians."""

    def tan_(self) -> Tensor:
        """In-place variant of `weft.tan`: writes into ``self`` and returns it."""

    def tanh(self) -> Tensor:
        """The hyperbolic tangent of each element."""

    def tanh_(self) -> Tensor:
        """In-place variant of `weft.tanh`: writes into ``self`` and returns it."""

    def tensor_split(self, indices_or_sections: _int | Sequence[_int] | Tensor | None = None, dim: _int = 0, *, sections: _int | None = None, indices: Sequence[_int] | None = None, tensor_indices_or_sections: Tensor | None = None) -> tuple[Tensor, ...]:
        """Split a tensor into a number of pieces of nearly equal size, or before the given indices."""

    def tile(self, *args: _int | Sequence[_int], dims: Sequence[_int] | None = None) -> Tensor:
        """Repeat the tensor along each dimension; missing repeats are 1."""

    def to(self, *args: DType | Device | Tensor, dtype: DType | None = None, device: Device = None, non_blocking: _bool = False, copy: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
        """Convert a tensor to another dtype or device; return it unchanged if it has both."""

    def to_dense(self, dtype: DType | None = None, *, masked_grad: _bool | None = None) -> Tensor:
        """Return the tensor itself, which is dense, in another dtype if one is given."""

    def to_device(self, device: Device, /, *, stream: Any = None) -> Tensor:
        """The tensor on a device, as the array API spells ``to``."""

    def to_padded_tensor(self, padding: _float, output_size: Sequence[_int] | None = None) -> Tensor:
        """The components of a nested tensor in a dense one, with padding behind shorter ones."""

    def to_sparse(self, sparse_dim: _int | None = None, *, layout: Layout | None = None, blocksize: _int | Sequence[_int] | None = None, dense_dim: _int | None = None) -> Tensor:
        """A sparse tensor of the elements that are not zero."""

    def to_sparse_bsc(self, blocksize: _int | Sequence[_int], dense_dim: _int | None = None) -> Tensor:
        """A sparse tensor of compressed columns of blocks: see `weft.sparse_bsc_tensor` and `to_sparse_bsr`."""

    def to_sparse_bsr(self, blocksize: _int | Sequence[_int], dense_dim: _int | None = None) -> Tensor:
        """A sparse tensor of compressed rows of blocks: see `weft.sparse_bsr_tensor` and `to_sparse_csr`."""

    def to_sparse_coo(self) -> Tensor:
        """A sparse tensor of coordinates and values, the same as `to_sparse`."""

    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor:
        """A sparse tensor of compressed columns: see `weft.sparse_csc_tensor` and `to_sparse_csr`."""

    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """A sparse tensor of compressed rows: see `weft.sparse_csr_tensor`."""

    def tolist(self) -> Any:
        """Return the elements as Python numbers in nested lists; of a 0-d tensor the number."""

    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> _return_types.topk:
        """The k largest (or smallest) elements along a dimension, and where they are."""

    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal."""

    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dimensions: a view."""

    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place variant of `weft.transpose`: writes into ``self`` and returns it."""

    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> _return_types.triangular_solve:
        """The solution of ``A X = input`` with a triangular A, and a copy of A."""

    def tril(self, diagonal: _int = 0) -> Tensor:
        """Keep the elements on and below a diagonal of each matrix; set the others to 0."""

    def tril_(self, diagonal: _int = 0) -> Tensor:
        """In-place variant of `weft.tril`: writes into ``self`` and returns it."""

    def triu(self, diagonal: _int = 0) -> Tensor:
        """Keep the elements on and above a diagonal of each matrix; set the others to 0."""

    def triu_(self, diagonal: _int = 0) -> Tensor:
        """In-place variant of `weft.triu`: writes into ``self`` and returns it."""

    def true_divide(self, other: Tensor | Scalar) -> Tensor:
        """The quotient of each pair of elements; integers are divided as floating-point numbers."""

    def true_divide_(self, other: Tensor | Scalar) -> Tensor:
        """In-place variant of `weft.true_divide`: writes into ``self`` and returns it."""

    def trunc(self) -> Tensor:
        """Each element without its fraction."""

    def trunc_(self) -> Tensor:
        """In-place variant of `weft.trunc`: writes into ``self`` and returns it."""

    @_overload
    def type(self, dtype: None=None, non_blocking: _bool=False) -> str:
        """Return the name of the tensor's type, or convert the tensor to another dtype."""
    @_overload
    def type(self, dtype: DType | str | _type, non_blocking: _bool=False) -> Tensor:
        """Return the name of the tensor's type, or convert the tensor to another dtype."""

    def type_as(self, other: Tensor) -> Tensor:
        """Convert the tensor to the dtype and device of another."""

    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """Return the slices along a dimension, which is removed, as a tuple of views."""

    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """Divide one dimension into several."""

    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Return sliding windows of ``size`` positions, ``step`` apart, along a dimension: a view."""

    def uniform_(self, *bounds: Number | Tensor, generator: Generator | None = None, **named: Number | Tensor) -> Tensor:
        """In-place variant of `weft._uniform`: writes into ``self`` and returns it."""

    @_overload
    def unique(self, sorted: _bool=True, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor:
        """The distinct elements in order, or the distinct slices along a dimension."""
    @_overload
    def unique(self, sorted: _bool=True, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> tuple[Tensor, ...]:
        """The distinct elements in order, or the distinct slices along a dimension."""

    @_overload
    def unique_consecutive(self, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor:
        """Without the elements (or slices along ``dim``) that equal the one before."""
    @_overload
    def unique_consecutive(self, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> tuple[Tensor, ...]:
        """Without the elements (or slices along ``dim``) that equal the one before."""

    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`chunk`, in pieces that may be written to, since each has a history of its own."""

    def unsafe_split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """`split`, in pieces that may be written to, since each has a history of its own."""

    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """`split`, in pieces that may be written to, since each has a history of its own."""

    def unsqueeze(self, dim: _int) -> Tensor:
        """Insert a dimension of size 1 in front of ``dim``: a view."""

    def unsqueeze_(self, dim: _int) -> Tensor:
        """In-place variant of `weft.unsqueeze`: writes into ``self`` and returns it."""

    def untyped_storage(self) -> UntypedStorage:
        """Return the memory that this tensor is a view of, as bytes."""

    def values(self) -> Tensor:
        """The elements that a sparse tensor keeps, or the components of a nested one, in one tensor."""

    def var(self, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> Tensor:
        """The variance over some dimensions, or over all."""

    def vdot(self, other: Tensor) -> Tensor:
        """`dot` with the first vector conjugated."""

    def view(self, *args: _int | Sequence[_int] | DType, size: Sequence[_int] | None = None, dtype: DType | None = None) -> Tensor:
        """View a tensor's memory with another shape; with a dtype, its bytes as another dtype."""

    def view_as(self, other: Tensor) -> Tensor:
        """View a tensor with the shape of another, see `Tensor.view`."""

    @property
    def volatile(self) -> _bool: ...

    def vsplit(self, indices_or_sections: _int | Sequence[_int] | None = None, *, sections: _int | None = None, indices: Sequence[_int] | None = None) -> tuple[Tensor, ...]:
        """Split into equal parts, or before given indices, along the first dimension."""

    def where(self, condition: Tensor, other: Tensor | Scalar) -> Tensor:
        ...

    def xlogy(self, other: Tensor | Number) -> Tensor:
        """``input * log(other)``, 0 where input is 0 (and other is no nan)."""

    def xlogy_(self, other: Tensor | Number) -> Tensor:
        """In-place variant of `weft.xlogy`: writes into ``self`` and returns it."""

    def zero_(self) -> Tensor:
        """In-place variant of `weft._zero`: writes into ``self`` and returns it."""
