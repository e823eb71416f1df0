"""LitServe: a LitAPI, and a server with the protocol's paths. See docs/deployment.md."""

# Without annotations from __future__: LitServe compares those of `decode_request` and `encode_response` with classes.

from collections.abc import Sequence
from typing import Any

from fastapi.responses import JSONResponse
from litserve import LitAPI, LitServer
from starlette.exceptions import HTTPException
from starlette.requests import Request

from weft import Tensor
from weft.serve.batching import Result, run_batch
from weft.serve.endpoints import server_metadata
from weft.serve.model import InferenceModel
from weft.serve.protocol import InferenceError

__all__ = ["WeftAPI", "make_server"]

Decoded = tuple[dict[str, Any], list[Tensor]]


class WeftAPI(LitAPI):  # type: ignore[misc]
    """A model of weft's in LitServe, at ``/v2/models/NAME/infer``.

    Parameters
    ----------
    source : path
    name : str, default "model"
    max_batch_size : int, default 32
    batch_timeout : float, default 0.002
        Seconds that a request waits for others.
    **options
        Of `InferenceModel`. The model is made in LitServe's worker processes.
    """

    def __init__(
        self,
        source: Any,
        *,
        name: str = "model",
        max_batch_size: int = 32,
        batch_timeout: float = 0.002,
        **options: Any,
    ) -> None:
        path = f"/v2/models/{name}/infer"
        super().__init__(max_batch_size=max_batch_size, batch_timeout=batch_timeout, api_path=path)
        self.model = InferenceModel(source, name=name, max_batch_size=max_batch_size, **options)

    def setup(self, device: str) -> None:
        """Load and warm; only then LitServe calls this worker ready."""
        self.model.device = device
        self.model.load()

    # LitServe fails a whole batch if one of its requests raises. So an error goes on as a value, to the response.

    def decode_request(self, request: Request) -> Any:
        """Read the tensors of a request, whose JSON LitServe has parsed, or what is wrong with it."""
        try:
            return request, self.model.decode(request)
        except InferenceError as error:
            return error

    def batch(self, inputs: Sequence[Decoded | InferenceError]) -> Sequence[Decoded | InferenceError]:
        """Leave the joining to `predict`, which knows what may be joined."""
        return inputs

    def predict(self, x: Any) -> Any:
        """Run the model for the requests that are right."""
        single = not isinstance(x, list)
        requests = [x] if single else x
        right = [each for each in requests if not isinstance(each, InferenceError)]
        results = iter(run_batch(self.model, [tensors for _, tensors in right]))
        answers = [each if isinstance(each, InferenceError) else (each[0], next(results)) for each in requests]
        return answers[0] if single else answers

    def unbatch(self, output: Any) -> Any:
        """Return the answers, one for each request already."""
        return output

    def encode_response(self, output: tuple[dict[str, Any], Result] | InferenceError) -> Any:
        """Return a request's response, or its error with the status."""
        try:
            if isinstance(output, InferenceError):
                raise output
            content, result = output
            if isinstance(result, InferenceError):
                raise result
            return self.model.encode(content, result)
        except InferenceError as error:
            return JSONResponse({"error": str(error)}, error.status)


def make_server(api: WeftAPI, **options: Any) -> LitServer:
    """Return a LitServer of the protocol's paths.

    Beside inference: ``/v2``, ``/v2/health/live``, ``/v2/health/ready``, ``/v2/models/NAME`` and
    ``/v2/models/NAME/ready``. Errors of LitServe and its framework have the protocol's form, and a body that is no JSON
    gets a 400.

    Parameters
    ----------
    api : WeftAPI
    **options
        Of ``litserve.LitServer``: ``accelerator``, ``workers_per_device``, …

    Returns
    -------
    litserve.LitServer
        ``run(port=8000)`` starts it.
    """
    model = api.model
    server = LitServer(api, healthcheck_path="/v2/health/ready", **options)

    async def root() -> dict[str, Any]:
        return server_metadata()

    async def live() -> dict[str, bool]:
        return {"live": True}

    async def metadata() -> dict[str, Any]:
        return model.metadata()

    async def ready() -> JSONResponse:
        states = (server.workers_setup_status or {}).values()
        is_ready = bool(states) and all(state == "ready" for state in states)
        return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)

    async def answer_error(request: Request, error: Exception) -> JSONResponse:
        if isinstance(error.__cause__, ValueError):  # LitServe read the body, and says 500 for what is no JSON
            return JSONResponse({"error": f"the request is not JSON: {error.__cause__}"}, 400)
        return JSONResponse({"error": str(getattr(error, "detail", error))}, getattr(error, "status_code", 500))

    server.app.add_api_route("/v2", root)
    server.app.add_api_route("/v2/health/live", live)
    server.app.add_api_route(f"/v2/models/{model.name}", metadata)
    server.app.add_api_route(f"/v2/models/{model.name}/ready", ready)
    server.app.add_exception_handler(HTTPException, answer_error)
    return server
