"""The paths of the Open Inference Protocol, for any framework whose handlers are coroutines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft.serve.batching import Batcher
from weft.serve.model import InferenceModel
from weft.serve.protocol import InferenceError, parse

__all__ = ["Endpoints"]


class Endpoints:
    """Answers the protocol's paths for some models.

    =====================================  ====================================================
    ``GET v2``                             the server's metadata
    ``GET v2/health/live``                 200
    ``GET v2/health/ready``                200 if all models are ready, else 503
    ``GET v2/models/NAME``                 the model's metadata
    ``GET v2/models/NAME/ready``           200 if it is loaded and warmed, else 503
    ``POST v2/models/NAME/infer``          inference
    =====================================  ====================================================

    ``/versions/VERSION`` may follow a name. An error's body is ``{"error": "..."}``.

    Parameters
    ----------
    models : InferenceModel or sequence of InferenceModel
    max_wait : float, default 0.002
        Seconds that a request waits for others to join.

    Examples
    --------
    With FastAPI, all of it::

        @app.api_route("/v2/{path:path}", methods=["GET", "POST"])
        async def v2(request: Request) -> JSONResponse:
            status, content = await endpoints.respond(request.method, request.url.path, await request.body())
            return JSONResponse(content, status)
    """

    def __init__(self, models: InferenceModel | Sequence[InferenceModel], max_wait: float = 0.002) -> None:
        models = [models] if isinstance(models, InferenceModel) else models
        self.models = {model.name: model for model in models}
        self.batchers = {model.name: Batcher(model, max_wait) for model in models}

    async def respond(self, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, Any]]:
        """Answer a request.

        Parameters
        ----------
        method : str
            ``"GET"`` or ``"POST"``.
        path : str
            The URL's.
        body : bytes

        Returns
        -------
        tuple of int and dict
            The status, and the JSON to send.
        """
        try:
            return await self._respond(method, path.strip("/").split("/"), body)
        except InferenceError as error:
            return error.status, {"error": str(error)}

    async def _respond(self, method: str, parts: list[str], body: bytes) -> tuple[int, dict[str, Any]]:
        infers = len(parts) > 3 and parts[1] == "models" and parts[-1] == "infer"
        if method != ("POST" if infers else "GET"):
            raise InferenceError(f"{method} is not for /{'/'.join(parts)}", status=405)
        match parts:
            case ["v2"]:
                return 200, server_metadata()
            case ["v2", "health", "live"]:
                return 200, {"live": True}
            case ["v2", "health", "ready"]:
                return _readiness(all(model.ready for model in self.models.values()))
            case ["v2", "models", name, *rest]:
                return await self._of_model(name, rest, body)
        raise InferenceError(f"there is nothing at /{'/'.join(parts)}", status=404)

    async def _of_model(self, name: str, rest: list[str], body: bytes) -> tuple[int, dict[str, Any]]:
        model = self.models.get(name)
        if model is None:
            raise InferenceError(f"there is no model {name!r}", status=404)
        if rest[:1] == ["versions"] and len(rest) > 1:
            if rest[1] != model.version:
                raise InferenceError(f"model {name!r} has no version {rest[1]!r}", status=404)
            rest = rest[2:]
        match rest:
            case []:
                return 200, model.metadata()
            case ["ready"]:
                return _readiness(model.ready)
            case ["infer"]:
                if not model.ready:  # before the request is read: what its inputs are is not known yet
                    raise InferenceError(f"model {name!r} is not ready", status=503)
                return 200, await self.batchers[name].infer(parse(body))
        raise InferenceError(f"model {name!r} has no {'/'.join(rest)!r}", status=404)

    def close(self) -> None:
        """End the threads that run the models."""
        for batcher in self.batchers.values():
            batcher.close()


def server_metadata() -> dict[str, Any]:
    """What the protocol's root says: the server's name, its version, and that it has no extensions."""
    return {"name": "weft", "version": weft.__version__, "extensions": []}


def _readiness(ready: bool) -> tuple[int, dict[str, Any]]:
    return (200 if ready else 503), {"ready": ready}
