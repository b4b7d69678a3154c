"""A deliberately naive twin of the claim and stop gates: it scans the whole history for every question.

It knows the rules of `claim_worlds`' contract by heart instead of reading them from it, and shares with the product
only how one result is judged (`view.outcome.judge`) and exact values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tallystick.contracts.types import Contract
from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.model.proposal import Claim, Stop
from tallystick.model.values import decimal_of
from tallystick.view.outcome import judge

TASK_INVOICE = "I-1"


@dataclass
class Answered:
    """One receipt, judged."""

    id: str
    seq: int
    value: Any
    outcome: str
    code: str
    replica: bool
    truncated: bool

    @property
    def good(self) -> bool:
        return self.outcome == "ok" and not self.replica


@dataclass
class Asked:
    """One call with everything that came back."""

    id: str
    seq: int
    tool: str
    args: dict[str, Any]
    answers: list[Answered] = field(default_factory=list)

    @property
    def live(self) -> list[Answered]:
        return [a for a in self.answers if not a.replica]

    @property
    def done(self) -> bool:
        return any(a.outcome == "ok" for a in self.live)

    @property
    def doubtful(self) -> bool:
        """A write that nobody can vouch for."""
        return self.tool == "pay" and not self.done and (not self.live or self.live[-1].outcome != "no_effect")


def history(events: tuple[e.Sealed, ...], contract: Contract) -> tuple[list[Asked], dict[str, int]]:
    """Return every call in order, and the orphans' seqs."""
    calls: list[Asked] = []
    orphans: dict[str, int] = {}
    for sealed in events:
        body, seq = sealed.event.body, sealed.event.seq
        if isinstance(body, e.Intent):
            calls.append(Asked(body.call, seq, body.tool, jsontext.loads(body.args.raw)))
        elif isinstance(body, e.Receipt):
            call = next((c for c in calls if c.id == body.call), None)
            if call is None:
                orphans[body.id] = seq
                continue
            value = jsontext.loads(body.result.raw) if body.result is not None else None
            judged = judge(
                contract.tools[call.tool], "write" if call.tool == "pay" else "read", call.args, value,
                flag=body.flag, transport_error=body.error,
                target_ids=(call.args["id"],) if "id" in call.args else (),
            )  # fmt: skip
            call.answers.append(
                Answered(body.id, seq, value, judged.outcome, judged.code, body.source == "replica", body.truncated)
            )
    return calls, orphans


def last_write(calls: list[Asked], invoice: str) -> int:
    return max((c.seq for c in calls if c.tool == "pay" and c.args["id"] == invoice), default=0)


def write_over(calls: list[Asked], invoice: str) -> int:
    """Where the newest rest of a write to an invoice is: a read before it may have come before the change."""
    return max((a.seq for c in calls if c.tool == "pay" and c.args["id"] == invoice for a in c.live), default=0)


def speaks(call: Asked, answer: Answered, invoice: str) -> Any:
    """Return the record about an invoice in an answer, or None."""
    if call.tool != "list":
        if call.args["id"] == invoice:
            return answer.value if answer.value is not None else {}
        if call.tool == "get" and isinstance(answer.value, dict) and answer.value.get("id") == invoice:
            return answer.value
        return None
    items = answer.value.get("items", []) if isinstance(answer.value, dict) else []
    return next((i for i in items if i["id"] == invoice), None)


def stale(calls: list[Asked], call: Asked, invoice: str) -> bool:
    if call.tool == "pay":
        return call.seq < last_write(calls, invoice)
    return during_a_write(calls, call.seq, invoice)


def during_a_write(calls: list[Asked], seq: int, invoice: str) -> bool:
    """A read before the last write, or while one was or still is under way, does not show its change."""
    writes = [c for c in calls if c.tool == "pay" and c.args["id"] == invoice]
    if any(not c.live and c.seq < seq for c in writes):
        return True
    return seq < max(last_write(calls, invoice), write_over(calls, invoice))


def outcome_codes(call: Asked, answer: Answered, denial: bool = False) -> set[str]:
    """Why an answer does not show that its call went well."""
    codes = {"receipt.replica"} if answer.replica else set()
    if answer.outcome == "ok" or (denial and answer.outcome == "no_effect"):
        return codes
    if call.tool == "pay" and call.done:
        return codes | {"claim.contradicted_earlier"}
    codes.add(answer.code)
    if call.doubtful and answer.outcome == "unknown" and call.live:
        codes.add("doubt.open")
    return codes


def find(calls: list[Asked], ref: str) -> tuple[Asked, Answered] | None:
    return next(((c, a) for c in calls for a in c.answers if a.id == ref), None)


# ---------------------------------------------------------------- free claims


def free(calls: list[Asked], orphans: dict[str, int], claim: Claim) -> set[str]:
    assert claim.subject is not None
    invoice = claim.subject.id
    codes: set[str] = set()
    cited: list[tuple[Asked, Answered]] = []
    for ref in claim.cites:
        if ref in orphans:
            codes.add("receipt.orphan")
        elif (found := find(calls, ref)) is None:
            codes.add("receipt.forged")
        else:
            cited.append(found)
    if not claim.cites:
        codes.add("claim.uncited")
        held = [r for c in calls for a in c.answers if a.good and (r := speaks(c, a, invoice)) is not None]
        if not any(claim.field in r and r[claim.field] == claim.value for r in held):
            codes.add("claim.value_absent")
        if claim.value is False:
            done = [c for c in calls if c.tool == "pay" and c.args["id"] == invoice and c.done]
            codes |= {"claim.contradicted_earlier"} if done else set()
    for call, answer in cited:
        event = call.tool == "pay" and claim.field == "done"
        # A refusal, declared as such, is what shows that nothing was done.
        codes |= outcome_codes(call, answer, denial=event and claim.value is False and not call.done)
        if call.tool == "get" and isinstance(answer.value, dict) and answer.value.get("id") != call.args["id"]:
            codes.add("result.echo")
        absence = call.tool == "list" and claim.field == "exists" and claim.value is False
        if speaks(call, answer, invoice) is None and not absence:
            codes.add("evidence.other_entity")
        if not event and stale(calls, call, invoice):
            codes.add("evidence.stale")
        codes |= value_codes(call, answer, claim, invoice)
    if cited and claim.field not in ("exists", "done"):
        newest = max(a.seq for _, a in cited)
        later = [
            (a.seq, r[claim.field])
            for c in calls for a in c.answers
            if a.seq > newest and a.good and (r := speaks(c, a, invoice)) is not None and claim.field in r
        ]  # fmt: skip
        failed = [
            (a.seq, None)
            for c in calls if c.tool != "pay" and "id" in c.args for a in c.answers
            if a.seq > newest and not a.replica and a.code == "result.nested_error"
            and any(w.tool == "pay" and w.args["id"] == c.args["id"] for w, _ in cited)
        ]  # fmt: skip
        if failed or any(v != claim.value for _, v in later):
            codes.add("claim.contradicted_readback")
    return codes


def value_codes(call: Asked, answer: Answered, claim: Claim, invoice: str) -> set[str]:
    record = speaks(call, answer, invoice)
    if call.tool == "pay" and claim.field == "done":
        if claim.value is True:
            return set() if call.done else {"claim.unsupported"}
        if call.done:
            return {"claim.contradicted_earlier"}
        return {"claim.unsupported"} if call.doubtful else set()
    if claim.field == "exists":
        there = record is not None and record.get("id") == invoice
        if claim.value is True:
            return set() if there else {"claim.unsupported"}
        if there:
            return {"claim.mismatch"}
        if (
            call.tool != "list"
            or answer.truncated
            or not isinstance(answer.value, dict)
            or not answer.value["complete"]
        ):
            return {"evidence.partial"}
        return set()
    if record is None:
        return set()
    if claim.field in record:
        right = record[claim.field]
        if right == claim.value:
            return set()
        if claim.field == "amount_due":
            a, b = decimal_of(claim.value), decimal_of(right)
            return (
                {"claim.unit"}
                if a.normalize().as_tuple().digits == b.normalize().as_tuple().digits
                else {"claim.mismatch"}
            )
        return {"claim.mismatch"}
    for name, value in (answer.value or {}).items():
        inner = value.values() if isinstance(value, dict) else [
            v for i in value for v in i.values()] if isinstance(value, list) else [value]  # fmt: skip
        if any(v == claim.value and not isinstance(v, bool) for v in inner) and not isinstance(claim.value, bool):
            return {"claim.other_field"} if name else set()
    return {"claim.value_absent"}


# ---------------------------------------------------------------- slots


def slot(calls: list[Asked], orphans: dict[str, int], claim: Claim) -> set[str]:
    codes: set[str] = set()
    cited: list[str] = []
    for ref in claim.cites:
        if ref in orphans:
            codes.add("receipt.orphan")
        elif (found := find(calls, ref)) is None:
            codes.add("receipt.forged")
        else:
            codes |= outcome_codes(*found)
            cited.append(ref)
    about = claim.slot in ("amount", "status")
    if about and claim.subject is not None and claim.subject.id != TASK_INVOICE:
        codes.add("claim.scope")
    money = claim.slot in ("amount", "open")
    value: Any = claim.value
    if money:
        try:
            value = decimal_of(claim.value.removesuffix(" EUR"))
        except ValueError:
            codes.add("claim.type")
            value = None
    right, used, wrong = {"amount": amount, "open": open_sum, "status": status}[claim.slot or ""](calls)
    if wrong:
        return codes | wrong
    if used and any(c not in used for c in cited):
        codes.add("claim.unsupported")
    if value is not None and value != right:
        same_digits = money and value and right and _digits(value) == _digits(right)
        codes.add("claim.unit" if same_digits else "claim.mismatch")
    return codes


def _digits(number: Decimal) -> tuple[int, ...]:
    return number.normalize().as_tuple().digits


Found = tuple[Any, list[str], set[str]]


def amount(calls: list[Asked]) -> Found:
    """What the newest payment of the task's invoice that went well says it paid."""
    mine = [c for c in calls if c.tool == "pay" and c.args["id"] == TASK_INVOICE]
    if any(c.doubtful for c in mine):
        return None, [], {"doubt.open"}
    good = [(c, a) for c in mine for a in c.answers if a.good]
    if not good:
        answers = sorted((a.seq, c.seq, c, a) for c in mine for a in c.answers)
        if answers:
            return None, [], outcome_codes(answers[-1][2], answers[-1][3])
        if any(a for c in calls if c.tool == "pay" for a in c.answers):
            return None, [], {"evidence.other_entity"}
        return None, [], {"evidence.missing"}
    call = min(((c, a) for c, a in good), key=lambda p: -_first_seq(p[0]))[0]
    answer = [a for a in call.answers if a.good][-1]
    if answer.truncated:
        return None, [], {"evidence.partial"}
    if stale(calls, call, TASK_INVOICE):
        return None, [], {"evidence.stale"}
    try:
        return decimal_of(answer.value["amount"]), [answer.id], set()
    except (ValueError, KeyError):
        return None, [], {"claim.not_derivable"}


def _first_seq(call: Asked) -> int:
    """Calls rank by their first good answer: an earlier payment's repeated answer does not make it the newest."""
    return next(a.seq for a in call.answers if a.good)


def open_sum(calls: list[Asked]) -> Found:
    """The sum over the newest complete listing."""
    lists = [(c, a) for c in calls if c.tool == "list" for a in c.answers]
    good = sorted(((c, a) for c, a in lists if a.good), key=lambda p: _first_seq(p[0]))
    if not good:
        last = max(lists, key=lambda p: p[1].seq, default=None)
        return None, [], outcome_codes(*last) if last is not None else {"evidence.missing"}
    newest: dict[str, tuple[Asked, Answered]] = {}
    for c, a in good:
        newest[c.id] = (c, a)
    call, answer = list(newest.values())[-1]  # one question, one page: its newest answer counts
    if answer.truncated or answer.value["complete"] is not True:
        return None, [], {"evidence.partial"}
    if any(stale(calls, call, item["id"]) for item in answer.value["items"]):
        return None, [], {"evidence.stale"}
    total = Decimal(0)
    for item in answer.value["items"]:
        if "status" not in item or (item["status"] == "open" and "amount_due" not in item):
            return None, [], {"claim.not_derivable"}
        if item["status"] == "open":
            total += decimal_of(item["amount_due"])
    return total, [answer.id], set()


def status(calls: list[Asked]) -> Found:
    """The newest fact about the task's invoice, if nothing was written since."""
    facts: list[tuple[int, int, str, str, bool, bool]] = []
    for c in calls:
        for a in c.answers:
            record = speaks(c, a, TASK_INVOICE) if a.good and c.tool != "pay" else None
            if record is None or record.get("id") != TASK_INVOICE or "status" not in record:
                continue
            echoed = c.tool != "get" or record["id"] == c.args["id"]
            facts.append((c.seq, a.seq, record["status"], a.id, echoed, a.truncated))
    if not facts:
        return None, [], {"evidence.missing"}
    newest = max(facts)
    if not newest[4]:
        return None, [], {"result.echo"}
    if newest[5]:
        return None, [], {"evidence.partial"}
    if during_a_write(calls, newest[0], TASK_INVOICE):
        return None, [], {"evidence.stale"}
    return newest[2], [newest[3]], set()


# ---------------------------------------------------------------- the stop


def stop(events: tuple[e.Sealed, ...], contract: Contract, proposal: Stop) -> set[str]:
    """Return every code that stands against a stop; empty means accept."""
    calls, orphans = history(events, contract)
    codes: set[str] = {"turn.truncated"} if proposal.truncated else set()
    if not any(c.tool == "pay" and c.args["id"] == TASK_INVOICE and c.done for c in calls):
        codes.add("obligation.open")
    for c in calls:
        if c.doubtful:
            codes.add("doubt.open")
        elif not c.answers and c.tool != "pay":
            codes.add("call.open")
    slots = [c.slot for c in proposal.claims if c.slot is not None]
    if "amount" not in slots:
        codes.add("coverage.open")
    if len(set(slots)) != len(slots):
        codes.add("coverage.twice")
    for one in proposal.claims:
        codes |= slot(calls, orphans, one) if one.slot is not None else free(calls, orphans, one)
    return codes
