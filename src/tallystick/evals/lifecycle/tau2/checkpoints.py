"""The scored messages of an episode: gold by replay first, then the tag.

What the paper leaves open is marked: the customer's cues beyond those it names are *ours*; a turn's index is its number
among the agent's messages to the customer (*reconstructed*).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tallystick.evals.lifecycle.row import Reply, Row
from tallystick.evals.lifecycle.score import Reading, Score, judge
from tallystick.evals.lifecycle.score import score as score_row
from tallystick.evals.lifecycle.tau2.duty import ACCEPTED, COMPLETED, PLACES
from tallystick.evals.lifecycle.tau2.episode import Episode
from tallystick.evals.lifecycle.tau2.gold import stage
from tallystick.evals.tau2.replay import Step, replay
from tallystick.evals.tau2.tasks import TRANSFER, Tau2Task, task_named
from tallystick.evals.tau2.world import ReplayError
from tallystick.gates.stage import Stage
from tallystick.progress import TAU2_STAGES, parse_report

BINS: Final = 5
LOST: Final = "lost"
"""Checkpoint of a message whose episode does not count."""
Completion = Literal["hand-off", "confirmed", "unconfirmed"]
CUE: Final = re.compile(
    r"\b(?:works?|working|fixed|resolved|solved|thanks?|thank you|connected|restored|perfect|great|excellent)\b",
    re.IGNORECASE,
)
NEGATION: Final = re.compile(
    r"\b(?:still|not|no|unable|cannot|can't|isn't|doesn't|don't|won't|didn't|hasn't|never|without)\b", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """An episode, read.

    Attributes:
        rows: one for each scored message, with the factors `bin` (mid-task, of episodes with two such messages or more)
            and `completion`.
        undetermined: messages whose stage nothing recorded can tell; they are not scored.
        lost: why the episode does not count, "" where it does.
    """

    rows: tuple[Row, ...]
    undetermined: int = 0
    lost: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Message:
    """A customer-facing message: its step, its number among such messages, its stage."""

    step: int
    turn: int
    stage: Stage


def customer_facing(steps: Sequence[Step]) -> Iterator[int]:
    """Yield the steps where the agent speaks to the customer.

    What it says before the customer said anything is the benchmark's scripted greeting, which is not scored.
    """
    spoken = False
    for number, step in enumerate(steps):
        if step.calls:
            continue
        if step.by == "user":
            spoken = True
        elif spoken:
            yield number


def read_episode(episode: Episode) -> Read:
    """Return the scored messages of an episode, with gold from a replay.

    An episode in which the benchmark's loop swallowed an exception is lost, and so is one that replays to other
    results: its environment is then not the one the conversation was about.
    """
    task = task_named(episode.domain, episode.task)
    if episode.lost:
        return _lost(episode, episode.lost)
    try:
        found = replay(task, episode.steps)
    except ReplayError as bad:
        return _lost(episode, f"not replayable: {bad}")
    if found.diverged is not None:
        return _lost(episode, f"replays to other results from message {found.diverged} on")
    messages, undetermined = [], 0
    for turn, number in enumerate(customer_facing(episode.steps)):
        true = stage(task, found.states[number])  # before the reply is looked at
        if true is None:
            undetermined += 1
        else:
            messages.append(_Message(step=number, turn=turn, stage=true))
    places = _binned([m for m in messages if m.stage is Stage.POST_OBS])
    ends = _completions(task, episode.steps, messages)
    rows = []
    for one in messages:
        factors = {"bin": str(places[one.turn])} if one.turn in places else {}
        factors |= {"completion": ends[one.turn]} if one.turn in ends else {}
        rows.append(_row(episode, one.step, one.stage, factors))
    return Read(rows=tuple(rows), undetermined=undetermined)


def score(row: Row, reading: Reading = "strict") -> Score:
    """Return the score of one message under the duty."""
    if not row.reply.valid or row.stage is None:
        return score_row(row)
    report = parse_report(row.reply.text, "xml", reading == "envelope_stripped", vocabulary=TAU2_STAGES)
    return judge(row.due, ACCEPTED[row.stage], row.reply.mode, report, row.stage, COMPLETED)


def _row(episode: Episode, step: int, true: Stage | None, factors: dict[str, str], *, valid: bool = True) -> Row:
    return Row(
        study=f"tau2-{episode.domain}",
        deployment=episode.deployment,
        scenario=episode.task,
        checkpoint=LOST if true is None else PLACES[true],
        encoding="xml",
        repetition=episode.epoch,
        due=True,
        stage=true,
        expected=None if true is None else ACCEPTED[true][-1],
        reply=Reply(text=episode.steps[step].text, valid=valid),
        factors=factors,
        stimulus=f"{episode.task}#{step}",
    )


def _lost(episode: Episode, why: str) -> Read:
    rows = tuple(_row(episode, n, None, {}, valid=False) for n in customer_facing(episode.steps))
    return Read(rows=rows, lost=why)


def _binned(mid: Sequence[_Message]) -> dict[int, int]:
    """Turn → bin from 1: turns min-max normalised within the trajectory, the span cut into five equal widths."""
    if len(mid) < 2:
        return {}
    first, last = mid[0].turn, mid[-1].turn
    return {m.turn: min(BINS, 1 + BINS * (m.turn - first) // (last - first)) for m in mid}


def _completions(task: Tau2Task, steps: Sequence[Step], messages: Sequence[_Message]) -> dict[int, Completion]:
    """Turn → how its completion came about (appendix G).

    Confirmed: since the last message that was not complete, a customer's message has a cue of resolution and no
    negation.
    """
    found: dict[int, Completion] = {}
    since = 0
    for one in messages:
        if one.stage is not Stage.COMPLETED:
            since = one.step
            continue
        heard = [s.text for s in steps[since : one.step] if s.by == "user" and not s.calls]
        confirmed = any(CUE.search(text) and not NEGATION.search(text) for text in heard)
        handed = any(g.tool == TRANSFER for g in task.gold) and (task.action or task.domain != "telecom")
        found[one.turn] = "hand-off" if handed else "confirmed" if confirmed else "unconfirmed"
    return found
