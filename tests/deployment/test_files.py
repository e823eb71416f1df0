"""A model on its way out of weft: the files of examples/deployment, in servers, a browser, and the format of phones."""

import functools
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from running import EXAMPLES, Served

pytest.importorskip("onnx")
pytest.importorskip("sklearn")


def run(*command, cwd=None, environment=()):
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", **dict(environment)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The folder that prepare.py wrote, and in ``printed`` what it said."""
    folder = tmp_path_factory.mktemp("deployment")
    printed = run(EXAMPLES / "prepare.py", "--out", "served", "--epochs", 1, cwd=folder)
    (folder / "served" / "printed").write_text(printed)
    return folder / "served"


def reference(folder):
    """Pictures, and the model's logits in Python."""
    found = json.loads((folder / "reference.json").read_text())
    pixels = np.array(found["pixels"], np.float32).reshape(found["shape"])
    return pixels, np.array(found["logits"], np.float32).reshape(len(pixels), -1)


def test_each_file_gives_the_models_numbers(served, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pixels, logits = reference(served)
    for name, tolerance in (("digits.onnx", 1e-5), ("digits.int8.onnx", 0.1)):
        session = onnxruntime.InferenceSession(served / name, providers=["CPUExecutionProvider"])
        found = session.run(["logits"], {"pixels": pixels})[0]
        assert np.abs(found - logits).max() < tolerance * np.abs(logits).max(), name
        assert session.run(["logits"], {"pixels": pixels[:1]})[0].shape == (1, 10)
    assert (served / "digits.int8.onnx").stat().st_size < 0.3 * (served / "digits.onnx").stat().st_size
    (weights,) = (served / "digits").glob("*.npz")
    assert (served / "digits" / "model.py").stat().st_size < 200_000
    assert weights.stat().st_size < 1.1 * (served / "digits.onnx").stat().st_size


def test_digits_are_read_as_well_with_8_bits(served):
    before, after = map(float, re.findall(r"([\d.]+) %", (served / "printed").read_text()))
    assert before > 85
    assert after > before - 0.5


def test_a_phones_format_comes_of_onnxruntimes_converter(served, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("flatbuffers")
    shutil.copy(served / "digits.int8.onnx", tmp_path)
    run("-m", "onnxruntime.tools.convert_onnx_models_to_ort", ".", "--optimization_style", "Fixed", cwd=tmp_path)
    pixels, logits = reference(served)
    session = onnxruntime.InferenceSession(tmp_path / "digits.int8.ort", providers=["CPUExecutionProvider"])
    assert (session.run(None, {"pixels": pixels})[0].argmax(1) == logits.argmax(1)).all()
    assert "QLinearConv" in (tmp_path / "required_operators.config").read_text()


@pytest.mark.skipif(os.environ.get("WEFT_DEPLOYMENT") != "all", reason="WEFT_DEPLOYMENT=all: takes seconds")
def test_a_server_of_the_program_answers_the_example_client(served, tmp_path):
    pytest.importorskip("litserve")  # its workers are processes, which the program must reach
    running = Served("litserve", tmp_path, [str(served / "digits.pt2"), "--name", "digits"])
    try:
        running.wait("digits")
        url = f"http://127.0.0.1:{running.port}"
        printed = run(EXAMPLES / "client.py", served / "digits.pt2", "--url", url, "--name", "digits")
        assert printed.startswith("200 of 200 answers")
    finally:
        running.stop()


class Site(http.server.SimpleHTTPRequestHandler):
    """The page, and what it says when it has finished."""

    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}
    said: list[str] = []
    finished = threading.Event()

    def do_POST(self):
        self.said.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()
        self.finished.set()

    def log_message(self, *args):
        pass


def test_a_browser_has_the_numbers_of_python(served, tmp_path):
    chromium = shutil.which("chromium")
    modules = Path(os.environ.get("WEFT_NODE_MODULES", EXAMPLES / "browser" / "node_modules"))
    if chromium is None or not (modules / "onnxruntime-web").exists():
        pytest.skip("needs chromium, and npm install in examples/deployment/browser")
    shutil.copy(EXAMPLES / "browser" / "index.html", tmp_path)
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "served").symlink_to(served)
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, directory=str(tmp_path)))
    threading.Thread(target=site.serve_forever, daemon=True).start()
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options.append("--remote-debugging-port=0")  # stays open until it is ended
    command = [chromium, *options, f"http://127.0.0.1:{site.server_port}/index.html"]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        assert Site.finished.wait(60), "the page did not finish"
    finally:
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()
        site.shutdown()
        site.server_close()
    assert Site.said[0].startswith("40 numbers") and Site.said[0].endswith(": same"), Site.said
