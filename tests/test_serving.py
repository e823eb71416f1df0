"""Each server with a model of weft's, in a process of its own on 127.0.0.1, as the examples start it."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import weft

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "deployment"
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

    def __init__(self, server, folder):
        self.server, self.folder, self.port = server, folder, free_port()
        self.model = weft.nn.Linear(3, 2)
        weft.save(self.model.state_dict(), folder / "line.pt")
        (folder / "served_module.py").write_text(MODULE)
        path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
        with open(folder / "output", "w") as output:
            self.process = subprocess.Popen(
                command(server, folder, self.port),
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

    def wait(self, seconds=120):
        """Statuses of the readiness, until it is true."""
        seen, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, (self.folder / "output").read_text()
            try:
                status, _ = self.ask("GET", "/v2/models/line/ready")
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


@pytest.fixture(scope="module", params=SERVERS)
def served(request, tmp_path_factory):
    pytest.importorskip(SERVERS[request.param])
    found = Served(request.param, tmp_path_factory.mktemp(request.param))
    try:
        found.before_ready = found.wait()
        found.sizes_when_ready = (found.folder / "sizes").read_text().split()
        yield found
    finally:
        found.stop()


def test_ready_means_warmed(served):
    assert set(served.before_ready[:-1]) <= {400, 404, 503}
    assert served.sizes_when_ready == ["1", str(MAX_BATCH_SIZE)]


def test_state_and_metadata(served):
    assert served.ask("GET", "/v2/health/live")[0] == 200
    assert served.ask("GET", "/v2/health/ready")[0] == 200
    status, metadata = served.ask("GET", "/v2/models/line")
    assert status == 200
    assert metadata["name"] == "line"
    assert [{key: entry[key] for key in INPUT} for entry in metadata["inputs"]] == [INPUT]


def test_an_answer_has_the_models_numbers(served):
    status, response = served.infer()
    assert status == 200
    expected = served.model(weft.tensor([[1.0, 2.0, 3.0]])).flatten().tolist()
    (output,) = response["outputs"]
    assert (response["model_name"], output["datatype"], output["shape"]) == ("line", "FP32", [1, 2])
    assert output["data"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "changed",
    [
        {"shape": [1, 4], "data": [1.0] * 4},
        {"shape": [3]},
        {"shape": [2, 3]},
        {"datatype": "INT64"},
        {"name": "y"},
        {"data": [1.0, "two", 3.0]},
        {"data": [1.0, 2.0]},
        {"data": [1e300, 0.0, 0.0]},
    ],
    ids=str,
)
def test_a_wrong_request_is_a_400_that_says_why(served, changed):
    status, response = served.infer(**changed)
    assert status == 400, response
    assert list(response) == ["error"]
    assert len(response["error"]) > 20


def test_a_body_that_is_no_json_is_not_the_servers_fault(served):
    for body in (b"{", b"\xff\xfe"):
        assert served.ask("POST", "/v2/models/line/infer", body)[0] in (400, 422), body


def test_there_is_no_other_model(served):
    assert served.ask("POST", "/v2/models/circle/infer", {"inputs": []})[0] == 404


def test_200_concurrent_requests_each_get_their_own_answer(served):
    def ask(index):
        rows = index % 3 + 1
        if index % 10 == 7:
            return served.infer(shape=[rows, 4], data=[0.0] * 4 * rows)
        x = weft.arange(rows * 3, dtype=weft.float32).reshape(rows, 3) + index
        status, response = served.infer(shape=[rows, 3], data=x.flatten().tolist())
        expected = served.model(x).flatten().tolist()
        return status, response["outputs"][0]["data"] == pytest.approx(expected, rel=1e-5, abs=1e-5)

    with weft.no_grad(), ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(ask, range(200)))
    wrong = [answers[index][0] for index in range(200) if index % 10 == 7]
    right = [answers[index] for index in range(200) if index % 10 != 7]
    assert wrong == [400] * 20
    assert right == [(200, True)] * 180
    sizes = [int(size) for size in (served.folder / "sizes").read_text().split()]
    assert max(sizes) <= MAX_BATCH_SIZE
    assert any(size > 3 for size in sizes[2:]), "no requests were joined"
