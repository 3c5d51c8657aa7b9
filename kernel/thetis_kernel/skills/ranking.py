"""Which skills fit some words: BM25 (k1 1.2, b 0.75, the values of its authors) over name, tags, brief and when_to_use."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from thetis_kernel.protocol.skills import Card

K1, B = 1.2, 0.75
MAX_WORDS = 400
"""Of a message: what it is about is said in its beginning."""
_WORD = re.compile(r"[^\W_]+")
_WEIGHTS = (("name", 3), ("tags", 3), ("brief", 2), ("when_to_use", 1))
_STOP = frozenset({
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before", "but",
    "by", "can", "could", "did", "do", "does", "for", "from", "get", "had", "has", "have", "how", "i", "if", "in", "into",
    "is", "it", "its", "just", "like", "make", "me", "more", "my", "need", "new", "no", "not", "now", "of", "on", "one",
    "only", "or", "other", "our", "out", "please", "should", "so", "some", "something", "such", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "thing", "this", "those", "to", "up", "us", "use", "want", "was",
    "we", "were", "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "you", "your",
})  # fmt: skip


def words_of(text: str) -> list[str]:
    """The words that say something, in their plain form."""
    found = [_plain(word) for word in _WORD.findall(text.casefold())]
    return [word for word in found if word not in _STOP and len(word) > 1]


def best(cards: Iterable[Card], words: str, limit: int) -> list[Card]:
    """At most `limit` cards that are about `words`, the best first, equals by name.

    About them: a word stands in the name or among the tags, or two words stand anywhere.
    """
    wanted = set(words_of(words)[:MAX_WORDS])
    all_cards = list(cards)
    documents = [Counter(_terms(card)) for card in all_cards]
    if not documents or not wanted:
        return []
    average = sum(document.total() for document in documents) / len(documents) or 1.0
    rarity = {word: math.log(1 + (len(documents) - seen + 0.5) / (seen + 0.5))
              for word in wanted if (seen := sum(word in document for document in documents))}
    scored = [(_score(document, rarity, average), card) for document, card in zip(documents, all_cards, strict=True)]
    scored = [(score, card) for score, card in scored if score > 0 and _about(card, wanted)]
    scored.sort(key=lambda pair: (-pair[0], pair[1].name))
    return [card for _, card in scored[:limit]]


def _score(document: Counter[str], rarity: dict[str, float], average: float) -> float:
    longer = K1 * (1 - B + B * document.total() / average)
    return sum(weight * document[word] * (K1 + 1) / (document[word] + longer) for word, weight in rarity.items())


def _about(card: Card, wanted: set[str]) -> bool:
    plainly = set(words_of(" ".join([card.name, *card.tags])))
    return bool(plainly & wanted) or len(set(_terms(card)) & wanted) > 1


def _terms(card: Card) -> list[str]:
    terms: list[str] = []
    for field, weight in _WEIGHTS:
        value = getattr(card, field)
        terms += words_of(" ".join(value) if isinstance(value, list) else value) * weight
    return terms


def _plain(word: str) -> str:
    """English plurals and -ing as their stem, roughly: the same for the cards and the words."""
    if word.endswith("ing") and len(word) > 5:
        return word.removesuffix("ing")
    if word.endswith(("ses", "xes", "zes", "ches", "shes")) and len(word) > 4:
        return word.removesuffix("es")
    return word.removesuffix("s") if len(word) > 3 and not word.endswith("ss") else word
