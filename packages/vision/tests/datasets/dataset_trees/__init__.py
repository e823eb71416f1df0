"""Small file trees in the true formats of data sets, written for tests.

Each function writes the tree of a data set, and stands in the table `CASES` with the arguments to read it with and the
number of examples. The tests beside read the trees with weft; those of tests/conformance also with torchvision.
"""

from dataset_trees._cases import CASES, Case, picture

from dataset_trees import arrays, labelled, motion, scenes  # isort: skip  (they fill the table)

__all__ = ["CASES", "Case", "arrays", "labelled", "motion", "picture", "scenes"]
