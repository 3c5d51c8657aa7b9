"""From an edit to the guest that serves, through an open gateway, as the dev kit does it. `python -m bench.edits`"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.report import emit

FIGURES = ["edit_to_live_tool_ms", "edit_to_live_agent_ms", "edit_first_agent_ms", "edit_to_live_vs_componentize"]
N = 30
PAUSE_S = 1.5
"""Between two edits. A model's reply with the next one takes longer; until then a spare gate host is started and prepared."""
TOOL, AGENT = "tools/outline/main.py", "aspects/agent_core/prompt.py"


async def main() -> None:
    """Both figures: one line of a module changed, every revision a new one, nothing of it judged before."""
    with tempfile.TemporaryDirectory(prefix="thetis-edits-") as scratch:
        base = Path(scratch)
        os.environ.update(THETIS_STATE=str(base / "state"), XDG_RUNTIME_DIR=str(base), THETIS_REHEARSAL_DELAY_MS="0")
        root = base / "root"
        root.mkdir()
        for words in (["init", "-q"], ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-q", "--allow-empty", "-m", "b"]):
            subprocess.run(["git", "-C", str(root), *words], check=True)
        from thetis_kernel.config.loading import load
        from thetis_kernel.gateway.gateway import Gateway
        from thetis_kernel.paths import root_paths

        gateway = await Gateway.open(root_paths(root), load(root, base / "none.toml", environ={}), warm=False)
        try:
            client = await gateway.connect()
            session = (await client.create(origin="headless")).id
            median = await edits(client, session, TOOL, "edit_to_live_tool_ms", "goal 250; one line of a tool")
            plain = await asyncio.to_thread(rebuilt_plainly, base / "plainly")
            emit("edit_to_live_vs_componentize", plain * 1000 / median, "times", 1, against=f"goal 60; {plain:.1f} s")
            await edits(client, session, AGENT, "edit_to_live_agent_ms", "goal 800; one line of agent_core",
                        "edit_first_agent_ms")
        finally:
            await gateway.close()


async def edits(client: Any, session: str, path: str, figure: str, against: str, first: str = "") -> float:
    """Append a comment line N times; each answer means judged, committed, logged and serving. The median in milliseconds."""
    text = (await client.devkit(session, "read-code", path=path, limit="100000"))["text"]
    times: list[float] = []
    for number in range(N + 2):
        began = time.perf_counter()
        answer = await client.devkit(session, "write-code", path=path, contents=f"{text}\n# edit {number}\n")
        times.append((time.perf_counter() - began) * 1e3)
        if not answer["ok"]:
            raise SystemExit(f"{path} does not pass: {answer['diagnostics'][:1]}")
        await asyncio.sleep(PAUSE_S)
    if first:
        emit(first, times[0], "ms", 1, against="the shipped guest copied and committed, no spare yet")
    ranked = sorted(times[2:])
    median = statistics.median(ranked)
    emit(figure, median, "ms", N, ranked[int(N * 0.95)], against)
    return median


def rebuilt_plainly(scratch: Path) -> float:
    """Seconds to make a component of the same tool the ordinary way, and machine code of it: what an edit would cost."""
    from thetis_kernel.paths import builtin_root
    from wasmtime import Config, Engine
    from wasmtime.component import Component

    empty = scratch / "venv" / "lib" / "python3" / "site-packages"
    empty.mkdir(parents=True)
    (scratch / "app").mkdir()
    (scratch / "app" / "plain_tool.py").write_text("import main  # the tool, inside the component\nfrom tool_shim import *\n")
    root, component = builtin_root(), scratch / "plain.wasm"
    paths = [scratch / "app", root / "tools" / "outline", root / "guest" / "shims", root / "guest"]
    command = [sys.executable, "-c", "import sys; from componentize_py import script; sys.argv[0] = 'componentize-py'; script()",
               "-d", str(root / "wit"), "-w", "tool", "componentize", "plain_tool", "-o", str(component)]  # fmt: skip
    command += [word for path in paths for word in ("-p", str(path))]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "VIRTUAL_ENV": str(scratch / "venv")})
    Component.from_file(Engine(Config()), str(component)).serialize()
    return time.perf_counter() - began


if __name__ == "__main__":
    asyncio.run(main())
