"""Annotations name what their modules have at run time, where tools read them: dataclasses, dependency injection."""

import importlib
import inspect
import pkgutil
import typing

import weft

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
