"""Chat templates: from messages to the text that a model was trained on, by Jinja2 in its sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from weft.text._libraries import imported

_SAFE_JINJA = (3, 1, 6)  # before it, a template could leave the sandbox

Messages = Sequence[Mapping[str, Any]]


def render(
    template: str,
    messages: Messages,
    *,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    add_generation_prompt: bool = False,
    **variables: Any,
) -> str:
    """Return the text of a conversation.

    Parameters
    ----------
    template : str
        In Jinja's language, with the filter ``tojson`` and the functions ``raise_exception`` and ``strftime_now``.
    messages : sequence of mappings
        With "role" and "content", and what else the template knows; what is None is left out.
    tools, documents : sequence, optional
        JSON schemas of functions, and texts, for templates that know them.
    add_generation_prompt : bool, default False
        End with what begins an answer.
    **variables
        Further ones of the template's.

    Raises
    ------
    ValueError
        If the template is wrong, does what the sandbox does not allow, or refuses the messages.

    Examples
    --------
    >>> template = "{% for m in messages %}<{{ m.role }}> {{ m.content }}{% endfor %}"
    >>> render(template, [{"role": "user", "content": "Hi"}])
    '<user> Hi'
    """
    values = {"tools": tools, "documents": documents, "add_generation_prompt": add_generation_prompt, **variables}
    said = [{key: value for key, value in message.items() if value is not None} for message in messages]
    imported("jinja2", "apply_chat_template")
    try:
        return str(_compiled(template).render(messages=_plain(said), **_plain(values)))
    except ImportError:
        raise
    except Exception as error:  # a template is a program, and what it raises is of any type
        raise ValueError(f"the chat template refuses the messages: {type(error).__name__}: {error}") from error


def _plain(value: Any) -> Any:
    """Return a value rebuilt from JSON's types: a template, which is a stranger's program, calls no other's methods."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return f"<{type(value).__name__}>"  # a picture, an array: templates ask only whether it is there


@lru_cache(maxsize=64)
def _compiled(template: str) -> Any:
    jinja2 = imported("jinja2", "apply_chat_template")
    sandbox = imported("jinja2.sandbox", "apply_chat_template")
    version = tuple(int(part) for part in jinja2.__version__.split(".")[:3])
    if version < _SAFE_JINJA:
        raise ImportError(
            f"apply_chat_template needs Jinja2 3.1.6 or newer, whose sandbox is closed; got {jinja2.__version__}: "
            "pip install -U jinja2"
        )
    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _generation_tags()]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment.from_string(template)


def _generation_tags() -> Any:
    """Return the extension for ``{% generation %}``, which marks what a model says: here it changes nothing."""
    extension = imported("jinja2.ext", "apply_chat_template")

    class GenerationTags(extension.Extension):  # type: ignore[name-defined, misc]
        tags = frozenset({"generation"})

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    return GenerationTags


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """JSON as it is: Jinja's own filter writes it for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> None:
    raise imported("jinja2.exceptions", "apply_chat_template").TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)
