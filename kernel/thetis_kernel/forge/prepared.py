"""What a gate worked out about single modules before its candidate came, by their whole text.

A spare gate host has time: it reads and compiles the modules of the guest that ships, and when the candidate comes only
the modules that differ cost anything. All of it was made in this process, by the same code, from the text it is filed under,
and ends with the process: there is nothing a candidate, another candidate or a file could have put here. It holds only
what follows from one module alone; what depends on the others (types, imports that lead somewhere, behaviour) is
judged anew each time, over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from thetis_kernel.forge.bundle import put_together, taken_apart


class Imported(NamedTuple):
    """One name a module imports. `level`: dots before it; `names`: what is taken from it, () for the module itself."""

    target: str
    level: int
    names: tuple[str, ...]
    line: int


class Prepared:
    """Codes and import lists of modules. Filled by one thread while others may read."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], bytes] = {}
        self.imports: dict[str, list[Imported]] = {}
        """Text -> what it imports."""
        self.no_type_errors: Callable[[Mapping[str, str]], bool] | None = None
        """Whether ty, which read the shipped guest already, finds no error in any of these modules; False says nothing."""

    def missing(self, modules: Mapping[str, str]) -> dict[str, str]:
        """Those of a guest's modules that have to be compiled.

        A package and what lies in it always do, together: where a module's file lies depends on whether others lie below it.
        """
        families = {name.partition(".")[0] for name in modules if "." in name}
        return {name: text for name, text in modules.items()
                if name.partition(".")[0] in families or (name, text) not in self._codes}  # fmt: skip

    def keep(self, modules: Mapping[str, str], bundle: str) -> None:
        """Note the codes of modules that were compiled; those of packages are not kept. Raises ValueError for no bundle."""
        for name, code in taken_apart(bundle).items():
            if name in modules and "." not in name and not any(other.startswith(f"{name}.") for other in modules):
                self._codes[name, modules[name]] = code

    def joined(self, modules: Mapping[str, str], missing: Mapping[str, str], bundle: str) -> str:
        """The bundle of all modules: `bundle` has the missing ones ("" when there are none), the others are known.

        Raises ValueError when it is not the bundle of exactly those.
        """
        codes = taken_apart(bundle) if bundle else {}
        if codes.keys() != missing.keys():
            raise ValueError("the compiler answered with other modules than it was given")
        codes.update((name, self._codes[name, text]) for name, text in modules.items() if name not in missing)
        return put_together(codes)
