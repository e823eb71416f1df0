"""Random programs, run line by line on two libraries. Read `interpreter`, then the kinds of programs."""
