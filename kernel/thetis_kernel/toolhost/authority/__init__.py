"""May this session do that, now? The one function every effect passes, and what it judges by.

    table.py      every import of the contract and the capability it needs
    intended.py   what exactly is about to happen, as a person would be shown it
    permit.py     the judgement: stop, budget, mode, declaration, walls, approval
    shell.py      a command's parts, as far as they are surely understood
    rules.py      what a person allowed before, and whether it covers this

What a guest's manifest declares is a request; what decides is here, at the import, whatever the guest filtered before.
"""

from thetis_kernel.toolhost.authority.intended import Intended, Subject
from thetis_kernel.toolhost.authority.permit import may, permit
from thetis_kernel.toolhost.authority.table import CALLS, CAPABILITIES, EFFECTS, IMPORTS, Capability

__all__ = ["CALLS", "CAPABILITIES", "EFFECTS", "IMPORTS", "Capability", "Intended", "Subject", "may", "permit"]
