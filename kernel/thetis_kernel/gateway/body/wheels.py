"""Runs inside the walls, as a script of its own: has pip fetch pure-Python wheels, and takes them apart.

    python -I wheels.py ORDER.json        reads {"pip", "environment", "requirements", "index", "python"}; writes result.json

Nothing of a wheel is executed: only wheels are taken (a source distribution would run its build), and they are read as
archives. Knows the standard library and pip's command line alone; what it writes is judged again by who reads it.
"""

from __future__ import annotations

import email.parser
import glob
import hashlib
import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import zipfile

MAX_WHEEL = 24 * 1024 * 1024
MAX_MODULE = 512 * 1024
MAX_TEXT = 3 * 1024 * 1024
MAX_WHEELS = 40
MAX_ENTRIES = 5000
PIP_S = 75
NATIVE = (".so", ".pyd", ".dll", ".dylib", ".a", ".o")


class Refusal(Exception):
    """Why there is no result: `code` and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def main(order_path: str) -> None:
    """Carry out the order beside which the result is written."""
    os.chdir(os.path.dirname(order_path))
    limit()
    with open(order_path, encoding="utf-8") as file:
        order = json.load(file)
    try:
        fetch(order)
        result: dict[str, object] = {"packages": taken_apart()}
    except Refusal as refusal:
        result = {"code": refusal.code, "message": str(refusal)}
    with open("result.new", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.rename("result.new", "result.json")


def limit() -> None:
    """A hostile archive or index costs this process, and no more."""
    for what, most in ((resource.RLIMIT_CPU, 120), (resource.RLIMIT_FSIZE, MAX_WHEEL), (resource.RLIMIT_AS, 2 << 30)):
        resource.setrlimit(what, (most, most))


def pip(order: dict[str, object]) -> list[str]:
    """The command that is pip: the one of this interpreter, else the one that ships inside it."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-I", "-m", "pip"]
    spec = importlib.util.find_spec("ensurepip")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for wheel in glob.glob(os.path.join(place, "_bundled", "pip-*.whl")):
            return [sys.executable, "-I", os.path.join(wheel, "pip")]
    raise Refusal("no-pip", "There is no pip beside Thetis, and none inside Python.")


def fetch(order: dict[str, object]) -> None:
    """Have pip put the wheels into `wheels`; raises Refusal with the reason when it cannot."""
    words = [
        *pip(order), "download", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar", "off", "-vv",
        "--only-binary", ":all:", "--platform", "any", "--implementation", "py", "--abi", "none",
        "--python-version", str(order["python"]), "--retries", "1", "--timeout", "15", "--dest", "wheels",
    ]  # fmt: skip
    if order["index"]:
        words += ["--index-url", str(order["index"])]
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": os.getcwd(), "TMPDIR": os.getcwd(), "LANG": "C.UTF-8",
                   "PIP_CONFIG_FILE": os.devnull, **dict(order["environment"])}  # type: ignore[call-overload]  # fmt: skip
    requirements = [str(one) for one in order["requirements"]]  # type: ignore[attr-defined]
    with open("pip.log", "wb") as log:
        try:
            done = subprocess.run([*words, "--", *requirements], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  env=environment, timeout=PIP_S)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Refusal("index-timeout", f"The index did not answer within {PIP_S} s.") from None
    if done.returncode:
        with open("pip.log", encoding="utf-8", errors="replace") as file:
            raise why(file.read(8 << 20))


def why(log: str) -> Refusal:
    """The reason in pip's words for there being nothing to take."""
    nowhere = re.findall(r"No matching distribution found for ([^\s(;]+)", log)
    if not nowhere:
        said = [line.partition("ERROR: ")[2].strip() for line in log.splitlines() if line.startswith("ERROR: ")]
        conflict = "conflicting dependencies" in log or "ResolutionImpossible" in log
        words = " ".join(said)[:600] or "it ended without a reason"
        return Refusal("conflict" if conflict else "index", f"pip could not get it: {words}")
    name = re.split(r"[<>=!~\[; ]", nowhere[-1])[0]
    plain = re.sub(r"[-_.]+", "[-_.]+", re.escape(name).replace("\\-", "-").replace("\\_", "_").replace("\\.", "."))
    file = re.compile(rf"/({plain}-[^/\s#]+?\.(?:whl|tar\.gz|zip))(?=[\s#?)]|$)", re.IGNORECASE)
    native, source = [], []
    for line in log.splitlines():
        found = file.search(line)
        if found is None:
            continue
        if "compatible" in line and "none of the wheel" in line and not found[1].endswith("none-any.whl"):
            native.append(found[1])
        elif "No sources permitted" in line:
            source.append(found[1])
    if native:
        return Refusal("native", f"{name} comes as native code ({native[-1]}), which no guest can run: guests are WebAssembly "
                                 "and take wheels of pure Python alone.")
    if source:
        return Refusal("source-only", f"{name} comes as source alone ({source[-1]}); building it would run its code here, so "
                                      "only ready wheels of pure Python are taken.")
    return Refusal("not-found", f"The index has no {nowhere[-1]} for the guests' Python.")


def taken_apart() -> list[dict[str, object]]:
    """Every wheel pip fetched, as a package."""
    wheels = sorted(glob.glob("wheels/*"))
    if not wheels or len(wheels) > MAX_WHEELS:
        raise Refusal("too-large", f"It needs {len(wheels)} packages; at most {MAX_WHEELS} are taken.")
    names = {normal(os.path.basename(wheel).split("-")[0]) for wheel in wheels}
    return [package(wheel, names) for wheel in wheels]


def package(path: str, names: set[str]) -> dict[str, object]:
    """One wheel: its metadata and modules. Raises Refusal for native code and for what is too large or damaged."""
    file = os.path.basename(path)
    if not file.endswith("-none-any.whl"):
        raise Refusal("native", f"{file} is no wheel of pure Python.")
    try:
        with open(path, "rb") as raw:
            digest = hashlib.file_digest(raw, "sha256").hexdigest()
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                raise Refusal("too-large", f"{file} holds more than {MAX_ENTRIES} files.")
            metadata, modules, total = "", dict[str, str](), 0
            for entry in entries:
                if entry.filename.lower().endswith(NATIVE):
                    raise Refusal("native", f"{file} says it is pure Python, but holds {entry.filename[:120]}.")
                if entry.filename.endswith(".dist-info/METADATA"):
                    metadata = text(archive, entry)
                if found := module(entry.filename):
                    modules[found] = text(archive, entry)
                    total += len(modules[found])
                    if total > MAX_TEXT:
                        raise Refusal("too-large", f"{file} holds more than {MAX_TEXT // 1024} KiB of code.")
    except (zipfile.BadZipFile, OSError, UnicodeDecodeError, RuntimeError, EOFError) as error:
        raise Refusal("damaged", f"{file} cannot be read: {error}") from None
    said = email.parser.Parser().parsestr(metadata, headersonly=True)
    needs = {normal(re.split(r"[\s\[;<>=!~(]", need)[0]) for need in said.get_all("Requires-Dist") or []}
    name = normal(said["Name"] or "")
    return {"name": name, "version": str(said["Version"] or ""), "sha256": digest, "licence": licence(said),
            "modules": modules, "requires": sorted(needs & names - {name})}  # fmt: skip


def text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    """A file's text, never more of it than fits, whatever the archive says of its size."""
    with archive.open(entry) as file:
        data = file.read(MAX_MODULE + 1)
    if len(data) > MAX_MODULE:
        raise Refusal("too-large", f"{entry.filename[:120]} is larger than {MAX_MODULE // 1024} KiB.")
    return data.decode("utf-8-sig")


def module(path: str) -> str:
    """The module a file of a wheel is, "" for what is none (metadata, data, tests, type stubs)."""
    if not path.endswith(".py"):
        return ""
    parts = path[:-3].split("/")
    if parts[-1] == "__init__":
        parts.pop()
    usable = parts and all(part.isascii() and part.isidentifier() for part in parts)
    return ".".join(parts) if usable and not {"tests", "test"} & set(parts) else ""


def licence(said: email.message.Message) -> str:
    """The licence in a line."""
    classified = [line.rpartition("::")[2].strip() for line in said.get_all("Classifier") or [] if line.startswith("License")]
    stated = said["License-Expression"] or "; ".join(classified) or (said["License"] or "").strip().split("\n")[0]
    return "".join(char for char in str(stated) if char.isprintable())[:160] or "unknown"


def normal(name: str) -> str:
    """A project's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main(sys.argv[1])
