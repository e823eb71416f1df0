"""`LocalElasticAgent`, which starts the workers of one machine, and what describes them."""

from weft.distributed.elastic.agent.server.api import RunResult, Worker, WorkerGroup, WorkerSpec, WorkerState
from weft.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent

__all__ = ["LocalElasticAgent", "RunResult", "Worker", "WorkerGroup", "WorkerSpec", "WorkerState"]
