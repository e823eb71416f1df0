"""Serve a model with FastAPI alone: pip install "weft" fastapi uvicorn

    python serve_fastapi.py digits.pt2 --name digits --port 8000
    curl localhost:8000/v2/models/digits/ready

All that a server needs to know of the protocol is in `Endpoints`. The model is loaded and warmed beside the loop that
answers, so that the server is alive at once and ready when it is.
"""

import asyncio
from contextlib import asynccontextmanager

import uvicorn
from common import parse_arguments
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from weft.serve import Endpoints, InferenceModel


def make_app(model):
    endpoints = Endpoints(model)

    @asynccontextmanager
    async def lifespan(app):
        loading = asyncio.create_task(asyncio.to_thread(model.load))
        loading.add_done_callback(lambda task: task.result())  # an exception is logged, and the model never ready
        yield
        endpoints.close()

    app = FastAPI(lifespan=lifespan)

    @app.api_route("/v2{path:path}", methods=["GET", "POST"])
    async def v2(request: Request):
        status, content = await endpoints.respond(request.method, request.url.path, await request.body())
        return JSONResponse(content, status)

    return app


if __name__ == "__main__":
    arguments, options = parse_arguments(__doc__)
    uvicorn.run(make_app(InferenceModel(**options)), host=arguments.host, port=arguments.port)
