"""Evidence requirements: what a consequential call needs established before it, for that very entity.

One function per requirement kind (specs "Evidence before action"). Each answers with `Met`, `Missing` (obtainable: the
gate holds and names the reads) or `Violated` (the gate refuses). Whatever cannot be evaluated is missing, never met.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final

from tallystick.contracts.types import Requirement
from tallystick.errors import ExpressionError
from tallystick.gates.answers import Answer, Met, Missing, Violated
from tallystick.gates.approval import approval_of
from tallystick.gates.doubt import what_it_lacked
from tallystick.gates.scope import Scope, entity_refs, named_by, scope_of
from tallystick.model.decision import Read, Reason
from tallystick.model.jsontext import dumps
from tallystick.model.pointer import MISSING, resolve
from tallystick.model.values import EntityRef, same
from tallystick.view import Choice, Fact, ReceiptRecord
from tallystick.view.keys import key_value

__all__ = ["Scope", "reads_for", "requirement", "scope_of"]

_WHEN_SEEN: Final = attrgetter("observed_seq")


def requirement(scope: Scope, rule: Requirement) -> Answer:
    """Return whether one requirement is met."""
    if rule.when is not None:
        applies = _condition(scope, rule)
        if applies is False:
            return Met()
    return _KINDS[rule.kind](scope, rule)


def _condition(scope: Scope, rule: Requirement) -> bool:
    """A requirement that may apply does: unknown `when` counts as true, so losing a fact never frees a call."""
    assert rule.when is not None
    if any(_fact_problem(scope, rule, alias, name) is not None for alias, name in entity_refs(rule.when.refs)):
        return True
    try:
        return rule.when.evaluate(scope.env) is not False
    except ExpressionError:
        return True


def _fact_problem(scope: Scope, rule: Requirement, alias: str, name: str) -> Reason | None:
    """Return why the fact `alias.name` cannot be relied on, or None where it can."""
    ref = scope.entities.get(alias)
    if ref is None:
        return Reason(
            code="evidence.missing",
            message=f"`{rule.id}`: it is not known which {alias} this call is about",
            reverses=f"an argument or a read that names the {alias}",
            where=rule.id,
        )
    fact = scope.view.facts(ref).get(name)
    if fact is None:
        return _absent(scope, rule, ref, name)
    if fact.problem is not None:
        text = f"is not usable: {fact.problem}"
        return _void(scope, rule, ref, name, "evidence.invalid", text, (fact.seq,))
    # Evidence about an entity is void after a later write to it, whatever the contract says about age.
    written = scope.view.last_write(ref)
    if fact.observed_seq < written:
        text = "was read before a later write to it"
        return _void(scope, rule, ref, name, "evidence.stale", text, (fact.seq, written))
    if isinstance(rule.fresh, int):
        age = None if fact.observed_at is None else (scope.call.now - fact.observed_at).total_seconds()
        if age is None or age > rule.fresh:
            return _void(scope, rule, ref, name, "evidence.stale", f"is older than {rule.fresh} s", (fact.seq,))
    return None


def _void(
    scope: Scope, rule: Requirement, ref: EntityRef, name: str, code: str, text: str, refs: tuple[int, ...]
) -> Reason:
    reads = reads_for(scope, ref, name)
    return Reason(
        code=code,
        message=f"`{rule.id}`: {name} of {ref} {text}",
        reverses=_hint(reads, ref, name) + (" again" if code == "evidence.stale" else ""),
        where=rule.id,
        refs=refs,
        reads=reads,
    )


def _absent(scope: Scope, rule: Requirement, ref: EntityRef, name: str) -> Reason:
    reads = reads_for(scope, ref, name)
    hint = _hint(reads, ref, name)
    known = next((e for e in scope.view.entities(ref.kind) if e != ref and name in scope.view.facts(e)), None)
    if known is not None:
        return Reason(
            code="evidence.other_entity",
            message=f"`{rule.id}`: {name} is known for {known}, not for {ref}",
            reverses=hint,
            where=rule.id,
            refs=(scope.view.facts(known)[name].seq,),
            reads=reads,
        )
    lacked = (what_it_lacked(scope.view, scope.contract, read.tool, ref, name) for read in reads)
    why = next(filter(None, lacked), "")
    message = f"`{rule.id}`: no receipt states {name} of {ref}" + (f"; {why}" if why else "")
    return Reason(code="evidence.missing", message=message, reverses=hint, where=rule.id, reads=reads)


def _hint(reads: tuple[Read, ...], ref: EntityRef, name: str) -> str:
    return f"call {reads[0].tool} for {ref}" if reads else f"a receipt that states {name} of {ref}"


def reads_for(scope: Scope, ref: EntityRef, name: str | None) -> tuple[Read, ...]:
    """Return the reads whose results would state `name` of `ref` (or that it exists), with the arguments known."""
    found = []
    for tool in scope.contract.tools.values():
        if tool.effect != "read" and not tool.effect_cases:
            continue
        for rule in tool.yields:
            if rule.kind != ref.kind or (name is not None and name not in rule.fields):
                continue
            args: dict[str, Any] = {}
            if rule.id_arg is not None:
                args[rule.id_arg] = ref.id
            for expr in tool.target:
                if expr.kind == ref.kind and len(expr.id.refs) == 1 and len(expr.id.refs[0]) == 2:
                    args[expr.id.refs[0][1]] = ref.id
            found.append(Read(tool=tool.name, args=dumps(args)))
            break
    # A keyed look-up before a listing: it names the entity.
    return tuple(sorted(found, key=lambda r: r.args == "{}"))


def _fact(scope: Scope, rule: Requirement) -> Answer:
    """`expr` over the arguments and the entities' facts is true."""
    assert rule.expr is not None
    missing: list[Reason] = []
    digests: list[str] = []
    seqs: list[int] = []
    for alias, name in entity_refs(rule.expr.refs):
        problem = _fact_problem(scope, rule, alias, name)
        if problem is not None:
            missing.append(problem)
            continue
        fact = scope.view.facts(scope.entities[alias])[name]
        digests.append(fact.digest)
        seqs.append(fact.seq)
    if missing:
        return Missing(tuple(missing))
    try:
        holds = rule.expr.evaluate(scope.env)
    except ExpressionError as bad:
        return Violated((_violated(rule, f"it cannot be evaluated: {bad.message}", seqs),), tuple(digests))
    if holds is True:
        return Met(tuple(digests))
    return Violated((_violated(rule, f"`{rule.expr.source}` does not hold", seqs),), tuple(digests))


def _violated(rule: Requirement, text: str, seqs: list[int]) -> Reason:
    return Reason(
        code="evidence.violated",
        message=f"`{rule.id}`: {rule.message or text}",
        reverses=f"a newer receipt, or other arguments, under which `{rule.expr.source if rule.expr else rule.id}`",
        where=rule.id,
        refs=tuple(seqs),
    )


def _known(scope: Scope, rule: Requirement) -> Answer:
    """The entity addressed has been read: by that very id, digit by digit."""
    assert rule.entity is not None
    missing: list[Reason] = []
    digests: list[str] = []
    for ref in named_by(rule.entity, scope.env) or (None,):
        if ref is None:
            missing.append(
                Reason(
                    code="evidence.unknown_entity",
                    message=f"`{rule.id}`: the call does not say which {rule.entity.kind} it is about",
                    reverses=f"an argument that names the {rule.entity.kind}",
                    where=rule.id,
                )
            )
            continue
        facts = scope.view.facts(ref)
        if scope.view.known(ref):
            newest = max(facts.values(), key=_WHEN_SEEN, default=None)
            if rule.fresh is not None and (newest is None or _aged(scope, rule, newest, (ref,))):
                missing.append(_too_old(rule, f"{ref} was read", f"a newer receipt that shows {ref}"))
            elif newest is not None:
                digests.append(newest.digest)
            continue
        reads = reads_for(scope, ref, None)
        near = [e for e in scope.view.entities(ref.kind) if ref.id and e.id.startswith(ref.id)]
        if near:
            names = ", ".join(e.id for e in near[:5])
            missing.append(
                Reason(
                    code="evidence.ambiguous_entity",
                    message=f"`{rule.id}`: `{ref.id}` is only the beginning of known ids ({names})",
                    reverses="the exact id, as a receipt gives it",
                    where=rule.id,
                    reads=reads,
                )
            )
        elif elsewhere := scope.view.kinds_of(ref.id):
            missing.append(
                Reason(
                    code="evidence.other_kind",
                    message=f"`{rule.id}`: `{ref.id}` is known as {elsewhere[0]}, not as {ref}",
                    reverses=f"the id of the {ref.kind}, as a receipt gives it",
                    where=rule.id,
                    reads=reads,
                )
            )
        else:
            missing.append(
                Reason(
                    code="evidence.unknown_entity",
                    message=f"`{rule.id}`: no receipt has shown {ref}",
                    reverses=f"call {reads[0].tool} for {ref}" if reads else f"a receipt that shows {ref}",
                    where=rule.id,
                    reads=reads,
                )
            )
    return Missing(tuple(missing)) if missing else Met(tuple(digests))


def _confirmed(scope: Scope, rule: Requirement) -> Answer:
    """The host recorded that the user chose this entity."""
    assert rule.entity is not None
    digests: list[str] = []
    for ref in named_by(rule.entity, scope.env) or (None,):
        chosen = scope.view.confirmed(ref) if ref is not None else None
        stale = ref is not None and chosen is not None and _outlived(scope, rule, ref, chosen)
        if chosen is None or stale:
            other = [e for e in scope.view.confirmed_of(rule.entity.kind) if e != ref]
            text = f"the user chose {other[-1]}, not {ref}" if other else f"the user has not chosen {ref}"
            if ref is None:
                text = f"the call does not say which {rule.entity.kind} it is about"
            elif stale:
                text = f"the user chose {ref} too long ago, or before a later write to it"
            reason = Reason(
                code="confirmation.missing",
                message=f"`{rule.id}`: {text}",
                reverses=f"a confirmation of {ref or rule.entity.kind} by the user, recorded by the host",
                where=rule.id,
            )
            return Missing((reason,))
        digests.append(chosen.digest)
    return Met(tuple(digests))


def _outlived(scope: Scope, rule: Requirement, ref: EntityRef, chosen: Choice) -> bool:
    """A choice stays good after writes and with time, unless the contract says otherwise."""
    if rule.fresh == "write":
        return chosen.seq < scope.view.last_write(ref)
    if rule.fresh is None:
        return False
    return chosen.at is None or (scope.call.now - chosen.at).total_seconds() > rule.fresh


def _argument(scope: Scope, rule: Requirement) -> Answer:
    """An argument equals the predecessor's actual result, by pointer."""
    assert rule.arg is not None
    assert rule.tool is not None
    good = [r for r in scope.view.receipts_of(rule.tool) if r.good]
    targets = set(scope.entities.values())
    about = [r for r in good if r.call is not None and (not targets or not r.call.targets or
                                                        targets & set(r.call.targets))]  # fmt: skip
    found = [(r, resolve(r.value, rule.pointer)) for r in about]
    stated = sorted(((r, v) for r, v in found if v is not MISSING), key=lambda pair: _seen(pair[0]))
    where = f"{rule.tool}.{'/' + '/'.join(rule.pointer) if rule.pointer else ''}"
    if not stated:
        read = Read(tool=rule.tool)
        reason = Reason(
            code="evidence.missing",
            message=f"`{rule.id}`: no receipt of {rule.tool} for this entity states {where}",
            reverses=f"a receipt of {rule.tool}",
            where=rule.id,
            reads=(read,) if _is_read(scope, rule.tool) else (),
        )
        return Missing((reason,))
    receipt, value = stated[-1]
    assert receipt.call is not None
    if rule.fresh is not None and _aged(scope, rule, receipt, receipt.call.targets or tuple(targets)):
        return Missing((_too_old(rule, f"{where} was observed", f"a newer receipt of {rule.tool}"),))
    given = scope.call.args.get(rule.arg, MISSING)
    if given is not MISSING and _equal(scope, rule.arg, given, value):
        return Met((receipt.digest,))
    shown = "missing" if given is MISSING else f"`{_short(given)}`"
    reason = Reason(
        code="argument.mismatch",
        message=f"`{rule.id}`: argument `{rule.arg}` is {shown}, the receipt says `{_short(value)}`",
        reverses=f"the value of {where} as argument `{rule.arg}`",
        where=rule.id,
        refs=(receipt.seq,),
    )
    return Violated((reason,), (receipt.digest,))


def _equal(scope: Scope, arg: str, given: Any, value: Any) -> bool:
    declared = scope.tool.args.get(arg)
    if declared is not None and declared.name != "json":
        try:
            return bool(declared.parse(given) == declared.parse(value))
        except ValueError:
            return False
    return same(given, value)


def _seen(receipt: ReceiptRecord) -> int:
    """Where in the record a receipt's value dates from: a write's own answer speaks of the state after the write."""
    own = receipt.call is not None and receipt.call.effect == "write" and receipt.body.cached_from is None
    return receipt.seq if own else receipt.observed_seq


def _aged(scope: Scope, rule: Requirement, source: Fact | ReceiptRecord, refs: tuple[EntityRef, ...]) -> bool:
    """Return whether evidence is older than `fresh` allows: than the last write to `refs`, or than so many seconds."""
    if isinstance(rule.fresh, int):
        seen = source.observed_at
        return seen is None or (scope.call.now - seen).total_seconds() > rule.fresh
    at = source.observed_seq if isinstance(source, Fact) else _seen(source)
    return any(scope.view.void(ref, at) for ref in refs)


def _too_old(rule: Requirement, text: str, reverses: str) -> Reason:
    limit = f"more than {rule.fresh} s ago" if isinstance(rule.fresh, int) else "before a later write"
    return Reason(code="evidence.stale", message=f"`{rule.id}`: {text} {limit}", reverses=reverses, where=rule.id)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(key_value(value))
    return text if len(text) <= 60 else text[:57] + "..."


def _is_read(scope: Scope, name: str) -> bool:
    tool = scope.contract.tools.get(name)
    return tool is not None and tool.effect == "read"


def _read(scope: Scope, rule: Requirement) -> Answer:
    """A policy or rule source was read: a good receipt of the tool, with `expr` over its arguments true."""
    assert rule.tool is not None
    for receipt in reversed(scope.view.receipts_of(rule.tool)):
        if not receipt.good or receipt.call is None:
            continue
        if rule.expr is not None:
            env = {**scope.env, "args": receipt.call.args, "result": receipt.value, "call": scope.args}
            try:
                if rule.expr.evaluate(env) is not True:
                    continue
            except ExpressionError:
                continue
        refs = receipt.call.targets or tuple(scope.entities.values())
        if rule.fresh is not None and _aged(scope, rule, receipt, refs):
            continue
        return Met((receipt.digest,))
    suffix = f" with {rule.expr.source}" if rule.expr is not None else ""
    reason = Reason(
        code="evidence.missing",
        message=f"`{rule.id}`: {rule.message or f'{rule.tool} has not been read{suffix}'}",
        reverses=f"call {rule.tool}{suffix}",
        where=rule.id,
        reads=(Read(tool=rule.tool),),
    )
    return Missing((reason,))


def _previewed(scope: Scope, rule: Requirement) -> Answer:
    """The last preview of the same arguments succeeded (and says what `expr` demands)."""
    wanted = [scope.call.args.get(a, MISSING) for a in rule.args_equal]
    newest = None
    for receipt in reversed(scope.view.receipts_of(scope.call.tool)):
        if receipt.call is None or receipt.call.effect != "preview":
            continue
        newest = newest or receipt
        if all(_same_or_missing(receipt.call.args.get(a, MISSING), w) for a, w in
               zip(rule.args_equal, wanted, strict=True)):  # fmt: skip
            newest = receipt
            # A preview shows what would happen now: like any evidence about an entity it is void after a later write.
            void = any(scope.view.void(ref, receipt.observed_seq) for ref in receipt.call.targets)
            if not receipt.good or void or (rule.fresh is not None and _aged(scope, rule, receipt, ())):
                break
            if rule.expr is not None:
                try:
                    ok = rule.expr.evaluate({**scope.env, "preview": receipt.value}) is True
                except ExpressionError:
                    ok = False
                if not ok:
                    reason = Reason(
                        code="preview.mismatch",
                        message=f"`{rule.id}`: {rule.message or f'the preview does not show `{rule.expr.source}`'}",
                        reverses="arguments that the preview allows",
                        where=rule.id,
                        refs=(receipt.seq,),
                    )
                    return Violated((reason,), (receipt.digest,))
            return Met((receipt.digest,))
    text = (
        "there is no valid preview of these arguments" if newest is None or newest.good else "the preview was rejected"
    )
    reason = Reason(
        code="preview.missing",
        message=f"`{rule.id}`: {rule.message or text}",
        reverses=f"a preview by {scope.call.tool} with the same arguments",
        where=rule.id,
        refs=() if newest is None else (newest.seq,),
    )
    return Missing((reason,))


def _same_or_missing(left: Any, right: Any) -> bool:
    if left is MISSING or right is MISSING:
        return left is right
    return same(left, right)


def _any(scope: Scope, rule: Requirement) -> Answer:
    """Several acceptable sources: any path that establishes the evidence counts."""
    answers = [requirement(scope, option) for option in rule.options]
    for answer in answers:
        if isinstance(answer, Met):
            return answer
    missing = tuple(r for a in answers if isinstance(a, Missing) for r in a.reasons)
    if missing:
        return Missing(missing)
    reasons = tuple(r for a in answers if isinstance(a, Violated) for r in a.reasons)
    return Violated(reasons, tuple(d for a in answers if isinstance(a, Violated) for d in a.digests))


def _approval(scope: Scope, rule: Requirement) -> Answer:
    return approval_of(scope.view, scope.call, rule.role or "", rule.id)


_KINDS = {
    "fact": _fact,
    "known": _known,
    "confirmed": _confirmed,
    "argument": _argument,
    "read": _read,
    "previewed": _previewed,
    "approval": _approval,
    "any": _any,
}
