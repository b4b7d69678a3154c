"""English words as the verifier compares them: stems, near synonyms of field names, and words that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_TOKEN: Final = re.compile(r"[A-Za-z]+(?:['\u2019][a-z]+)?|[0-9]+")
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ENDINGS: Final = (
    "ellations", "ellation", "ations", "ation", "ments", "ment", "ings", "ing", "ures", "ure", "als", "ied", "ies",
    "ed", "es", "ly", "al", "s",
)  # fmt: skip
_IRREGULAR: Final = {
    "paid": "pay", "sent": "send", "bought": "buy", "made": "make", "sold": "sell", "written": "write",
    "held": "hold", "given": "give", "taken": "take", "left": "remain", "leaves": "depart", "leaving": "depart",
    "wifi": "wifi", "wi": "wifi", "cancelled": "cancel", "canceled": "cancel", "cost": "cost", "fee": "fee",
    "fees": "fee", "status": "status", "address": "address", "class": "class", "total": "total", "arrival": "arriv",
    "kept": "keep", "chosen": "choose", "cheaper": "cheap", "lower": "low", "higher": "high", "men": "man",
    "refurbished": "refurbish", "policies": "policy", "policy": "policy", "replies": "reply", "series": "series",
    "has": "have", "does": "do", "was": "be", "is": "be", "are": "be", "were": "be", "nights": "night",
    "details": "detail", "upgrade": "upgrad", "us": "us", "bus": "bus", "less": "less", "express": "express",
    "business": "business", "plus": "plus", "access": "access", "redemption": "redeem", "redemptions": "redeem",
    "rating": "rating", "ratings": "rating", "rated": "rating",
    "rate": "rate", "rates": "rate", "nonstop": "nonstop", "fare": "fare", "fares": "fare",
}  # fmt: skip
STOP: Final = frozenset((
    "a", "an", "the", "this", "that", "these", "those", "it", "its", "of", "for", "in", "on", "at", "to",
    "from", "by", "with", "and", "or", "but", "as", "so", "if", "then", "than", "into", "your", "you", "you're",
    "you've", "yours", "i", "i've", "i'm", "we", "we've", "our", "my", "me", "us", "be", "is", "are", "was",
    "were", "been", "being", "am", "has", "have", "had", "do", "does", "did", "done", "will", "shall", "there",
    "here", "their", "they", "them", "he", "she", "his", "her", "which", "who", "whom", "whose", "what", "when",
    "where", "while", "how", "why", "also", "just", "now", "already", "currently", "still", "very", "really",
    "only", "all", "any", "some", "both", "each", "every", "other", "another", "more", "most", "less", "least",
    "much", "many", "such", "same", "own", "too", "about", "over", "under", "up", "down", "out", "off", "again",
    "once", "not", "no", "nor", "never", "none", "yes", "ok", "okay", "please", "thanks", "thank", "sorry",
    "well", "right", "let's", "lets", "see", "per", "via", "after", "before", "during", "until", "since",
    "because", "though", "although", "however", "yet", "can", "could", "would", "should", "may", "might",
    "must", "need", "needs", "get", "got", "make", "sure", "it's", "that's", "there's", "here's", "one", "two",
    "new", "note", "summary", "following", "below", "above", "confirm", "confirmed", "exactly", "actually",
    "directly",
))  # fmt: skip
"""Words that neither name a field nor state a value."""
_GROUPS: Final = (
    ("price", "cost", "fare", "price", "rate"),
    ("total", "sum", "overall", "altogether"),
    ("refund",),
    ("fee", "charge", "surcharge"),
    ("depart", "departur", "takeoff", "outbound"),
    ("arriv", "land"),
    ("eta", "estimat", "expect", "arriv", "deliver"),
    ("deliver", "ship"),
    ("quantity", "qty", "count", "number", "unit"),
    ("cabin", "class"),
    ("bag", "baggage", "luggage"),
    ("point", "loyalty", "reward"),
    ("discount", "sav", "promo", "coupon", "code"),
    ("balance", "remain"),
    ("pay", "payment", "card"),
    ("tier", "member", "membership", "level"),
    ("stock", "available", "inventory", "availability"),
    ("rating", "star"),
    ("weight", "weigh", "lb", "heavy"),
    ("duration", "long", "length", "minute", "hour", "last"),
    ("stop", "layover", "connection", "nonstop"),
    ("night", "nightly"),
    ("depart", "leav", "start", "pickup"),
    ("unit", "each", "apiece", "per"),
    ("cheap", "low", "difference", "differ", "high", "sav"),
    ("tax",), ("date", "day"),
    ("color", "colour"), ("expir", "end", "valid"), ("start", "begin"),
    ("email", "mail"), ("phone", "telephone"), ("address", "street"),
    ("purchas", "buy", "order", "book"),
    ("replac", "exchang", "swap"), ("defect", "fault", "broken", "fail"),
    ("cap", "limit", "max", "maximum"), ("min", "minimum"), ("eligibl", "qualif"),
    ("window", "period"), ("resolution", "outcome"), ("credit", "goodwill"),
    ("reason", "cause"), ("track", "tracking"), ("assign", "owner"), ("seat",), ("meal",),
)  # fmt: skip


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return what the forms of a word share: `refunded`, `refunds`, `refund` give `refund`.

    Crude, and the same for both sides of every comparison.
    """
    low = word.lower().replace("\u2019", "'").removesuffix("'s")
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    for ending in _ENDINGS:
        if low.endswith(ending) and len(low) - len(ending) >= 3 and not (ending == "s" and low.endswith("ss")):
            low = low[: -len(ending)]
            break
    if len(low) > 4 and low[-1] == low[-2] and low[-1] not in "se":
        low = low[:-1]
    short = low.rstrip("ey") if not low.endswith("ee") else low
    return short if len(short) >= 3 else low


def stemmed(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of single words."""
    return frozenset(stem(w) for w in words)


def tokens_of(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, word in lower case) of the words and digit groups of a text."""
    return [(m.start(), m.end(), m[0].lower().replace("\u2019", "'")) for m in _TOKEN.finditer(text)]


@lru_cache(maxsize=16384)
def stems_of(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that say something."""
    text = text.replace("\u2011", "-")
    if "i-fi" in text.lower():
        text = text.lower().replace("wi-fi", "wifi")
    return frozenset(stem(w) for _, _, w in tokens_of(text) if w not in STOP and not w.isdigit() and "n't" not in w)


@lru_cache(maxsize=8192)
def key_stems(key: str) -> frozenset[str]:
    """Return the stems of a field's or tool's name (`refund_amount`, `refundAmount`)."""
    return frozenset(stem(w) for w in _CAMEL.findall(key) if not w.isdigit())


GENERIC: Final = stemmed(
    {"amount", "valu", "number", "count", "is", "has", "have", "be", "detail", "info", "date", "time", "id", "name",
     "type", "at", "on", "add", "curr", "current", "status", "item", "result", "argument", "pct", "percent", "usd",
     "eur", "new", "rule", "option"}
)  # fmt: skip
"""Stems in names of fields that do not tell one field from another."""

_STEMMED: Final = tuple(stemmed(group) for group in _GROUPS)


@lru_cache(maxsize=8192)
def widened(stems: frozenset[str]) -> frozenset[str]:
    """Return stems with their near synonyms."""
    found = set(stems)
    for group in _STEMMED:
        if not stems.isdisjoint(group):
            found.update(group)
    return frozenset(found)
