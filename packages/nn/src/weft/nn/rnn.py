"""Recurrent networks: Elman, LSTM and GRU, as whole layers over sequences and as cells for one step."""

from __future__ import annotations

import math
import warnings
from typing import Any

import weft
from weft import Tensor
from weft.library.declare import autocast_args
from weft.library.state import local
from weft.nn import functional as F
from weft.nn import init
from weft.nn._docstrings import documented, sections_of
from weft.nn._types import DeviceLike, DType
from weft.nn.functional.recurrent import GATES, State, recurrent_layer
from weft.nn.module import Module
from weft.nn.parameter import Parameter
from weft.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

# -- layers -----------------------------------------------------------------------------------------------------------


def _run_layers(
    mode: str,
    data: Tensor,
    batch_sizes: list[int],
    state: State,
    weights: list[dict[str, Tensor]],
    num_layers: int,
    dropout: float,
) -> tuple[Tensor, State]:
    """Run layers, whose weights come layer by layer and direction by direction, with dropout between them."""
    data = data.reshape(-1, data.size(-1))
    directions = len(weights) // num_layers
    last_states: list[State] = []
    for layer in range(num_layers):
        if layer > 0 and dropout > 0:
            data = F.dropout(data, dropout, True)
        outputs = []
        for direction in range(directions):
            row = layer * directions + direction
            initial = tuple(part[row] for part in state)
            output, last = recurrent_layer(mode, data, initial, weights[row], batch_sizes, reverse=direction == 1)
            outputs.append(output)
            last_states.append(last)
        data = outputs[0] if directions == 1 else weft.cat(outputs, -1)
    return data, tuple(weft.stack(list(parts)) for parts in zip(*last_states, strict=True))


# -- without modules: what weft.lstm and its like do -----------------------------------------------------------------


def recurrent(name: str, mode: str, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """Run layers whose parameters come as one list; see `weft.nn.toplevel`.

    Raises
    ------
    TypeError
        If arguments are missing.
    RuntimeError
        If the parameters are not as many as layers and directions need, or a shape does not fit.
    """
    packed = "batch_sizes" in kwargs or (
        len(args) > 3 and isinstance(args[3], (list, tuple))
    )  # else a flag stands there
    common = ("params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
    names = ("data", "batch_sizes", "hx", *common) if packed else ("input", "hx", *common, "batch_first")
    given = dict(zip(names, args)) | kwargs
    if len(args) > len(names) or set(given) != set(names):
        raise TypeError(f"{name}(): takes {', '.join(names)}; got {', '.join(given)}")
    state: State = tuple(given["hx"]) if mode == "LSTM" else (given["hx"],)
    if len(state) != (2 if mode == "LSTM" else 1):
        raise RuntimeError(f"{name}: expects two hidden states, h and c, got {len(state)}")
    directions = 2 if given["bidirectional"] else 1
    weights = _named_weights(name, given["params"], given["has_biases"], given["num_layers"] * directions, state)
    steps = given["data"] if packed else given["input"]
    if not packed and given["batch_first"]:
        steps = steps.transpose(0, 1)
    sizes = given["batch_sizes"].tolist() if packed else [steps.size(1)] * steps.size(0)
    if packed:
        _check_batch_sizes(name, sizes, steps)
    _check_state(name, state, weights, sizes[0])
    dropout = given["dropout"] if given["train"] else 0.0
    output, state = _run_layers(mode, steps, sizes, state, weights, given["num_layers"], dropout)
    if not packed:
        output = output.reshape(steps.size(0), steps.size(1), output.size(-1))
        output = output.transpose(0, 1) if given["batch_first"] else output
    return output, *state


def _named_weights(name: str, params: Any, has_biases: bool, count: int, state: State) -> list[dict[str, Tensor]]:
    """The parameters of each layer and direction by what they are."""
    kinds = ["weight_ih", "weight_hh"] + (["bias_ih", "bias_hh"] if has_biases else [])
    if len(state) == 2 and state[0].size(2) != state[1].size(2):
        kinds.append("weight_hr")
    if len(params) != count * len(kinds):
        raise RuntimeError(
            f"{name}: expected {count * len(kinds)} parameters ({', '.join(kinds)} for each of {count} layers and "
            f"directions), got {len(params)}"
        )
    return [dict(zip(kinds, params[start : start + len(kinds)])) for start in range(0, len(params), len(kinds))]


def _check_batch_sizes(name: str, sizes: list[int], data: Tensor) -> None:
    """Raise RuntimeError unless the sizes are those of packed steps, which go on with the longest sequences."""
    ordered = bool(sizes) and sizes[0] > 0 and sizes[-1] >= 0 and sizes == sorted(sizes, reverse=True)
    if not ordered or sum(sizes) != data.size(0):
        raise RuntimeError(
            f"{name}: batch_sizes of a PackedSequence must begin above 0, must not increase, and must sum to the "
            f"{data.size(0)} rows of its data; got {sizes}. Make it by pack_padded_sequence"
        )


def _check_state(name: str, state: State, weights: list[dict[str, Tensor]], batch: int) -> None:
    for part in state:
        if part.dim() != 3 or tuple(part.shape[:2]) != (len(weights), batch):
            raise RuntimeError(
                f"{name}: expected the initial state to have shape ({len(weights)}, {batch}, hidden_size), got "
                f"{list(part.shape)}"
            )


def single_step(
    name: str, mode: str, input: Tensor, state: State, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any
) -> State:
    """One step of a network, with the parameters of a cell.

    Raises
    ------
    RuntimeError
        If a shape does not fit.
    """
    hidden = state[0].size(-1)
    for argument, weight, columns in (("w_ih", w_ih, input.size(-1)), ("w_hh", w_hh, hidden)):
        if tuple(weight.shape) != (GATES[mode] * hidden, columns):
            raise RuntimeError(
                f"{name}: {argument} must have shape ({GATES[mode]} * {hidden}, {columns}), from the sizes of input "
                f"{list(input.shape)} and hx {list(state[0].shape)}; got {list(weight.shape)}"
            )
    return _one_step(mode, input, state, w_ih, w_hh, b_ih, b_hh)


def _one_step(mode: str, x: Tensor, state: State, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any) -> State:
    weights = {"weight_ih": w_ih, "weight_hh": w_hh, "bias_ih": b_ih, "bias_hh": b_hh}
    output, state = recurrent_layer(mode, x, state, weights, [x.size(0)])
    return output, *state[1:]  # it is the last h, and a tensor that programs may write to


NONLINEARITY = """
nonlinearity : "tanh" or "relu"
    "tanh" by default. By position it comes before ``bias``."""

PROJECTION = """
proj_size : int
    The size to which an LSTM's hidden state is projected; 0 means not at all."""

STATES = """\
hx, state : (num_layers * directions, N, H)
    The states before the first step, 0 by default, and after the last."""

STATES_OF_LSTM = """\
hx, state : pairs of (num_layers * directions, N, H) and (num_layers * directions, N, hidden_size)
    The states (h, c) before the first step, 0 by default, and after the last."""

SIZE, PROJECTED_SIZE = "H is ``hidden_size``.", "H is ``proj_size``, or ``hidden_size`` where that is 0."


class RNNBase(Module):
    """Base class of RNN, LSTM and GRU: the parameters of all layers and directions, and the loop over them.

    Parameters
    ----------
    {mode}input_size, hidden_size : int
    num_layers : int
        Each layer takes the outputs of the one before.{options}
    bias : bool
        Whether there are biases.
    batch_first : bool
        Whether inputs and outputs are (N, L, ...) rather than (L, N, ...); states are (..., N, ...) always.
    dropout : float
        Of the outputs of all layers but the last, in training mode.
    bidirectional : bool
        Whether a second network runs from the end; its outputs are joined to the first's.{projection}
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input : (L, N, input_size), or (N, L, input_size) with ``batch_first``, or a PackedSequence; N may be absent
    output : (L, N, directions * H), likewise
        The hidden states of the last layer. {size}
    {states}

    Attributes
    ----------
    weight_ih_l0 : Parameter, shape (gates * hidden_size, input_size)
        Of layer 0, and so on for each layer; later ones have inputs of size ``directions * H``. The second
        direction's names end in ``_reverse``. Gates are stacked: an LSTM's are i, f, g, o; a GRU's r, z, n.
    weight_hh_l0 : Parameter, shape (gates * hidden_size, H)
    bias_ih_l0, bias_hh_l0 : Parameter, shape (gates * hidden_size,)
        All drawn uniformly from ±1/sqrt(hidden_size).

    Examples
    --------
    >>> weft.nn.RNNBase("GRU", 10, 20)(weft.randn(5, 3, 10))[0].shape
    weft.Size([5, 3, 20])
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_sizes(dropout)
        self.dropout = float(dropout)
        self._weight_names: list[dict[str, str]] = []  # by layer and direction: kind to attribute
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                self._weight_names.append(self._make_weights(layer, suffix, device, dtype))
        self.reset_parameters()

    def _check_sizes(self, dropout: Any) -> None:
        name = self._get_name()
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(
                f"{name}: dropout should be a number in range [0, 1], the probability of an element being zeroed, got "
                f"{dropout!r}"
            )
        if self.mode not in GATES:
            raise ValueError(f"{name}: unrecognized RNN mode: {self.mode}; choose {list(GATES)}")
        for option, wanted in (("input_size", int), ("hidden_size", int), ("bias", bool), ("batch_first", bool)):
            value = getattr(self, option)
            if not isinstance(value, wanted):
                raise TypeError(f"{name}: {option} should be of type {wanted.__name__}, got: {type(value).__name__}")
        for option in ("input_size", "hidden_size"):
            if getattr(self, option) <= 0:
                raise ValueError(f"{name}: {option} must be greater than zero, got {getattr(self, option)}")
        if self.num_layers <= 0:
            raise ValueError(f"{name}: num_layers must be greater than zero, got {self.num_layers}")
        if not 0 <= self.proj_size < self.hidden_size:
            raise ValueError(
                f"{name}: proj_size should be a positive integer smaller than hidden_size ({self.hidden_size}), or 0 "
                f"to disable projections, got {self.proj_size}"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                f"{name}: dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )

    def _make_weights(self, layer: int, suffix: str, device: DeviceLike, dtype: DType) -> dict[str, str]:
        gates = GATES[self.mode] * self.hidden_size
        output_size = self.proj_size or self.hidden_size
        directions = 2 if self.bidirectional else 1
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, self.input_size if layer == 0 else output_size * directions),
            "weight_hh": (gates, output_size),
        }
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = {kind: f"{kind}_l{layer}{suffix}" for kind in shapes}
        for kind, shape in shapes.items():
            setattr(self, names[kind], Parameter(weft.empty(shape, device=device, dtype=dtype)))
        return names

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names.values()] for names in self._weight_names]

    @property
    def _all_weights(self) -> list[list[str]]:
        """The names of the parameters of each layer and direction; PyTorch's name, which programs use."""
        return [list(names.values()) for names in self._weight_names]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor | None]:
        """All weights in one list, as they are now: parameters, what a hook computed, or None where one was deleted."""
        return [getattr(self, name, None) for name in self._flat_weights_names]

    def flatten_parameters(self) -> None:
        """Do nothing: the parameters need not lie in one piece of memory."""

    # -- checks ------------------------------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise the error for an input of the wrong number of axes or features, or of another dtype."""
        weight: Any = self._parameters.get("weight_ih_l0")
        if weight is not None and input.dtype is not weight.dtype and not weft.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"{self._get_name()}: RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        axes = 2 if batch_sizes is not None else 3
        if input.dim() != axes:
            raise RuntimeError(f"{self._get_name()}: input must have {axes} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"{self._get_name()}: input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                f"got {input.size(-1)}"
            )

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, ...], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise the error for a state of the wrong shape; ``msg`` has places for the two shapes."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(f"{self._get_name()}: {msg.format(expected_hidden_size, list(hx.shape))}")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the state h that fits an input, of a batch or (with ``batch_sizes``) packed."""
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.proj_size or self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise the error for an input or a state of the wrong shape."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the state with its sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # -- running -----------------------------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Run over sequences.

        Parameters
        ----------
        input : Tensor of shape (L, N, input_size), or PackedSequence
            (N, L, input_size) with ``batch_first``; N may be absent.
        hx : Tensor of shape (layers * directions, N, hidden_size), optional
            The initial state, 0 by default; an LSTM's is a pair (h, c). N is absent if it is in the input.

        Returns
        -------
        (output, hx)
            The hidden states of the last layer, of shape (L, N, directions * hidden_size) or packed; and the state at
            the end of each sequence, of the shape of the initial one.
        """
        state = None if hx is None else (tuple(hx) if self.mode == "LSTM" else (hx,))
        run: Any = self._forward_packed if isinstance(input, PackedSequence) else self._forward_padded
        output, state = run(input, state)
        return output, state if self.mode == "LSTM" else state[0]

    def _forward_padded(self, input: Tensor, state: State | None) -> tuple[Tensor, State]:
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        batch_axis = 0 if self.batch_first else 1
        if state is not None:
            for part in state:
                if part.dim() != input.dim():
                    kind = "batched 3-D" if batched else "unbatched 2-D"
                    raise RuntimeError(
                        f"{self._get_name()}: For {kind} input, hx should also be {input.dim()}-D but got "
                        f"{part.dim()}-D tensor"
                    )
        if not batched:
            input = input.unsqueeze(batch_axis)
            state = None if state is None else tuple(part.unsqueeze(1) for part in state)
        self.check_input(input, None)
        steps = input.transpose(0, 1) if self.batch_first else input  # (L, N, input_size)
        if not steps.size(0):
            raise RuntimeError(f"{self._get_name()}: Expected sequence length to be larger than 0 in RNN")
        state = self._initial_state(state, steps.size(1), input)
        if local.precision is not None and self.mode == "LSTM" and not self.proj_size:  # as PyTorch's kernel for it
            steps, state = autocast_args("half", (steps, state))
        output, state = self._run_layers(steps, [steps.size(1)] * steps.size(0), state)
        output = output.reshape(steps.size(0), steps.size(1), output.size(-1))
        if self.batch_first:
            output = output.transpose(0, 1)
        if not batched:
            return output.squeeze(batch_axis), tuple(part.squeeze(1) for part in state)
        return output, state

    def _forward_packed(self, input: PackedSequence, state: State | None) -> tuple[PackedSequence, State]:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        self.check_input(data, batch_sizes)
        sizes = [int(size) for size in batch_sizes.tolist()]
        _check_batch_sizes(self._get_name(), sizes, data)
        if state is not None and sorted_indices is not None:
            state = tuple(part.index_select(1, sorted_indices) for part in state)
        output, state = self._run_layers(data, sizes, self._initial_state(state, sizes[0], data))
        if unsorted_indices is not None:
            state = tuple(part.index_select(1, unsorted_indices) for part in state)
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), state

    def _initial_state(self, state: State | None, batch: int, like: Tensor) -> State:
        rows = self.num_layers * (2 if self.bidirectional else 1)
        h_shape = (rows, batch, self.proj_size or self.hidden_size)
        c_shape = (rows, batch, self.hidden_size)
        shapes = (h_shape, c_shape) if self.mode == "LSTM" else (h_shape,)
        if state is None:
            return tuple(weft.zeros(shape, dtype=like.dtype, device=like.device) for shape in shapes)
        if len(state) != len(shapes):
            raise RuntimeError(f"{self._get_name()}: expects two hidden states (h, c), got {len(state)}")
        for part, shape, name in zip(state, shapes, ("hidden[0]", "hidden[1]"), strict=False):
            name = name if self.mode == "LSTM" else "hidden"
            self.check_hidden_size(part, shape, f"Expected {name} size {{}}, got {{}}")
        return state

    def _run_layers(self, data: Tensor, batch_sizes: list[int], state: State) -> tuple[Tensor, State]:
        """Run all layers over steps that are joined along the first axis, or stacked (L, N, features)."""
        weights = [{kind: getattr(self, name) for kind, name in names.items()} for names in self._weight_names]
        return _run_layers(
            self.mode, data, batch_sizes, state, weights, self.num_layers, self.dropout if self.training else 0.0
        )

    def extra_repr(self) -> str:
        """Return the sizes, and what differs from the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


SECTIONS = sections_of(RNNBase).partition("\n\nExamples\n")[0]

documented(  # the base class itself, whose docstring was read unfilled
    mode='mode : "RNN_TANH", "RNN_RELU", "LSTM" or "GRU"\n',
    options="",
    projection=PROJECTION,
    size=PROJECTED_SIZE,
    states=f"{STATES}\n    Those of an LSTM are a pair (h, c).",
)(RNNBase)


@documented(sections=SECTIONS, mode="", options=NONLINEARITY, projection="", size=SIZE, states=STATES)
class RNN(RNNBase):
    """Elman network, layers of it, in one direction or both.

    ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`` at each step.

    {sections}

    Raises
    ------
    ValueError
        If a size is not positive, or ``dropout`` is no probability.
    RuntimeError
        If input or state have other shapes.

    References
    ----------
    Elman, Finding structure in time, 1990.

    Examples
    --------
    >>> network = weft.nn.RNN(10, 20, num_layers=2, batch_first=True)
    >>> output, state = network(weft.randn(3, 5, 10))
    >>> output.shape, state.shape
    (weft.Size([3, 5, 20]), weft.Size([2, 3, 20]))
    >>> bool((output[:, -1] == state[-1]).all())  # the last output is the last layer's state
    True
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("RNN: proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self_nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            self_nonlinearity = kwargs.pop("nonlinearity", "tanh")
        modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
        if self_nonlinearity not in modes:
            raise ValueError(f"RNN: Unknown nonlinearity {self_nonlinearity!r}. Select from 'tanh' or 'relu'.")
        super().__init__(modes[self_nonlinearity], *args, **kwargs)
        self.nonlinearity = self_nonlinearity


@documented(sections=SECTIONS, mode="", options="", projection=PROJECTION, size=PROJECTED_SIZE, states=STATES_OF_LSTM)
class LSTM(RNNBase):
    """Long short-term memory, layers of it, in one direction or both.

    At each step, with gates i, f, o (sigmoids) and g (a tanh) of ``W_ih x + b_ih + W_hh h + b_hh``: ``c' = f c + i g``
    and ``h' = o tanh(c')``.

    {sections}

    Raises
    ------
    ValueError
        If a size is not positive, or ``dropout`` is no probability.
    RuntimeError
        If input or state have other shapes.

    References
    ----------
    Hochreiter and Schmidhuber, Long short-term memory, 1997; the projection is of arXiv:1402.1128.

    Examples
    --------
    >>> network = weft.nn.LSTM(10, 20, bidirectional=True)
    >>> output, (h, c) = network(weft.randn(5, 3, 10))
    >>> output.shape, h.shape, c.shape
    (weft.Size([5, 3, 40]), weft.Size([2, 3, 20]), weft.Size([2, 3, 20]))

    Sequences of several lengths run packed:

    >>> packed = weft.nn.utils.rnn.pack_sequence([weft.randn(4, 10), weft.randn(2, 10)])
    >>> output, (h, c) = network(packed)
    >>> output.data.shape, h.shape
    (weft.Size([6, 40]), weft.Size([2, 2, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the state c that fits an input."""
        rows, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return rows, batch, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise the error for an input or one of the states (h, c) of the wrong shape."""
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        for part, size, name in zip(hidden, sizes, ("hidden[0]", "hidden[1]"), strict=True):
            self.check_hidden_size(part, size, f"Expected {name} size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return both states with their sequences in another order."""
        return tuple(RNNBase.permute_hidden(self, part, permutation) for part in hx)


@documented(sections=SECTIONS, mode="", options="", projection="", size=SIZE, states=STATES)
class GRU(RNNBase):
    """Gated recurrent unit, layers of it, in one direction or both.

    At each step, with gates r and z (sigmoids) of ``W_ih x + b_ih + W_hh h + b_hh``:
    ``n = tanh(W_in x + b_in + r (W_hn h + b_hn))`` and ``h' = (1 - z) n + z h``.

    {sections}

    Raises
    ------
    ValueError
        If a size is not positive, or ``dropout`` is no probability.
    RuntimeError
        If input or state have other shapes.

    References
    ----------
    arXiv:1406.1078; here the reset gate applies to the product with the hidden state, not to the state itself.

    Examples
    --------
    >>> network = weft.nn.GRU(10, 20)
    >>> output, state = network(weft.randn(5, 10))  # one sequence, without a batch
    >>> output.shape, state.shape
    (weft.Size([5, 20]), weft.Size([1, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("GRU: proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


# -- cells -----------------------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """Base class of the cells: the parameters of one step.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
        Whether there are biases.
    num_chunks : int
        The number of gates.
    device, dtype : optional
        Of the parameters.

    Attributes
    ----------
    weight_ih : Parameter, shape (num_chunks * hidden_size, input_size)
    weight_hh : Parameter, shape (num_chunks * hidden_size, hidden_size)
    bias_ih, bias_hh : Parameter, shape (num_chunks * hidden_size,), or None
        All drawn uniformly from ±1/sqrt(hidden_size).

    Examples
    --------
    >>> weft.nn.RNNCellBase(10, 20, bias=True, num_chunks=4).weight_ih.shape
    weft.Size([80, 10])
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(weft.empty((gates, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(weft.empty((gates, hidden_size), device=device, dtype=dtype))
        self.register_parameter("bias_ih", Parameter(weft.empty(gates, device=device, dtype=dtype)) if bias else None)
        self.register_parameter("bias_hh", Parameter(weft.empty(gates, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _advance(self, mode: str, input: Tensor, state: Any) -> State:
        """Check ``input`` and ``state``, make a batch of them, and take one step."""
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if mode == "LSTM" and state is not None:
            if isinstance(state, Tensor) and input.dim() == 2:
                raise TypeError(f"{name}: argument 'hx' must be tuple of Tensors, not Tensor")
            if len(state) != 2:
                raise RuntimeError(f"{name}: expects two hidden states (h, c), got {len(state)}")
        for index, part in enumerate(() if state is None else state):
            if part.dim() not in (1, 2):
                label = f"hx[{index}]" if mode == "LSTM" else "hidden"
                raise ValueError(f"{name}: Expected {label} to be 1D or 2D, got {part.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if x.size(1) != self.input_size:
            raise RuntimeError(f"{name}: input has inconsistent input_size: got {x.size(1)} expected {self.input_size}")
        if state is None:
            zeros = weft.zeros((x.size(0), self.hidden_size), dtype=x.dtype, device=x.device)
            state = (zeros, zeros) if mode == "LSTM" else (zeros,)
        elif not batched:
            state = tuple(part.unsqueeze(0) for part in state)
        for index, part in enumerate(state):
            if tuple(part.shape) != (x.size(0), self.hidden_size):
                self._refuse_state(index, part, x)
        state = _one_step(mode, x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return state if batched else tuple(part.squeeze(0) for part in state)

    def _refuse_state(self, index: int, part: Tensor, x: Tensor) -> None:
        name = self._get_name()
        if part.dim() != 2:
            raise RuntimeError(f"{name}: hidden{index} must be 2-D for a batch of inputs, got {part.dim()}-D")
        if part.size(0) != x.size(0):
            raise RuntimeError(
                f"{name}: Input batch size {x.size(0)} doesn't match hidden{index} batch size {part.size(0)}"
            )
        raise RuntimeError(
            f"{name}: hidden{index} has inconsistent hidden_size: got {part.size(1)}, expected {self.hidden_size}"
        )

    def extra_repr(self) -> str:
        """Return the sizes, and what differs from the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else text + f", nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of an Elman network: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
        Whether there are biases.
    nonlinearity : "tanh" or "relu"
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input : (N, input_size) or (input_size,)
    hx, output : (N, hidden_size) or (hidden_size,)
        The state before (0 by default) and after.

    Attributes
    ----------
    weight_ih, weight_hh, bias_ih, bias_hh : Parameter
        As of layer 0 of `RNN`.

    Raises
    ------
    ValueError
        If input or state have other than 1 or 2 dimensions.
    RuntimeError
        If their sizes do not fit.

    Examples
    --------
    >>> cell, state = weft.nn.RNNCell(10, 20), None
    >>> for x in weft.randn(6, 3, 10):  # 6 steps of 3 sequences
    ...     state = cell(x, state)
    >>> state.shape
    weft.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Map ``input`` (N, input_size) and ``hx`` (N, hidden_size) to the next hidden state; N may be absent."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"RNNCell: Unknown nonlinearity: {self.nonlinearity}")
        return self._advance(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of an `LSTM`.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
        Whether there are biases.
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input : (N, input_size) or (input_size,)
    hx, output : pairs of (N, hidden_size) or (hidden_size,)
        The states (h, c) before (0 by default) and after.

    Attributes
    ----------
    weight_ih, weight_hh, bias_ih, bias_hh : Parameter
        As of layer 0 of `LSTM`.

    Raises
    ------
    ValueError
        If input or state have other than 1 or 2 dimensions.
    RuntimeError
        If their sizes do not fit.

    Examples
    --------
    >>> cell, state = weft.nn.LSTMCell(10, 20), None
    >>> for x in weft.randn(6, 3, 10):  # 6 steps of 3 sequences
    ...     state = cell(x, state)
    >>> h, c = state
    >>> h.shape, c.shape
    (weft.Size([3, 20]), weft.Size([3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Map ``input`` (N, input_size) and ``hx``, a pair (h, c), to the next pair; N may be absent."""
        h, c = self._advance("LSTM", input, hx)
        return h, c


class GRUCell(RNNCellBase):
    """One step of a `GRU`.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
        Whether there are biases.
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input : (N, input_size) or (input_size,)
    hx, output : (N, hidden_size) or (hidden_size,)
        The state before (0 by default) and after.

    Attributes
    ----------
    weight_ih, weight_hh, bias_ih, bias_hh : Parameter
        As of layer 0 of `GRU`.

    Raises
    ------
    ValueError
        If input or state have other than 1 or 2 dimensions.
    RuntimeError
        If their sizes do not fit.

    Examples
    --------
    >>> cell, state = weft.nn.GRUCell(10, 20), None
    >>> for x in weft.randn(6, 3, 10):  # 6 steps of 3 sequences
    ...     state = cell(x, state)
    >>> state.shape
    weft.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Map ``input`` (N, input_size) and ``hx`` (N, hidden_size) to the next hidden state; N may be absent."""
        return self._advance("GRU", input, None if hx is None else (hx,))[0]
