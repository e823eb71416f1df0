"""Anomaly mode: errors of backward, and nan in it, with the line of forward where they come from."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Any

from weft._engine.tensor import Node, TensorBase, intercept, local, state
from weft._errors import is_own
from weft._interception.results import notes_traces
from weft._settings import require_bool
from weft.autograd.hooks import spread, watch_of


class Trace:
    """Where a node was recorded, and by the backward of which other node, if it was in one.

    Parameters
    ----------
    recorded : bool
        False for a node that was recorded before anomaly mode was on.
    """

    def __init__(self, recorded: bool = True) -> None:
        self.lines: Any = user_frames() if recorded else None
        self.induced_by: Any = local.node if recorded else None

    def explain(self, node: Node, error: Exception) -> None:
        """Say where the failing node was recorded."""
        if not state.anomaly:
            return
        if self.lines is None:
            warnings.warn(
                f"Error detected in {node.label()}. No forward pass information available. Enable detect anomaly "
                "during forward pass for more information.",
                UserWarning,
                stacklevel=4,
            )
            return
        text = "".join(traceback.format_list(self.lines))
        warnings.warn(
            f"Error detected in {node.label()}. Traceback of forward call that caused the error:\n{text}",
            UserWarning,
            stacklevel=4,
        )
        self.explain_inducing()

    def explain_inducing(self) -> None:
        """Say where the nodes were recorded whose backward recorded this one."""
        node = self.induced_by
        while node is not None:
            trace = watch_of(node).trace
            lines = None if trace is None else trace.lines
            text = "No forward pass information available." if lines is None else "".join(traceback.format_list(lines))
            warnings.warn(
                f"\n\nPrevious calculation was induced by {node.label()}. Traceback of forward call that induced "
                f"the previous calculation:\n{text}",
                UserWarning,
                stacklevel=5,
            )
            node = None if trace is None else trace.induced_by

    def check(self, node: Node, results: Any) -> None:
        """Look for nan in the gradients that a node returned."""
        if state.anomaly != "nan":
            return
        for position, grad in enumerate(spread(node, results)):
            if isinstance(grad, TensorBase) and bool(grad.isnan().any()):  # type: ignore[attr-defined]
                error = RuntimeError(f"Function '{node.label()}' returned nan values in its {position}th output.")
                self.explain(node, error)
                raise error


def user_frames() -> traceback.StackSummary:
    """The stack without weft's own frames."""
    frames = list(traceback.walk_stack(sys._getframe(1)))
    theirs = [each for each in frames if not is_own(each[0])]
    return traceback.StackSummary.extract(reversed(theirs or frames))


@notes_traces
def attach_trace(result: Any) -> None:
    """Note where the node of a new result was recorded."""
    for tensor in result if isinstance(result, tuple) else (result,):
        node = tensor._node if isinstance(tensor, TensorBase) else None
        if node is not None and watch_of(node).trace is None:
            watch_of(node).trace = Trace()


class set_detect_anomaly:
    """Switch anomaly mode on or off; as a context manager, for its time.

    Parameters
    ----------
    mode : bool
    check_nan : bool
        Raise an error when backward makes a nan.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = state.anomaly
        switch(("nan" if check_nan else "trace") if mode else "")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        switch(self.before)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode for the time of a context: errors of backward show the forward line, nan is an error.

    It slows everything down: for debugging only.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self.before = state.anomaly
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.before = state.anomaly
        switch("nan" if self.check_nan else "trace")


def switch(mode: str) -> None:
    """Set the mode: "" (off), "trace" or "nan"."""
    if bool(mode) != bool(state.anomaly):
        intercept(1 if mode else -1)
    state.anomaly = mode


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off for good; `autograd.detect_anomaly` does it for a block.

    Parameters
    ----------
    mode : bool
    check_nan : bool
        Raise where a gradient becomes nan.

    Examples
    --------
    >>> weft.set_anomaly_enabled(True)
    >>> weft.is_anomaly_enabled()
    True
    >>> weft.set_anomaly_enabled(False)
    """
    set_detect_anomaly(require_bool("set_anomaly_enabled", "mode", mode), check_nan)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return bool(state.anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode is on, and a nan in backward is an error."""
    return state.anomaly == "nan"
