"""What a call cost: its tokens times the prices of its model, exactly. Must not know conversations or limits."""

from __future__ import annotations

from decimal import Decimal

from thetis_kernel.models.catalog import Model
from thetis_kernel.protocol.models import Prices
from thetis_kernel.protocol.spending import Usage


def cost_of(model: Model, usage: Usage) -> Decimal | None:
    """Dollars; None as soon as one price that is needed is not known. Exact: no rounding before it is shown."""
    prices: Model | Prices = model
    if model.long_prompt is not None and usage.prompt > (model.long_prompt.above or 0):
        prices = model.long_prompt
    total = Decimal(0)
    for count, price in (
        (usage.input, prices.price_input), (usage.output, prices.price_output),
        (usage.cache_read, prices.price_cache_read), (usage.cache_write, prices.price_cache_write),
    ):
        if count and price is None:
            return None
        total += count * (price or Decimal(0))
    return total.scaleb(-6)
