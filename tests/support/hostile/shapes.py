"""Guests that are wrong as directories: sizes, kinds of files, names, manifests, forged artifacts."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.hostile.base import GOOD, GOOD_INVOKE, HEAD, Cases, Hostile, describing, manifest, told, tool


def sizes() -> Cases:
    def huge(directory: Path) -> None:
        with open(directory / "guest.toml", "wb") as file:
            file.truncate(100 * 1024 * 1024)

    yield "100 MB manifest", tool(GOOD, "source", "guest.toml", False, lay=huge)
    yield "17 KiB manifest", tool(GOOD, "source", "guest.toml", False, extra={"guest.toml": "#" * 17_000})
    yield "a module of 600 KiB", tool(GOOD, "source", "big.py", False, extra={"big.py": "#" * 600_000})
    yield "5 MiB in all", tool(GOOD, "source", "", False, extra={f"m{n}.py": "#" * 500_000 for n in range(11)})
    yield "500 modules", tool(GOOD, "source", "", False, extra={f"m{n}.py": "" for n in range(500)})
    yield "9 directories deep", tool(GOOD, "source", "a/a/a/a/a/a/a/a/a", False, extra={"a/" * 10 + "x.py": ""})
    yield (
        "5,000 files",
        tool(GOOD, "source", "", False, lay=lambda d: [Path(d, f"{n}.txt").touch() for n in range(5000)] and None),
    )
    yield "no manifest", Hostile({"main.py": GOOD}, ("source",), "guest.toml")
    yield "no main.py", Hostile({"guest.toml": manifest()}, ("layout",), "main.py")
    yield "nothing", Hostile({}, ("source",), "guest.toml")
    yield "not UTF-8", tool(GOOD, "source", "part.py", True, extra={"part.py": b"x = 1\ny = '\xff'\n"})
    half = b"x = '\xed\xa0\x80'\n"
    yield "half a character", tool(GOOD, "source", "part.py", True, extra={"part.py": half})
    yield "UTF-16", tool(GOOD, "source", "part.py", True, extra={"part.py": "x = 1\n".encode("utf-16")})
    yield "manifest not UTF-8", tool(GOOD, "source", "guest.toml", True, extra={"guest.toml": b"name = '\xfe'\n"})
    yield "NUL", tool(GOOD + "x = '\0'\n", "layout")
    yield (
        "link to a secret",
        tool(GOOD, "source", "part.py", False, lay=lambda d: Path(d, "part.py").symlink_to("/etc/passwd")),
    )
    yield "link for a directory", tool(GOOD, "source", "part", False, lay=lambda d: Path(d, "part").symlink_to("/etc"))
    yield (
        "main.py is a pipe",
        Hostile({"guest.toml": manifest()}, ("source",), "main.py", lay=lambda d: os.mkfifo(d / "main.py")),
    )
    yield "main.py is a directory", Hostile({"guest.toml": manifest(), "main.py/x.txt": ""}, ("layout",), "main.py")
    yield "nested parentheses", tool(GOOD + "x = " + "(" * 5000 + ")" * 5000 + "\n", "ruff compile", line=False)
    yield "huge literal", tool(GOOD + "x = " + "9" * 100_000 + "\n", "ruff compile")
    yield (
        "deep else",
        tool(GOOD + "x = 1\nif x: pass\n" + "elif x: pass\n" * 30_000, "ruff imports ty compile", "", False),
    )
    yield (
        "dense unions",
        tool(
            GOOD + "x: " + " | ".join(f"list[{'list[' * 40}int{']' * 40}]" for _ in range(60)) + " = 1\n",
            "ty",
            "",
            False,
        ),
    )


def names() -> Cases:
    for name in ("json", "os", "re", "typing", "thetis_guest", "wit_world", "loader", "tool_shim", "poll_loop"):
        yield f"module {name}", tool(GOOD, "layout", f"{name}.py", False, extra={f"{name}.py": ""})
    for name in ("class", "a-b", "1x", "ä"):
        yield f"module {name}", tool(GOOD, "source", f"{name}.py", False, extra={f"{name}.py": ""})
    yield "module and package", tool(GOOD, "source", "a.py", False, extra={"a.py": "", "a/__init__.py": ""})
    for name in ("read", "write_code", "run", "spawn_agent"):
        yield (
            f"the agent's own {name}",
            Hostile(
                {"guest.toml": manifest(name), "main.py": GOOD},
                ("manifest",),
                "guest.toml",
                True,
                aspect=f"tool/{name}",
            ),
        )
    yield (
        "another directory's name",
        tool(GOOD, "manifest", "guest.toml", True, extra={"guest.toml": manifest("other")}),
    )
    yield "describes another", tool(HEAD + describing(told(name='"read"')) + GOOD_INVOKE, "smoke", line=False)


def manifests() -> Cases:
    base = manifest()
    for name, text in {
        "not TOML": base + "x = \n", "twice": base + 'name = "probe"\n', "unknown key": base + "authority = 'all'\n",
        "no version": base.replace('version = "0.1.0"\n', ""), "a number for a name": base.replace('"probe"', "3"),
        "odd version": base.replace("0.1.0", "one"), "path for a name": base.replace('"probe"', '"../probe"'),
        "empty description": base.replace("A probe.", " "),
        "long description": base.replace("A probe.", "x" * 2000), "odd group": base + 'group = "No Group"\n',
        "config is a list": base + "config = [1]\n", "config without words": base + "[config.x]\ndefault = 1\n",
        "secret with default": base + '[config.x]\ndescription = "x"\nsecret = true\ndefault = "y"\n',
        "config key": base + '[config."a b"]\ndescription = "x"\n', "70 settings":
        base + "".join(f'[config.k{n}]\ndescription = "x"\n' for n in range(70)),
        "another world": base.replace('"tool"', '"agent"'),
        "no world there is": base.replace('"tool"', '"kernel"'), "deep": base + "x = " + "[" * 8000 + "]" * 8000 + "\n",
        "dotted": base + "a" + ".a" * 4000 + " = 1\n", "digits": base + "x = " + "9" * 9000 + "\n",
    }.items():  # fmt: skip
        yield name, tool(GOOD, "manifest", "guest.toml", False, extra={"guest.toml": text})


def forged() -> Cases:
    broken = GOOD + "raise ValueError\n"
    for name in ("bundle", "meta.json", "verdict.json", "__pycache__/main.cpython-314.pyc", "main.pyc"):
        yield f"with its own {name}", tool(broken, "smoke", extra={name: b"\x00" * 64})
