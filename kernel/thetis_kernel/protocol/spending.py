"""Tokens and money: what one reply used, what several cost together, and how both are said to people.

Money is decimal dollars and never a float. What has no known price is counted as tokens of unknown price, never as
nothing. Must not know where prices come from.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import msgspec

ZERO = Decimal(0)


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one model call, from the provider's final cumulative frame (or `estimated` locally)."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    estimated: bool = False

    @property
    def prompt(self) -> int:
        """Tokens that were sent, from the provider's cache or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """All tokens."""
        return self.prompt + self.output


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Several calls together. `cost`: dollars of those whose price is known; `unpriced`: tokens of the others.

    `calls` counts replies and abandoned tries that used tokens.
    """

    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Decimal = ZERO
    unpriced: int = 0
    estimated: bool = False

    @property
    def prompt(self) -> int:
        """Tokens that were sent."""
        return self.input + self.cache_read + self.cache_write

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt + self.output

    def plus(self, usage: Usage, cost: Decimal | None) -> Spent:
        """One more call; `cost` None: its price is not known. A call without tokens changes nothing."""
        if not usage.total:
            return self
        unpriced = usage.total if cost is None else 0
        return self + Spent(
            1, usage.input, usage.output, usage.cache_read, usage.cache_write, cost or ZERO, unpriced, usage.estimated)

    def __add__(self, other: Spent) -> Spent:
        """Both together."""
        return Spent(
            self.calls + other.calls, self.input + other.input, self.output + other.output, self.cache_read + other.cache_read,
            self.cache_write + other.cache_write, self.cost + other.cost, self.unpriced + other.unpriced,
            self.estimated or other.estimated)


def dollars(amount: Decimal) -> str:
    """An amount for people: $12.34, $0.042, $0.0007, <$0.0001; cents are rounded half up."""
    if amount == 0:
        return "$0"
    if amount < Decimal("0.0001"):
        return "<$0.0001"
    places = "0.01" if amount >= 1 else "0.001" if amount >= Decimal("0.01") else "0.0001"
    return f"${amount.quantize(Decimal(places), ROUND_HALF_UP):,}"


def price_words(spent: Spent) -> str:
    """What it cost, in a few words; "" when nothing was used. `~`: some of the tokens were estimated."""
    if not spent.tokens:
        return ""
    about = "~" if spent.estimated and spent.cost else ""
    if not spent.unpriced:
        return about + dollars(spent.cost)
    if spent.unpriced == spent.tokens:
        return "price unknown"
    return f"{about}{dollars(spent.cost)} + {count(spent.unpriced)} tokens of unknown price"


def spent_words(spent: Spent) -> str:
    """Tokens and price in one phrase: `12.3k tokens in, 1.2k out, $0.042`; "" when nothing was used."""
    if not spent.tokens:
        return ""
    return f"{count(spent.prompt)} tokens in, {count(spent.output)} out, {price_words(spent)}"


def count(number: int) -> str:
    """A number of tokens for people: 987, 12.3k, 4.57M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.2f}M"
