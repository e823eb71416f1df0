"""MLServer: a runtime that ``model-settings.json`` names. See docs/deployment.md."""

from __future__ import annotations

import asyncio
from typing import Any

from mlserver import MLModel, types
from mlserver.errors import MLServerError
from mlserver.utils import get_model_uri

from weft.serve.batching import Batcher
from weft.serve.model import InferenceModel
from weft.serve.protocol import InferenceError

__all__ = ["WeftRuntime"]


class WeftRuntime(MLModel):  # type: ignore[misc]
    """A model of weft's in MLServer.

    Of ``model-settings.json`` it reads ``parameters.uri`` (the file), ``inputs`` and ``outputs``, and under
    ``parameters.extra`` the options of `InferenceModel`, and ``max_wait`` of `Batcher`. MLServer's own batching
    (``max_batch_size`` and ``max_batch_time`` at the top level) should stay off, as it is unless set: it joins requests
    before they are checked, so that one wrong shape fails all of a batch.
    """

    batcher: Batcher | None = None

    async def load(self) -> bool:
        """Load and warm, beside the loop that answers whether the server lives; then MLServer calls it ready."""
        parameters = self.settings.parameters
        options: dict[str, Any] = dict((parameters and parameters.extra) or {})
        max_wait = options.pop("max_wait", 0.002)
        for key in ("inputs", "outputs"):
            declared = getattr(self, key)
            if declared:
                options[key] = [each.model_dump(mode="json") for each in declared]
        path = await get_model_uri(self.settings)  # relative to model-settings.json
        self.model = InferenceModel(path, name=self.name, version=self.version, **options)
        await asyncio.to_thread(self.model.load)
        self.batcher = Batcher(self.model, max_wait)
        self.inputs, self.outputs = (
            [types.MetadataTensor(**spec.describe()) for spec in specs]
            for specs in (self.model.inputs, self.model.outputs)
        )
        return True

    async def predict(self, payload: types.InferenceRequest) -> types.InferenceResponse:
        """Answer a request; what is wrong with it is a 400."""
        content = payload.model_dump(mode="json", exclude_none=True)
        assert self.batcher is not None  # MLServer asks no model that is not loaded
        try:
            return types.InferenceResponse(**await self.batcher.infer(content))
        except InferenceError as error:
            raise MLServerError(str(error), error.status) from error

    async def unload(self) -> bool:
        """End the thread that runs the model, if there is one: MLServer unloads also what failed to load."""
        if self.batcher is not None:
            self.batcher.close()
        return True
