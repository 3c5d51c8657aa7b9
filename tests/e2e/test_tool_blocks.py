"""Each shipped tool, through the real gate and in its own wasm: it is handed its own configuration block and no other's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from thetis_kernel.config.loading import load
from thetis_kernel.errors import GuestError
from thetis_kernel.gateway.guests import Guests
from thetis_kernel.paths import shipped_artifacts
from thetis_kernel.protocol.net import Fetched, Wanted
from thetis_kernel.protocol.worker import GuestBundle
from thetis_kernel.toolhost.sandbox import sandbox_imports
from thetis_kernel.wasm.call import GuestCall
from thetis_kernel.wasm.limits import TOOL_LIMITS

from tests.e2e.gates import compiled, fds
from tests.support.runtimes import runtime
from tests.support.turns import turn_context

pytestmark = pytest.mark.runtimes
SETTINGS = """
[tools.http_fetch]
hosts = ["fetch.example"]
note = "canary-of-http_fetch"
[tools.json_query]
max_results = 2
note = "canary-of-json_query"
hosts = ["query.example"]
[tools.table]
max_rows = 3
note = "canary-of-table"
"""
PROBE = """
from thetis_guest import ToolManifest, sandbox
def describe() -> ToolManifest:
    return ToolManifest(name="probe", description="d", input_schema={"type": "object"}, mutating=True)
def invoke(session_id: str, args: dict[str, object], config: dict[str, object]) -> object:
    reached = []
    for host in ("fetch.example", "query.example"):
        try:
            sandbox.http({"url": "https://" + host + "/"})
            reached.append(host)
        except Exception:
            pass
    return {"config": config, "reached": reached}
"""


class Fleet:
    """Only what Guests asks of a fleet: runtimes."""

    async def runtimes(self, *worlds: str) -> dict[str, int]:
        return fds(*worlds)


async def shipped(tmp_path: Path) -> dict[str, GuestBundle]:
    file = tmp_path / "config.toml"
    file.write_text(SETTINGS)
    tools = load(None, file, environ={}).settings.tools
    found = await Guests(Fleet(), shipped_artifacts(), tools).tools()  # type: ignore[arg-type]
    return {guest.aspect.removeprefix("tool/"): guest for guest in found}


def called(tmp_path: Path, guests: dict[str, GuestBundle], name: str, args: dict[str, Any], **more: Any) -> str:
    context = turn_context(tmp_path, guests=guests)
    context.fetch = lambda tool, wanted: answer(wanted)
    guest = guests[name]
    imports = sandbox_imports(context, "c1", name)
    return str(GuestCall(runtime("tool"), guest.bundle, imports, TOOL_LIMITS).run("invoke", "s", json.dumps(args), guest.config))


def answer(wanted: Wanted) -> Fetched:
    return Fetched(status=200, url=wanted.url, headers={"content-type": "text/html"}, body=b"<h1>Page</h1>")


async def test_the_new_tools_pass_the_gate_and_work(tmp_path: Path) -> None:
    guests = await shipped(tmp_path)
    assert {"http_fetch", "json_query", "table", "outline"} <= set(guests)
    (tmp_path / "wt").mkdir()
    (tmp_path / "wt" / "d.json").write_text(json.dumps({"a": list(range(9)), "long": "x" * 5000}))
    (tmp_path / "wt" / "t.csv").write_text("a,b\n" + "".join(f"{n},{n * n}\n" for n in range(9)))
    assert called(tmp_path, guests, "http_fetch", {"url": "https://fetch.example/"}).endswith("# Page")
    assert called(tmp_path, guests, "json_query", {"path": "d.json", "query": ".a[]"}).count("\n") == 2
    assert "4,1" not in called(tmp_path, guests, "table", {"path": "t.csv", "sort": "-a"})
    assert called(tmp_path, guests, "table", {"path": "t.csv", "sum_up": [{"what": "sum", "column": "b"}]}).endswith("204")
    with pytest.raises(GuestError, match="not on this tool's list"):
        called(tmp_path, guests, "http_fetch", {"url": "https://query.example/"})


async def test_each_sees_its_own_block_alone(tmp_path: Path) -> None:
    guests = await shipped(tmp_path)
    for name in ("http_fetch", "json_query", "table", "outline"):
        bundle = compiled(PROBE)
        mine = {**guests, name: GuestBundle(aspect=f"tool/{name}", key="k", bundle=bundle, config=guests[name].config)}
        said = json.loads(called(tmp_path, mine, name, {}))
        others = [other for other in guests if other != name]
        assert not any(f"canary-of-{other}" in json.dumps(said) for other in others)
        assert (f"canary-of-{name}" in json.dumps(said)) == (name != "outline")
        assert said["reached"] == {"http_fetch": ["fetch.example"], "json_query": ["query.example"]}.get(name, [])
