"""Small things that launchers and their programs need."""
