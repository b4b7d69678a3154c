"""Running a study: each stimulus so many times, every reply kept as it comes, going on from where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.lifecycle.admission import Check, unfit
from tallystick.evals.lifecycle.row import Row
from tallystick.evals.lifecycle.suite import kept
from tallystick.evals.lifecycle.suite.asking import Answerer, Deployment, precheck
from tallystick.evals.lifecycle.suite.item import Item
from tallystick.evals.lifecycle.suite.kept import Raw
from tallystick.evals.lifecycle.suite.scenario import LANGUAGES, Language
from tallystick.evals.lifecycle.suite.studies import REPETITIONS, arms, items, study_name

MAX_FAILURES: Final = 5
"""Failures one after another, after which a run stops: the endpoint is down, and waiting is cheaper."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is asked.

    Attributes:
        study: its name, without a language.
        language: of the stimuli.
        arms: of its arms, all where empty.
        repetitions: of each stimulus; None for the study's own number.
        limit: most stimuli, taken evenly over scenarios; None for all.
    """

    study: str
    language: Language = "zh"
    arms: tuple[str, ...] = ()
    repetitions: int | None = None
    limit: int | None = None

    @property
    def times(self) -> int:
        """Repetitions of each stimulus."""
        return REPETITIONS[self.study] if self.repetitions is None else self.repetitions

    @property
    def total(self) -> int:
        """Replies there will be."""
        return len(self.chosen()) * self.times

    def chosen(self) -> tuple[Item, ...]:
        """Return the stimuli.

        Raises:
            InputError: no such study, language or arm; a number below 1.
        """
        if self.language not in LANGUAGES:
            raise InputError(
                f"there is no language `{self.language}`", where="--language", fix=f"one of: {', '.join(LANGUAGES)}"
            )
        for option, number in (("--repetitions", self.repetitions), ("--limit", self.limit)):
            if number is not None and number < 1:
                raise InputError(f"`{number}` is too few", where=option, fix="1 or more")
        found = items(self.study, self.language)
        known = arms(self.study, self.language)
        other = next((a for a in self.arms if a not in known), None)
        if other is not None:
            raise InputError(f"there is no arm `{other[:80]}`", where="--arm", fix=f"one of: {', '.join(known)}")
        wanted = [i for i in found if not self.arms or i.arm.name in self.arms]
        return tuple(wanted if self.limit is None else _evenly(wanted)[: self.limit])


def _evenly(found: Sequence[Item]) -> list[Item]:
    """Return items with the scenarios taking turns, so that a few stimuli meet many of them."""
    queues: dict[str, list[Item]] = {}
    for one in found:
        queues.setdefault(one.scenario, []).append(one)
    deep = max(map(len, queues.values()), default=0)
    # Each scenario starts at another place of its list, so that a few stimuli meet many checkpoints and arms too.
    starts = [(number * len(q) // len(queues), q) for number, q in enumerate(queues.values())]
    lists = [q[start:] + q[:start] for start, q in starts]
    return [q[n] for n in range(deep) for q in lists if n < len(q)]


def run(
    plan: Plan,
    answerer: Answerer,
    out: Path,
    *,
    probes: int = 20,
    settings: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Put a study's stimuli before an answerer; return the rows of everything kept so far.

    The repetitions of a stimulus follow one another, so an endpoint that keeps its last prompt reads it once. What was
    answered before is not asked again; failures are.

    Args:
        plan: what is asked.
        answerer: who is asked.
        out: the folder that keeps settings, precheck and replies.
        probes: short requests before the study, by which the deployment is admitted or not.
        settings: more of what the run depends on, kept beside.
        progress: told (done, total) after each reply.

    Raises:
        InputError: the folder holds another run; the deployment is not admitted; too many failures in a row.
    """
    wanted = plan.chosen()
    name = study_name(plan.study, plan.language)
    kept.settle(
        out,
        {"study": plan.study, "language": plan.language, "name": name, "arms": list(plan.arms),
         "repetitions": plan.times, "limit": plan.limit, "deployment": answerer.name, **(settings or {})},
    )  # fmt: skip
    admit(answerer, out, probes)
    kept.mend(out)
    before = kept.read(out) if (out / kept.REPLIES).exists() else []
    done = {(r.stimulus, r.repetition): r for r in before if not r.failure}
    todo = [(i, n) for i in wanted for n in range(plan.times)]
    failures = 0
    for count, (one, repetition) in enumerate(todo, 1):
        if (one.id, repetition) not in done:
            raw = answerer.answer(one, repetition)
            kept.append(out, raw)
            failures = failures + 1 if raw.failure else 0
            if failures >= MAX_FAILURES and isinstance(answerer, Deployment):
                raise InputError(
                    f"{failures} failures one after another: {raw.failure}", where=answerer.name,
                    fix="start it again when the endpoint answers; it goes on from here",
                )  # fmt: skip
        if progress is not None:
            progress(count, len(todo))
    return rows_in(out)


def admit(answerer: Answerer, out: Path, probes: int) -> None:
    """See that a deployment is admitted, once per folder; scripted reporters need no admission.

    Raises:
        InputError: it is not; the folder says why. Or no probe is to be made.
    """
    if not isinstance(answerer, Deployment):
        return
    before = checked(out)
    if before is not None and not unfit(before):
        return
    if probes < 1:
        raise InputError(f"`{probes}` is too few", where="--probes", fix="1 or more")
    found = precheck(answerer, probes)
    (out / kept.PRECHECK).write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    reason = unfit(found)
    if reason:
        raise InputError(f"not admitted: {reason}", where=found.deployment)


def checked(out: Path) -> Check | None:
    """Return the precheck of a folder; None where there was none.

    Raises:
        InputError: it cannot be read.
    """
    path = out / kept.PRECHECK
    try:
        return msgspec.json.decode(path.read_bytes(), type=Check) if path.exists() else None
    except (OSError, msgspec.MsgspecError) as bad:
        raise InputError(
            f"not a precheck: {bad}", where=str(path), fix="run the study again in another folder"
        ) from None


class _Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a study's folder says of itself, as far as a report depends on it."""

    study: str
    language: Language
    name: str
    deployment: str
    arms: tuple[str, ...]
    repetitions: int
    limit: int | None


def plan_of(settings: Mapping[str, Any], where: str = "") -> Plan:
    """Return the plan that a folder's settings tell of.

    Raises:
        InputError: they are no settings of a study.
    """
    try:
        told = msgspec.convert(dict(settings), _Settings)
    except msgspec.ValidationError as bad:
        raise InputError(
            f"the folder's settings are not those of a study: {bad}", where=where, fix="name the folder of a study"
        ) from None
    return Plan(
        study=told.study, language=told.language, arms=told.arms, repetitions=told.repetitions, limit=told.limit
    )


def stored(out: Path) -> tuple[tuple[Item, ...], list[Raw]]:
    """Return the items of a kept run's study, and its replies.

    Raises:
        InputError: the folder holds no run, or a reply that its plan does not ask for.
    """
    settings = kept.settings_of(out)
    plan = plan_of(settings, str(out))
    found, replies = items(plan.study, plan.language), kept.read(out)
    known, chosen = {i.id for i in found}, {i.id for i in plan.chosen()}
    for raw in replies:
        where = f"{out}: {raw.stimulus}"
        if raw.deployment != settings["deployment"]:
            raise InputError(f"a reply of `{raw.deployment[:80]}`, not of `{settings['deployment'][:80]}`", where=where)
        if raw.source or not 0 <= raw.repetition < plan.times or (raw.stimulus in known and raw.stimulus not in chosen):
            raise InputError(f"the plan asks for no such reply: repetition {raw.repetition}", where=where)
    return found, replies


def rows_in(out: Path) -> list[Row]:
    """Return the rows of a kept run.

    Raises:
        InputError: the folder holds no run, or one of another suite.
    """
    found, replies = stored(out)
    return kept.rows(found, replies)


def answered(found: Iterable[Item], answerer: Answerer, times: int) -> Iterator[Raw]:
    """Yield an answerer's replies to items without keeping them."""
    for one in found:
        for repetition in range(times):
            yield answerer.answer(one, repetition)
