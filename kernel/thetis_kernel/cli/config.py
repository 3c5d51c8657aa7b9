"""`thetis config`: the settings as the files say them, and changing one of them."""

from __future__ import annotations

import argparse
import asyncio

import msgspec

from thetis_kernel.cli.printing import plain
from thetis_kernel.cli.reach import locate, reached
from thetis_kernel.errors import UsageError
from thetis_kernel.protocol.plaintext import clean_line
from thetis_kernel.protocol.settings import SettingLine, SettingList, SettingWritten


def config(arguments: argparse.Namespace) -> int:
    """List, print or write. Raises UsageError for a key nobody has, ConfigError for what cannot be written."""
    paths, loaded = locate(arguments)
    action = arguments.action or "ls"

    async def work() -> SettingList | SettingWritten:
        async with reached(paths, loaded, warm=False) as client:
            if action in ("set", "unset"):
                value = arguments.value if action == "set" else ""
                return await client.write_setting(arguments.key, value, where=arguments.where, unset=action == "unset")
            return await client.settings(arguments.prefix if action == "ls" else arguments.key)

    found = asyncio.run(work())
    if isinstance(found, SettingList) and action == "get":
        return _get(found, arguments.key, json=arguments.json)
    if arguments.json:
        print(msgspec.json.encode(found).decode())
    elif isinstance(found, SettingWritten):
        line = found.setting
        print(f"{line.key} = {_value(line.value)}  ({line.source})")
        print(f"written to {clean_line(found.file)}" + ("; it counts from the next start on" if line.next_start else ""))
    else:
        _list(found)
    return 0


def _get(found: SettingList, key: str, *, json: bool) -> int:
    line = next((one for one in found.settings if one.key == key), None)
    if line is None:
        raise UsageError(f"There is no setting {key[:80]!r}.", hint="`thetis config ls` lists them.")
    print(msgspec.json.encode(line).decode() if json else plain(line.value))
    return 0


def _list(found: SettingList) -> None:
    width = max((len(line.key) for line in found.settings), default=0)
    for line in found.settings:
        marks = " · ".join(filter(None, ["" if line.source == "default" else line.source, _fits(line)]))
        print(f"{line.key:<{width}}  {_value(line.value):<24}  {marks}".rstrip())
        print(f"{'':<{width}}  {line.sentence}".rstrip())
    for warning in found.warnings:
        print(f"ignored: {clean_line(warning)}")


def _fits(line: SettingLine) -> str:
    return "one of " + ", ".join(line.choices) if line.kind == "choice" else ""


def _value(text: str) -> str:
    shown = clean_line(text)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
