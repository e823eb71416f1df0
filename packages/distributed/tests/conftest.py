"""Lets the tests import ``ranks``, which starts processes for them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
