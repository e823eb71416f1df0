"""Recurrent layers: one layer in one direction, over all steps of its sequences, is one op.

Its gradient is a second op, which goes back over the steps once and leaves the gradients of the weights to one product
each. The formula, step by step in ops, defines both. It is what runs where gradients are recorded to be differentiated
again, where tensors belong to function transforms, and for arguments that the ops do not take.

Sequences are sorted by length, longest first; their steps are joined along the first dimension, and ``sizes`` has the
number of sequences that each step has. Forward, those that have ended drop out of the state; in reverse, they join with
their initial state when their last element comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import weft
from weft import Tensor
from weft.library.checks import has_values
from weft.library.declare import op
from weft.library.state import local
from weft.nn.functional.activation import relu
from weft.nn.functional.linear import linear
from weft.ops.reductions import reduce

__all__ = ["GATES", "State", "recurrent_layer"]

State = tuple[Tensor, ...]  # (h,), or (h, c) of an LSTM
Step = Callable[[Tensor, State], State]  # from the projected input of one step and the state, the next state

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def recurrent_layer(
    mode: str, input: Tensor, state: State, weights: dict[str, Tensor], sizes: Sequence[int], reverse: bool = False
) -> tuple[Tensor, State]:
    """One layer in one direction.

    Parameters
    ----------
    mode : {"RNN_TANH", "RNN_RELU", "LSTM", "GRU"}
    input : Tensor, shape (sum of sizes, features)
    state : tuple of Tensor, shape (sizes[0], hidden_size)
        h, and of an LSTM c; its h may be narrower, with ``weight_hr``.
    weights : dict
        ``weight_ih``, ``weight_hh``, and where they are there ``bias_ih``, ``bias_hh``, ``weight_hr``.
    sizes : sequence of int
        How many sequences have each step, never more than the step before.
    reverse : bool
        Run from the end.

    Returns
    -------
    (output, state)
        The hidden states of all steps, of the shape (sum of sizes, width of h), and the last state of each sequence.
    """
    get = weights.get
    parameters = (weights["weight_ih"], weights["weight_hh"], get("bias_ih"), get("bias_hh"))
    if not is_one_op(mode, input, state, (*parameters, get("weight_hr")), sizes):
        return formula(mode, input, state, (*parameters, get("weight_hr")), sizes, reverse)
    if mode == "LSTM":
        output, h, c, *_ = lstm_layer.op(input, *state, *parameters, get("weight_hr"), tuple(sizes), reverse)
        return output, (h, c)
    if mode == "GRU":
        output, h, *_ = gru_layer.op(input, *state, *parameters, tuple(sizes), reverse)
    else:
        output, h, *_ = rnn_layer.op(input, *state, *parameters, tuple(sizes), reverse, mode == "RNN_RELU")
    return output, (h,)


def is_one_op(
    mode: str, input: Tensor, state: State, parameters: tuple[Tensor | None, ...], sizes: Sequence[int]
) -> bool:
    """Whether tensors are of one dtype that no autocast changes, of shapes that fit, and of no class of a user's."""
    if local.precision is not None or local.modes or input.ndim != 2:
        return False
    key = input._key
    for each in (input, *state, *parameters):
        if each is not None and each._key is not key:
            if each._key.dtype is not key.dtype or each._key.device is not key.device:
                return False
            if not (each._key.plain or each._key.wrapped):
                return False
    if not key.is_real_float or not (key.plain or key.wrapped):
        return False
    return are_fitting(mode, input, state, parameters) and are_steps(sizes, input.shape[0], state[0].shape[0])


def are_fitting(mode: str, input: Tensor, state: State, parameters: tuple[Tensor | None, ...]) -> bool:
    """Whether the shapes fit together, and nothing is empty."""
    weight_ih, weight_hh, bias_ih, bias_hh, weight_hr = parameters
    batch, width = state[0].shape if state[0].ndim == 2 else (0, 0)
    size = state[-1].shape[-1]
    rows = GATES[mode] * size
    expected = [
        (state[-1], (batch, size)),
        (weight_ih, (rows, input.shape[1])),
        (weight_hh, (rows, width)),
        (bias_ih, (rows,)),
        (bias_hh, (rows,)),
        (weight_hr, (width, size)),
    ]
    if not batch or not size or not width or not input.shape[1] or (weight_hr is None and width != size):
        return False
    return all(each is None or tuple(each.shape) == shape for each, shape in expected)


def are_steps(sizes: Sequence[int], rows: int, batch: int) -> bool:
    """Whether there are so many sequences at each step: fewer and fewer, and never none."""
    if not len(sizes) or sizes[0] != batch or sizes[-1] < 1 or sum(sizes) != rows:
        return False
    return sizes[-1] * len(sizes) == rows or all(first >= second for first, second in pairwise(sizes))


# The formula, step by step


def formula(
    mode: str,
    input: Tensor,
    state: State,
    parameters: tuple[Tensor | None, ...],
    sizes: Sequence[int],
    reverse: bool,
) -> tuple[Tensor, State]:
    """`recurrent_layer` as a composition of ops; parameters are weight_ih, weight_hh, bias_ih, bias_hh, weight_hr."""
    weight_ih, weight_hh, bias_ih, bias_hh, weight_hr = parameters
    assert weight_ih is not None
    assert weight_hh is not None
    inputs = list(linear(input, weight_ih, bias_ih).split(list(sizes)))
    outputs, last = run(step_of(mode, weight_hh, bias_hh, weight_hr), inputs, state, reverse)
    return weft.cat(outputs), last


def run(step: Step, inputs: list[Tensor], state: State, reverse: bool) -> tuple[list[Tensor], State]:
    """Run over the projected ``inputs`` of all steps; return the outputs and the last state of each sequence."""
    outputs: list[Tensor] = []
    ended: list[State] = []
    first = state
    active = inputs[-1].size(0) if reverse else inputs[0].size(0)
    state = tuple(part[:active] for part in first) if active != first[0].size(0) else first
    for projected in reversed(inputs) if reverse else inputs:
        batch = projected.size(0)
        if batch < active:
            ended.append(tuple(part[batch:] for part in state))
            state = tuple(part[:batch] for part in state)
        elif batch > active:
            state = tuple(weft.cat([part, new[active:batch]]) for part, new in zip(state, first, strict=True))
        active = batch
        state = step(projected, state)
        outputs.append(state[0])
    if ended:
        state = tuple(weft.cat(list(parts)) for parts in zip(state, *reversed(ended), strict=True))
    return (outputs[::-1] if reverse else outputs), state


def step_of(mode: str, weight_hh: Tensor, bias_hh: Tensor | None, weight_hr: Tensor | None = None) -> Step:
    """One step of a network."""
    if mode == "LSTM":
        return lstm_step(weight_hh, bias_hh, weight_hr)
    if mode == "GRU":
        return gru_step(weight_hh, bias_hh)
    return elman_step(weft.tanh if mode == "RNN_TANH" else relu, weight_hh, bias_hh)


def elman_step(activation: Callable[[Tensor], Tensor], weight_hh: Tensor, bias_hh: Tensor | None) -> Step:
    def step(projected: Tensor, state: State) -> State:
        return (activation(projected + linear(state[0], weight_hh, bias_hh)),)

    return step


def lstm_step(weight_hh: Tensor, bias_hh: Tensor | None, weight_hr: Tensor | None = None) -> Step:
    def step(projected: Tensor, state: State) -> State:
        h, c = state
        i, f, g, o = (projected + linear(h, weight_hh, bias_hh)).chunk(4, -1)
        c = weft.sigmoid(f) * c + weft.sigmoid(i) * weft.tanh(g)
        h = weft.sigmoid(o) * weft.tanh(c)
        return (h if weight_hr is None else linear(h, weight_hr)), c

    return step


def gru_step(weight_hh: Tensor, bias_hh: Tensor | None) -> Step:
    def step(projected: Tensor, state: State) -> State:
        (h,) = state
        input_r, input_z, input_n = projected.chunk(3, -1)
        hidden_r, hidden_z, hidden_n = linear(h, weight_hh, bias_hh).chunk(3, -1)
        r = weft.sigmoid(input_r + hidden_r)
        z = weft.sigmoid(input_z + hidden_z)
        n = weft.tanh(input_n + r * hidden_n)
        return (n + z * (h - n),)

    return step


# What the ops share. A layer's op takes the input, the state, the parameters and how to run; it returns the output,
# the last state, and what its gradient's op takes besides: gates, and the state before each step.


def running(input: Any, sizes: Sequence[int], reverse: bool) -> Iterator[tuple[slice, int]]:
    """For each step in the order in which they run, its rows, and the number of them.

    Steps write into arrays that are there before: on the meta device, where nothing is written, there is none.
    """
    if not has_values(input):
        return
    stop = sum(sizes) if reverse else 0
    for count in reversed(sizes) if reverse else sizes:
        start, stop = (stop - count, stop - count) if reverse else (stop, stop + count)
        yield slice(start, start + count), count


def projected(xp: Any, input: Any, weight: Any, *biases: Any) -> Any:
    """The input of all steps times its weights, with the biases."""
    result = xp.matmul(input, weight.T)
    for bias in biases:
        if bias is not None:
            result += bias
    return result


def to_sigmoid(xp: Any, array: Any) -> None:
    """Write the sigmoid of each element in its place."""
    array *= -1  # of a column of gates NumPy's `negative` in place writes over what it has yet to read
    xp.exp(array, out=array)
    array += 1
    xp.divide(1, array, out=array)


def add_slope_of_sigmoid(array: Any, value: Any) -> None:
    """Multiply a gradient by the derivative of the sigmoid where that is ``value``."""
    array *= value
    array *= 1 - value


def weight_gradients(
    xp: Any,
    by_input: Any,
    by_hidden: Any,
    input: Any,
    before: Any,
    weight_ih: Any,
    needs: Sequence[bool],
) -> list[Any]:
    """The gradients of input, weight_ih, weight_hh, bias_ih and bias_hh that are asked for.

    ``by_input`` and ``by_hidden`` are those of the two projections of all steps: one array, where those are added.
    """
    rules = (
        lambda: xp.matmul(by_input, weight_ih),
        lambda: xp.matmul(by_input.T, input),
        lambda: xp.matmul(by_hidden.T, before),
        lambda: reduce("sum", by_input, 0),
        lambda: reduce("sum", by_hidden, 0),
    )
    return [rule() if wanted else None for rule, wanted in zip(rules, needs)]


def asked(results: Sequence[Any]) -> tuple[Any, ...]:
    """The gradients that were asked for: ops return no None."""
    return tuple(each for each in results if each is not None)


def in_place_of(found: Sequence[Any], needs: Sequence[bool]) -> list[Any]:
    """The results of a gradient's op, each in the place of its argument."""
    rest = iter(found)
    return [next(rest) if wanted else None for wanted in needs]


def formula_gradients(
    mode: str, args: Sequence[Any], states: int, grads: Sequence[Any], sizes: Sequence[int], reverse: bool
) -> list[Any]:
    """The gradients of all arguments by the formula, which is differentiable again."""
    from weft.func import vjp

    present = [each for each in args if each is not None]

    def layer(*tensors: Tensor) -> tuple[Tensor, ...]:
        rest = iter(tensors)
        placed: list[Any] = [None if each is None else next(rest) for each in args]
        input, *others = placed if mode == "LSTM" else [*placed, None]
        output, last = formula(mode, input, tuple(others[:states]), tuple(others[states:]), sizes, reverse)
        return output, *last

    outputs, pull_back = vjp(layer, *present)
    given = tuple(
        weft.zeros_like(output) if grad is None else grad for output, grad in zip(outputs, grads[: 1 + states])
    )
    rest = iter(pull_back(given))
    return [None if each is None else next(rest) for each in args]


def formula_batch(
    batch: Any, mode: str, states: int, kept: int, tensors: Sequence[Any], sizes: Any, reverse: Any
) -> Any:
    """A batch of calls by the formula.

    The gradients of a batch are by the formula too: of what is kept for them there are only the places.
    """
    input, *rest = tensors
    parameters = rest[states:] if mode == "LSTM" else [*rest[states:], None]
    output, last = formula(mode, input, tuple(rest[:states]), tuple(parameters), sizes, reverse)
    places = [input.new_zeros(()) for _ in range(kept)]
    return batch.whole((output, *last, *places))


# LSTM


@op(
    tensors="input h c weight_ih weight_hh bias_ih bias_hh weight_hr",
    compute_dtype="float32",
    dtypes="float",
    namespace="nn",
)
def lstm_layer(
    input: Tensor,
    h: Tensor,
    c: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor | None,
    bias_hh: Tensor | None,
    weight_hr: Tensor | None,
    sizes: Sequence[int],
    reverse: bool,
) -> tuple[Tensor, ...]:
    """The outputs of all steps, the last h and c; and for the gradient the gates, and h and c before each step."""
    return lstm_layer.op(input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, sizes, reverse)


@lstm_layer.kernel
def _(xp, input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, sizes, reverse):
    rows, size = input.shape[0], c.shape[1]
    gates = projected(xp, input, weight_ih, bias_ih, bias_hh)
    h, c = xp.array(h), xp.array(c)
    output, before = xp.empty((rows, h.shape[1]), h.dtype), xp.empty((rows, h.shape[1]), h.dtype)
    cells = xp.empty((rows, size), c.dtype)
    for place, count in running(input, sizes, reverse):
        before[place], cells[place] = h[:count], c[:count]
        gate, cell = gates[place], c[:count]
        gate += xp.matmul(h[:count], weight_hh.T)
        to_sigmoid(xp, gate[:, : 2 * size])
        xp.tanh(gate[:, 2 * size : 3 * size], out=gate[:, 2 * size : 3 * size])
        to_sigmoid(xp, gate[:, 3 * size :])
        i, f, g, o = (gate[:, size * k : size * (k + 1)] for k in range(4))
        cell *= f
        cell += i * g
        hidden = o * xp.tanh(cell)
        h[:count] = output[place] = hidden if weight_hr is None else xp.matmul(hidden, weight_hr.T)
    return output, h, c, gates, before, cells


@lstm_layer.gradient("input h c weight_ih weight_hh bias_ih bias_hh weight_hr")
def _(
    grads,
    input,
    h,
    c,
    weight_ih,
    weight_hh,
    bias_ih,
    bias_hh,
    weight_hr,
    later_outputs,
    sizes,
    reverse,
    needs,
):
    if local.grad_enabled or later_outputs[0]._key.wrapped:
        args = (input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
        return formula_gradients("LSTM", args, 2, grads, sizes, reverse)
    weights = weight_ih, weight_hh, weight_hr
    found = lstm_layer_gradient.op(input, *weights, *later_outputs[2:], *grads[:3], sizes, reverse, tuple(needs))
    return in_place_of(found, needs)


@lstm_layer.vmap
def _(batch):
    *tensors, sizes, reverse = batch.as_seen()
    return formula_batch(batch, "LSTM", 2, 3, tensors, sizes, reverse)


@lstm_layer.onnx
def _(graph, input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, sizes, reverse):
    parameters = weight_ih, weight_hh, bias_ih, bias_hh
    if weight_hr is not None:
        return projected_recurrence(graph, input, (h, c), parameters, weight_hr, sizes, reverse) + [None] * 3
    return recurrence(graph, "LSTM", [0, 3, 1, 2], input, (h, c), parameters, sizes, reverse) + [None] * 3


@op(
    tensors="input weight_ih weight_hh weight_hr gates before cells output_grad h_grad c_grad",
    compute_dtype="float32",
    gradient="refused",
    namespace="nn",
)
def lstm_layer_gradient(
    input: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    weight_hr: Tensor | None,
    gates: Tensor,
    before: Tensor,
    cells: Tensor,
    output_grad: Tensor | None,
    h_grad: Tensor | None,
    c_grad: Tensor | None,
    sizes: Sequence[int],
    reverse: bool,
    needs: Sequence[bool],
) -> tuple[Tensor, ...]:
    """The gradients of `lstm_layer` with respect to the arguments that ``needs`` says."""
    weights = weight_ih, weight_hh, weight_hr
    kept, grads = (gates, before, cells), (output_grad, h_grad, c_grad)
    return lstm_layer_gradient.op(input, *weights, *kept, *grads, sizes, reverse, needs)


@lstm_layer_gradient.kernel
def _(
    xp,
    input,
    weight_ih,
    weight_hh,
    weight_hr,
    gates,
    before,
    cells,
    output_grad,
    h_grad,
    c_grad,
    sizes,
    reverse,
    needs,
):
    size = cells.shape[1]
    by_h = state_gradient(xp, h_grad, (sizes[0], before.shape[1]), gates.dtype)
    by_c = state_gradient(xp, c_grad, (sizes[0], size), gates.dtype)
    by_gates = xp.empty_like(gates)
    by_projection, hidden = xp.empty_like(before), xp.empty_like(cells)  # with weight_hr alone
    for place, count in running(input, sizes, not reverse):
        i, f, g, o = (gates[place, size * k : size * (k + 1)] for k in range(4))
        by_i, by_f, by_g, by_o = (by_gates[place, size * k : size * (k + 1)] for k in range(4))
        by_hidden = by_h[:count]
        if output_grad is not None:
            by_hidden += output_grad[place]
        tanh = xp.tanh(f * cells[place] + i * g)
        if weight_hr is not None:
            by_projection[place], hidden[place] = by_hidden, o * tanh
            by_hidden = xp.matmul(by_hidden, weight_hr)
        xp.multiply(by_hidden, tanh, out=by_o)
        add_slope_of_sigmoid(by_o, o)
        by_cell = by_c[:count]
        by_cell += by_hidden * o * (1 - tanh * tanh)
        xp.multiply(by_cell, g, out=by_i)
        add_slope_of_sigmoid(by_i, i)
        xp.multiply(by_cell, cells[place], out=by_f)
        add_slope_of_sigmoid(by_f, f)
        xp.multiply(by_cell, i, out=by_g)
        by_g *= 1 - g * g
        by_cell *= f
        by_h[:count] = xp.matmul(by_gates[place], weight_hh)
    wanted = (needs[0], *needs[3:7])
    by_input, *by_parameters = weight_gradients(xp, by_gates, by_gates, input, before, weight_ih, wanted)
    by_weight_hr = xp.matmul(by_projection.T, hidden) if needs[7] else None
    states = (by_h if needs[1] else None, by_c if needs[2] else None)
    return asked((by_input, *states, *by_parameters, by_weight_hr))


def state_gradient(xp: Any, grad: Any, shape: tuple[int, int], element: Any) -> Any:
    """The gradient of a last state, in memory that may be written to."""
    return xp.zeros(shape, element) if grad is None else xp.array(grad)


# GRU


@op(tensors="input h weight_ih weight_hh bias_ih bias_hh", compute_dtype="float32", dtypes="float", namespace="nn")
def gru_layer(
    input: Tensor,
    h: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor | None,
    bias_hh: Tensor | None,
    sizes: Sequence[int],
    reverse: bool,
) -> tuple[Tensor, ...]:
    """The outputs of all steps, the last h; and for the gradient the gates, and h and its new part before each step."""
    return gru_layer.op(input, h, weight_ih, weight_hh, bias_ih, bias_hh, sizes, reverse)


@gru_layer.kernel
def _(xp, input, h, weight_ih, weight_hh, bias_ih, bias_hh, sizes, reverse):
    rows, size = input.shape[0], h.shape[1]
    gates = projected(xp, input, weight_ih, bias_ih)
    h = xp.array(h)
    output, before, news = (xp.empty((rows, size), h.dtype) for _ in range(3))
    for place, count in running(input, sizes, reverse):
        state, gate = h[:count], gates[place]
        before[place] = state
        product = projected(xp, state, weight_hh, bias_hh)
        news[place] = product[:, 2 * size :]
        gate[:, : 2 * size] += product[:, : 2 * size]
        to_sigmoid(xp, gate[:, : 2 * size])
        r, z, n = (gate[:, size * k : size * (k + 1)] for k in range(3))
        n += r * news[place]
        xp.tanh(n, out=n)
        state -= n
        state *= z
        state += n
        output[place] = state
    return output, h, gates, before, news


@gru_layer.gradient("input h weight_ih weight_hh bias_ih bias_hh")
def _(grads, input, h, weight_ih, weight_hh, bias_ih, bias_hh, later_outputs, sizes, reverse, needs):
    if local.grad_enabled or later_outputs[0]._key.wrapped:
        args = (input, h, weight_ih, weight_hh, bias_ih, bias_hh)
        return formula_gradients("GRU", args, 1, grads, sizes, reverse)
    kept = later_outputs[1:]
    found = gru_layer_gradient.op(input, weight_ih, weight_hh, *kept, *grads[:2], sizes, reverse, tuple(needs))
    return in_place_of(found, needs)


@gru_layer.vmap
def _(batch):
    *tensors, sizes, reverse = batch.as_seen()
    return formula_batch(batch, "GRU", 1, 3, tensors, sizes, reverse)


@gru_layer.onnx
def _(graph, input, h, weight_ih, weight_hh, bias_ih, bias_hh, sizes, reverse):
    parameters = weight_ih, weight_hh, bias_ih, bias_hh
    found = recurrence(graph, "GRU", [1, 0, 2], input, (h,), parameters, sizes, reverse, linear_before_reset=1)
    return found + [None] * 3


@op(
    tensors="input weight_ih weight_hh gates before news output_grad h_grad",
    compute_dtype="float32",
    gradient="refused",
    namespace="nn",
)
def gru_layer_gradient(
    input: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    gates: Tensor,
    before: Tensor,
    news: Tensor,
    output_grad: Tensor | None,
    h_grad: Tensor | None,
    sizes: Sequence[int],
    reverse: bool,
    needs: Sequence[bool],
) -> tuple[Tensor, ...]:
    """The gradients of `gru_layer` with respect to the arguments that ``needs`` says."""
    kept = gates, before, news
    return gru_layer_gradient.op(input, weight_ih, weight_hh, *kept, output_grad, h_grad, sizes, reverse, needs)


@gru_layer_gradient.kernel
def _(xp, input, weight_ih, weight_hh, gates, before, news, output_grad, h_grad, sizes, reverse, needs):
    size = before.shape[1]
    by_h = state_gradient(xp, h_grad, (sizes[0], size), gates.dtype)
    by_input, by_hidden = xp.empty_like(gates), xp.empty_like(gates)
    for place, count in running(input, sizes, not reverse):
        r, z, n = (gates[place, size * k : size * (k + 1)] for k in range(3))
        by_r, by_z, by_n = (by_input[place, size * k : size * (k + 1)] for k in range(3))
        by_state = by_h[:count]
        if output_grad is not None:
            by_state += output_grad[place]
        xp.multiply(by_state, before[place] - n, out=by_z)
        add_slope_of_sigmoid(by_z, z)
        xp.multiply(by_state, 1 - z, out=by_n)
        by_n *= 1 - n * n
        xp.multiply(by_n, news[place], out=by_r)
        add_slope_of_sigmoid(by_r, r)
        by_hidden[place, : 2 * size] = by_input[place, : 2 * size]
        xp.multiply(by_n, r, out=by_hidden[place, 2 * size :])
        by_state *= z
        by_state += xp.matmul(by_hidden[place], weight_hh)
    wanted = (needs[0], *needs[2:])
    found, *by_parameters = weight_gradients(xp, by_input, by_hidden, input, before, weight_ih, wanted)
    return asked((found, by_h if needs[1] else None, *by_parameters))


# Elman's


@op(tensors="input h weight_ih weight_hh bias_ih bias_hh", compute_dtype="float32", dtypes="float", namespace="nn")
def rnn_layer(
    input: Tensor,
    h: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor | None,
    bias_hh: Tensor | None,
    sizes: Sequence[int],
    reverse: bool,
    rectified: bool,
) -> tuple[Tensor, ...]:
    """The outputs of all steps, the last h; and for the gradient the outputs again, and h before each step."""
    return rnn_layer.op(input, h, weight_ih, weight_hh, bias_ih, bias_hh, sizes, reverse, rectified)


@rnn_layer.kernel
def _(xp, input, h, weight_ih, weight_hh, bias_ih, bias_hh, sizes, reverse, rectified):
    states = projected(xp, input, weight_ih, bias_ih, bias_hh)
    h, before = xp.array(h), xp.empty_like(states)
    for place, count in running(input, sizes, reverse):
        before[place] = h[:count]
        state = states[place]
        state += xp.matmul(h[:count], weight_hh.T)
        xp.maximum(state, 0, out=state) if rectified else xp.tanh(state, out=state)
        h[:count] = state
    return xp.array(states), h, states, before


@rnn_layer.gradient("input h weight_ih weight_hh bias_ih bias_hh")
def _(grads, input, h, weight_ih, weight_hh, bias_ih, bias_hh, later_outputs, sizes, reverse, rectified, needs):
    if local.grad_enabled or later_outputs[0]._key.wrapped:
        args = (input, h, weight_ih, weight_hh, bias_ih, bias_hh)
        return formula_gradients("RNN_RELU" if rectified else "RNN_TANH", args, 1, grads, sizes, reverse)
    kept = later_outputs[1:]
    found = rnn_layer_gradient.op(
        input, weight_ih, weight_hh, *kept, *grads[:2], sizes, reverse, rectified, tuple(needs)
    )
    return in_place_of(found, needs)


@rnn_layer.vmap
def _(batch):
    *tensors, sizes, reverse, rectified = batch.as_seen()
    return formula_batch(batch, "RNN_RELU" if rectified else "RNN_TANH", 1, 2, tensors, sizes, reverse)


@rnn_layer.onnx
def _(graph, input, h, weight_ih, weight_hh, bias_ih, bias_hh, sizes, reverse, rectified):
    parameters = weight_ih, weight_hh, bias_ih, bias_hh
    activation = ["Relu" if rectified else "Tanh"]
    found = recurrence(graph, "RNN", [0], input, (h,), parameters, sizes, reverse, activations=activation)
    return found + [None] * 2


def recurrence(
    graph: Any,
    operator: str,
    gates: list[int],
    input: Any,
    state: tuple[Any, ...],
    parameters: Any,
    sizes: Any,
    reverse: bool,
    **attributes: Any,
) -> list[Any]:
    """A layer by ONNX's operator, which has the gates in another order.

    Returns
    -------
    [output, *last state]
        As `recurrent_layer` has them.
    """
    hidden = parameters[1].shape[1]
    order = graph.sizes([gate * hidden + place for gate in gates for place in range(hidden)])
    weights = [graph.Unsqueeze(graph.Gather(each, order, axis=0), graph.sizes([0])) for each in parameters[:2]]
    bias = None
    if parameters[2] is not None:
        turned = [graph.Gather(each, order, axis=0) for each in parameters[2:]]
        bias = graph.Unsqueeze(graph.Concat(*turned, axis=0), graph.sizes([0]))
    sequence = padded_sequence(graph, input, sizes)
    start = [graph.Unsqueeze(each, graph.sizes([0])) for each in state]
    direction = "reverse" if reverse else "forward"
    output, *last = graph.emit(
        operator,
        sequence,
        *weights,
        bias,
        None,
        *start,
        outputs=1 + len(state),
        hidden_size=hidden,
        direction=direction,
        **attributes,
    )
    return [graph.Reshape(output, graph.sizes([-1, hidden])), *(graph.Squeeze(each, graph.sizes([0])) for each in last)]


@op(
    tensors="input weight_ih weight_hh states before output_grad h_grad",
    compute_dtype="float32",
    gradient="refused",
    namespace="nn",
)
def rnn_layer_gradient(
    input: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    states: Tensor,
    before: Tensor,
    output_grad: Tensor | None,
    h_grad: Tensor | None,
    sizes: Sequence[int],
    reverse: bool,
    rectified: bool,
    needs: Sequence[bool],
) -> tuple[Tensor, ...]:
    """The gradients of `rnn_layer` with respect to the arguments that ``needs`` says."""
    kept, grads = (states, before), (output_grad, h_grad)
    return rnn_layer_gradient.op(input, weight_ih, weight_hh, *kept, *grads, sizes, reverse, rectified, needs)


@rnn_layer_gradient.kernel
def _(xp, input, weight_ih, weight_hh, states, before, output_grad, h_grad, sizes, reverse, rectified, needs):
    by_h = state_gradient(xp, h_grad, (sizes[0], before.shape[1]), states.dtype)
    by_sum = xp.empty_like(states)
    for place, count in running(input, sizes, not reverse):
        state = states[place]
        by_state = by_h[:count]
        if output_grad is not None:
            by_state += output_grad[place]
        xp.multiply(by_state, state > 0 if rectified else 1 - state * state, out=by_sum[place])
        by_h[:count] = xp.matmul(by_sum[place], weight_hh)
    wanted = (needs[0], *needs[2:])
    found, *by_parameters = weight_gradients(xp, by_sum, by_sum, input, before, weight_ih, wanted)
    return asked((found, by_h if needs[1] else None, *by_parameters))


def padded_sequence(graph: Any, input: Any, sizes: Any) -> Any:
    """The rows of all steps as (steps, batch, features), for ONNX, where all sequences are of one length."""
    first, steps = (
        (sizes.value, sizes.count) if hasattr(sizes, "count") and hasattr(sizes, "value") else (sizes[0], len(sizes))
    )
    if isinstance(sizes, tuple) and any(each is not first and each != first for each in sizes):
        graph.refuse("sequences of several lengths")
    return graph.Reshape(input, graph.sizes([steps, first, input.shape[1]]))


def projected_recurrence(
    graph: Any, input: Any, state: tuple[Any, ...], parameters: Any, weight_hr: Any, sizes: Any, reverse: bool
) -> list[Any]:
    """An LSTM with projections, step by step: ONNX's operator has none."""
    weight_ih, weight_hh, *biases = parameters
    gates = graph.MatMul(padded_sequence(graph, input, sizes), graph.Transpose(weight_ih, perm=[1, 0]))
    for bias in biases:
        gates = gates if bias is None else graph.Add(gates, bias)
    weights = [graph.Transpose(each, perm=[1, 0]) for each in (weight_hh, weight_hr)]
    h, c, _, _, output = graph.emit(
        "Scan",
        *state,
        *weights,  # which stay what they are from step to step
        gates,
        outputs=5,
        num_scan_inputs=1,
        body=projected_step(graph, input.dtype),
        scan_input_directions=[int(reverse)],
        scan_output_directions=[int(reverse)],
    )
    return [graph.Reshape(output, graph.sizes([-1, weight_hr.shape[0]])), h, c]


def projected_step(graph: Any, element: Any) -> Any:
    """One step as the body of a Scan: of the state, the weights and the input's part of the gates."""
    from onnx import helper

    nodes: list[Any] = []

    def run(op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [graph.unique("step") for _ in range(outputs)]
        nodes.append(helper.make_node(op_type, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    h, c, weight_hh, weight_hr, gates = given = [graph.unique("step") for _ in range(5)]
    parts = run("Split", run("Add", gates, run("MatMul", h, weight_hh)), outputs=4, axis=-1, num_outputs=4)
    update, forget, output = (run("Sigmoid", parts[place]) for place in (0, 1, 3))
    cell = run("Add", run("Mul", forget, c), run("Mul", update, run("Tanh", parts[2])))
    hidden = run("MatMul", run("Mul", output, run("Tanh", cell)), weight_hr)
    made = [hidden, cell, run("Identity", weight_hh), run("Identity", weight_hr), run("Identity", hidden)]
    kind = int(helper.np_dtype_to_tensor_dtype(element.numpy))
    infos = [[helper.make_tensor_value_info(name, kind, [None, None]) for name in names] for names in (given, made)]
    return helper.make_graph(nodes, "step", infos[0], infos[1])
