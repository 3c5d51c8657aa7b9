"""Which standard-library modules a runtime's snapshot holds.

A guest has no file system to import from: what is not imported while the snapshot is taken cannot be imported later.
Listed are the pure modules that are of use without sockets, threads or processes, and every encoding that loads.
"""

from __future__ import annotations

import importlib
import pkgutil

MODULES = (
    "abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath", "codecs", "collections",
    "collections.abc", "colorsys", "configparser", "contextlib", "contextvars", "copy", "copyreg", "csv", "dataclasses",
    "datetime", "decimal", "difflib", "dis", "email.message", "email.parser", "email.policy", "email.utils", "enum",
    "errno", "fnmatch", "fractions", "functools", "gc", "getopt", "gettext", "glob", "graphlib", "hashlib", "heapq",
    "hmac", "html", "html.entities", "html.parser", "importlib", "importlib.abc", "importlib.machinery",
    "importlib.util", "inspect", "io", "ipaddress", "itertools", "json", "keyword", "linecache", "locale", "logging",
    "marshal", "math", "mimetypes", "netrc", "numbers", "operator", "optparse", "os", "os.path", "pathlib", "pickle",
    "pkgutil", "plistlib", "posixpath", "pprint", "quopri", "random", "re", "reprlib", "sched", "secrets", "selectors",
    "shlex", "shutil", "signal", "stat", "statistics", "string", "string.templatelib", "stringprep", "struct", "symtable",
    "tempfile", "textwrap", "time", "token", "tokenize", "tomllib", "traceback", "types", "typing", "unicodedata",
    "unittest", "unittest.mock", "unittest.util", "urllib.parse", "uuid", "warnings", "weakref", "xml.dom.minidom",
    "xml.etree.ElementTree", "xml.sax", "xml.sax.saxutils", "zipfile", "zlib", "zoneinfo",
)  # fmt: skip

# Imported by the above only when first used, which is too late in a snapshot.
LAZY = ("_strptime", "_pydatetime", "_pydecimal", "annotationlib", "asyncio", "concurrent.futures", "gzip", "bz2", "lzma")


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
