"""Serve a model with LitServe: pip install "weft" litserve

python serve_litserve.py digits.pt2 --name digits --port 8000
curl localhost:8000/v2/models/digits/ready
"""

from common import parse_arguments

from weft.serve.litserve import WeftAPI, make_server

if __name__ == "__main__":
    arguments, options = parse_arguments(__doc__)
    server = make_server(WeftAPI(**options), accelerator="cpu")
    server.run(host=arguments.host, port=arguments.port, generate_client_file=False)
