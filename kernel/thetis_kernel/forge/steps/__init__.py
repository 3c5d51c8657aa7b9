"""The gate's checks, one module each, in the order they run: cheap ones first, each may rely on those before it.

A further check is a module and a line here.
"""

from __future__ import annotations

from thetis_kernel.forge.candidate import Step
from thetis_kernel.forge.steps import compiles, exports, golden, imports, layout, manifest, own_tests, ruff, smoke, ty

STEPS: tuple[Step, ...] = (
    Step("manifest", manifest.run),
    Step("layout", layout.run),
    Step("ruff", ruff.run, beside=True),
    Step("imports", imports.run, beside=True),
    Step("ty", ty.run, beside=True),
    Step("compile", compiles.run),
    Step("exports", exports.run),
    Step("golden", golden.run, beside=True),
    Step("smoke", smoke.run),
    Step("tests", own_tests.run),
)
