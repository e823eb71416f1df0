"""RNN, GRU and LSTM.

What PyTorch's layers compute runs on weft's recurrent kernels; other activations, peepholes, clipping and lengths run
step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
import weft.nn.functional as F
from weft.onnx._importer.registry import operator

# Name: the function of (x, alpha, beta), default alpha, default beta; None for a value that it does not take.
ACTIVATIONS: dict[str, tuple[Callable[..., Any], float | None, float | None]] = {
    "affine": (lambda x, alpha, beta: alpha * x + beta, 1.0, 0.0),
    "elu": (lambda x, alpha, beta: F.elu(x, alpha), 1.0, None),
    "hardsigmoid": (lambda x, alpha, beta: (alpha * x + beta).clamp(0, 1), 0.2, 0.5),
    "leakyrelu": (lambda x, alpha, beta: F.leaky_relu(x, alpha), 0.01, None),
    "relu": (lambda x, alpha, beta: x.relu(), None, None),
    "scaledtanh": (lambda x, alpha, beta: alpha * (beta * x).tanh(), 1.0, 1.0),
    "sigmoid": (lambda x, alpha, beta: x.sigmoid(), None, None),
    "softplus": (lambda x, alpha, beta: F.softplus(x), None, None),
    "softsign": (lambda x, alpha, beta: F.softsign(x), None, None),
    "tanh": (lambda x, alpha, beta: x.tanh(), None, None),
    "thresholdedrelu": (lambda x, alpha, beta: weft.where(x > alpha, x, 0), 1.0, None),
}


def activations_of(names: list[str], alphas: Any, betas: Any) -> list[Callable[[Any], Any]]:
    """The functions of a node's activations, which take the values that are listed for them in turn.

    Raises
    ------
    ValueError
        If a name is none of ONNX's.
    """
    alphas, betas = list(alphas or []), list(betas or [])
    made = []
    for name in names:
        if name.lower() not in ACTIVATIONS:
            raise ValueError(f"the activation {name!r} is not known; there are {', '.join(ACTIVATIONS)}")
        function, alpha, beta = ACTIVATIONS[name.lower()]
        alpha = alphas.pop(0) if alpha is not None and alphas else alpha
        beta = betas.pop(0) if beta is not None and betas else beta
        made.append(bind(function, alpha, beta))
    return made


def bind(function: Callable[..., Any], alpha: float | None, beta: float | None) -> Callable[[Any], Any]:
    return lambda x: function(x, alpha, beta)


def reversed_in_time(x: Any, lengths: list[int] | None) -> Any:
    """Each sequence of (T, N, ...) backwards, where it is as long as is said; the rest stays."""
    if lengths is None:
        return x.flip(0)
    length = x.shape[0]
    order = [[*range(count - 1, -1, -1), *range(count, length)] for count in lengths]
    places = weft.tensor(order, device=x.device).T.reshape([length, len(lengths), *[1] * (x.ndim - 2)])
    return x.gather(0, places.expand(x.shape))


def step_by_step(cell: Callable[..., Any], x: Any, states: list[Any], lengths: list[int] | None, reverse: bool) -> Any:
    """Run a cell over (T, N, C): the outputs (T, N, H) and the last states; after a sequence's end outputs are 0."""
    x = reversed_in_time(x, lengths) if reverse else x
    ends = None if lengths is None else weft.tensor(lengths, device=x.device)[:, None]
    outputs = []
    for step, element in enumerate(x.unbind(0)):
        new = cell(element, *states)
        if ends is not None:
            runs = step < ends
            outputs.append(weft.where(runs, new[0], 0))
            states = [weft.where(runs, after, before) for after, before in zip(new, states)]
        else:
            outputs.append(new[0])
            states = list(new)
    hidden = states[0].shape[-1]
    y = weft.stack(outputs) if outputs else x.new_zeros(0, x.shape[1], hidden)
    return (reversed_in_time(y, lengths) if reverse else y), states


def rnn_cell(w: Any, r: Any, b: Any, functions: list[Any], limit: Callable[[Any], Any]) -> Callable[..., Any]:
    (f,) = functions
    own, recurrent = b.chunk(2)

    def cell(x: Any, h: Any) -> Any:
        return (f(limit(F.linear(x, w, own) + F.linear(h, r, recurrent))),)

    return cell


def gru_cell(
    w: Any, r: Any, b: Any, functions: list[Any], limit: Callable[[Any], Any], linear_before_reset: int
) -> Callable[..., Any]:
    f, g = functions
    own, recurrent = b.chunk(2)
    r_zr, r_h = r[: 2 * r.shape[1]], r[2 * r.shape[1] :]
    b_zr, b_h = recurrent[: 2 * r.shape[1]], recurrent[2 * r.shape[1] :]

    def cell(x: Any, h: Any) -> Any:
        from_x = F.linear(x, w, own)
        hidden = h.shape[-1]
        z, reset = f(limit(from_x[:, : 2 * hidden] + F.linear(h, r_zr, b_zr))).chunk(2, 1)
        if linear_before_reset:
            from_h = reset * F.linear(h, r_h, b_h)
        else:
            from_h = F.linear(reset * h, r_h, b_h)
        candidate = g(limit(from_x[:, 2 * hidden :] + from_h))
        return ((1 - z) * candidate + z * h,)

    return cell


def lstm_cell(
    w: Any, r: Any, b: Any, p: Any, functions: list[Any], limit: Callable[[Any], Any], input_forget: int
) -> Callable[..., Any]:
    f, g, h_of = functions
    own, recurrent = b.chunk(2)
    p_i, p_o, p_f = (0, 0, 0) if p is None else p.chunk(3)

    def cell(x: Any, h: Any, c: Any) -> Any:
        i, o, forget, candidate = (F.linear(x, w, own) + F.linear(h, r, recurrent)).chunk(4, 1)
        i = f(limit(i + p_i * c))
        forget = 1 - i if input_forget else f(limit(forget + p_f * c))
        c = forget * c + i * g(limit(candidate))
        return f(limit(o + p_o * c)) * h_of(c), c

    return cell


def run(
    make_cell: Callable[..., Any],
    inputs: tuple[Any, ...],
    states: list[Any],
    lengths: list[int] | None,
    direction: str,
    functions: list[Any],
    clip: float | None,
    **options: Any,
) -> tuple[Any, ...]:
    """All directions of a layer: Y (T, directions, N, H), and the last states (directions, N, H)."""

    def limit(value: Any) -> Any:
        return value if clip is None else value.clamp(-clip, clip)

    x, *weights = inputs
    count = weights[0].shape[0]
    each = len(functions) // count
    outputs, last = [], []
    for number in range(count):
        own = [None if weight is None else weight[number] for weight in weights]
        cell = make_cell(*own, functions[number * each : (number + 1) * each], limit, **options)
        reverse = direction == "reverse" or number == 1
        y, ends = step_by_step(cell, x, [state[number] for state in states], lengths, reverse)
        outputs.append(y)
        last.append(ends)
    return weft.stack(outputs, 1), *(weft.stack(column) for column in zip(*last))


def reordered(weight: Any, order: list[int]) -> Any:
    """The gates' rows of a weight in another order."""
    return weight if order == sorted(order) else weft.cat([weight.chunk(len(order))[k] for k in order])


def run_kernel(
    kernel: Callable[..., Any], inputs: tuple[Any, ...], states: list[Any], direction: str, order: list[int]
) -> tuple[Any, ...]:
    """What `run` gives, by a recurrent kernel of weft, whose gates are in another order."""
    x, w, r, b = inputs
    x = x.flip(0) if direction == "reverse" else x
    params = []
    for number in range(w.shape[0]):
        biases = [reordered(each, order) for each in b[number].chunk(2)]
        params += [reordered(w[number], order), reordered(r[number], order), *biases]
    hx = states if len(states) > 1 else states[0]
    y, *last = kernel(x, hx, params, True, 1, 0.0, False, w.shape[0] == 2, False)
    y = y.reshape(*y.shape[:2], w.shape[0], -1).movedim(2, 1)
    return (y.flip(0) if direction == "reverse" else y), *last


def prepared(
    x: Any, w: Any, r: Any, b: Any, states: list[Any], layout: int, direction: str, sequence_lens: Any
) -> tuple[Any, Any, list[Any], list[int] | None]:
    """The inputs in the order (T, N, C), zeros for what is left out.

    Raises
    ------
    ValueError
        If the weights are not those of so many directions.
    """
    directions = {"forward": 1, "reverse": 1, "bidirectional": 2}.get(direction.lower(), 0)
    if w.ndim != 3 or r.ndim != 3 or w.shape[0] != directions:
        raise ValueError(f"direction {direction!r} with weights of the shapes {tuple(w.shape)} and {tuple(r.shape)}")
    if layout:
        x, states = x.transpose(0, 1), [None if each is None else each.transpose(0, 1) for each in states]
    hidden = r.shape[-1]
    states = [x.new_zeros(directions, x.shape[1], hidden) if each is None else each for each in states]
    b = x.new_zeros(directions, 2 * r.shape[1]) if b is None else b
    lengths = None if sequence_lens is None or min(sequence_lens, default=0) == x.shape[0] else sequence_lens
    return x, b, states, lengths


def in_layout(results: tuple[Any, ...], layout: int) -> tuple[Any, ...]:
    """The outputs with the batch first, if the node says so."""
    if not layout:
        return results
    y, *last = results
    return y.permute(2, 0, 1, 3), *(each.transpose(0, 1) for each in last)


@operator("RNN", host="sequence_lens")
def rnn(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    *,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    activations: Any = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 0,
) -> Any:
    names = activations or ["Tanh"] * len(w)
    x, b, states, lengths = prepared(x, w, r, b, [initial_h], layout, direction, sequence_lens)
    kinds = {name.lower() for name in names}
    if clip is None and lengths is None and kinds in ({"tanh"}, {"relu"}):
        kernel = weft.rnn_tanh if kinds == {"tanh"} else weft.rnn_relu
        return in_layout(run_kernel(kernel, (x, w, r, b), states, direction, [0]), layout)
    functions = activations_of(names, activation_alpha, activation_beta)
    return in_layout(run(rnn_cell, (x, w, r, b), states, lengths, direction, functions, clip), layout)


@operator("GRU", host="sequence_lens")
def gru(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    *,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    activations: Any = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
) -> Any:
    standard = ["Sigmoid", "Tanh"] * len(w)
    names = activations or standard
    x, b, states, lengths = prepared(x, w, r, b, [initial_h], layout, direction, sequence_lens)
    if clip is None and lengths is None and names == standard and linear_before_reset:
        return in_layout(run_kernel(weft.gru, (x, w, r, b), states, direction, [1, 0, 2]), layout)  # z r h to r z n
    functions = activations_of(names, activation_alpha, activation_beta)
    options = {"linear_before_reset": linear_before_reset}
    return in_layout(run(gru_cell, (x, w, r, b), states, lengths, direction, functions, clip, **options), layout)


@operator("LSTM", host="sequence_lens")
def lstm(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    initial_c: Any = None,
    p: Any = None,
    *,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    activations: Any = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 0,
) -> Any:
    standard = ["Sigmoid", "Tanh", "Tanh"] * len(w)
    names = activations or standard
    x, b, states, lengths = prepared(x, w, r, b, [initial_h, initial_c], layout, direction, sequence_lens)
    if clip is None and lengths is None and names == standard and p is None and not input_forget:
        return in_layout(run_kernel(weft.lstm, (x, w, r, b), states, direction, [0, 2, 3, 1]), layout)  # iofc to ifco
    functions = activations_of(names, activation_alpha, activation_beta)
    options = {"input_forget": input_forget}
    return in_layout(run(lstm_cell, (x, w, r, b, p), states, lengths, direction, functions, clip, **options), layout)
