"""The labelled checkpoints: 300 moments at which an action is proposed, and whether it is supported there.

Labels are known by how each checkpoint was made: from a reference or alternative path as it is (supported), or with one
thing broken before or in the call (not supported). They are shipped as data, with the observations as they were, so the
evaluator is measured on frozen transcripts and not on what it would produce today.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from tallystick.evals.common.draw import Draw
from tallystick.evals.common.intervals import Interval, wilson
from tallystick.evals.evidence.case import Case
from tallystick.evals.evidence.corrupt import corruptions
from tallystick.evals.evidence.episode import Call
from tallystick.evals.evidence.manifest import suite
from tallystick.evals.evidence.paths import actions, alternative, end, lazy, reads, reference
from tallystick.evals.evidence.plan import SEED
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.score import check_actions
from tallystick.evals.evidence.scripted import follow
from tallystick.evals.evidence.world import data

FILE: Final = "checkpoints.jsonl"
EACH: Final = 150
_BROKEN: Final = (
    "drop a required read", "act before the evidence", "read the look-alike instead", "trust the index",
    "wrong entity", "wrong argument", "drop a predecessor's result", "make a result up", "act before the predecessor",
    "repeat an action",
)  # fmt: skip
"""Ways in which an unsupported checkpoint is made; 15 of each."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A moment in an episode.

    Attributes:
        case: the case.
        how: the path it was taken from; for an unsupported one, what was broken.
        calls: everything before, with observations; the last is the proposed call with what came of it.
        supported: the label.
    """

    case: str
    how: str
    calls: tuple[Call, ...]
    supported: bool


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """How the evaluator's judgement of checkpoints agrees with their labels.

    False acceptance is counted among checkpoints that are not supported, false rejection among those that are.
    """

    checkpoints: int
    false_acceptances: int
    of_unsupported: int
    false_acceptance: float
    false_acceptance_wilson: Interval | None
    false_rejections: int
    of_supported: int
    false_rejection: float
    false_rejection_wilson: Interval | None
    wrong: tuple[str, ...] = ()


def judge(case: Case, checkpoint: Checkpoint) -> bool:
    """Return whether the evaluator takes the last call of a checkpoint for supported."""
    checks, _ = check_actions(case.private, checkpoint.calls)
    return bool(checks) and checks[-1].at == len(checkpoint.calls) - 1 and checks[-1].supported


def audit(points: Iterable[Checkpoint], seed: str = SEED) -> Audit:
    """Return the evaluator's false acceptance and false rejection on labelled checkpoints."""
    cases = {c.id: c for c in suite(seed)}
    rows = [(p, judge(cases[p.case], p)) for p in points]
    accepted = [p for p, said in rows if said and not p.supported]
    rejected = [p for p, said in rows if p.supported and not said]
    bad, good = sum(not p.supported for p, _ in rows), sum(p.supported for p, _ in rows)
    return Audit(
        checkpoints=len(rows),
        false_acceptances=len(accepted),
        of_unsupported=bad,
        false_acceptance=len(accepted) / bad if bad else 0.0,
        false_acceptance_wilson=wilson(len(accepted), bad),
        false_rejections=len(rejected),
        of_supported=good,
        false_rejection=len(rejected) / good if good else 0.0,
        false_rejection_wilson=wilson(len(rejected), good),
        wrong=tuple(f"{p.case}: {p.how}" for p in (*accepted, *rejected)),
    )


def shipped() -> tuple[Checkpoint, ...]:
    """Return the checkpoints in the package."""
    decoder = msgspec.json.Decoder(Checkpoint)
    return tuple(decoder.decode(line) for line in data(FILE).splitlines())


# ---------------------------------------------------------------------- making them


def made(seed: str = SEED) -> Iterator[Checkpoint]:
    """Yield 150 supported and 150 unsupported checkpoints, spread over protocols, domains and ways of breaking."""
    cases = [c for c in suite(seed) if c.protocol in ("V1", "V2", "V3")]
    order = Draw(seed, "checkpoints", "good").shuffled(cases)
    ways = (("reference", reference), ("alternative source", alternative), ("lazy, other order", lazy))
    count = 0
    for i, case in enumerate(order):
        name, path = ways[i % len(ways)]
        steps = path(case)
        if steps is None or count == EACH:
            continue
        calls = _calls(case, steps)
        at = Draw(seed, "checkpoints", "at", case.id).pick([k for k, c in enumerate(calls) if _writes(case, c)])
        count += 1
        yield Checkpoint(case=case.id, how=name, calls=calls[: at + 1], supported=True)
    order = Draw(seed, "checkpoints", "bad").shuffled(cases)
    for number, kind in enumerate(_BROKEN):
        found = 0
        for case in order[number * 7 :]:
            if found == EACH // len(_BROKEN):
                break
            broken = [b for b in corruptions(case) if b.kind == kind]
            if broken:
                one = Draw(seed, "checkpoints", kind, case.id).pick(broken)
                point = _broken(case, kind, _calls(case, one.steps))
                if point is not None:
                    found += 1
                    yield point


def _broken(case: Case, kind: str, calls: tuple[Call, ...]) -> Checkpoint | None:
    """Return the moment at which the break first bears on a call: where the transcript leaves the reference."""
    good = _calls(case, [*reads(case), *actions(case), end(case.private.label)])
    right = {c.tool: c.args for c in good if _writes(case, c)}
    for at, call in enumerate(calls):
        if not _writes(case, call):
            continue
        before = [c for c in calls[:at] if _writes(case, c)]
        bears = (
            kind
            in ("drop a required read", "read the look-alike instead", "trust the index", "act before the evidence")
            and _lacks(case, calls[:at], call)
        ) or (kind == "repeat an action" and any(c.tool == call.tool for c in before))
        if kind in ("wrong entity", "wrong argument", "drop a predecessor's result", "make a result up"):
            bears = call.args != right[call.tool]
        if kind == "act before the predecessor":
            bears = any(c.tool not in {b.tool for b in before} for c in good[: _place(good, call)] if _writes(case, c))
        if bears:
            return Checkpoint(case=case.id, how=kind, calls=calls[: at + 1], supported=False)
    return None


def _place(good: tuple[Call, ...], call: Call) -> int:
    return next(i for i, c in enumerate(good) if c.tool == call.tool)


def _lacks(case: Case, before: tuple[Call, ...], call: Call) -> bool:
    """Return whether no call before asked an acceptable source for something this action needs.

    Told from the calls alone, not by the evaluator: an exact (tool, arguments) pair of a source is there, or it is not.
    """
    asked = {(c.tool, json.dumps(c.args, sort_keys=True)) for c in before}
    spec = next(a for a in case.private.actions if a.tool == call.tool)
    needed = [e for e in case.private.evidence if e.id in spec.needs]
    return any(not any((s.tool, json.dumps(s.args, sort_keys=True)) in asked for s in e.sources) for e in needed)


def _writes(case: Case, call: Call) -> bool:
    return call.tool in case.private.writers


def _calls(case: Case, steps: list[Any]) -> tuple[Call, ...]:
    room = Room(case, "scripted:path", seed=b"checkpoint")
    follow(steps, room)
    return room.episode().calls


def text(points: Iterable[Checkpoint]) -> str:
    """Return checkpoints as JSON lines."""
    return "".join(msgspec.json.encode(p).decode("utf-8") + "\n" for p in points)
