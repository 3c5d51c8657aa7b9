"""Settings for an agent: the committed file of its own branch, and no other.

Reading walks `thetis.toml` of the checkout: not the person's own file, not the local ones, not the environment. Writing is the
one validated writer of config/, on that file, for the few keys an agent may set (`AGENT_MAY`). What it writes counts like
anything else on the branch: once a person has merged it. Must not know the running gateway's settings.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from thetis_kernel.config.keys import AGENT_MAY, Key, keys, nearest, user_only
from thetis_kernel.config.loading import Layers
from thetis_kernel.config.writing import change, judge, shown, value_of
from thetis_kernel.errors import ConfigError, Refused, ThetisError
from thetis_kernel.scrub.shapes import find
from thetis_kernel.tomlfile import MAX_BYTES, decoded, parse
from thetis_kernel.toolhost.context import TurnContext
from thetis_kernel.toolhost.files import write_file
from thetis_kernel.toolhost.tree import PathError

FILE = "thetis.toml"
COUNTS = "once a person has merged this branch and started Thetis again"


def listing(context: TurnContext, prefix: str) -> dict[str, Any]:
    """{"file", "settings": [{"key", "value", "ignored"}], "may_set"}: what the committed file says, key by key."""
    said = _said(context)
    found = [_line(key, said) for key in keys().values() if key.name.startswith(prefix) and _within(said, key.name) is not None]
    return {"file": FILE, "settings": found, "may_set": sorted(key for key in AGENT_MAY if key.startswith(prefix))}


def read(context: TurnContext, name: str) -> dict[str, Any]:
    """{"key", "sentence", "kind", "value", "default", "choices", "may_set", "ignored"}."""
    key = _known(name)
    return {**_line(key, _said(context)), "sentence": key.sentence, "kind": key.kind, "default": shown(key.default),
            "choices": list(key.choices), "may_set": key.agent}


def put(context: TurnContext, name: str, value: str) -> dict[str, Any]:
    """Set a key in the checkout's file; `value` is JSON, null takes it out. Raises Refused, ConfigError."""
    text = changed(_text(context), name, value)
    write_file(context.tree, FILE, text)
    return {**_line(_known(name), parse(Path(FILE), text)), "file": FILE, "counts": COUNTS}


def changed(text: str, name: str, value: str) -> str:
    """The file's text with the key set, judged as a whole. Raises Refused for a key that is a person's, ConfigError."""
    if name not in AGENT_MAY:
        known = nearest(name)
        why = f"{name[:60]} is a person's to set." if known else f"There is no setting {name[:60]!r}."
        raise Refused(why, capability="config", hint="You may set: " + ", ".join(sorted(AGENT_MAY)) + ".")
    file = Path(FILE)
    result = change(file, text, name, _given(name, value), "root", lambda _, words: next(find(words), None) is not None)
    judge(Layers(Path(), Path("none"), local=False), file, result)
    return result


def _given(name: str, value: str) -> str | None:
    """A JSON value, or plain words, as the writer takes it: texts as their words, the rest as TOML has it."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = value  # words without quotes
    if found is None:
        return None
    if isinstance(found, dict) or (isinstance(found, list) and not all(isinstance(one, str) for one in found)):
        raise ThetisError(f"{name} is no table.", code="bad-arguments")
    key = _known(name)
    text = json.dumps(found) if isinstance(found, (list, bool)) or key.kind in ("text", "choice") else str(found)
    value_of(key, name, text)
    return text


def _known(name: str) -> Key:
    key = nearest(name)
    if key is None:
        raise ConfigError(f"There is no setting {name[:60]!r}.", hint="list_config names what there is.", file=FILE, line=0,
                          key=name[:60])
    return key


def _text(context: TurnContext) -> str:
    try:
        return decoded(Path(FILE), context.tree.read_bytes(FILE, MAX_BYTES + 1))
    except PathError as error:
        if error.code == "not-found":
            return ""
        raise


def _said(context: TurnContext) -> dict[str, Any]:
    return parse(Path(FILE), _text(context))


def _line(key: Key, said: dict[str, Any]) -> dict[str, Any]:
    """What the file says of a key. Of what only a person's own file may say nothing but that it is ignored there."""
    value = _within(said, key.name)
    if value is None:
        return {"key": key.name}
    if user_only(key.name):
        return {"key": key.name, "ignored": True}
    words = shown(value)
    return {"key": key.name, "value": "(not shown)" if next(find(words), None) is not None else words}


def _within(table: dict[str, Any], dotted: str) -> Any:
    found: Any = table
    for part in dotted.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found
