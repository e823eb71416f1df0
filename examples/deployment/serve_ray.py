"""Serve a model with Ray Serve: pip install "weft" "ray[serve]"

python serve_ray.py digits.pt2 --name digits --port 8000
curl localhost:8000/v2/models/digits/ready
"""

from common import parse_arguments
from ray import serve

from weft.serve.ray import WeftDeployment

if __name__ == "__main__":
    arguments, options = parse_arguments(__doc__)
    serve.start(http_options={"host": arguments.host, "port": arguments.port})
    serve.run(WeftDeployment.bind(**options), route_prefix="/", blocking=True)
