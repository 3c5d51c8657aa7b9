"""Step: the modules fit the caps, can be named, clash with nothing, and one of them is the entry."""

from __future__ import annotations

from thetis_kernel.forge.candidate import Bench, Candidate
from thetis_kernel.forge.diagnostics import Complaints
from thetis_kernel.forge.layout import ENTRY, RESERVED, module_of
from thetis_kernel.forge.packages import clashes, path_of, problem_of
from thetis_kernel.forge.snapshot import stdlib_modules
from thetis_kernel.forge.source import MAX_FILE, MAX_FILES, MAX_TOTAL
from thetis_kernel.protocol.gate import Diagnostic


def run(candidate: Candidate, bench: Bench) -> list[Diagnostic]:
    """Repeats what reading the directory checked: a candidate may come from elsewhere."""
    modules, paths, complaints = candidate.source.modules, candidate.paths, Complaints()
    if ENTRY not in modules:
        complaints.add("there is no main.py: the runtime imports `main`", f"{ENTRY}.py")
    if len(modules) > MAX_FILES:
        complaints.add(f"the guest has more than {MAX_FILES} modules")
    for package in candidate.source.packages:
        if problem := problem_of(package):
            complaints.add(problem, path_of(package))
    for package_name, name in clashes(candidate.source.packages, modules):
        complaints.add(f"the package {package_name} brings a module {name}, and so does something else here")
    if sum(len(text) for text in (*modules.values(), *candidate.brought.values())) > MAX_TOTAL:
        complaints.add(f"the guest is larger than {MAX_TOTAL // 1024} KiB in all")
    taken = RESERVED | {name.partition(".")[0] for name in stdlib_modules()}
    for name, text in sorted(modules.items()):
        if len(text) > MAX_FILE:
            complaints.add(f"is larger than {MAX_FILE // 1024} KiB", paths[name])
        if "\0" in text:
            complaints.add("holds a NUL character", paths[name], text.count("\n", 0, text.index("\0")) + 1)
        if _misnamed(name, paths[name]):
            complaints.add(f"{name[:80]!r} cannot be a module name", paths[name])
        top = name.partition(".")[0]
        if top in taken:
            whose = "the runtime's" if top in RESERVED else "the standard library's"
            complaints.add(f"the name {top} is {whose}; call the module something else", paths[name])
    return complaints.found


def _misnamed(name: str, path: str) -> bool:
    try:
        return module_of(path) != name
    except ValueError:
        return True
