"""Ray Serve: a deployment class. See docs/deployment.md."""

from __future__ import annotations

from typing import Any

from ray import serve
from starlette.requests import Request
from starlette.responses import JSONResponse

from weft.serve.endpoints import Endpoints
from weft.serve.model import InferenceModel

__all__ = ["WeftDeployment"]


# Ray gives a replica 5 requests at once unless told otherwise: too few to batch.
@serve.deployment(max_ongoing_requests=256)
class WeftDeployment:
    """A model of weft's in Ray Serve, by the protocol's paths.

    ``serve.run(WeftDeployment.bind("model.pt2", name="digits"), route_prefix="/")`` starts it. Ray sends a replica no
    request before its constructor, which loads and warms, has ended.

    Parameters
    ----------
    source : path
    max_wait : float, default 0.002
        Seconds that a request waits for others to join its batch.
    **options
        Of `InferenceModel`.
    """

    def __init__(self, source: Any, *, max_wait: float = 0.002, **options: Any) -> None:
        model = InferenceModel(source, **options)
        model.load()
        self.endpoints = Endpoints(model, max_wait)
        self.batcher = self.endpoints.batchers[model.name]

    async def __call__(self, request: Request) -> JSONResponse:
        """Answer over HTTP."""
        status, content = await self.endpoints.respond(request.method, request.url.path, await request.body())
        return JSONResponse(content, status)

    async def infer(self, content: dict[str, Any]) -> dict[str, Any]:
        """Answer another deployment, by its handle: ``await handle.infer.remote(request)``."""
        return await self.batcher.infer(content)
