"""Which standard-library modules a runtime's snapshot holds.

A guest has no file system to import from: what is not imported while the snapshot is taken cannot be imported later.
Listed are the pure modules that are of use without sockets, threads or processes, and every encoding that loads. Left
out for their size (of the component; 18.8 MB with the plain ones): asyncio 2.5 MB, email 3.6 MB, xml.dom and xml.sax 1 MB.
"""

from __future__ import annotations

import importlib
import pkgutil

MODULES = (
    "abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath", "codecs", "collections",
    "collections.abc", "colorsys", "configparser", "contextlib", "contextvars", "copy", "copyreg", "csv", "dataclasses",
    "datetime", "decimal", "difflib", "dis", "enum", "errno", "fnmatch", "fractions", "functools", "gc", "getopt", "glob",
    "graphlib", "hashlib", "heapq", "hmac", "html", "html.entities", "html.parser", "importlib", "importlib.abc",
    "importlib.machinery", "importlib.util", "inspect", "io", "ipaddress", "itertools", "json", "keyword", "linecache",
    "locale", "logging", "marshal", "math", "mimetypes", "numbers", "operator", "os", "os.path", "pathlib", "pickle",
    "posixpath", "pprint", "quopri", "random", "re", "reprlib", "secrets", "shlex", "shutil", "stat", "statistics",
    "string", "string.templatelib", "stringprep", "struct", "symtable", "tempfile", "textwrap", "time", "token",
    "tokenize", "tomllib", "traceback", "types", "typing", "unicodedata", "unittest", "urllib.parse", "uuid", "warnings",
    "weakref", "xml.etree.ElementTree", "zipfile", "zlib",
)  # fmt: skip

# Imported by the above only when first used, which is too late in a snapshot.
LAZY = ("_ast_unparse", "_colorize", "_strptime", "annotationlib", "unittest._log", "unittest.util")


def preload() -> list[str]:
    """Import everything listed; the names that this build of Python does not have are returned."""
    missing = []
    for name in (*MODULES, *LAZY):
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    import encodings

    for found in pkgutil.iter_modules(encodings.__path__):
        try:
            importlib.import_module("encodings." + found.name)
        except ImportError:
            continue  # the multibyte codecs of East Asia and Windows need native code
    return missing
