"""Running an agent over the suite, scoring what it did, and setting the published figures beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tallystick.errors import InputError
from tallystick.evals.common.intervals import numpy
from tallystick.evals.evidence.case import PROTOCOLS, Case
from tallystick.evals.evidence.client import InfrastructureError, Session, connect
from tallystick.evals.evidence.derived import sets
from tallystick.evals.evidence.episode import Episode
from tallystick.evals.evidence.isolated import play
from tallystick.evals.evidence.kept import EPISODES, append, load, read_episodes
from tallystick.evals.evidence.manifest import list_composition, stored
from tallystick.evals.evidence.measures import DEFINITIONS, OVERLAP, measure, readiness
from tallystick.evals.evidence.plan import SEED, slots
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.score import Score, score
from tallystick.evals.evidence.scripted import Scripted
from tallystick.evals.evidence.serve import find
from tallystick.evals.evidence.world import data

Agent = Scripted | Callable[[Session], None] | Sequence[str]
"""A scripted agent; a callable that is given a `Session`, the environment being another process; or the command line of
a program that speaks the protocol of `client` on its standard input and output."""
MAX_FAILURES: Final = 3
"""Infrastructure failures one after another, after which a run stops: the endpoint is down, and waiting is cheaper."""
INTERACTIVE: Final = "pairs-interactive"
"""The arm that is no set of its own: the V1 cases whose static twins are `pairs`."""
__all__ = [
    "EPISODES", "Agent", "Rolled", "chosen", "list_composition", "published", "read_episodes", "report", "roll", "run",
    "scores",
]  # fmt: skip


def chosen(
    protocol: str | None = None, limit: int | None = None, arm: str | None = None, seed: str = SEED
) -> tuple[str, ...]:
    """Return the names of the cases of one protocol (or all), at most `limit`, taken evenly over protocols and domains.

    Names come from the plan and the manifest: no case, and so no private specification, is built for them.

    Args:
        protocol: Legacy, V0, V1, V2 or V3; of a derived set, the protocol of the case it was derived from.
        limit: most cases.
        arm: a derived set instead of the suite.
        seed: of the suite.

    Raises:
        InputError: no such protocol or set, or a limit below 1.
    """
    if protocol is not None and protocol not in PROTOCOLS:
        raise InputError(f"there is no protocol `{protocol}`", fix=f"one of: {', '.join(PROTOCOLS)}")
    if limit is not None and limit < 1:
        raise InputError(f"`{limit}` cases", where="limit", fix="1 or more")
    derived = stored()["derived"]
    derived[INTERACTIVE] = [name.split(":")[0] for name in derived["pairs"]]
    if arm is not None and arm not in derived:
        raise InputError(f"there is no derived set `{arm}`", fix=f"one of: {', '.join(derived)}")
    places = {slot.id: (slot.protocol, slot.domain) for slot in slots(seed)}
    names = list(places) if arm is None else list(derived[arm]) if seed == SEED else _drawn(arm, seed)
    by_protocol: dict[str, dict[str, list[str]]] = {}
    for name in names:
        its, domain = places[name.split(":")[0]]
        if protocol in (None, its):
            by_protocol.setdefault(its, {}).setdefault(domain, []).append(name)
    if limit is None:
        return tuple(n for n in names if protocol in (None, places[n.split(":")[0]][0]))
    # Protocols alternate fastest and each starts at another domain, so that even a small limit meets all of both.
    queues = []
    for shift, domains in enumerate(by_protocol.values()):
        lists = list(domains.values())
        turned = [*lists[shift % len(lists) :], *lists[: shift % len(lists)]]
        queues.append([g[i] for i in range(max(map(len, turned))) for g in turned if i < len(g)])
    dealt = [q[i] for i in range(max(map(len, queues), default=0)) for q in queues if i < len(q)]
    return tuple(dealt[:limit])


def _drawn(arm: str, seed: str) -> list[str]:
    if arm == INTERACTIVE:
        return [c.scenario for c in sets(seed)["pairs"]]
    return [c.id for c in sets(seed)[arm]]


def run(
    agent: Agent,
    protocol: str | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    *,
    name: str | None = None,
    gated: bool = False,
    epochs: int = 1,
    arm: str | None = None,
    seed: str = SEED,
    resample: bool = True,
    progress: Callable[[int, int], None] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Run an agent over the suite and return its measures with intervals.

    Args:
        agent: see `Agent`.
        protocol: one protocol only.
        limit: at most so many cases, spread over protocols and domains.
        out: folder for the episodes' records; with one, an interrupted run goes on where it stopped.
        name: what the agent is called in records and reports.
        gated: put the act gate before the tools.
        epochs: rollouts per case; the paper has three.
        arm: a derived set instead of the suite.
        seed: of the suite.
        resample: compute the bootstrap over scenarios too, which needs the `evals` extra.
        progress: is told (episodes done, episodes in all).
        settings: what else the agent was run with (model, harness, temperature); kept with the episodes, and a folder
            with other settings is not gone on with.

    Returns:
        `{"agent", "scripted", "gated", "seed", "set", "settings", "cases", "epochs", "episodes", "scored", "excluded",
        "protocols", "domains", "macro", "refused", "effects", "readiness", "definitions", "note", "published"}`.
        `published` is the paper's, never ours.

    Raises:
        InputError: a bad choice, an unusable folder, or numpy is missing and `resample` is set.
    """
    rolled = roll(
        agent, protocol, limit, out, name=name, gated=gated, epochs=epochs, arm=arm, seed=seed, resample=resample,
        progress=progress, settings=settings,
    )  # fmt: skip
    return rolled.report(resample=resample)


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """What a run produced, before it is scored.

    Attributes:
        head: who ran and how: the first fields of a report.
        cases: the cases, in order.
        episodes: their episodes.
    """

    head: dict[str, Any]
    cases: tuple[Case, ...]
    episodes: tuple[Episode, ...]

    def report(self, *, resample: bool = True) -> dict[str, Any]:
        """Return the report, as `run` does."""
        return {**self.head, **report(self.cases, self.episodes, resample=resample)}

    def scores(self) -> list[Score]:
        """Return the scores."""
        return scores(self.cases, self.episodes)


def roll(
    agent: Agent,
    protocol: str | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    *,
    name: str | None = None,
    gated: bool = False,
    epochs: int = 1,
    arm: str | None = None,
    seed: str = SEED,
    resample: bool = True,
    progress: Callable[[int, int], None] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Rolled:
    """Run an agent over the suite and return its episodes; the arguments are those of `run`."""
    if epochs < 1:
        raise InputError(f"`{epochs}` epochs", where="epochs", fix="1 or more")
    if resample:
        numpy()  # before hours of work, not after
    names = chosen(protocol, limit, arm, seed)
    called = name or (agent.name if isinstance(agent, Scripted) else _called(agent))
    kept = {"agent": called, "gated": gated, "seed": seed, **(settings or {})}
    done = load(out, called, gated=gated, settings=kept)
    todo = [(case, epoch) for epoch in range(epochs) for case in names if (case, epoch) not in done]
    wanted = set(names)
    total = len(names) * epochs
    count = total - len(todo)
    for episode in _play(agent, todo, called, gated=gated, seed=seed):
        done[(episode.case, episode.epoch)] = episode
        if out is not None:
            append(Path(out), episode)
        count += 1
        if progress is not None:
            progress(count, total)
    return Rolled(
        head={
            "agent": called,
            "scripted": isinstance(agent, Scripted),
            "gated": gated,
            "seed": seed,
            "set": arm or "suite",
            "settings": kept,
            "cases": len(names),
            "epochs": epochs,
        },
        cases=tuple(find(case, seed) for case in names),
        episodes=tuple(e for e in done.values() if e.case in wanted and e.epoch < epochs),
    )


def report(cases: Iterable[Case], episodes: Iterable[Episode], *, resample: bool = True) -> dict[str, Any]:
    """Return the measures of recorded episodes, as in `run`."""
    by_id = {c.id: c for c in cases}
    rows = list(episodes)
    scores = [score(by_id[e.case], e) for e in rows if e.end != "infrastructure"]
    return {
        "episodes": len(rows),
        "scored": len(scores),
        "excluded": len(rows) - len(scores),
        **measure(scores, resample=resample),
        "refused": sum(s.refused for s in scores),
        "effects": {
            "early": sum(s.effects_early for s in scores),
            "wrong_entity": sum(s.effects_wrong_entity for s in scores),
        },
        "readiness": readiness(scores),
        "definitions": DEFINITIONS,
        "note": OVERLAP,
        "published": published(),
    }


def scores(cases: Iterable[Case], episodes: Iterable[Episode]) -> list[Score]:
    """Return the scores of recorded episodes, infrastructure failures left out."""
    by_id = {c.id: c for c in cases}
    return [score(by_id[e.case], e) for e in episodes if e.end != "infrastructure"]


def published() -> dict[str, Any]:
    """Return the paper's figures, each with its place in the source; cells that the source lacks are null."""
    found: dict[str, Any] = yaml.safe_load(data("published.yaml"))
    return found


def _called(agent: Any) -> str:
    if callable(agent):
        return str(getattr(agent, "__name__", type(agent).__name__))
    return Path(str(agent[0])).name if agent else "agent"


def _play(agent: Agent, todo: list[tuple[str, int]], called: str, *, gated: bool, seed: str) -> Iterator[Episode]:
    if isinstance(agent, Scripted):
        for case_name, epoch in todo:
            case = find(case_name, seed)
            room = Room(case, called, gated=gated, epoch=epoch)
            agent.play(case, room, epoch)
            yield room.episode()
    elif callable(agent):
        yield from _callable(agent, todo, called, gated=gated, seed=seed)
    else:
        for case_name, epoch in todo:
            yield play(agent, find(case_name, seed), called, gated=gated, epoch=epoch)


def _callable(
    agent: Callable[[Session], None], todo: list[tuple[str, int]], called: str, *, gated: bool, seed: str
) -> Iterator[Episode]:
    """Give each case's session to a callable; what it raises is the agent's failure, and is scored as one.

    Nothing in this process builds a case meanwhile: records and specifications are in the environment's process.

    Raises:
        InputError: the environment's process has gone, or the agent's infrastructure has.
    """
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / EPISODES
        with connect(kept, gated=gated, options=("--seed", seed)) as environment:
            for case_name, epoch in todo:
                failure: str | None = None
                note = ""
                try:
                    agent(environment.open(case_name, agent=called, epoch=epoch))
                except InfrastructureError as bad:
                    failure = str(bad) or "infrastructure"
                except EOFError:
                    raise InputError("the environment's process has gone", where=case_name) from None
                except Exception as bad:  # noqa: BLE001 - an agent's crash is an unsuccessful episode, and is scored
                    note = f"crashed: {type(bad).__name__}: {bad}"
                environment.close(failure=failure, note=note)
                yield read_episodes(kept)[-1]
                kept.write_bytes(b"")  # the environment appends; what was read is not read again
                failures = failures + 1 if failure is not None else 0
                if failures == MAX_FAILURES:
                    raise InputError(
                        f"{failures} cases one after another failed for reasons that are not the agent's: {failure}",
                        where=case_name, fix="see to it and run again; with --out the run goes on where it stopped",
                    )  # fmt: skip
