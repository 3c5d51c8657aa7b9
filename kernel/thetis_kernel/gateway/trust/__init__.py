"""What a checkout brings with it that would run or be believed, and whether a person trusts exactly that.

    offer.py   looking: guests, skills, settings only a person may make, commands, paths; and a digest over all of it
    book.py    what was trusted, in the person's own state directory, by root and digest

Nothing of a checkout is used without an entry for the digest it has now; a changed tree is another tree.
"""

from __future__ import annotations

from pathlib import Path

from thetis_kernel.errors import UsageError
from thetis_kernel.gateway.trust.book import TrustBook
from thetis_kernel.gateway.trust.offer import Offer, look
from thetis_kernel.paths import state_home

__all__ = ["Offer", "TrustBook", "TrustedTree", "book", "look", "root_is_trusted", "survey", "trusted"]


class TrustedTree:
    """The guests and skills of a checkout a person trusts, as long as it stays what they trusted."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self.directories = {item.name: Path(offer.root) / item.where for item in offer.items if item.kind == "guest"}
        self.skills = {item.name: Path(offer.root) / item.where for item in offer.items if item.kind == "skill"}

    def unchanged(self) -> bool:
        """Whether its files are still those of the digest; asked after each reading of them."""
        return survey(Path(self._offer.root))[0].digest == self._offer.digest


def book() -> TrustBook:
    """The person's own."""
    return TrustBook(state_home() / "trust.json")


def trusted(offer: Offer) -> bool:
    """Whether a person trusts what the checkout brings now. False when it brings nothing."""
    return bool(offer.items) and book().holds(offer.root, offer.digest)


def survey(root: Path) -> tuple[Offer, str]:
    """What the root brings, and a sentence for when some of it is not used ("" when all of it is, or there is nothing).

    Never raises: a checkout that brings too much to look at brings nothing, and the sentence says so.
    """
    try:
        offer = look(root)
    except (UsageError, OSError) as error:
        return Offer(str(root), [], ""), f"What this checkout brings is not used: {error}"
    if not offer.items or trusted(offer):
        return offer, ""
    why = "it has changed since you trusted it" if book().knows(offer.root) else "you have not trusted it"
    return offer, f"This checkout brings {offer.summary}. None of it is used: {why}. See `thetis trust`."


def root_is_trusted(root: Path) -> bool:
    """`trusted` for a root that was not looked at yet."""
    return trusted(survey(root)[0])
