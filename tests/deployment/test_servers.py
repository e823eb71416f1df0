"""Each server with a model of weft's: its answers, its errors, and when it is ready."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from running import INPUT, MAX_BATCH_SIZE, SERVERS, Served

import weft


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
    assert {"name", "version", "extensions"} <= set(served.ask("GET", "/v2")[1])
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


WRONG = (
    {"shape": [1, 4], "data": [1.0] * 4},
    {"shape": [3]},
    {"shape": [2, 3]},
    {"datatype": "INT64"},
    {"name": "y"},
    {"data": [1.0, "two", 3.0]},
    {"data": [1.0, 2.0]},
    {"data": [1e300, 0.0, 0.0]},
)


def test_a_wrong_request_is_a_400_that_says_why(served):
    for changed in WRONG:
        status, response = served.infer(**changed)
        assert (status, list(response)) == (400, ["error"]), (changed, response)
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
