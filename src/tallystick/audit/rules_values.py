"""Values that came from nowhere: in the arguments of a write, and in the final answer."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from tallystick.audit.case import Case
from tallystick.audit.step import Step, is_id_name
from tallystick.audit.support import Arithmetic, said, scaled, scaled_text, spellings, stands

_CODE: Final = re.compile(r"[A-Z](?<![\w-].)[A-Z0-9]*(?:[-_][A-Z0-9]+)+\b")
_DASHED: Final = re.compile(r"[-_][A-Z0-9]")
_DIGIT: Final = re.compile(r"\d")
_DOLLARS: Final = re.compile(r"\$\s?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)")
_SIGNED: Final = re.compile(r"[€£¥]\s?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)")
_CURRENCY: Final = re.compile(
    r"[UEGCJ](?:SD|UR|BP|HF|PY) (\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"|(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?(?:€|(?:USD|EUR|GBP|CHF|JPY|dollars|euros)\b)"
)
_CURRENCIES: Final = ("USD", "EUR", "GBP", "CHF", "JPY", "€", "dollars", "euros")


def from_nowhere(case: Case) -> None:
    """An identifier or amount in a write's arguments that no earlier result or user message contained."""
    seen: set[tuple[str, Any]] = set()
    for step in case.writes:
        if step.came == "rejected":
            continue
        for pair in step.target:
            if pair not in seen:
                seen.add(pair)
                if type(pair[1]) is str:
                    _identifier(case, step, *pair)
                elif type(pair[1]) is int:
                    _number(case, step, *pair)
        for name in step.amounts:
            value = step.args[name]
            if (type(value) is int or type(value) is Decimal) and value and (name, value) not in seen:
                seen.add((name, value))
                _number(case, step, name, value)


def _identifier(case: Case, step: Step, name: str, value: str) -> None:
    if _DIGIT.search(value) is None or said(case, value, step.upto):
        return
    case.find(
        "args.unsupported_id",
        "error" if step.realised else "warning",
        f"`{step.call.tool}` was given `{name}` `{value[:60]}`, which no user or tool had said",
        step=step,
        pointer=f"/args/{name}",
    )


def _number(case: Case, step: Step, name: str, value: Any) -> None:
    if said(case, value, step.upto):
        return
    is_id = is_id_name(name)
    exact = scaled(value)
    sums = Arithmetic(case, step.upto)
    if not is_id and exact is not None and sums.follows(exact):
        case.find(
            "args.derived_amount",
            "info",
            f"`{step.call.tool}` was given `{name}` `{value}`, which nobody had said, though it follows from what was",
            step=step,
            pointer=f"/args/{name}",
        )
        return
    certain = is_id or exact is None or not sums.reachable(exact)
    case.find(
        "args.unsupported_id" if is_id else "args.unsupported_amount",
        "error" if step.realised and certain else "warning",
        f"`{step.call.tool}` was given `{name}` `{value}`, which no user or tool had said",
        step=step,
        pointer=f"/args/{name}",
    )


def answer(case: Case) -> None:
    """Amounts and identifiers in the final answer that no result or user message supports, nor simple arithmetic."""
    if not case.steps:
        return
    for final in reversed(case.trace.messages):
        if final.role == "assistant" and final.text:
            break
    else:
        return
    words = final.text
    text, upto = case.evidence.text, case.evidence.size
    for code in dict.fromkeys(_CODE.findall(words)) if _DASHED.search(words) else ():
        # A write's result that repeats its own arguments does support the answer: that is what was recorded.
        if _DIGIT.search(code) and not stands(text, code.encode(), upto, number=False):
            _unsupported_code(case, code, final.index)
    amounts: list[str] = _DOLLARS.findall(words) if "$" in words else []
    if "€" in words or "£" in words or "¥" in words:
        amounts += _SIGNED.findall(words)
    if not amounts:
        for name in _CURRENCIES:
            if name in words:
                amounts = [a or b for a, b in _CURRENCY.findall(words)]
                break
    if not amounts:
        return
    missing = []
    for amount in dict.fromkeys(amounts):
        digits = amount.replace(",", "")
        if stands(text, digits.encode(), upto, number=True):
            continue  # as written: nearly always
        if digits.strip("0.") and not any(stands(text, s, upto, number=True) for s in spellings(Decimal(digits))):
            missing.append(amount)
    if not missing:
        return
    sums = Arithmetic(case, upto, [n for n in (scaled_text(a.encode()) for a in amounts) if n >= 0])
    for amount in missing:
        if not sums.follows(scaled_text(amount.encode())):
            case.find(
                "answer.unsupported_amount",
                "warning",
                f"the final answer states the amount `{amount}`, which nothing in the record supports",
                at=final.index,
            )


def _unsupported_code(case: Case, code: str, at: int) -> None:
    if any(code in (v for v in s.args.values() if isinstance(v, str)) for s in case.steps):
        return  # the agent's own argument: `args.unsupported_id` speaks about it where it matters
    case.find(
        "answer.unsupported_id",
        "error",
        f"the final answer names `{code[:60]}`, which no user or tool had said",
        at=at,
    )
