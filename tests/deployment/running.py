"""A server in a process of its own on 127.0.0.1, started as a user starts it."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import weft

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "deployment"
INPUT = {"name": "x", "datatype": "FP32", "shape": [-1, 3]}
MAX_BATCH_SIZE = 8
# The model writes down each size of a batch that it ran: what it was warmed with, and what requests were joined to.
MODULE = """
import time
import weft

class Logged(weft.nn.Linear):
    def forward(self, x):
        time.sleep(0.01)
        result = super().forward(x)
        with open("sizes", "a") as file:
            file.write(f"{len(x)}\\n")
        return result

def build():
    time.sleep(0.5)
    return Logged(3, 2)
"""
SERVERS = {"fastapi": "fastapi", "litserve": "litserve", "ray": "ray.serve", "mlserver": "mlserver"}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def command(server, folder, port):
    """How a user starts a server of the model in a folder."""
    if server == "mlserver":
        extra = {"build": "served_module:build", "max_batch_size": MAX_BATCH_SIZE}
        settings = {
            "name": "line",
            "implementation": "weft.serve.mlserver.WeftRuntime",
            "inputs": [INPUT],
            "parameters": {"uri": str(folder / "line.pt"), "extra": extra},
        }
        (folder / "model-settings.json").write_text(json.dumps(settings))
        ports = {"http_port": port, "grpc_port": free_port(), "metrics_port": free_port()}
        (folder / "settings.json").write_text(json.dumps({"host": "127.0.0.1", "parallel_workers": 0, **ports}))
        return [str(Path(sys.executable).with_name("mlserver")), "start", str(folder)]
    options = ["--name", "line", "--build", "served_module:build", "--inputs", json.dumps([INPUT])]
    options += ["--max-batch-size", str(MAX_BATCH_SIZE), "--port", str(port)]
    return [sys.executable, str(EXAMPLES / f"serve_{server}.py"), str(folder / "line.pt"), *options]


class Served:
    """A running server, its model's numbers, and how to ask it."""

    def __init__(self, server, folder, arguments=None):
        self.server, self.folder, self.port = server, folder, free_port()
        self.model = weft.nn.Linear(3, 2)
        weft.save(self.model.state_dict(), folder / "line.pt")
        (folder / "served_module.py").write_text(MODULE)
        if arguments is None:
            start = command(server, folder, self.port)
        else:
            start = [sys.executable, str(EXAMPLES / f"serve_{server}.py"), *arguments, "--port", str(self.port)]
        path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
        with open(folder / "output", "w") as output:
            self.process = subprocess.Popen(
                start,
                cwd=folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def ask(self, method, path, body=None):
        """A request's status and JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return response.status, json.loads(content) if is_json and content else content

    def infer(self, **changed):
        entry = INPUT | {"shape": [1, 3], "data": [1.0, 2.0, 3.0]} | changed
        return self.ask("POST", "/v2/models/line/infer", {"inputs": [entry]})

    def wait(self, model="line", seconds=120):
        """Statuses of the readiness, until it is true."""
        seen, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, (self.folder / "output").read_text()
            try:
                status, _ = self.ask("GET", f"/v2/models/{model}/ready")
            except OSError:
                time.sleep(0.02)
                continue
            seen.append(status)
            if status == 200:
                return seen
            time.sleep(0.02)
        raise AssertionError(f"not ready after {seconds} s: {seen[-3:]}\n{(self.folder / 'output').read_text()}")

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
