"""`LocalElasticAgent`: starts the workers of this machine, watches them, and starts them again."""

from __future__ import annotations

import json
import os
import signal
import string
import time
from typing import Any

from weft.distributed.elastic.agent.server.api import RunResult, Worker, WorkerGroup, WorkerSpec, WorkerState
from weft.distributed.elastic.multiprocessing import start_processes
from weft.distributed.elastic.multiprocessing.api import (
    GRACE_SECONDS,
    DefaultLogsSpecs,
    LogsSpecs,
    PContext,
    SignalException,
)
from weft.distributed.elastic.rendezvous.api import RendezvousError, RendezvousInfo
from weft.distributed.elastic.rendezvous.store_rendezvous import StoreRendezvous
from weft.distributed.rendezvous import AGENT_VARIABLE

__all__ = ["LocalElasticAgent"]


class LocalElasticAgent:
    """The agent of one machine.

    Parameters
    ----------
    spec : WorkerSpec
    logs_specs : LogsSpecs
    start_method : str
        Of workers that are functions.
    exit_barrier_timeout : float
        Seconds to wait for the workers of other machines when this one's have succeeded.
    log_line_prefix_template : str, optional
        With ``${role_name}``, ``${local_rank}`` and ``${rank}``; ``[${role_name}${local_rank}]:`` by default.
    shutdown_timeout : int, optional
        Seconds between asking workers to end and ending them.
    """

    def __init__(
        self,
        spec: WorkerSpec,
        logs_specs: LogsSpecs | None = None,
        start_method: str = "spawn",
        exit_barrier_timeout: float = 300,
        log_line_prefix_template: str | None = None,
        shutdown_timeout: int | None = None,
    ) -> None:
        if not isinstance(spec.rdzv_handler, StoreRendezvous):
            raise TypeError(f"LocalElasticAgent: rdzv_handler must be a StoreRendezvous; got {spec.rdzv_handler!r}")
        self.spec = spec
        self.rendezvous = spec.rdzv_handler
        self.logs_specs = logs_specs or DefaultLogsSpecs()
        self.start_method = start_method
        self.exit_barrier_timeout = exit_barrier_timeout
        self.log_line_prefix_template = log_line_prefix_template or "[${role_name}${local_rank}]:"
        told = os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", GRACE_SECONDS)
        self.shutdown_timeout = int(told if shutdown_timeout is None else shutdown_timeout)
        self._workers: PContext | None = None

    def run(self, role: str = "default_role") -> RunResult:
        """Start the workers, again after each failure as often as is allowed; return how they ended.

        Raises
        ------
        SignalException
            If the agent is asked to end; the workers have ended then.
        RendezvousError
            If the other machines are not found, or the job failed on one of them.
        """
        restarts = self.spec.max_restarts
        try:
            while True:
                group = self._make_group(self.rendezvous.next_rendezvous())
                result = self._run_once(group)
                if result.state is WorkerState.SUCCEEDED or (result.is_failed() and restarts == 0):
                    return result
                if result.is_failed():
                    restarts -= 1
                    self.rendezvous.restart()
        except SignalException as signalled:
            self._end_workers(signalled.sigval)
            raise
        finally:
            self._end_workers(signal.SIGTERM)

    def _run_once(self, group: WorkerGroup) -> RunResult:
        """Start the workers and watch them until they end, or are to be started again."""
        workers = self._workers = self._start(group)
        while True:
            ended = workers.wait(0)
            if ended is None:
                if self.rendezvous.look():
                    self._end_workers(signal.SIGTERM)
                    return RunResult(WorkerState.STOPPED)
                time.sleep(self.spec.monitor_interval)
                continue
            ranks = {worker.local_rank: worker.global_rank for worker in group.workers}
            if ended.is_failed():
                failures = {ranks[local]: failure for local, failure in ended.failures.items()}
                return RunResult(WorkerState.FAILED, failures=failures)
            if not self.rendezvous.wait_for_all(self.exit_barrier_timeout):
                return RunResult(WorkerState.STOPPED)
            return RunResult(
                WorkerState.SUCCEEDED, {ranks[local]: value for local, value in ended.return_values.items()}
            )

    def _end_workers(self, number: signal.Signals) -> None:
        if self._workers is not None:
            self._workers.close(number, self.shutdown_timeout)

    def _make_group(self, found: RendezvousInfo) -> WorkerGroup:
        """Number the workers: machine by machine, and among those of the same role."""
        spec, store = self.spec, found.store
        store.set(f"node/{found.rank}", json.dumps([spec.role, spec.local_world_size]))
        nodes = [json.loads(store.get(f"node/{node}")) for node in range(found.world_size)]
        before = nodes[: found.rank]
        first, role_first = sum(size for _, size in before), sum(size for role, size in before if role == spec.role)
        role_size = sum(size for role, size in nodes if role == spec.role)
        world_size = sum(size for _, size in nodes)
        workers = [
            Worker(local, first + local, role_first + local, world_size, role_size)
            for local in range(spec.local_world_size)
        ]
        address = found.bootstrap_store_info
        host, port = spec.master_addr or address.master_addr, spec.master_port or address.master_port
        return WorkerGroup(spec, workers, found.rank, found.world_size, host, port, self.rendezvous.round)

    def _start(self, group: WorkerGroup) -> PContext:
        spec = self.spec
        assert spec.entrypoint is not None
        envs, args, prefixes = {}, {}, {}
        for worker in group.workers:
            local = worker.local_rank
            envs[local] = self._environment(group, worker)
            args[local] = tuple(
                string.Template(each).safe_substitute(local_rank=local) if isinstance(each, str) else each
                for each in spec.args
            )
            prefixes[local] = string.Template(self.log_line_prefix_template).safe_substitute(
                role_name=spec.role, local_rank=local, rank=worker.global_rank
            )
        return start_processes(
            spec.role, spec.entrypoint, args, envs, self.logs_specs, prefixes, start_method=self.start_method
        )

    def _environment(self, group: WorkerGroup, worker: Worker) -> dict[str, str]:
        """The variables by which a worker finds its place."""
        spec, local = self.spec, worker.local_rank
        values: dict[str, Any] = {
            "RANK": worker.global_rank,
            "LOCAL_RANK": local,
            "WORLD_SIZE": worker.world_size,
            "LOCAL_WORLD_SIZE": spec.local_world_size,
            "GROUP_RANK": group.group_rank,
            "GROUP_WORLD_SIZE": group.group_world_size,
            "ROLE_RANK": worker.role_rank,
            "ROLE_NAME": spec.role,
            "ROLE_WORLD_SIZE": worker.role_world_size,
            "MASTER_ADDR": group.master_addr,
            "MASTER_PORT": group.master_port,
            "TORCHELASTIC_RESTART_COUNT": group.attempt,
            "TORCHELASTIC_MAX_RESTARTS": spec.max_restarts,
            "TORCHELASTIC_RUN_ID": self.rendezvous.get_run_id(),
            "TORCHELASTIC_USE_AGENT_STORE": True,
            AGENT_VARIABLE: 1,
        }
        if spec.local_world_size > 1 and "OMP_NUM_THREADS" not in os.environ:
            values["OMP_NUM_THREADS"] = 1
        if spec.virtual_local_rank:
            visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
            values["LOCAL_RANK"] = 0
            values["CUDA_VISIBLE_DEVICES"] = visible[local] if local < len(visible) and visible[local] else local
        return {name: str(value) for name, value in values.items()}


def describe(error: RendezvousError) -> str:
    """What a rendezvous's error says, in one line."""
    return f"{type(error).__name__}: {error}"
