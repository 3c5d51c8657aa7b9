"""A kernel without a screen that holds a root and serves its control socket: what runs attach to.

Run as `python -m tests.support.kernel_holder ROOT`; says `ready` once it can be reached, closes at SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from thetis_kernel.config.loading import load
from thetis_kernel.gateway.gateway import Gateway
from thetis_kernel.paths import root_paths, user_config_file


async def main(root: Path) -> None:
    """Hold the root until told to end."""
    gateway = await Gateway.open(root_paths(root), load(root, user_config_file(), environ=dict(os.environ)))
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    print("ready", flush=True)
    try:
        await ended.wait()
    finally:
        await gateway.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
