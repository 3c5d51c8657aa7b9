"""Python files, by their syntax tree. Must not know files or text of outlines."""

from __future__ import annotations

import ast

from entries import Entry

ABOUT = 80
SIGNATURE = 160
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def speaks(path: str, text: str) -> bool:
    """Whether this is Python: by its ending, or by the interpreter in its first line."""
    first = text[:200].split("\n", 1)[0]
    return path.endswith((".py", ".pyi", ".pyw")) or (first.startswith("#!") and "python" in first)


def entries(text: str) -> list[Entry]:
    """Classes, functions and constants in the order they stand. Raises SyntaxError when it is no Python."""
    tree = ast.parse(text)
    found: list[Entry] = []
    about = _about(tree)
    if about:
        found.append(Entry("module", 1, about=about))
    _walk(tree.body, 1, found)
    return found


def _walk(body: list[ast.stmt], level: int, found: list[Entry]) -> None:
    for node in body:
        if isinstance(node, _DEFINITIONS):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.append(Entry(_label(node), first, node.end_lineno or node.lineno, level, _about(node)))
            _walk(node.body, level + 1, found)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and level == 1:
            found += [Entry(name, node.lineno, node.end_lineno or 0, level) for name in _constants(node)]
        elif isinstance(node, ast.If | ast.Try | ast.With):
            _walk(_inside(node), level, found)


def _inside(node: ast.If | ast.Try | ast.With) -> list[ast.stmt]:
    """Statements below a condition, such as definitions for one platform."""
    handlers = [statement for handler in getattr(node, "handlers", []) for statement in handler.body]
    return [*node.body, *handlers, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]


def _label(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join([ast.unparse(base) for base in node.bases] + [ast.unparse(keyword) for keyword in node.keywords])
        return _short(f"class {node.name}({bases})" if bases else f"class {node.name}")
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    marks = "".join(f"@{ast.unparse(mark)} " for mark in node.decorator_list if isinstance(mark, ast.Name | ast.Attribute))
    return _short(f"{marks}{kind} {node.name}({ast.unparse(node.args)}){returns}")


def _constants(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if name.isupper() and not name.startswith("_")]


def _about(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    docstring = (ast.get_docstring(node) or "").strip().split("\n", 1)[0]
    return docstring if len(docstring) <= ABOUT else docstring[: ABOUT - 1] + "…"


def _short(label: str) -> str:
    return label if len(label) <= SIGNATURE else label[: SIGNATURE - 1] + "…"
