"""pip in the walls against an index of files: what is taken, what is refused and why, and that nothing of it runs."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest
from thetis_kernel.errors import ThetisError
from thetis_kernel.gateway.body.resolver import Resolver

from tests.support.package_index import Index

PRETTY = {"pretty/__init__.py": "from pretty.core import dress\n", "pretty/core.py": "def dress(x: str) -> str:\n    return x\n",
          "pretty/data.json": "{}", "pretty/tests/test_core.py": "raise SystemExit\n"}


async def allowed() -> bool:
    return False


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "index")


def resolver(tmp_path: Path, index: Index) -> Resolver:
    environ = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return Resolver(tmp_path / "scratch", index.url, allowed, {**environ, "PIP_EXTRA_INDEX_URL": "http://127.0.0.1:9/"})


async def test_a_package_comes_with_what_it_needs_its_hash_and_its_licence(tmp_path: Path, index: Index) -> None:
    digest = index.add("pretty", "1.2", PRETTY, requires=("Small_Thing>=1", "never; extra == 'x'"), licence="Apache-2.0")
    index.add("pretty", "1.1", PRETTY)
    index.add("small-thing", "2.0", {"small.py": "ONE = 1\n"})
    found = await resolver(tmp_path, index).resolve(["pretty"])
    assert [(one.name, one.version, one.wanted, one.licence) for one in found] == [
        ("pretty", "1.2", True, "Apache-2.0"), ("small-thing", "2.0", False, "MIT")]  # fmt: skip
    assert found[0].sha256 == digest and found[0].requires == ["small-thing"]
    assert set(found[0].modules) == {"pretty", "pretty.core"} and found[1].modules == {"small": "ONE = 1\n"}
    [older] = await resolver(tmp_path, index).resolve(["pretty==1.1"])
    assert older.version == "1.1"
    assert list((tmp_path / "scratch").iterdir()) == []


async def test_an_index_whose_place_must_be_encoded(tmp_path: Path) -> None:
    index = Index(tmp_path / "wheels of mine #1")
    index.add("small-thing", "2.0", {"small.py": "ONE = 1\n"})
    index.url = f"file://{quote(index.url.removeprefix('file://'))}"
    [found] = await resolver(tmp_path, index).resolve(["small-thing"])
    assert found.modules == {"small": "ONE = 1\n"}


REFUSED = {
    "native": ("fast", "fast_lib|native code"),
    "source-only": ("lazy", "source alone"),
    "not-found": ("nowhere", "no nowhere"),
    "unfit": ("taken", "json"),
    "damaged": ("torn", "cannot be read"),
    "too-large": ("huge", "larger than 512 KiB"),
    "conflict": ("torn-apart", "conflict"),
}


@pytest.mark.parametrize("code", REFUSED)
async def test_what_cannot_be_taken_is_refused_with_its_reason(code: str, tmp_path: Path, index: Index) -> None:
    name, words = REFUSED[code]
    index.add("fast", "1.0", {"fast/lib.so": b"x"}, tag="cp314-cp314-manylinux_2_17_x86_64")
    index.add("lazy", "1.0", {"setup.py": "raise SystemExit('ran')"}, source=True)
    index.add("taken", "1.0", {"json/__init__.py": ""})
    index.add("torn", "1.0", PRETTY)
    index.add("huge", "1.0", {"huge.py": "#" * (600 * 1024)})
    index.add("small", "1.0", {"small.py": ""})
    index.add("small", "2.0", {"small.py": ""})
    index.add("torn-apart", "1.0", {"apart.py": ""}, requires=("small==1.0",))
    wanted = [name, "small==2.0"] if code == "conflict" else [name]
    if code == "damaged":
        [wheel] = (tmp_path / "index" / "simple" / "torn").glob("*.whl")
        whole = wheel.read_bytes()
        page = wheel.parent / "index.html"
        page.write_text(f'<a href="{wheel.name}">{wheel.name}</a>')  # no hash: pip takes it, the archive is cut inside
        wheel.write_bytes(whole.replace(b"return x", b"return y"))
    with pytest.raises(ThetisError, match=words) as error:
        await resolver(tmp_path, index).resolve(wanted)
    assert error.value.code == code and error.value.hint


async def test_a_wheel_that_only_says_it_is_pure_is_refused(tmp_path: Path, index: Index) -> None:
    index.add("liar", "1.0", {"liar/__init__.py": "", "liar/_speed.cpython-314-x86_64-linux-gnu.so": b"x"})
    with pytest.raises(ThetisError, match="holds liar/_speed") as error:
        await resolver(tmp_path, index).resolve(["liar"])
    assert error.value.code == "native"


async def test_another_hash_than_the_index_says_is_refused(tmp_path: Path, index: Index) -> None:
    index.add("pretty", "1.0", PRETTY)
    [wheel] = (tmp_path / "index" / "simple" / "pretty").glob("*.whl")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("pretty/evil.py", "x = 1")
    with pytest.raises(ThetisError, match=r"(?i)hash") as error:
        await resolver(tmp_path, index).resolve(["pretty"])
    assert error.value.code == "index"


@pytest.mark.parametrize("requirement", [
    "pretty @ http://127.0.0.1/x.whl", "/tmp/x.whl", "--index-url=http://x", "-r /etc/passwd", "pretty[x]", "git+https://x", "",
    "pretty; python_version>'3'", "a" * 80, "../x", "pretty ==1 || x"])  # fmt: skip
async def test_only_names_and_versions_are_requirements(requirement: str, tmp_path: Path, index: Index) -> None:
    with pytest.raises(ThetisError) as error:
        await resolver(tmp_path, index).resolve([requirement])
    assert error.value.code == "bad-arguments" and not (tmp_path / "scratch").exists()
