"""Shim of the compiler runtime: source text in, a bundle of marshalled code out. It has no imports and no SDK.

Compiling is as hostile a job as running (a source can exhaust memory or the stack), so it happens inside wasm too.
Diagnostics are JSON [{"path", "line", "message"}]; paths are relative to the guest's directory, lines count from 1.
"""

from __future__ import annotations

import binascii
import json
import marshal
import sys
import warnings
from types import CodeType

import wit_world
from componentize_py_types import Err

Diagnostic = dict[str, object]

warnings.simplefilter("ignore")  # a SyntaxWarning is the linter's affair and would only print


_compiling = False


def _no_files(event: str, _args: tuple[object, ...]) -> None:
    """A SyntaxError looks for its line in the file it names; without WASI opening one would trap."""
    if _compiling and event == "open":
        raise FileNotFoundError


sys.addaudithook(_no_files)


def _path(name: str, names: frozenset[str]) -> str:
    base = name.replace(".", "/")
    package = any(other.startswith(name + ".") for other in names)
    return f"{base}/__init__.py" if package else f"{base}.py"


def _compile_one(path: str, source: object) -> CodeType | Diagnostic:
    global _compiling
    _compiling = True  # from the first on; while the snapshot was taken modules had to be read from files
    line, message = 1, ""
    try:
        if type(source) is not str:
            raise ValueError("the source is not text")
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        line, message = error.lineno or 1, error.msg
    except (RecursionError, MemoryError):
        message = "too deeply nested or too large to compile"
    except (ValueError, OverflowError) as error:  # null bytes, lone surrogates, absurd literals
        message = str(error)
    return {"path": path, "line": line, "message": message.encode("utf-8", "replace").decode()}


def _compile_all(sources_json: str) -> tuple[dict[str, bytes], list[Diagnostic]]:
    try:
        sources = json.loads(sources_json)
    except (ValueError, RecursionError) as error:
        return {}, [{"path": "", "line": 1, "message": f"the sources are not JSON: {error}"}]
    if not isinstance(sources, dict):
        return {}, [{"path": "", "line": 1, "message": "the sources are not an object"}]
    names, codes, diagnostics = frozenset(sources), {}, []
    for name in sorted(sources):
        made = _compile_one(_path(name, names), sources[name])
        if isinstance(made, CodeType):
            codes[name] = marshal.dumps(made)
        else:
            diagnostics.append(made)
    return codes, diagnostics


class WitWorld(wit_world.WitWorld):
    def compile(self, sources_json: str) -> str:
        codes, diagnostics = _compile_all(sources_json)
        if diagnostics:
            raise Err(json.dumps(diagnostics))
        return binascii.b2a_base64(marshal.dumps(codes), newline=False).decode()

    def check(self, sources_json: str) -> str:
        return json.dumps(_compile_all(sources_json)[1])
