"""Repairs on stored replies: what a second request recovers of a report that was omitted or wrong.

Replay: the reply is put back as it was and the model goes on from there, with a newline between or without. Isolated
question: the conversation, then one question about the state and nothing else. Same question on wrong states: the
populations differ, so nothing here is a contrast. Wrong marker removed: the same question once the erroneous report is
cut off. Source: unreliable-progress-bar, appendix T. *Ours*: the words of question and continuation; that the
question is put after the reply it follows; that every stage is eligible, not one alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from tallystick.errors import InputError
from tallystick.evals.common.intervals import wilson
from tallystick.evals.lifecycle.score import score
from tallystick.evals.lifecycle.suite import kept, protocol
from tallystick.evals.lifecycle.suite.asking import Answerer, Deployment
from tallystick.evals.lifecycle.suite.item import Item
from tallystick.evals.lifecycle.suite.kept import Raw, row_of
from tallystick.evals.lifecycle.suite.run import MAX_FAILURES, stored
from tallystick.gates.stage import Stage
from tallystick.progress import parse_report

Repair = Literal["replay", "replay_newline", "question", "question_wrong", "marker_removed"]
REPAIRS: Final[tuple[Repair, ...]] = ("replay", "replay_newline", "question", "question_wrong", "marker_removed")
OMITTED: Final = "report omitted"
WRONG: Final = "wrong state"
POPULATION: Final[dict[Repair, str]] = {
    "replay": OMITTED, "replay_newline": OMITTED, "question": OMITTED, "question_wrong": WRONG, "marker_removed": WRONG,
}  # fmt: skip
"""Which stored replies a repair is for."""
_QUESTIONS: Final = ("question", "question_wrong", "marker_removed")
FILE: Final = "repairs-{}.jsonl"
_WORD: Final = re.compile("|".join(sorted((s.value for s in Stage), key=len, reverse=True)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A stored reply that a repair starts from."""

    item: Item
    raw: Raw


def eligible(repair: Repair, out: Path) -> list[Source]:
    """Return the stored replies a repair is for: spoken, due, with useful text, in arms that ask for the stage."""
    items, replies = stored(out)
    by_id = {i.id: i for i in items}
    wanted = "APP_MISS" if POPULATION[repair] == OMITTED else "STATE_WRONG"
    found = []
    for raw in replies:
        one = by_id[raw.stimulus]
        if one.arm.duty != "stage" or raw.calls or not raw.text.strip():
            continue
        if score(row_of(one, raw)).code == wanted:
            found.append(Source(item=one, raw=raw))
    return found


def messages(repair: Repair, source: Source) -> list[dict[str, Any]]:
    """Return what is asked: the stimulus, the reply, and what the repair adds."""
    item, text = source.item, source.raw.text
    words = protocol.wording(item.language)
    if repair == "marker_removed":
        text = without_marker(text)
    elif repair == "replay_newline":
        text = f"{text}\n"
    asked = words.continued
    if repair in _QUESTIONS:
        asked = words.question.format(values=words.marker_and.join(s.value for s in Stage))
    return [*item.messages, {"role": "assistant", "content": text}, {"role": "user", "content": asked}]


def without_marker(text: str) -> str:
    """Return a reply without its last line, which is the report where it is well formed."""
    return text.rstrip()[: text.rstrip().rfind("\n") + 1].rstrip()


def signal(repair: Repair, item: Item, text: str) -> str | None:
    """Return the stage a repair's answer names, or None.

    A continuation is read by the suite's parser. The question wants a bare value, so the one value in the answer
    counts; two different ones are none.
    """
    if repair not in _QUESTIONS:
        return parse_report(text, item.encoding).value
    said = set(_WORD.findall(text))
    return said.pop() if len(said) == 1 else None


def run(
    repair: Repair,
    answerer: Answerer,
    out: Path,
    *,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Raw]:
    """Ask a repair of the stored replies of a folder and keep what comes beside them; go on where it was.

    Args:
        repair: which.
        answerer: the deployment that made the replies; scripted reporters have no second thoughts.
        out: the folder.
        limit: most replies.
        progress: told (done, total).

    Raises:
        InputError: the answerer is scripted or not the deployment of the folder; too many failures in a row.
    """
    if not isinstance(answerer, Deployment):
        raise InputError("a scripted reporter has no second thoughts", where="--model", fix="name a model")
    if kept.settings_of(out).get("deployment") != answerer.name:
        raise InputError(
            f"the folder holds replies of `{kept.settings_of(out).get('deployment')}`", where="--model",
            fix="repair a deployment's replies by that deployment",
        )  # fmt: skip
    sources = eligible(repair, out)[:limit]
    name = FILE.format(repair)
    kept.mend(out, name)
    before = kept.read(out, name) if (out / name).exists() else []
    done = {r.source for r in before if not r.failure}
    failures = 0
    for count, source in enumerate(sources, 1):
        id_ = f"{source.raw.stimulus}#{source.raw.repetition}"
        if id_ not in done:
            told = answerer.ask(messages(repair, source), source.item.tools, source.raw.repetition)
            raw = msgspec.structs.replace(told, stimulus=source.item.id, digest=source.item.digest, source=id_)
            kept.append(out, raw, name)
            failures = failures + 1 if raw.failure else 0
            if failures >= MAX_FAILURES:
                raise InputError(f"{failures} failures one after another: {raw.failure}", where=answerer.name)
        if progress is not None:
            progress(count, len(sources))
    return kept.read(out, name) if (out / name).exists() else []


def told(out: Path) -> dict[str, Any]:
    """Return what every repair of a folder came to: each on its own population."""
    items, _ = stored(out)
    by_id = {i.id: i for i in items}
    found: dict[str, Any] = {"deployment": kept.settings_of(out)["deployment"], "repairs": {}, "label": LABEL}
    right: dict[str, set[str]] = {}
    asked: dict[str, set[str]] = {}
    for repair in REPAIRS:
        population = len(eligible(repair, out))
        if not (out / FILE.format(repair)).exists():
            found["repairs"][repair] = {"population": POPULATION[repair], "eligible": population, "asked": 0}
            continue
        replies = kept.read(out, FILE.format(repair))
        answered = [r for r in replies if not r.failure]
        values = [(r, signal(repair, by_id[r.stimulus], r.text)) for r in answered]
        correct = [r for r, value in values if value == by_id[r.stimulus].key.expected]
        asked[repair], right[repair] = {r.source for r in answered}, {r.source for r in correct}
        found["repairs"][repair] = {
            "population": POPULATION[repair], "eligible": population, "asked": len(replies), "answered": len(answered),
            "called": sum(bool(r.calls) for r in answered), "signal": sum(value is not None for _, value in values),
            "correct": len(correct), "interval": wilson(len(correct), len(answered)),
            "completed_again": sum(value == Stage.COMPLETED.value for _, value in values),
        }  # fmt: skip
    if "question" in right and "replay_newline" in right:
        both = asked["question"] & asked["replay_newline"]
        found["paired"] = {
            "rows": len(both),
            "question_only": len((right["question"] - right["replay_newline"]) & both),
            "replay_only": len((right["replay_newline"] - right["question"]) & both),
        }
    found["published"] = PUBLISHED
    return found


LABEL: Final = "Controlled intervention"
PUBLISHED: Final = {
    "place": "appendix T and table 17; three deployments, for wrong states six",
    "replay": {"correct": 44.2, "of": 1677},
    "replay_newline": {"correct": 45.1, "of": 1677},
    "question": {"correct": 98.12, "of": 2654},
    "question_wrong": {"correct": 0.0, "of": 820},
    "marker_removed": {"correct": "0 to 0.6 by deployment", "of": None},
}
"""The source's figures, never ours."""


def text(found: dict[str, Any]) -> str:
    """Return the repairs as text."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"repairs on stored replies of {found['deployment']}   [{found['label']}]"
    yield "populations differ, so rows are not compared with one another; published beside, never ours"
    for repair, one in found["repairs"].items():
        paper = found["published"][repair]
        head = f"{repair:16}{one['population']:16}{one['asked']:5} of {one['eligible']:5} asked"
        if not one["asked"]:
            yield f"{head}; not run; published {paper['correct']}"
            continue
        low, high = one["interval"] or (0.0, 0.0)
        share = (
            f"{100 * one['correct'] / one['answered']:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
            if one["answered"]
            else "-"
        )
        yield (
            f"{head}; correct {share}, a signal in {one['signal']}, COMPLETED in {one['completed_again']},"
            f" calls {one['called']}; published {paper['correct']}"
        )
    paired = found.get("paired")
    if paired:
        yield (
            f"same {paired['rows']} rows: only the question recovered {paired['question_only']}, only the continuation"
            f" {paired['replay_only']}"
        )


def repair_of(name: str) -> Repair:
    """Return a repair by its name.

    Raises:
        InputError: there is none.
    """
    found = next((r for r in REPAIRS if r == name), None)
    if found is None:
        raise InputError(f"there is no repair `{name[:80]}`", where="--repair", fix=f"one of: {', '.join(REPAIRS)}")
    return found


def all_or(names: Sequence[str]) -> tuple[Repair, ...]:
    """Return the named repairs, or every one."""
    return tuple(repair_of(n) for n in names) or REPAIRS
