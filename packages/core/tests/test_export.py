"""Names of exported programs."""

import pytest

import weft.export


def test_exported_programs_are_names_alone():
    """Transformers has ExportedProgram in annotations."""
    for make in (weft.export.export, weft.export.ExportedProgram):
        with pytest.raises(NotImplementedError, match="weft exports no programs"):
            make(weft.abs, (weft.ones(1),))
