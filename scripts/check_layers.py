"""Check that the layers point one way: the contracts under [tool.importlinter] in pyproject.toml.

Import-linter reads one folder per package, and an editable install has seven. So the portions are first merged, as
pip would merge their wheels.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def merge_portions(folder: Path) -> None:
    """Lay the sources of all packages over each other in ``folder``."""
    for source in sorted(ROOT.glob("packages/*/src")):
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.pyi", "__pycache__"))


def main() -> int:
    """Run import-linter on the merged portions; its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        merge_portions(Path(folder))
        lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
        command = [sys.executable, "-c", lint, "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
        return subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": folder}).returncode


if __name__ == "__main__":
    sys.exit(main())
