"""Annotations name what their modules have at run time, where tools read them: dataclasses, dependency injection."""

import importlib
import inspect
import pkgutil
import typing

import weft
import weft.fft
import weft.linalg
import weft.nn.functional as F
import weft.special
from weft.ops._declare import public_functions
from weft.ops._families import all_functions

# Kernels and what needs a compiler or a GPU; commands, whose import runs them.
LEFT_OUT = ("weft.backend_cpu.", "weft.backend_cuda.")


def public_modules():
    yield "weft"
    for module in pkgutil.walk_packages(weft.__path__, "weft.", onerror=lambda name: None):
        if not any(part.startswith("_") for part in module.name.split(".")) and not module.name.startswith(LEFT_OUT):
            yield module.name


def functions_of(value):
    """The class and its methods, or the function."""
    yield value
    if inspect.isclass(value):
        for member in vars(value).values():
            if isinstance(member, property):
                member = member.fget
            elif isinstance(member, (staticmethod, classmethod)):
                member = member.__func__
            if inspect.isfunction(member):
                yield member


def members_of(name):
    """A module, and the classes and functions that it defines; for the top level, those that it offers."""
    module = importlib.import_module(name)
    yield module
    for value in list(vars(module).values()):
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if value.__module__ == name or (name == "weft" and value.__module__.startswith("weft.")):
            yield from functions_of(value)


def test_type_hints_of_everything_public_can_be_read():
    failed, count = {}, 0
    for name in public_modules():
        try:
            members = list(members_of(name))
        except ImportError:  # what it wraps is not installed
            continue
        for each in members:
            count += 1
            try:
                typing.get_type_hints(each)
            except Exception as error:
                failed[f"{name}: {getattr(each, '__qualname__', '')}"] = error
    assert not failed
    assert count > 2000


def declared_functions():
    """What declarations made functions of, by names for people."""
    yield from all_functions().items()
    yield from ((f"weft.special.{name}", getattr(weft.special, name)) for name in weft.special.__all__)
    for space in (weft.linalg, weft.fft, F):
        for name, function in public_functions([space]).items():
            yield f"{space.__name__}.{name}", function


def test_declared_functions_say_the_types_of_arguments_and_results():
    lacking, count = {}, 0
    for name, function in declared_functions():
        count += 1
        source = inspect.unwrap(function)
        named = [each.name for each in inspect.signature(source).parameters.values()]
        missing = [each for each in (*named, "return") if each not in source.__annotations__]
        if missing:
            lacking[name] = missing
    assert not lacking
    assert count > 550
