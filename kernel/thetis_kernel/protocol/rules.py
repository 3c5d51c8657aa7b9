"""What a client may ask about the rules of a root: what a person allowed for good."""

from __future__ import annotations

from thetis_kernel.protocol.approvals import Rule
from thetis_kernel.protocol.wire import Ask


class ListRules(Ask[list[Rule]], frozen=True, tag="client.rules"):
    """What was allowed for good in this root."""


class AddRule(Ask[Rule], frozen=True, tag="client.add-rule"):
    """Allow `pattern` of `capability` for good in this root."""

    capability: str
    pattern: str


class RevokeRule(Ask[Rule], frozen=True, tag="client.revoke-rule"):
    """Take a rule back; it is the one that is answered."""

    id: str


RULE_ASKS = (ListRules, AddRule, RevokeRule)
