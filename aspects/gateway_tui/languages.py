"""A file's language by its name, as syntax highlighters call it."""

from __future__ import annotations

_BY_ENDING = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "jsx": "jsx", "ts": "typescript", "tsx": "tsx",
    "rs": "rust", "go": "go", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "java": "java", "kt": "kotlin",
    "rb": "ruby", "php": "php", "cs": "csharp", "swift": "swift", "scala": "scala", "lua": "lua", "pl": "perl", "r": "r",
    "sh": "bash", "bash": "bash", "zsh": "zsh", "fish": "fish", "sql": "sql", "html": "html", "css": "css", "scss": "scss",
    "json": "json", "toml": "toml", "yaml": "yaml", "yml": "yaml", "ini": "ini", "cfg": "ini", "xml": "xml", "md": "markdown",
    "rst": "rst", "tex": "tex", "diff": "diff", "patch": "diff", "tcss": "css", "proto": "protobuf", "ex": "elixir",
    "hs": "haskell", "ml": "ocaml", "clj": "clojure", "zig": "zig", "nix": "nix", "vue": "vue", "svelte": "html",
}  # fmt: skip
_BY_NAME = {"makefile": "make", "dockerfile": "docker", "cmakelists.txt": "cmake", "gemfile": "ruby", "rakefile": "ruby"}


def language_of(path: str) -> str:
    """The language of a path, "" when its name does not tell."""
    name = path.rsplit("/", 1)[-1].lower()
    ending = name.rsplit(".", 1)[-1] if "." in name else ""
    return _BY_NAME.get(name) or _BY_ENDING.get(ending, "")
