"""The harness imports PyTorch, which only the conformance environment has: it is collected by name alone."""

collect_ignore_glob = [
    "harness/*",
    "onnx/cases.py",
    "programs/*",
    "run.py",
    "vision/oracle.py",
    "vision/operators.py",
    "vision/source_cases.py",
]
