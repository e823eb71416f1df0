"""Run the public suite of the Python array API standard on `weft.array_api`.

    WEFT_ARRAY_API_TESTS=/path/to/array-api-tests python tests/conformance/array_api.py [arguments of pytest]

The suite (https://github.com/data-apis/array-api-tests, with its submodule) is another project's and is not part of
this repository. `array_api.toml` says which of its tests may fail, and why; the exit status is not 0 if another one
does. What is drawn is random, and a run knows nothing of earlier ones: with more examples (``--max-examples=200``)
more of the tests that may fail do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = "2024.12"


def expected() -> dict[str, list[str]]:
    """The tests that may fail, by reason."""
    with open(HERE / "array_api.toml", "rb") as file:
        entries = tomllib.load(file)["may_fail"]
    return {entry["reason"]: [f"array_api_tests/{each}" for each in entry["tests"]] for entry in entries}


def suite() -> Path:
    """Where the suite is.

    Raises
    ------
    SystemExit
        If the environment does not say it.
    """
    folder = Path(os.environ.get("WEFT_ARRAY_API_TESTS", "")).expanduser()
    if not (folder / "array_api_tests").is_dir():
        raise SystemExit(
            "array_api.py: set WEFT_ARRAY_API_TESTS to a clone of https://github.com/data-apis/array-api-tests "
            f"(git clone --recurse-submodules); it is {os.environ.get('WEFT_ARRAY_API_TESTS')!r}"
        )
    return folder.resolve()


def run(folder: Path, temporary: Path, listed: Path, arguments: list[str]) -> tuple[int, str]:
    """The exit status of the suite, and what it printed."""
    environment = os.environ | {
        "ARRAY_API_TESTS_VERSION": VERSION,
        "ARRAY_API_TESTS_MODULE": "weft.array_api",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(temporary),  # else failures of earlier runs are drawn again, and add up
    }
    examples = [] if any(each.startswith("--max-examples") for each in arguments) else ["--max-examples=20"]
    paths = [] if any(each.startswith("array_api_tests") for each in arguments) else ["array_api_tests"]
    command = [sys.executable, "-m", "pytest", "-q", "-rxf", "-p", "no:cacheprovider", f"--xfails-file={listed}"]
    child = subprocess.Popen(
        [*command, *examples, *arguments, *paths],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert child.stdout is not None
    lines = []
    for line in child.stdout:
        print(line, end="")
        lines.append(line)
    return child.wait(), "".join(lines)


def report(reasons: dict[str, list[str]], printed: str) -> None:
    """Print how many tests failed, by reason."""
    failed = set(re.findall(r"^(?:XFAIL|FAILED) (.+?)(?: - .*)?$", printed, re.MULTILINE))
    print(f"\n{len(failed)} tests of the array API {VERSION} fail")
    for reason, tests in reasons.items():
        print(f"{len(failed.intersection(tests)):5} of {len(tests)} that may: {reason}")
    for test in sorted(failed.difference(*reasons.values())):
        print(f"      not expected: {test}")


def main(arguments: list[str]) -> int:
    """Run the suite; the exit status is its own."""
    reasons = expected()
    folder = suite()
    with tempfile.TemporaryDirectory() as temporary:
        listed = Path(temporary) / "xfails.txt"
        listed.write_text("".join(f"{test}\n" for tests in reasons.values() for test in tests))
        status, printed = run(folder, Path(temporary), listed, arguments)
    report(reasons, printed)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
