"""Which reads support "all", "none" and "how many": complete ones, page by page, and not degraded.

A listing shows that something is there; that nothing else is there it shows only where the contract says how a complete
answer looks. Source: evidence-carrying termination, check 2 (scope) for quantified claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tallystick.contracts.types import Completeness, Tool
from tallystick.model.decision import Read, Reason
from tallystick.model.jsontext import dumps
from tallystick.model.pointer import MISSING, resolve
from tallystick.view import ReceiptRecord
from tallystick.view.keys import id_text, question_of

_FIRST = (None, "1", "0")


def items_of(tool: Tool | None, receipt: ReceiptRecord) -> list[Any] | None:
    """Return the listed items of a read: at the declared place, or the result itself where it is a list."""
    tokens = tool.complete.items if tool is not None and tool.complete is not None else ()
    found = resolve(receipt.value, tokens)
    return found if isinstance(found, list) else None


def complete(tool: Tool | None, receipts: Iterable[ReceiptRecord]) -> tuple[list[ReceiptRecord], tuple[Reason, ...]]:
    """Return the receipts that make up one complete answer, each page once, and why they are not complete, if so."""
    listed = list(receipts)
    cut = [r for r in listed if r.body.truncated]
    if cut and tool is not None and tool.complete is not None:
        return listed, (_partial(cut, "the result was cut off", "the whole result", None),)
    return whole_answer(tool, listed)


def whole_answer(
    tool: Tool | None, receipts: Iterable[ReceiptRecord]
) -> tuple[list[ReceiptRecord], tuple[Reason, ...]]:
    """As `complete`, but whether a single result was cut off is not asked.

    Receipts that differ in other arguments than the page are different questions; each must be complete.
    """
    listed = list(receipts)
    if not listed:
        return [], ()
    if tool is None or tool.complete is None:
        name = listed[0].call.tool if listed[0].call is not None else "the tool"
        once = [r for pages in _questions(Completeness(), listed) for r in pages.values()]
        return once, (_partial(listed, f"the contract does not say when an answer of {name} is complete", "", None),)
    rule = tool.complete
    for receipt in listed:
        for tokens in rule.degraded:
            if resolve(receipt.value, tokens) not in (MISSING, None, False, "", 0):
                return listed, (_partial([receipt], "the answer says it is degraded", "a read that is not", None),)
    kept: list[ReceiptRecord] = []
    reasons: list[Reason] = []
    for group in _questions(rule, listed):
        pages, reason = _pages(tool, rule, group)
        kept.extend(pages)
        if reason is not None:
            reasons.append(reason)
    return kept, tuple(reasons)


def _questions(rule: Completeness, receipts: Sequence[ReceiptRecord]) -> list[dict[str | None, ReceiptRecord]]:
    """Group receipts by their arguments apart from the page; keep the newest receipt of each page."""
    groups: dict[bytes, dict[str | None, ReceiptRecord]] = {}
    for receipt in receipts:
        question, page = question_of(rule, receipt.call.args if receipt.call is not None else {})
        pages = groups.setdefault(question, {})
        pages.pop(page, None)
        pages[page] = receipt
    return list(groups.values())


def _pages(
    tool: Tool, rule: Completeness, pages: dict[str | None, ReceiptRecord]
) -> tuple[list[ReceiptRecord], Reason | None]:
    """Walk from the first page to the last; a gap, or a last page that is not known to be one, is partial."""
    at = next((p for p in _FIRST if p in pages), MISSING)
    if at is MISSING:
        held = list(pages.values())
        return held, _partial(held, f"the first page of {tool.name} was not read", "the first page", None)
    walked: list[ReceiptRecord] = []
    seen: set[str | None] = set()
    while True:
        key = at if at is None or isinstance(at, str) else None
        receipt = pages.get(key)
        if receipt is None or key in seen:
            text = f"page {key} of {tool.name} was not read"
            return walked, _partial(walked, text, f"page {key}", _read(tool, rule, walked[-1], key))
        seen.add(key)
        walked.append(receipt)
        last, following = _ends(tool, rule, receipt, key)
        if last:
            return walked, None
        if following is None:
            return walked, _partial(walked, f"{tool.name} does not show that its answer is complete",
                                    "an answer that says it is complete", None)  # fmt: skip
        at = following


def _ends(tool: Tool, rule: Completeness, receipt: ReceiptRecord, page: str | None) -> tuple[bool, str | None]:
    """Return (this page is the last, the page that follows where it can be told)."""
    number = 1 if page is None else _page_number(page)
    after = str(number + 1) if number is not None and rule.page_arg is not None else None
    marker = resolve(receipt.value, rule.next) if rule.next is not None else MISSING
    following = id_text(marker) if marker not in (MISSING, None, "", False) else None
    if marker is True:
        following = after
    if rule.flag is not None:
        return resolve(receipt.value, rule.flag) is True, following or after
    if rule.next is not None:
        return marker in (MISSING, None, "", False), following
    if rule.page_size is not None:
        items = items_of(tool, receipt)
        return items is not None and len(items) < rule.page_size, after
    return rule.declared, after


def _page_number(page: str | None) -> int | None:
    if page is None or len(page) > 9 or not (page.isascii() and page.isdigit()):
        return None
    return int(page)


def _read(tool: Tool, rule: Completeness, receipt: ReceiptRecord, page: str | None) -> Read | None:
    if rule.page_arg is None or receipt.call is None:
        return None
    args = dict(receipt.call.args)
    number = _page_number(page)
    args[rule.page_arg] = page if number is None else number
    return Read(tool=tool.name, args=dumps(args))


def _partial(receipts: Sequence[ReceiptRecord], text: str, reverses: str, read: Read | None) -> Reason:
    return Reason(
        code="evidence.partial",
        message=text,
        reverses=f"read {reverses}" if reverses else "a source that the contract declares complete",
        refs=tuple(r.seq for r in receipts[:10]),
        reads=(read,) if read is not None else (),
    )
