"""Record a training step as a list of ops with named arguments, and run the list again on other tensors.

An interceptor sees every op of forward, backward and optimizer. What is no op (Python's branches and numbers) stands in
the list as it was: a recording is good for the same shapes, and the same path through the program.
"""

from functools import partial

import weft
from weft.library import Interceptor, get_op


class Recorder(Interceptor):
    """Notes each call as (op, named arguments, result), in which tensors have numbers."""

    def __init__(self):
        self.calls, self.tensors, self.numbers = [], [], {}
        self.inputs = []  # the numbers of tensors that no call made: data, parameters, their states

    def number(self, tensor, is_result=False):
        memory = tensor.data_ptr(), tensor.is_conj(), tensor.is_neg()
        key = (*memory, tuple(tensor.shape), tensor.stride(), tensor.dtype)  # one for all of its aliases
        if key not in self.numbers:
            self.numbers[key] = len(self.tensors)
            self.tensors.append(tensor)  # kept, so that no other one has its memory
            if not is_result:
                self.inputs.append(self.numbers[key])
        return self.numbers[key]

    def note(self, value, is_result=False):
        if isinstance(value, weft.Tensor):
            return {"tensor": self.number(value, is_result)}
        if isinstance(value, (list, tuple)):
            return {"list" if type(value) is list else "tuple": [self.note(each, is_result) for each in value]}
        if isinstance(value, dict):
            return {"dict": [self.note(each, is_result) for each in value.values()]}
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if isinstance(value, (weft.dtype, weft.device)):
            return {type(value).__name__: str(value).rpartition(".")[2]}
        return {"ellipsis": ""} if value is ... else value

    def before(self, op, args):
        self.call = op.name, {name: self.note(value) for name, value in args.items()}

    def after(self, op, args, result):
        self.calls.append((*self.call, self.note(result, is_result=True)))


def replay(calls, tensors):
    """Run calls on the tensors that they take, by their numbers; results join them."""
    with weft.no_grad():
        for name, args, result in calls:
            keep(result, get_op(name)(**{key: read(value, tensors) for key, value in args.items()}), tensors)
    return tensors


def read(noted, tensors):
    if not isinstance(noted, dict):
        return noted
    ((kind, content),) = noted.items()
    if kind in ("list", "tuple", "slice"):
        parts = [read(each, tensors) for each in content]
        return parts if kind == "list" else tuple(parts) if kind == "tuple" else slice(*parts)
    if kind == "tensor":
        return tensors[content]
    return {"dtype": partial(getattr, weft), "device": weft.device, "ellipsis": lambda _: ...}[kind](content)


def keep(noted, result, tensors):
    ((kind, content),) = noted.items() if isinstance(noted, dict) else ((None, None),)
    if kind == "tensor":
        tensors[content] = result
    parts = result.values() if kind == "dict" else result
    for part, value in zip(content, parts) if kind in ("list", "tuple", "dict") else ():
        keep(part, value, tensors)
