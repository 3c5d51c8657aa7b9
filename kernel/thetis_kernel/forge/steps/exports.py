"""Step: main.py has the functions its world calls, with the right number of parameters.

Names bound in ways a glance at the text cannot see (star imports, exec) are left to the smoke step, which calls them.
"""

from __future__ import annotations

import ast

from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.diagnostics import Complaints
from thetis_kernel.forge.layout import ENTRY
from thetis_kernel.protocol.gate import Diagnostic

EXPORTS: dict[str, dict[str, tuple[str, ...]]] = {
    "tool": {"describe": (), "invoke": ("session_id", "args", "config")},
    "agent": {"describe": (), "health": (), "list_tools": ("mode",), "handle_turn": ("turn",)},
    "gateway": {"describe": (), "serve_asset": ("path",), "on_client_message": ("message",), "render_events": ("events",)},
}
"""What a guest's entry module defines for its world's exports."""


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """Complains about each missing or misshapen function."""
    path, complaints = candidate.paths[ENTRY], Complaints()
    try:
        tree = ast.parse(candidate.source.modules[ENTRY], path)
    except SyntaxError:
        return []  # it compiled, so it is syntax newer than this interpreter: smoke will call what there is
    bound = _bound(tree.body)
    for name, parameters in EXPORTS[candidate.source.world].items():
        signature = f"{name}({', '.join(parameters)})"
        found = bound.get(name)
        if name not in bound:
            if "*" not in bound:
                complaints.add(f"there is no function {signature}, which the {candidate.source.world} world calls", path)
        elif isinstance(found, ast.AsyncFunctionDef):
            complaints.add(f"{name} must be a plain function, not async", path, found.lineno)
        elif isinstance(found, ast.ClassDef):
            complaints.add(f"{name} must be a function, not a class", path, found.lineno)
        elif isinstance(found, ast.FunctionDef) and not found.decorator_list and not _takes(found, len(parameters)):
            complaints.add(f"{name} is called as {signature}", path, found.lineno)
    return complaints.found


def _bound(body: list[ast.stmt]) -> dict[str, ast.AST]:
    """Names the module's top level binds, each with the last node that does; "*" for a star import."""
    bound: dict[str, ast.AST] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound[node.name] = node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                bound[alias.asname or alias.name.partition(".")[0]] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for name in ast.walk(node):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    bound[name.id] = node
        else:
            for _, inner in ast.iter_fields(node):
                if isinstance(inner, list):
                    bound.update(_bound([item for item in inner if isinstance(item, ast.stmt)]))
                    for clause in inner:
                        if isinstance(clause, ast.ExceptHandler | ast.match_case):
                            bound.update(_bound(clause.body))
    return bound


def _takes(function: ast.FunctionDef, count: int) -> bool:
    """Can `function` be called with `count` positional arguments?"""
    arguments = function.args
    positional = len(arguments.posonlyargs) + len(arguments.args)
    needed = positional - len(arguments.defaults)
    keywords = sum(default is None for default in arguments.kw_defaults)
    return needed <= count and (count <= positional or arguments.vararg is not None) and not keywords
