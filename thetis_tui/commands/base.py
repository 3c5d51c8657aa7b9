"""What a command is: one object that feeds the palette, the key bindings, the slash list and the help.

Must not import screens or widgets at the top: commands are listed before anything is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

if TYPE_CHECKING:
    from thetis_tui.app import ThetisApp


UNPRESSED = "thetis-none"
"""A key no keyboard has."""


class Command:
    """One thing a person can do.

    `id` names it for keymaps; `title` is a short imperative; `help` one sentence; `keys` as Textual writes them, comma
    separated; `slash` its name in the prompt without the slash; `argument` what may follow it, for the help.
    `in_palette`: whether the palette lists it (not when only its key says which one is meant).
    """

    id: ClassVar[str]
    title: ClassVar[str]
    help: ClassVar[str]
    keys: ClassVar[str] = ""
    slash: ClassVar[str] = ""
    argument: ClassVar[str] = ""
    in_palette: ClassVar[bool] = True

    def applies(self, app: ThetisApp) -> bool:
        """Whether it makes sense now; the palette hides it and its key passes by when not."""
        return True

    async def run(self, app: ThetisApp, argument: str = "") -> None:
        """Do it. Errors of the tree may pass: the app says them."""
        raise TypeError(f"{type(self).__name__} does nothing")

    def bindings(self) -> list[Binding]:
        """Its keys, remappable under its id; one that comes without a key can be given one."""
        return [Binding(self.keys or UNPRESSED, f"command('{self.id}')", self.title, show=False, id=f"thetis.{self.id}")]

    @property
    def key_names(self) -> str:
        """Its keys for people: ctrl+n, f2."""
        return ", ".join({"escape": "esc"}.get(key, key) for key in self.keys.split(",") if key)
