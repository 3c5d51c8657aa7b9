"""The contract as data: which functions each world of `wit/thetis.wit` imports and exports, with their types.

A reader for the part of WIT the contract uses; a runtime is compared with it when it is built (`component_mismatch`),
so a misread contract fails the build, not a guest. Must not know what any import does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from thetis_kernel.errors import RuntimeBuildError
from thetis_kernel.paths import builtin_root

if TYPE_CHECKING:
    import wasmtime
    from wasmtime.component import Component

WASI = "wasi:"

# Fallible functions whose ok is plain text; every other ok, and every argument named *-json, is JSON text.
TEXT_RESULTS = frozenset({"sandbox.read-file", "sandbox.write-file", "sys.kv-put", "notes.remember"})

_TYPES = {"string", "bool", "u32", "u64", "result<string, string>", "tool-manifest"}


class FunctionShape(msgspec.Struct, frozen=True):
    """One function of the contract. `interface` is "" for a world's export; `result` is a WIT type or "" for none."""

    interface: str
    name: str
    params: tuple[tuple[str, str], ...]
    result: str

    @property
    def key(self) -> str:
        """ "interface.function", as imports are named."""
        return f"{self.interface}.{self.name}" if self.interface else self.name

    @property
    def fallible(self) -> bool:
        return self.result.startswith("result<")

    @property
    def answers_json(self) -> bool:
        """Whether the ok text is JSON and so is checked as JSON."""
        return self.fallible and self.key not in TEXT_RESULTS


class Contract(msgspec.Struct, frozen=True):
    """The parsed contract. `package` is "namespace:name", `version` its version."""

    package: str
    version: str
    interfaces: Mapping[str, tuple[FunctionShape, ...]]
    imports: Mapping[str, tuple[str, ...]]
    exports: Mapping[str, tuple[FunctionShape, ...]]

    def instance(self, interface: str) -> str:
        """The full name under which `interface` is imported by a component."""
        return f"{self.package}/{interface}@{self.version}"


def contract_file() -> Path:
    """Where the contract stands."""
    return builtin_root() / "wit" / "thetis.wit"


@lru_cache(maxsize=4)
def _parse(text: str) -> Contract:
    bare = re.sub(r"//[^\n]*", "", text)
    head = re.search(r"package\s+([\w:-]+)@([\w.-]+);", bare)
    if head is None:
        raise RuntimeBuildError("The contract has no package line.", hint="Restore wit/thetis.wit.")
    interfaces: dict[str, tuple[FunctionShape, ...]] = {}
    imports: dict[str, tuple[str, ...]] = {}
    exports: dict[str, tuple[FunctionShape, ...]] = {}
    for kind, name, body in _blocks(bare):
        if kind == "interface":
            interfaces[name] = _functions(name, body, r"")
        else:
            imports[name] = tuple(re.findall(r"\bimport\s+([\w-]+)\s*;", body))
            exports[name] = _functions("", body, r"export\s+")
    return Contract(head[1], head[2], interfaces, imports, exports)


def _blocks(text: str) -> list[tuple[str, str, str]]:
    """(kind, name, body) of the top-level blocks; braces inside a body are balanced."""
    found = []
    for start in re.finditer(r"\b(interface|world)\s+([\w-]+)\s*\{", text):
        depth, at = 1, start.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        found.append((start[1], start[2], text[start.end() : at - 1]))
    return found


def _functions(interface: str, body: str, prefix: str) -> tuple[FunctionShape, ...]:
    shapes = []
    for name, params, result in re.findall(prefix + r"([\w-]+)\s*:\s*func\s*\(([^)]*)\)\s*(?:->\s*([^;]+))?;", body):
        pairs = tuple(
            (pname, ptype) for pname, ptype in re.findall(r"([\w-]+)\s*:\s*([\w-]+)", params)
        )
        shape = FunctionShape(interface, name, pairs, " ".join(result.split()))
        for used in (*(ptype for _, ptype in pairs), shape.result):
            if used and used not in _TYPES:
                raise RuntimeBuildError(
                    f"{shape.key} of the contract uses the type {used}, which the host cannot carry.",
                    hint="Payloads travel as string, bool, u32 or u64; see the head of wit/thetis.wit.",
                )
        shapes.append(shape)
    return tuple(shapes)


def load() -> Contract:
    """The contract in `contract_file()`."""
    return _parse(contract_file().read_text())


def world_imports(world: str) -> dict[str, FunctionShape]:
    """Every import of `world`, keyed "interface.function"."""
    contract = load()
    return {shape.key: shape for name in contract.imports[world] for shape in contract.interfaces[name]}


def world_exports(world: str) -> dict[str, FunctionShape]:
    """Every export of `world`, keyed by name."""
    return {shape.name: shape for shape in load().exports[world]}


def component_mismatch(world: str, component: Component, engine: wasmtime.Engine) -> str:
    """A sentence on the first difference between a component's type and the contract's `world`, or "".

    WASI imports are left out: they are the language runtime's, and the host links them empty-handed.
    """
    from wasmtime.component import ComponentInstanceType

    contract = load()
    wanted = {contract.instance(name): contract.interfaces[name] for name in contract.imports[world]}
    types_only = {contract.instance(name) for name, shapes in contract.interfaces.items() if not shapes}
    found = {name: item for name, item in component.type.imports(engine).items() if not name.startswith(WASI)}
    for name in sorted(set(found) - types_only - set(wanted)):
        return f"it imports {name}, which the world {world} does not have"
    for name, shapes in wanted.items():
        if name not in found:
            return f"it does not import {name}"
        kind = found[name].ty
        if not isinstance(kind, ComponentInstanceType):
            return f"{name} is not an interface"
        members = kind.exports(engine)
        if set(members) != {shape.name for shape in shapes}:
            return f"the functions of {name} are {', '.join(sorted(members))}"
        for shape in shapes:
            problem = _function_mismatch(shape, members[shape.name].ty)
            if problem:
                return problem
    exported = component.type.exports(engine)
    for name, shape in world_exports(world).items():
        if name not in exported:
            return f"it does not export {name}"
        problem = _function_mismatch(shape, exported[name].ty)
        if problem:
            return problem
    return ""


def check_component_imports(world: str, component: Component, engine: wasmtime.Engine) -> None:
    """Raise RuntimeBuildError unless the component's imports and exports are exactly those of `world`."""
    problem = component_mismatch(world, component, engine)
    if problem:
        raise RuntimeBuildError(
            f"The {world} runtime does not fit the contract: {problem}.", hint="Rebuild it with `thetis setup`."
        )


def _function_mismatch(shape: FunctionShape, kind: Any) -> str:
    from wasmtime.component import FuncType

    if not isinstance(kind, FuncType):
        return f"{shape.key} is not a function"
    params = tuple((name, _type_name(ptype)) for name, ptype in kind.params)
    result = "" if kind.result is None else _type_name(kind.result)
    if params != shape.params or result != shape.result:
        return f"{shape.key} is ({', '.join(f'{n}: {t}' for n, t in params)}) -> {result or 'nothing'}"
    return ""


def _type_name(kind: Any) -> str:
    from wasmtime import component as wc

    if isinstance(kind, wc.ResultType):
        return f"result<{_type_name(kind.ok)}, {_type_name(kind.err)}>"
    if isinstance(kind, wc.RecordType):
        return "tool-manifest"
    plain = {wc.String: "string", wc.Bool: "bool", wc.U32: "u32", wc.U64: "u64"}
    return plain.get(type(kind), type(kind).__name__)
