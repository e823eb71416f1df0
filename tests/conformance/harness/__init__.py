"""Run PyTorch's own operator database against a library that has PyTorch's names.

The modules, in reading order: ``entries`` (which operators, which samples, what is left out), ``translate`` (a
sample's values as values of the library under test), ``resolve`` (the library's function of an entry's name),
``compare`` (one result with another), ``columns`` (what is claimed of an operator), ``other_devices`` (the same away
from the CPU), ``workers`` (processes with a time limit), ``ledger`` (the list of what passes) and ``report``.
"""
