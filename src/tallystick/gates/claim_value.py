"""Does a receipt state the claimed value: at that field, exactly, under its declared type, on both channels?

A free claim is derived in declared ways only: the field itself, an argument of a write that was done, the members of
the one list, a count of a complete list. Words in a text are never read for values.
Source: evidence-carrying termination, checks 5 (value replay) and 6 (exact transform).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from tallystick.contracts.types import Contract, Tool
from tallystick.errors import InputError
from tallystick.gates.claim_evidence import DONE, EXISTS, Record, records
from tallystick.gates.claim_reads import complete, items_of
from tallystick.model import jsontext
from tallystick.model.decision import Reason
from tallystick.model.pointer import MISSING, resolve, split
from tallystick.model.proposal import Claim
from tallystick.model.values import EXACT, EntityRef, Money, Quantity, Type, decimal_of, same
from tallystick.view import ReceiptRecord, View
from tallystick.view.keys import id_text, key_value

CONTENT: Final = frozenset({"content", "text"})
"""Reserved fields: the whole of a result that is only text."""
_NUMBER: Final = re.compile(r"(?<![\w.,])[+-]?[0-9][0-9.,]*")
_WORD: Final = re.compile(r"[^\W_]+")
_MONEY_TEXT: Final = Type(name="money")
_NODES: Final = 20_000


@dataclass(slots=True)
class Support:
    """What one receipt says about a claim.

    It supports it, it contradicts or lacks it (`reasons`), or its own channels disagree (`conflicts`).
    """

    supported: bool = False
    reasons: list[Reason] = field(default_factory=list)
    conflicts: list[Reason] = field(default_factory=list)


def support(view: View, contract: Contract, claim: Claim, receipt: ReceiptRecord) -> Support:
    """Return what a paired receipt says about the claimed value."""
    call = receipt.call
    assert call is not None
    tool = contract.tools.get(call.tool)
    subject = claim.subject
    about = [Record((), receipt.value)] if subject is None else records(contract, receipt, subject)
    if call.effect == "write" and claim.field in (DONE, call.tool):
        return _effect(view, claim, receipt)
    if claim.field == EXISTS:
        return _existence(contract, claim, receipt, about)
    if not about:
        return Support()  # it speaks of something else; that reason is given already
    stated, declared, record = look_up(contract, tool, about, claim.field, subject)
    if stated is not MISSING:
        return _compare(claim, receipt, stated, declared, record)
    if call.effect == "write" and claim.field in call.args:
        return _asked(claim, receipt)
    if claim.field in CONTENT and isinstance(receipt.value, str):
        return _settle(claim, receipt, receipt.value, same(receipt.value, claim.value))
    listed = _listed(tool, receipt, about)
    if isinstance(claim.value, list) and claim.quantifier in ("one", "all"):
        members = _members(listed, claim.field)
        if members is not None:
            return _settle(claim, receipt, members, same(members, claim.value))
    if claim.quantifier == "count" and listed is not None and claim.field in _count_names(tool):
        return _settle(claim, receipt, len(listed), same(len(listed), claim.value))
    return Support(reasons=list(_absent(claim, receipt, listed)))


def look_up(
    contract: Contract, tool: Tool | None, about: list[Record], name: str, subject: EntityRef | None
) -> tuple[Any, Type | None, Any]:
    """Return (value, declared type, record it sits in) of a field.

    It is looked up where the contract says, else by its dotted path in the record, and nowhere else: a member of that
    name inside another object is about something else. The value is `MISSING` where nothing stands there.
    """
    declared = _declared(contract, tool, name, subject)
    for record in about:
        tokens = record.rule.fields.get(name) if record.rule is not None else None
        if tokens is not None:
            found = resolve(record.value, tokens)
            if found is not MISSING:
                return found, declared, record.value
    for record in about:
        found = resolve(record.value, tuple(name.split(".")))
        if found is not MISSING:
            return found, declared, _holder(record.value, name)
    return MISSING, declared, None


def _holder(value: Any, name: str) -> Any:
    return resolve(value, tuple(name.split(".")[:-1]))


def _declared(contract: Contract, tool: Tool | None, name: str, subject: EntityRef | None) -> Type | None:
    kinds = [subject.kind] if subject is not None else [r.kind for r in (tool.yields if tool is not None else ())]
    for kind in kinds:
        entity = contract.entities.get(kind)
        found = entity.fields.get(name) if entity is not None else None
        if found is not None and found.name != "json":
            return found
    return None


# ---------------------------------------------------------------- comparing


def _compare(claim: Claim, receipt: ReceiptRecord, stated: Any, declared: Type | None, record: Any) -> Support:
    if claim.field in _dropped(receipt):
        return Support(reasons=[_partial_field(claim, receipt)])
    problem, equal = agrees(claim.value, stated, declared, record)
    if problem is not None:
        return Support(reasons=[_mismatch(claim, receipt, stated, "claim.type", problem)])
    # A declared field has one reading; without a declaration the two channels of a result count the same.
    others = [] if declared is not None else other_readings(receipt, claim.field, stated)
    if others:
        text = f"the structured result says {_short(stated)}, its text {', '.join(map(str, others[:3]))}"
        conflict = Reason(
            code="evidence.conflict", message=text, reverses="a fresh read on which both agree", where=claim.field,
            refs=(receipt.seq,),
        )  # fmt: skip
        if equal or any(same(claim.value, o) for o in others):
            return Support(conflicts=[conflict])
    if equal:
        return Support(supported=True)
    code = "claim.unit" if unit_apart(claim.value, stated, declared, record) else "claim.mismatch"
    return Support(reasons=[_mismatch(claim, receipt, stated, code, "")])


def agrees(claimed: Any, stated: Any, declared: Type | None, record: Any) -> tuple[str | None, bool]:
    """Return (why the claimed value does not fit the declared type, whether both are the same value)."""
    if declared is None:
        money = _as_money(claimed, stated, record)
        return None, same(claimed, stated) if money is None else money[0] == money[1]
    unit = _unit(declared, record)
    try:
        right = declared.parse(stated, unit=unit)
    except ValueError as bad:
        return f"the receipt's value does not fit: {bad}", False
    try:
        # The claim states a value, not the tool's wire form: no scale, and its own unit where it names one.
        plain_type = Type(
            name=declared.name, unit=declared.unit, item=declared.item, fields=declared.fields,
            optional=declared.optional,
        )  # fmt: skip
        left = plain_type.parse(claimed, unit=None if _states_unit(claimed) else unit)
    except ValueError as bad:
        return str(bad), False
    return None, bool(left == right)


def unit_apart(claimed: Any, stated: Any, declared: Type | None, record: Any) -> bool:
    """Return whether two amounts differ only by unit, currency or a power of ten: the sign of a misread scale."""
    pair: tuple[Any, Any] | None
    if declared is not None and declared.name in ("money", "quantity"):
        unit = _unit(declared, record)
        try:
            plain_type = Type(name=declared.name, unit=declared.unit)
            pair = (
                plain_type.parse(claimed, unit=None if _states_unit(claimed) else unit),
                declared.parse(stated, unit=unit),
            )
        except ValueError:
            return False
    else:
        pair = _as_money(claimed, stated, record)
    if pair is None:
        return False
    left, right = pair
    if isinstance(left, Money) and isinstance(right, Money) and left.currency != right.currency:
        return True
    if isinstance(left, Quantity) and isinstance(right, Quantity) and left.unit != right.unit:
        return True
    return _power_of_ten(left.amount, right.amount)


def _power_of_ten(left: Decimal, right: Decimal) -> bool:
    if not left or not right or left == right:
        return False
    return left.normalize(EXACT).as_tuple().digits == right.normalize(EXACT).as_tuple().digits


def _states_unit(value: Any) -> bool:
    return isinstance(value, str) and len(value.split()) == 2


def _unit(declared: Type, record: Any) -> str | None:
    if declared.unit_from is None:
        return None
    stated = resolve(record, split(declared.unit_from))
    return stated if isinstance(stated, str) else None


def _as_money(claimed: Any, stated: Any, record: Any) -> tuple[Money, Money] | None:
    """Return both as money where the claim names a currency and the record states one beside the amount."""
    if not _states_unit(claimed) or not isinstance(record, Mapping) or isinstance(stated, bool):
        return None
    currency = record.get("currency")
    if not isinstance(currency, str):
        return None
    try:
        return _MONEY_TEXT.parse(claimed), _MONEY_TEXT.parse(stated, unit=currency)
    except ValueError:
        return None


def other_readings(receipt: ReceiptRecord, name: str, stated: Any) -> list[Any]:
    """Return what the text channel says about a field where that is not what the structured channel says.

    A JSON text is compared field by field. Prose counts only where it uses the field's name and holds numbers, none of
    which is the stated one.
    """
    if receipt.body.structured is None or not receipt.text:
        return []
    try:
        parsed = jsontext.loads(receipt.text)
    except InputError:
        parsed = None
    if isinstance(parsed, Mapping):
        found = resolve(parsed, tuple(name.split(".")))
        return [] if found is MISSING or same(found, stated) else [found]
    if isinstance(stated, bool) or not isinstance(stated, (int, Decimal)):
        return []
    words = {w.lower() for w in _WORD.findall(receipt.text)}
    if not set(name.rpartition(".")[2].lower().split("_")) <= words:
        return []
    numbers: list[Any] = []
    for match in _NUMBER.finditer(receipt.text):
        try:
            numbers.append(decimal_of(match.group().rstrip(".,")))
        except ValueError:
            continue
    return [] if any(same(n, stated) for n in numbers) else numbers


# ---------------------------------------------------------------- declared derivations of a free claim


def _effect(view: View, claim: Claim, receipt: ReceiptRecord) -> Support:
    call = receipt.call
    assert call is not None
    effects = view.effects_of_call(call.id)
    mine = [e for e in effects if claim.subject is None or e.item is None or e.item == claim.subject.id]
    done = bool(mine) and all(e.status == "done" for e in mine)
    if claim.value is True:
        if done:
            return Support(supported=True)
        left = [e.item or call.tool for e in mine if e.status != "done"]
        return Support(reasons=[_not_done(receipt, left)])
    if claim.quantifier == "count":
        return Support(supported=True)  # counted over all cited receipts, in the claim gate
    if claim.value is not False:
        return Support(reasons=[_mismatch(claim, receipt, done, "claim.type", f"`{claim.field}` is true or false")])
    if done:
        return Support(reasons=[denied(receipt)])
    if mine and all(e.status == "no_effect" for e in mine):
        return Support(supported=True)
    text = "whether it was done is not known"
    return Support(reasons=[_mismatch(claim, receipt, None, "claim.unsupported", text)])


def _not_done(receipt: ReceiptRecord, left: list[str]) -> Reason:
    return Reason(
        code="claim.unsupported",
        message=f"nothing shows that it was done for {', '.join(left[:10]) or 'this call'}",
        reverses="a receipt that shows success",
        refs=(receipt.seq,),
    )


def denied(receipt: ReceiptRecord) -> Reason:
    """Return the reason against a denial of something a receipt shows was done."""
    late = receipt.body.late
    call = receipt.call
    return Reason(
        code="claim.contradicted_late" if late else "claim.contradicted_earlier",
        message=f"{call.tool if call is not None else 'the call'} did take effect"
        + ("; its result came late" if late else ""),
        reverses="a claim that agrees with that receipt",
        refs=(receipt.seq,),
    )


def _existence(contract: Contract, claim: Claim, receipt: ReceiptRecord, about: list[Record]) -> Support:
    call = receipt.call
    assert call is not None
    tool = contract.tools.get(call.tool)
    there = any(_located(r, claim.subject) for r in about)
    if not isinstance(claim.value, bool):
        return Support(reasons=[_mismatch(claim, receipt, there, "claim.type", "`exists` is true or false")])
    if claim.value and there:
        return Support(supported=True)
    if claim.value:
        text = f"no record in the result states the id of {claim.subject}"
        return Support(reasons=[_mismatch(claim, receipt, there, "claim.unsupported", text)])
    if there:
        return Support(reasons=[_mismatch(claim, receipt, there, "claim.mismatch", "")])
    _, partial = complete(tool, [receipt])
    if not partial and about and items_of(tool, receipt) != []:
        text = "the answer is not empty, so it does not show that nothing is there"
        return Support(reasons=[_mismatch(claim, receipt, there, "claim.unsupported", text)])
    return Support(supported=not partial, reasons=list(partial))


def _located(record: Record, subject: EntityRef | None) -> bool:
    """Return whether a record states the subject's very id: where the contract says, else as one of its members."""
    if subject is None:
        return False
    if record.rule is not None and record.rule.id is not None:
        stated = resolve(record.value, record.rule.id)
        return stated is not MISSING and id_text(stated) == subject.id
    members = record.value.values() if isinstance(record.value, Mapping) else (record.value,)
    return any(id_text(m) == subject.id for m in members)


def _asked(claim: Claim, receipt: ReceiptRecord) -> Support:
    """A write that was done did what its arguments said, except for what the result says was dropped."""
    call = receipt.call
    assert call is not None
    if claim.field in _dropped(receipt):
        return Support(reasons=[_partial_field(claim, receipt)])
    return _settle(claim, receipt, call.args[claim.field], same(call.args[claim.field], claim.value))


def _dropped(receipt: ReceiptRecord) -> frozenset[str]:
    """Return the fields a partial result names as not applied."""
    if receipt.outcome != "partial" or not receipt.pointer:
        return frozenset()
    named = resolve(receipt.value, tuple(receipt.pointer.strip("/").split("/")))
    return frozenset(n for n in named if isinstance(n, str)) if isinstance(named, list) else frozenset()


def _partial_field(claim: Claim, receipt: ReceiptRecord) -> Reason:
    return Reason(
        code="result.partial",
        message=f"the result says that `{claim.field}` was not applied",
        reverses=f"a read that shows `{claim.field}`",
        where=receipt.pointer,
        refs=(receipt.seq,),
    )


def _listed(tool: Tool | None, receipt: ReceiptRecord, about: list[Record]) -> list[Any] | None:
    """Return the one list of the answer: the declared items, else the only list in the record."""
    declared = items_of(tool, receipt)
    if declared is not None:
        return declared
    lists = [v for r in about if isinstance(r.value, Mapping) for v in r.value.values() if isinstance(v, list)]
    return lists[0] if len(lists) == 1 else None


def _members(listed: list[Any] | None, name: str) -> list[Any] | None:
    if listed is None or not all(isinstance(i, Mapping) and name in i for i in listed):
        return None
    return [i[name] for i in listed]


def _count_names(tool: Tool | None) -> frozenset[str]:
    """Field names that mean "how many are listed": `count`, and the list's own name with `_count`."""
    tokens = tool.complete.items if tool is not None and tool.complete is not None else ()
    return frozenset({"count", *((tokens[-1], f"{tokens[-1]}_count") if tokens else ())})


def _settle(claim: Claim, receipt: ReceiptRecord, stated: Any, equal: bool) -> Support:
    if equal:
        return Support(supported=True)
    return Support(reasons=[_mismatch(claim, receipt, stated, "claim.mismatch", "")])


def _absent(claim: Claim, receipt: ReceiptRecord, listed: list[Any] | None) -> Iterator[Reason]:
    if claim.quantifier == "count" and listed is None and not isinstance(receipt.value, str):
        yield Reason(
            code="claim.not_derivable",
            message=f"nothing in the result is a list that `{claim.field}` counts",
            reverses="a read that lists the items, or a slot with a derivation",
            where=claim.field,
            refs=(receipt.seq,),
        )
    elsewhere = _elsewhere(receipt.value, claim.value)
    if elsewhere is not None:
        yield Reason(
            code="claim.other_field",
            message=f"{_short(claim.value)} stands at `{elsewhere}`, not at `{claim.field}`",
            reverses=f"a receipt that states `{claim.field}`",
            where=claim.field,
            refs=(receipt.seq,),
        )
        return
    yield Reason(
        code="claim.value_absent",
        message=f"the result has no `{claim.field}`; words in a text are not read for values",
        reverses=f"a receipt that states `{claim.field}`",
        where=claim.field,
        refs=(receipt.seq,),
    )


def _elsewhere(value: Any, wanted: Any) -> str | None:
    """Return the name under which a structured result states `wanted`, other than trivially (true, false, null)."""
    if wanted is None or isinstance(wanted, (bool, list, dict)):
        return None
    stack: list[tuple[str, Any]] = [("", value)]
    for _ in range(_NODES):
        if not stack:
            return None
        name, here = stack.pop()
        if isinstance(here, Mapping):
            stack.extend((str(k), v) for k, v in here.items())
        elif isinstance(here, list):
            stack.extend((name, v) for v in here)
        elif name and same(here, wanted):
            return name
    return None


def _mismatch(claim: Claim, receipt: ReceiptRecord, stated: Any, code: str, why: str) -> Reason:
    text = why or f"`{claim.field}` is {_short(stated)} in the receipt, not {_short(claim.value)}"
    return Reason(
        code=code,
        message=text,
        reverses="the value as the receipt states it",
        where=claim.field,
        refs=(receipt.seq,),
    )


def _short(value: Any) -> str:
    text = f"`{value}`" if isinstance(value, str) else str(key_value(value))
    return text if len(text) <= 60 else text[:57] + "..."
