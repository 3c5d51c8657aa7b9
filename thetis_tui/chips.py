"""Large texts, pictures and PDFs in the prompt: kept aside, a chip stands for each, and what is sent is the text itself, or
the file's path after an @.

Must not know about widgets. Measured: a text area with 1 MB in it takes seconds for every key.
"""

from __future__ import annotations

import re

from thetis_tui.attachments import kind, mention
from thetis_tui.sanitise import one_line
from thetis_tui.text import plural

LARGE_CHARACTERS = 8_000
LARGE_LINES = 200
KEPT = 50
"""Texts remembered; a chip older than that is only the words it is made of."""
_CHIP = re.compile(r"⟦(?:text|picture|PDF) (\d{1,9}): [^⟦⟧\n]{0,80}⟧")
_KEPT = re.compile("\x0e([^\x0e\x0f]*)\x0f")
NAME = 40


class Chips:
    """The texts behind chips, by number."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._made = 0

    def fold(self, text: str) -> str:
        """`text`, or a chip for it when it is large."""
        lines = text.count("\n") + 1
        if len(text) <= LARGE_CHARACTERS and lines <= LARGE_LINES:
            return text
        size = plural(lines, "line") if lines > 1 else f"{len(text):,} characters"
        return f"⟦text {self._keep(text)}: {size}⟧"

    def file(self, path: str) -> str:
        """A chip for a picture or PDF."""
        name = one_line(path.rpartition("/")[2]).replace("⟦", "[").replace("⟧", "]")
        shown = name if len(name) <= NAME else f"{name[: NAME - 9]}…{name[-8:]}"
        return f"⟦{kind(path) or 'picture'} {self._keep(mention(path))}: {shown}⟧"

    def _keep(self, text: str) -> int:
        self._made += 1
        self._texts[self._made] = text
        while len(self._texts) > KEPT:
            del self._texts[next(iter(self._texts))]
        return self._made

    def unfold(self, shown: str) -> str:
        """`shown` with the texts in the place of their chips."""
        return _CHIP.sub(lambda chip: self._texts.get(int(chip[1]), chip[0]), shown)

    def whole(self, shown: str) -> str:
        """`shown` with the texts of its chips between marks, to be kept; `again` makes chips of them."""
        return _CHIP.sub(lambda chip: f"\x0e{self._texts[int(chip[1])]}\x0f" if int(chip[1]) in self._texts else chip[0], shown)

    def again(self, kept: str) -> str:
        """What `whole` kept, as it stood in the prompt."""
        return _KEPT.sub(lambda part: self._folded(part[1]), kept)

    def _folded(self, text: str) -> str:
        path = text[1:].strip('"')
        return self.file(path) if text.startswith("@") and "\n" not in text and kind(path) else self.fold(text)
