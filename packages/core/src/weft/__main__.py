"""``python -m weft``: the ``weft`` command."""

import sys

from weft._command import main

sys.exit(main())
