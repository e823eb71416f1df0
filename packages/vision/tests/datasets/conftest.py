"""The tests of data sets find the trees that they read beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for dataset_trees
