"""What is handed back where an effect is known to have happened, and the tool's own answer to it was lost.

A status query, or a person, settled that the call took effect. What the query said is evidence about the effect; it is
not what the tool would have returned, and is never passed off as that.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tallystick.errors import TallystickError
from tallystick.model import jsontext
from tallystick.model.decision import Decision
from tallystick.runtime.copies import copied
from tallystick.view import CallRecord, ReceiptRecord, View


class LostAnswerError(TallystickError, KeyError):
    """A field of a lost answer was read as if the tool had returned it."""


class LostAnswer(dict[str, Any]):
    """In the place of a tool's result: the call took effect, and its own answer was lost.

    A mapping of plain JSON values, so that it can be shown and stored as it is: `happened` (true), `answer_lost`
    (true), `tool`, `call`, `settled_by` (`query` or `principal`), and for a query `evidence`: the read's tool, receipt
    and result. Any other field raises `LostAnswerError`: the tool would have returned it, and nobody knows it.
    `str()` is the text for an agent.
    """

    def __missing__(self, key: object) -> NoReturn:
        raise LostAnswerError(
            f"`{key}` of the answer of {self['tool']} is not known: the call took effect, its own answer was lost",
            fix="ask again for what is needed with a read; `evidence` is what showed that it happened",
        )

    def __str__(self) -> str:
        by = "a person"
        if "evidence" in self:
            by = f"{self['evidence']['tool']} (receipt {self['evidence']['receipt']})"
        text = f"{self['tool']} took effect (call {self['call']}), as {by} showed. Its own answer was lost."
        if "evidence" in self:
            text += f"\nEvidence: {jsontext.dumps(self['evidence'])}"
        return text


def handed_back(view: View, decision: Decision) -> tuple[ReceiptRecord | None, LostAnswer | None]:
    """Return the receipt with the tool's own answer to the effect that `decision` hands back, or what stands for it.

    Of a batch whose items took several calls, the last call's.
    """
    recorded = view.receipt(decision.recorded) if decision.recorded is not None else None
    refs = decision.reasons[0].refs
    call = next((c for c in view.calls.values() if refs and c.seq == refs[0]), None)
    if call is None:
        return recorded, None
    own = next((r for r in reversed(call.receipts) if r.outcome in ("ok", "partial")), None)
    if own is not None:
        return (recorded if recorded is not None and recorded.call is call and recorded.good else own), None
    return None, _lost(call, recorded)


def _lost(call: CallRecord, shown: ReceiptRecord | None) -> LostAnswer:
    told: dict[str, Any] = {"happened": True, "answer_lost": True, "tool": call.tool, "call": call.id}
    if shown is None or shown.call is None or shown.call is call:
        return LostAnswer(told, settled_by="principal")
    evidence = {"tool": shown.call.tool, "receipt": shown.id, "result": copied(shown.value)}
    return LostAnswer(told, settled_by="query", evidence=evidence)
