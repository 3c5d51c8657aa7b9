"""A package index in a directory (the simple API as files), with wheels made here. Nothing of it is ever executed."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path


class Index:
    """`url`: what pip is told. `add` makes a wheel (or, by its name, something else) and lists it."""

    def __init__(self, base: Path) -> None:
        self._simple = base / "simple"
        self._simple.mkdir(parents=True)
        self.url = f"file://{self._simple}"

    def add(self, name: str, version: str, modules: Mapping[str, str | bytes], *, requires: tuple[str, ...] = (),
            tag: str = "py3-none-any", licence: str = "MIT", source: bool = False) -> str:
        """List a wheel of these files; its SHA-256. `source`: an sdist of that name instead."""
        project = self._simple / name
        project.mkdir(exist_ok=True)
        plain = name.replace("-", "_")
        file = project / (f"{plain}-{version}.tar.gz" if source else f"{plain}-{version}-{tag}.whl")
        needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
        about = f"{plain}-{version}.dist-info"
        with zipfile.ZipFile(file, "w") as archive:
            for path, text in modules.items():
                archive.writestr(path, text)
            archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                             f"License: {licence}\n{needs}\n")
            archive.writestr(f"{about}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
            archive.writestr(f"{about}/RECORD", "")
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        page = project / "index.html"
        page.write_text((page.read_text() if page.exists() else "<!DOCTYPE html>\n")
                        + f'<a href="{file.name}#sha256={digest}">{file.name}</a>\n')
        return digest
