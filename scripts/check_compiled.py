"""Fail unless the weft that this Python imports has its whole engine compiled."""

import importlib
import pkgutil

import weft._engine

modules = [f"weft._engine.{module.name}" for module in pkgutil.iter_modules(weft._engine.__path__)]
interpreted = [name for name in modules if importlib.import_module(name).__file__.endswith(".py")]
if interpreted:
    raise SystemExit(f"check_compiled: interpreted: {', '.join(interpreted)}")
print(f"compiled: {', '.join(modules)}")
