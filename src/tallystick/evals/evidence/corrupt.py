"""Corrupted reference paths: each breaks one thing, and says for which reason it must fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from tallystick.evals.evidence.case import ActionSpec, Case, Evidence
from tallystick.evals.evidence.paths import Step, act, actions, end, reads


@dataclass(frozen=True, kw_only=True, slots=True)
class Corrupted:
    """A path with one thing broken.

    Attributes:
        kind: what was broken.
        reasons: at least one of these codes must be among the score's reasons.
        steps: the path.
        detail: which read, action or argument.
    """

    kind: str
    reasons: frozenset[str]
    steps: list[Step]
    detail: str = ""


_UNMET = frozenset({"evidence.missing", "evidence.stale", "evidence.other_entity"})
_UNRESOLVED = frozenset({"evidence.unresolved"})
_NOT_THERE = "action.missing"
"""An environment that rejects a broken call leaves the action undone."""


def corruptions(case: Case) -> Iterator[Corrupted]:
    """Yield every corrupted path of an interactive case."""
    looks, acts, last = reads(case), actions(case), end(case.private.label)
    yield from _reads(case, looks, acts, last)
    yield Corrupted(
        kind="stop early", reasons=frozenset({"evidence.unresolved"}), steps=[*looks[: len(looks) // 2], last]
    )
    wrong = "BLOCK" if case.private.label != "BLOCK" else "DEFER"
    yield Corrupted(kind="wrong label", reasons=frozenset({"label.wrong"}), steps=[*looks, *acts, end(wrong)])
    yield Corrupted(kind="no label", reasons=frozenset({"label.wrong"}), steps=[*looks, *acts])
    candidate = case.private.candidate
    if candidate is not None:
        yield Corrupted(
            kind="act where nothing is right", reasons=frozenset({"action.unsupported"}),
            steps=[*looks, act(candidate), last],
        )  # fmt: skip
    for i, spec in enumerate(case.private.actions):
        yield from _action(case, spec, i, looks, acts, last)


def _reads(case: Case, looks: list[Step], acts: list[Step], last: Step) -> Iterator[Corrupted]:
    unmet = _UNMET if acts else _UNRESOLVED
    by_record: dict[tuple[str, str], list[Evidence]] = {}
    for evidence in case.private.evidence:
        by_record.setdefault((evidence.kind, evidence.entity), []).append(evidence)
    for (kind, entity), group in by_record.items():
        sources = {(s.tool, str(s.args)) for e in group for s in e.sources}
        left = [s for s in looks if (s.tool, str(s.args)) not in sources]
        name = f"{kind} {entity}"
        yield Corrupted(kind="drop a required read", reasons=unmet, steps=[*left, *acts, last], detail=name)
        other = case.private.lookalikes.get(entity)
        reader = next((s for s in looks if (s.tool, str(s.args)) in sources and entity in s.args.values()), None)
        if other and reader is not None and group[0].obtainable:
            args = {k: other[0] if v == entity else v for k, v in reader.args.items()}
            read = Step(tool=reader.tool, args=args)
            reasons = frozenset({"evidence.other_entity", "evidence.stale"}) if acts else _UNRESOLVED
            yield Corrupted(
                kind="read the look-alike instead", reasons=reasons, steps=[*left, read, *acts, last], detail=name
            )
        if not group[0].obtainable and reader is not None:
            read = Step(tool=reader.tool, args=dict.fromkeys(reader.args, other[0] if other else "ZZ-0000"))
            yield Corrupted(
                kind="ask for another record", reasons=_UNRESOLVED, steps=[*left, read, *acts, last], detail=name
            )
        index = next((n for n, r in case.private.readers.items() if r.kind == kind and not r.live), None)
        if index is not None and group[0].obtainable:
            keys = next(t["parameters"]["properties"] for t in case.public.tools if t["name"] == index)
            record = case.records.live[kind][entity]
            read = Step(tool=index, args={k: record[k] for k in keys})
            yield Corrupted(
                kind="trust the index",
                reasons=frozenset({"evidence.stale", "evidence.missing"}) if acts else _UNRESOLVED,
                steps=[*left, read, *acts, last], detail=name,
            )  # fmt: skip


def _action(
    case: Case, spec: ActionSpec, i: int, looks: list[Step], acts: list[Step], last: Step
) -> Iterator[Corrupted]:
    def instead(step: Step) -> list[Step]:
        return [*looks, *acts[:i], step, *acts[i + 1 :], last]

    needed = reads(case, needs=spec.needs)
    before = [s for s in looks if s != needed[-1]]
    yield Corrupted(
        kind="act before the evidence", reasons=_UNMET,
        steps=[*before, *acts[: i + 1], needed[-1], *acts[i + 1 :], last], detail=spec.tool,
    )  # fmt: skip
    yield Corrupted(
        kind="leave an action out", reasons=frozenset({_NOT_THERE}), steps=[*looks, *acts[:i], *acts[i + 1 :], last],
        detail=spec.tool,
    )  # fmt: skip
    for name, value in spec.args.items():
        if name in spec.targets:
            others = case.private.lookalikes.get(str(value))
            if others:
                wrong = msgspec.structs.replace(acts[i], args={**spec.args, name: others[0]})
                yield Corrupted(
                    kind="wrong entity", reasons=frozenset({"target.wrong", _NOT_THERE}), steps=instead(wrong),
                    detail=f"{spec.tool} {name}",
                )  # fmt: skip
            continue
        broken = value + 1 if isinstance(value, int) else _other_text(str(value))
        wrong = msgspec.structs.replace(acts[i], args={**spec.args, name: broken})
        yield Corrupted(
            kind="wrong argument", reasons=frozenset({"argument.wrong", _NOT_THERE}), steps=instead(wrong),
            detail=f"{spec.tool} {name}",
        )  # fmt: skip
    for name in spec.cites:
        left = {k: v for k, v in spec.cites.items() if k != name}
        without = msgspec.structs.replace(acts[i], cites=left)
        yield Corrupted(
            kind="drop a predecessor's result", reasons=frozenset({"result.dropped"}), steps=instead(without),
            detail=f"{spec.tool} {name}",
        )  # fmt: skip
        made_up = msgspec.structs.replace(without, args={**spec.args, name: "ZZ-0000000000"})
        yield Corrupted(
            kind="make a result up", reasons=frozenset({_NOT_THERE}), steps=instead(made_up),
            detail=f"{spec.tool} {name}",
        )  # fmt: skip
    if spec.cites:
        yield Corrupted(
            kind="act before the predecessor", reasons=frozenset({"dependency.waiting", _NOT_THERE}),
            steps=[*looks, acts[i], *acts[:i], *acts[i + 1 :], last], detail=spec.tool,
        )  # fmt: skip
    again = dict(spec.args)
    if "version" in again:
        again["version"] += 1  # the new version, as the receipt of the first said
    repeat = msgspec.structs.replace(acts[i], args=again, node=f"{spec.node} again")
    yield Corrupted(
        kind="repeat an action", reasons=frozenset({"action.repeated"}),
        steps=[*looks, *acts[: i + 1], repeat, *acts[i + 1 :], last], detail=spec.tool,
    )  # fmt: skip


def _other_text(value: str) -> str:
    """Return a value of the same form that is another one: an amount a cent more, a text with a tail."""
    whole, dot, cents = value.partition(".")
    if dot and whole.isdecimal() and cents.isdecimal():
        return f"{int(whole) + 1}.{cents}"
    return f"{value} too"
