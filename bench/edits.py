"""From an edit to the guest that serves, through an open gateway, as the dev kit does it. `python -m bench.edits`"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.report import emit

FIGURES = ["edit_to_live_tool_ms", "edit_to_live_agent_ms", "edit_first_agent_ms"]
N = 30
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
            await edits(client, session, TOOL, "edit_to_live_tool_ms", "goal 250; one line of a tool")
            await edits(client, session, AGENT, "edit_to_live_agent_ms", "goal 800; one line of agent_core",
                        "edit_first_agent_ms")
        finally:
            await gateway.close()


async def edits(client: Any, session: str, path: str, figure: str, against: str, first: str = "") -> None:
    """Append a comment line N times; each answer means judged, committed, logged and serving."""
    text = (await client.devkit(session, "read-code", path=path, limit="100000"))["text"]
    times: list[float] = []
    for number in range(N + 2):
        began = time.perf_counter()
        answer = await client.devkit(session, "write-code", path=path, contents=f"{text}\n# edit {number}\n")
        times.append((time.perf_counter() - began) * 1e3)
        if not answer["ok"]:
            raise SystemExit(f"{path} does not pass: {answer['diagnostics'][:1]}")
        await asyncio.sleep(0.5)  # nobody edits faster; the spare is up by then
    if first:
        emit(first, times[0], "ms", 1, against="the shipped guest copied and committed, no spare yet")
    ranked = sorted(times[2:])
    emit(figure, statistics.median(ranked), "ms", N, ranked[int(N * 0.95)], against)


if __name__ == "__main__":
    asyncio.run(main())
