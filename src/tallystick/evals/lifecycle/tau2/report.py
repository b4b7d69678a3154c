"""What kept episodes come to: gold by replay, scores in both readings, and the paper's quantities over them.

Source: unreliable-progress-bar, section 2.2, table 1 and appendix G. Intervals resample tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.lifecycle import corruption
from tallystick.evals.lifecycle import measures as m
from tallystick.evals.lifecycle.columns import Columns, columns
from tallystick.evals.lifecycle.row import Row
from tallystick.evals.lifecycle.score import READINGS, Reading
from tallystick.evals.lifecycle.suite import kept
from tallystick.evals.lifecycle.tau2 import episode
from tallystick.evals.lifecycle.tau2.checkpoints import BINS, read_episode, score
from tallystick.evals.lifecycle.tau2.duty import COMPLETED, PLACES
from tallystick.evals.lifecycle.tau2.episode import Episode
from tallystick.evals.lifecycle.tau2.scripted import is_scripted
from tallystick.gates.stage import Stage
from tallystick.progress import TAU2_STAGES, parse_report

ROWS: Final = "rows.jsonl"
COMPLETIONS: Final = ("hand-off", "confirmed", "unconfirmed")
POINTS: Final = ("pre", *(f"mid {n}" for n in range(1, BINS + 1)), "completed")
"""The points of the paper's curve: before acting, five bins of mid-task position, completed."""


def report(folders: Sequence[Path], *, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Return what the kept runs of one domain come to, and write each folder's rows beside its episodes.

    Args:
        folders: one a deployment.
        progress: told after each episode: how many of how many.

    Raises:
        InputError: a folder holds no run; folders of several domains; two of one deployment.
    """
    settings = [kept.settings_of(f) for f in folders]
    domains = list(dict.fromkeys(str(s.get("tau2")) for s in settings))
    if len(domains) != 1 or domains == ["None"]:
        raise InputError("not folders of one domain of the duty", where=str(folders[0]), fix="one domain at a time")
    names = [str(s["deployment"]) for s in settings]
    if len(set(names)) != len(names):
        raise InputError("two folders of one deployment", fix="one folder a deployment")
    episodes = [episode.read(f) for f in folders]
    total, done = sum(map(len, episodes)), 0
    rows: list[Row] = []
    played: dict[str, Any] = {}
    for folder, name, own in zip(folders, names, episodes, strict=True):
        found: list[Row] = []
        counts = _Played()
        for one in own:
            read = read_episode(one)
            counts.add(one, read.lost, read.undetermined, bool(read.rows))
            found += read.rows
            done += 1
            if progress is not None:
                progress(done, total)
        (folder / ROWS).write_bytes(b"".join(msgspec.json.encode(r) + b"\n" for r in found))
        rows += found
        played[name] = counts.told()
    told: dict[str, Any] = {
        "study": f"tau2-{domains[0]}", "domain": domains[0], "settings": settings,
        "scripted": [n for n in names if is_scripted(n)], "episodes": played, "no_user_mode": "not run",
    }  # fmt: skip
    if any(r.reply.valid for r in rows):
        gate = corruption.gate(rows, score, CORRUPTIONS)
        told |= {"corruption": msgspec.to_builtins(gate), "analysis": msgspec.to_builtins(analyse(rows))}
    return told


class _Played:
    """Counts of a deployment's episodes."""

    def __init__(self) -> None:
        self.episodes = self.ended = self.unscorable = self.undetermined = 0
        self.lost: list[str] = []

    def add(self, one: Episode, lost: str, undetermined: int, scored: bool) -> None:
        self.episodes += 1
        self.ended += one.ended
        self.undetermined += undetermined
        self.unscorable += not lost and not scored
        if lost:
            self.lost.append(f"{one.task}#{one.epoch}: {lost}")

    def told(self) -> dict[str, Any]:
        return {
            "episodes": self.episodes, "ended_by_customer": self.ended, "lost": self.lost,
            "without_scored_message": self.unscorable, "undetermined_messages": self.undetermined,
        }  # fmt: skip


def analyse(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the paper's quantities for each deployment.

    Args:
        rows: scored messages, those of lost episodes included.
    """
    by_reading = {reading: columns(rows, reading, [score(r, reading) for r in rows]) for reading in READINGS}
    names = by_reading["strict"].names["deployment"]
    deployments = {
        name: _deployment({k: c.only(deployment=name) for k, c in by_reading.items()}, rows, name) for name in names
    }
    return {"deployments": deployments, "matrix": m.matrix(by_reading["strict"])}


def _deployment(c: Mapping[Reading, Columns], rows: Sequence[Row], name: str) -> dict[str, Any]:
    strict = c["strict"]
    own = [r for r in rows if r.deployment == name and r.reply.valid]
    mid = strict.named("checkpoint", PLACES[Stage.POST_OBS])
    return {
        "followed": {reading: m.measure(one, "emission") for reading, one in c.items()},
        "stages": {reading: _stages(one) for reading, one in c.items()},
        "points": {reading: _points(one) for reading, one in c.items()},
        "composition": {
            place: m.composition(strict, strict.named("checkpoint", place)) for place in strict.present("checkpoint")
        },
        "wrong_values": {"mid": m.wrong_values(strict, mid), "all": m.wrong_values(strict)},
        "false_completion": m.measure(strict, "mu"),
        "trajectories": {reading: trajectories(own, reading) for reading in READINGS},
        "completion": {
            reading: {k: m.measure(one, "theta", one.named("completion", k)) for k in COMPLETIONS}
            for reading, one in c.items()
        },
        "denominators": m.denominators(strict),
    }


def _stages(c: Columns) -> dict[str, m.Cell]:
    return {place: m.measure(c, "theta", c.named("checkpoint", place)) for place in PLACES.values()}


def _points(c: Columns) -> dict[str, m.Cell]:
    places = _stages(c)
    bins = {f"mid {n}": m.measure(c, "theta", c.named("bin", str(n))) for n in range(1, BINS + 1)}
    return {"pre": places["pre"], **bins, "completed": places["completed"]}


def trajectories(rows: Sequence[Row], reading: Reading = "strict") -> dict[str, int]:
    """Return how many trajectories with two mid-task messages or more are all wrong, all right or mixed there.

    Wrong is whatever is not clean: a report that was left out too.
    """
    clean: dict[tuple[str, int], list[bool]] = {}
    for row in rows:
        if "bin" in row.factors:
            clean.setdefault((row.scenario, row.repetition), []).append(score(row, reading).code == "CLEAN")
    kinds = ["all_right" if all(c) else "mixed" if any(c) else "all_wrong" for c in clean.values()]
    return {"of": len(kinds), **{k: kinds.count(k) for k in ("all_wrong", "mixed", "all_right")}}


def inverted(row: Row) -> Row:
    """Return a row whose reported value is made wrong; without a well-formed report it is left, being not clean."""
    found = parse_report(row.reply.text, "xml", vocabulary=TAU2_STAGES)
    if found.value is None:
        return row
    other = "READY" if row.stage is Stage.COMPLETED else COMPLETED
    at = row.reply.text.rindex(found.value)
    text = row.reply.text[:at] + other + row.reply.text[at + len(found.value) :]
    return msgspec.structs.replace(row, reply=msgspec.structs.replace(row.reply, text=text))


CORRUPTIONS: Final = {**corruption.CORRUPTIONS, "inverted": inverted}
