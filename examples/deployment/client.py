"""Ask a server many questions at once, and compare each answer with the exported program's.

python client.py served/digits.pt2 --url http://127.0.0.1:8000 --name digits --requests 200
"""

import argparse
import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import weft
from weft.serve import InferenceModel


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("source", help="the .pt2 file that is served")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="default: %(default)s")
    parser.add_argument("--name", default="model", help="of the model on the server (default: model)")
    parser.add_argument("--requests", type=int, default=200, help="default: 200")
    parser.add_argument("--at-once", type=int, default=32, help="default: 32")
    arguments = parser.parse_args()
    model = InferenceModel(arguments.source)
    model.load()

    def ask(number):
        weft.manual_seed(number)
        inputs = []
        for spec in model.inputs:
            tensor = weft.rand([1 if size == -1 else size for size in spec.shape]).to(spec.dtype)
            inputs.append({**spec.describe(), "shape": list(tensor.shape), "data": tensor.flatten().tolist()})
        content = {"id": str(number), "inputs": inputs}
        url = f"{arguments.url}/v2/models/{arguments.name}/infer"
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(content).encode(), headers)) as response:
            answer = json.load(response)
        expected = model.infer(content)
        return all(
            weft.allclose(weft.tensor(one["data"]), weft.tensor(two["data"]), rtol=1e-4, atol=1e-5)
            for one, two in zip(answer["outputs"], expected["outputs"])
        )

    with ThreadPoolExecutor(arguments.at_once) as pool:
        right = sum(pool.map(ask, range(arguments.requests)))
    print(f"{right} of {arguments.requests} answers are those of the exported program")
    raise SystemExit(right != arguments.requests)


if __name__ == "__main__":
    main()
