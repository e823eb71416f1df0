"""What the three servers are told on the command line, as options of `weft.serve.InferenceModel`."""

import argparse
import json


def parse_arguments(doc):
    summary, _, detail = doc.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=detail, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help="the file: a .pt2 of weft.export, or weights with --build and --inputs")
    parser.add_argument("--name", default="model", help="in the URL (default: model)")
    parser.add_argument("--build", help="package.module:function, which makes the module that weights belong to")
    parser.add_argument("--inputs", type=json.loads, help='JSON: [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]')
    parser.add_argument("--max-batch-size", type=int, default=32, help="rows in one run (default: 32)")
    parser.add_argument("--host", default="127.0.0.1", help="whose requests are taken (default: this machine's)")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    options = {name: getattr(arguments, name) for name in ("source", "name", "build", "inputs", "max_batch_size")}
    return arguments, options
