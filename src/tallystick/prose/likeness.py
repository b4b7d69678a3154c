"""What the judges of words share: states and deeds that mean the same, denial, and what became of a span's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from tallystick.prose.facts import CallRecord, Fact
from tallystick.prose.words import key_stems, stemmed

_ALIKE: Final = tuple(stemmed(group) for group in (
    {"active", "confirm", "book", "schedul", "valid", "open", "place", "staying", "stay", "keep"},
    {"cancel"}, {"complet", "updat", "process", "done", "finaliz", "success", "proceed"},
    {"return", "refund", "credit"}, {"refund"}, {"remov", "delet"}, {"add"}, {"lost"}, {"deliver"},
    {"deni", "declin", "reject", "refus"}, {"approv", "accept"},
    {"charg", "pay"}, {"updat", "chang", "mov", "switch", "modify", "modifi"},
    {"set", "appli", "apply", "appl", "select", "updat"}, {"issu", "creat", "refund", "process"},
    {"ship", "dispatch"}, {"redeem", "appli", "apply"},
))  # fmt: skip
_NEGATION: Final = re.compile(
    r"\b(?:no|not|non|never|without|none|zero|cannot|nothing|neither|nor|free of)\b|n['\u2019]t\b", re.IGNORECASE
)


@dataclass(slots=True)
class Words:
    """The words of a span, and what became of each (`grounded` maps the stem to why)."""

    content: list[str]
    grounded: dict[str, str]
    strong: list[Fact]
    failed: list[str]
    derived: bool = False


def alike(one: str, other: str) -> bool:
    """Return whether two stems stand for the same state or deed."""
    return one == other or any(one in group and other in group for group in _ALIKE)


def polarity(span: str, at: int) -> bool:
    """Return whether what stands at an offset of a span is denied."""
    cuts = sorted((m.end() for m in _CUT.finditer(span, 0, at)), reverse=True) if at else []
    cut = 0
    for here, end in zip(cuts, (at, *cuts), strict=False):
        # `has not been canceled, refunded, or returned`: a denial covers the list of single words after it.
        part = span[here:end].strip(" ,*")
        if span[:here].rstrip().endswith((",", "or", "nor")) and len(part.split()) <= 2 and "'" not in part:
            continue
        cut = here
        break
    before = span[cut:at]
    return _NEGATION.search(before[-80:] if len(cuts) and not cut else before[-45:]) is not None


_CUT: Final = re.compile(r"[,;.\u2014\u201d\"]| but | and | or | nor ")
_GOVERNS: Final = re.compile(
    r"(?:\b(?:no|not|non|never|without|none|zero|nothing|cannot)|n['\u2019]t)\W+(?:(?:the|a|an|any|yet|been) )?$",
    re.IGNORECASE,
)
_NONE_OF: Final = re.compile(r"\b(?:no|zero|without|without any|free of|not any)\W+(?:[a-z-]+\W+)?$", re.IGNORECASE)


def denied_at(span: str, at: int) -> bool:
    """Return whether a denial stands right before an offset: further off it may deny a verb, not what is there."""
    return polarity(span, at) and _GOVERNS.search(span[max(0, at - 30) : at]) is not None


def none_of(span: str, at: int) -> bool:
    """Return whether what stands at an offset is said to be none: `no fee`, `without any fee`, not `does not apply`."""
    return _NONE_OF.search(span[max(0, at - 30) : at]) is not None


def empty(value: Any) -> bool:
    """Return whether a value says no, none or nothing."""
    if (
        value is None
        or value is False
        or (isinstance(value, (int, Decimal)) and not isinstance(value, bool) and value == 0)
    ):
        return True
    return isinstance(value, str) and value.lower() in ("", "none", "no", "false", "n/a", "not_included", "null")


def stems_of_call(call: CallRecord) -> frozenset[str]:
    """Return the stems of a tool's name and of the status its result gives."""
    body = call.call.result.body if call.call.result is not None else None
    status = body.get("status") if isinstance(body, Mapping) else None
    named = key_stems(call.call.tool)
    verb = call.call.tool.lower().split("_")[0]
    if "booking" in call.call.tool.lower() and verb not in ("create", "make", "add", "new"):
        named -= {"book"}  # `cancel_booking` books nothing
    return named | key_stems(status) if isinstance(status, str) and len(status) < 40 else named
