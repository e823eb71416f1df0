"""Concurrent requests in one run of the model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import weft
from weft import Tensor
from weft.serve.model import InferenceModel
from weft.serve.protocol import InferenceError

__all__ = ["Batcher", "run_batch"]

Result = list[Tensor] | InferenceError


def run_batch(model: InferenceModel, requests: Sequence[list[Tensor]]) -> list[Result]:
    """Run a model for several requests, joined where they can be.

    Parameters
    ----------
    model : InferenceModel
    requests : sequence of list of Tensor
        Each request's inputs, as `InferenceModel.decode` returns them.

    Returns
    -------
    list
        For each request its outputs, or the `InferenceError` that is its own.
    """
    results: list[Result] = [InferenceError("unanswered", status=500)] * len(requests)
    for group in _groups(model, requests):
        for index, result in zip(group, _run_group(model, [requests[index] for index in group])):
            results[index] = result
    return results


def _groups(model: InferenceModel, requests: Sequence[list[Tensor]]) -> list[list[int]]:
    """Divide requests, by position, into those of equal shapes but for the batch, of at most so many rows together."""
    if not model.can_batch:
        return [[index] for index in range(len(requests))]
    groups: list[list[int]] = []
    latest: dict[Any, tuple[list[int], int]] = {}
    for index, tensors in enumerate(requests):
        key, rows = tuple(tensor.shape[1:] for tensor in tensors), len(tensors[0])
        group, filled = latest.get(key, ([], 0))
        if not group or filled + rows > model.max_batch_size:
            group, filled = [], 0
            groups.append(group)
        group.append(index)
        latest[key] = group, filled + rows
    return groups


def _run_group(model: InferenceModel, requests: list[list[Tensor]]) -> list[Result]:
    if len(requests) == 1:
        return [_run_alone(model, requests[0])]
    rows = [len(tensors[0]) for tensors in requests]
    try:
        outputs = model.run([weft.cat(parts) for parts in zip(*requests)])
        divided = [output.split(rows) for output in outputs]
    except (InferenceError, RuntimeError):  # of one of them: the others are answered all the same
        return [_run_alone(model, tensors) for tensors in requests]
    return [list(parts) for parts in zip(*divided)]


def _run_alone(model: InferenceModel, tensors: list[Tensor]) -> Result:
    try:
        return model.run(tensors)
    except InferenceError as error:
        return error


class Batcher:
    """Answers requests of coroutines, joining those that come together. One thread runs the model.

    Parameters
    ----------
    model : InferenceModel
    max_wait : float, default 0.002
        Seconds that a request waits for others, while the model is free.

    Examples
    --------
    >>> import asyncio
    >>> from weft.serve import Batcher, InferenceModel
    >>> spec = {"name": "x", "datatype": "INT64", "shape": [-1]}
    >>> model = InferenceModel(weft.nn.Identity(), inputs=[spec])
    >>> model.load()
    >>> requests = [{"inputs": [{**spec, "shape": [1], "data": [number]}]} for number in range(3)]
    >>> async def ask():
    ...     batcher = Batcher(model)
    ...     return await asyncio.gather(*[batcher.infer(request) for request in requests])
    >>> [response["outputs"][0]["data"] for response in asyncio.run(ask())]
    [[0], [1], [2]]
    """

    def __init__(self, model: InferenceModel, max_wait: float = 0.002) -> None:
        self.model, self.max_wait = model, max_wait
        self._waiting: list[tuple[list[Tensor], asyncio.Future[Result]]] = []
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"weft.serve {model.name}")

    async def infer(self, content: Any) -> dict[str, Any]:
        """Answer one request.

        Raises
        ------
        InferenceError
            This request's own: what others asked for has no part in it.
        """
        tensors = self.model.decode(content)
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((tensors, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._answer())
        result = await future
        if isinstance(result, InferenceError):
            raise result
        return self.model.encode(content, result)

    async def _answer(self) -> None:
        """Run batches until nobody waits. Those who come while the model runs are the next batch."""
        while self._waiting:
            if len(self._waiting) < self.model.max_batch_size and self.model.can_batch:
                await asyncio.sleep(self.max_wait)
            count = self.model.max_batch_size
            batch, self._waiting = self._waiting[:count], self._waiting[count:]
            requests = [tensors for tensors, _ in batch]
            loop = asyncio.get_running_loop()
            results = await loop.run_in_executor(self._thread, run_batch, self.model, requests)
            for (_, future), result in zip(batch, results):
                if not future.done():  # else its client has gone
                    future.set_result(result)

    def close(self) -> None:
        """End the thread, when what runs has ended."""
        self._thread.shutdown()
