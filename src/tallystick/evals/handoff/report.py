"""What runs come to: coded rows, every estimand under both readings, the two audits, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.handoff import logistic, measures
from tallystick.evals.handoff.audit import audit
from tallystick.evals.handoff.coding import coded
from tallystick.evals.handoff.episode import Episode, Study
from tallystick.evals.handoff.roles import REFERENCE
from tallystick.evals.handoff.rows import READINGS, Reading, Row
from tallystick.evals.handoff.run import Plan, episodes, kept_cast
from tallystick.evals.handoff.task import FIELDS

EPISODES: Final = "episodes.jsonl"
_LOSSES: Final = ("S3", "S4", "C4", "C5", "E4")
"""Conditions with a row of their own in the table of lost components."""


def of_folders(folders: Sequence[Path], plan: Plan) -> dict[str, Any]:
    """Return what kept runs come to, one model a folder, and write each folder's episodes beside its replies.

    Raises:
        InputError: a folder holds no run; two hold the same model on the same substrate.
    """
    found, missing, settings = kept_episodes(folders, plan)
    return report(found, missing=missing, settings=settings)


def kept_episodes(
    folders: Sequence[Path], plan: Plan
) -> tuple[list[Episode], dict[str, dict[str, int]], list[dict[str, Any]]]:
    """Return the episodes of kept runs, what is missing of them, and their settings.

    Raises:
        InputError: as for `of_folders`.
    """
    found: list[Episode] = []
    missing: dict[str, dict[str, int]] = {}
    settings: list[dict[str, Any]] = []
    for folder in folders:
        cast, its = kept_cast(folder)
        wanted = _of(plan, its)
        if not wanted.studies:
            raise InputError("none of these panels was run", where=str(folder), fix="another --panel")
        ran = episodes(wanted, cast)
        (folder / EPISODES).write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in ran.episodes))
        found += ran.episodes
        if ran.missing:
            missing[f"{cast.model}, {cast.substrate.name}"] = ran.missing
        settings.append(its)
    told = [(s.get("model"), s.get("substrate")) for s in settings]
    if len(set(told)) != len(told):
        raise InputError("two folders of one model and substrate", fix="one folder each")
    return found, missing, settings


def _of(plan: Plan, its: Mapping[str, Any]) -> Plan:
    """Return what is reported of a folder: of the panels that were run, those that are wanted."""
    ran: tuple[Study, ...] = tuple(its.get("panels", ()))
    return Plan(
        studies=tuple(s for s in ran if s in plan.studies or not plan.studies),
        substrate=str(its.get("substrate", "plain")), limit=its.get("limit"),
    )  # fmt: skip


def report(
    found: Sequence[Episode],
    *,
    missing: Mapping[str, Mapping[str, int]] | None = None,
    settings: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return what episodes come to.

    Raises:
        InputError: there are none.
    """
    if not found:
        raise InputError("there are no episodes", where="--report", fix="run it again with the same --out")
    rows = coded(found)
    fixed = [r for r in rows if r.episode.study == "endpoint"]
    told: dict[str, Any] = {
        "models": list(dict.fromkeys(e.model for e in found)),
        "settings": list(settings),
        "roles": {
            name: list(dict.fromkeys(getattr(e, name) for e in found))
            for name in ("reviewer", "transformer", "executor")
        },
        "reference": all(e.transformer == e.executor == REFERENCE for e in found),
        "episodes": {name: sum(e.study == name for e in found) for name in dict.fromkeys(e.study for e in found)},
        "missing": {name: dict(one) for name, one in (missing or {}).items() if one},
        "flagged": sum(e.flagged for e in found),
        "upstream": _upstream(found),
        "apart": measures.apart(fixed),
        "leaks": audit(found),
        "readings": {reading: _reading(rows, reading) for reading in READINGS},
        "agreement": sum(r.plain.p == r.precedence.p and r.plain.d == r.precedence.d for r in rows) / len(rows),
    }
    plain: dict[str, Any] = msgspec.to_builtins(told)
    return plain


def _upstream(found: Sequence[Episode]) -> dict[str, Any]:
    """Return per model: in how many of its tasks and episodes the state was identified, and the control passed."""
    told: dict[str, Any] = {}
    for name in dict.fromkeys(e.model for e in found):
        own = [e for e in found if e.model == name]
        tasks = {e.task: e for e in own}
        told[name] = {
            "reviewer": own[0].reviewer,
            "tasks": len(tasks), "tasks_identified": sum(e.d_up for e in tasks.values()),
            "tasks_competent": sum(e.competent for e in tasks.values()),
            "episodes": len(own), "episodes_identified": sum(e.d_up for e in own),
        }  # fmt: skip
    return told


def _reading(rows: Sequence[Row], reading: Reading) -> dict[str, Any]:
    studies: dict[str, list[Row]] = {}
    for row in rows:
        studies.setdefault(row.episode.study, []).append(row)
    told: dict[str, Any] = {}
    main = studies.pop("main", [])
    if main:
        given = [r for r in main if r.episode.d_up]
        flags = measures.outcomes(reading)
        told["main"] = measures.matrix(main, reading)
        told["by_model"] = {
            name: {k: measures.shared(own, flags[k]) for k in ("P", "D", "Y")}
            for name in dict.fromkeys(r.episode.model for r in main)
            if (own := [r for r in main if r.episode.model == name])
        }
        told["losses"] = {name: measures.losses(own, reading) for name, own in _loss_groups(main).items()}
        told["contrasts"] = measures.contrasts(main, reading)
        told["spans"] = measures.spans(given, reading)
        told["gaps"] = {
            name: measures.compared(
                [r for r in given if not measures.is_control(r)], [r for r in given if measures.is_control(r)],
                flags[name],
            )
            for name in ("D", "Y")
        }  # fmt: skip
        told["flips"] = {name: measures.flipped(given, flags[name]) for name in ("D", "Y")}
        told["odds"] = logistic.odds_ratios(given, reading)
    for study, own in studies.items():
        if study == "transport":
            told[study] = {
                name: measures.matrix([r for r in own if r.episode.substrate == name], reading)
                for name in dict.fromkeys(r.episode.substrate for r in own)
            }
            continue
        told[study] = measures.matrix(own, reading)
        told[f"{study}_retention"] = measures.retention(own, reading)
        told[f"{study}_losses"] = {
            name: {f: measures.shared(part, lambda row, f=f: not getattr(row.coded(reading), f)) for f in FIELDS}  # type: ignore[misc]
            for name, part in measures.by_condition(own).items()
        }
    return told


def _loss_groups(main: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of table 7: controls, static transformations, and each dynamic transformation."""
    groups: dict[str, list[Row]] = {
        "Direct controls": [r for r in main if measures.is_control(r)],
        "Static transformations": [
            r for r in main if not measures.is_control(r) and r.episode.trajectory == "static"
        ],
        **{name: [r for r in main if r.episode.condition == name] for name in _LOSSES},
    }  # fmt: skip
    return {name: own for name, own in groups.items() if own}
