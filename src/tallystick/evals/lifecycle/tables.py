"""Tables like the paper's, from an analysis as plain values; published rows beside ours, and named as such."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from tallystick.evals.common.estimate import NOT_ESTIMABLE
from tallystick.evals.lifecycle import tables_other as other
from tallystick.evals.lifecycle.columns import ORDER, REPORTED
from tallystick.evals.lifecycle.labels import Label
from tallystick.evals.lifecycle.measures import MEASURES
from tallystick.evals.lifecycle.score import READINGS
from tallystick.evals.lifecycle.table import (
    CODES,
    Table,
    estimate,
    number,
    p_value,
    points,
    published,
    share,
    theirs_of,
)

DUE: Final = ("wait", "ready", "step", "done")
"""Checkpoints where a report is due, in the order of the task."""


def tables(study: str, found: Mapping[str, Any]) -> list[Table]:
    """Return the tables of a study.

    Args:
        study: its name, with or without `-en`.
        found: `analysis.plain(analysis.analyse(...))`.
    """
    made = list(_STUDIES[study.removesuffix("-en")](found))
    return [*made, _counts(found), *_readings(found)]


# ---------------------------------------------------------------------- every study


def _counts(found: Mapping[str, Any]) -> Table:
    counts = found["denominators"]
    return Table(
        key="denominators",
        title="Denominators and codes",
        label="Audit/engineering",
        head=tuple(counts),
        rows=(tuple(str(n) for n in counts.values()),),
        note="Every row has exactly one code; transport is in no other denominator.",
    )


def _readings(found: Mapping[str, Any]) -> Iterator[Table]:
    told = found.get("readings")
    if told:
        label: dict[Label, list[str]] = {}
        for name, (_, kind) in MEASURES.items():
            label.setdefault(kind, []).append(name)
        for kind, names in label.items():
            yield Table(
                key=f"readings-{kind.split('/', 1)[0].split(' ', 1)[0].lower()}",
                title="Every measure, strict beside envelope-stripped",
                label=kind,
                head=("measure", *READINGS, "definition"),
                rows=tuple((n, *(share(told[r][n]) for r in READINGS), MEASURES[n][0]) for n in names),
                note="All rows of the study pooled. The stripped reading is a diagnostic, never the main score.",
            )


# ---------------------------------------------------------------------- main


def _main(found: Mapping[str, Any]) -> Iterator[Table]:
    each, pooled, theirs = found["deployments"], found["pooled"], published()
    rows = [
        (name, *(share(one["theta"].get(p)) for p in DUE), estimate(one["delta"], sign=True), p_value(one["delta"]))
        for name, one in each.items()
    ]
    rows += [
        (
            theirs_of(name),
            *(f"{v:.1f}" for v in row["theta"]),
            f"{row['delta']:+.1f} [{row['ci'][0]:+.1f}, {row['ci'][1]:+.1f}]",
            "",
        )
        for name, row in theirs["main"]["rows"].items()
    ]
    yield Table(
        key="stages",
        title="Baseline adherence at each checkpoint, and intermediate minus terminal",
        label="Observational",
        head=("deployment", *DUE, "difference", "sign-flip p"),
        rows=tuple(rows),
        note="Percent and points with 95% intervals over scenarios, encodings pooled.",
        source=theirs["main"]["at"],
    )
    names = theirs["pooled"]["columns"]
    rows = [(d, *(share(one["pooled_arms"][k]) for k in names)) for d, one in each.items()]
    rows += [(theirs_of(d), *map(number, row)) for d, row in theirs["pooled"]["rows"].items()]
    yield Table(
        key="halves",
        title="Intermediate and terminal, all arms pooled",
        label="Observational",
        head=("deployment", *names),
        rows=tuple(rows),
        note="phi is over turns without a tool call, and is diagnostic.",
        source=theirs["pooled"]["at"],
    )
    yield _composed(pooled["composition"])
    yield _matrix(pooled["matrix"])
    yield Table(
        key="wrong-values",
        title="What well-formed wrong values say",
        label="Observational",
        head=tuple(pooled["wrong_values"]),
        rows=(tuple(share(v) for v in pooled["wrong_values"].values()),),
        note="Of wrong values, baseline, XML. stale: a stage already passed; premature: an unfinished task completed.",
    )
    arms = list(dict.fromkeys(a for one in each.values() for a in one["effects"]))
    kept = [a for a in arms if a in theirs["effects"]["columns"]]
    rows = [(d, *(estimate(one["effects"].get(a), sign=True) for a in arms)) for d, one in each.items()]
    at = [theirs["effects"]["columns"].index(a) if a in kept else -1 for a in arms]
    rows += [
        (theirs_of(d), *(points(r[n]) if n >= 0 else "" for n in at)) for d, r in theirs["effects"]["rows"].items()
    ]
    if arms:
        yield Table(
            key="arms",
            title="Arms against the baseline",
            label="Controlled intervention",
            head=("deployment", *(f"{a} - baseline" for a in arms)),
            rows=tuple(rows),
            note="Points of theta over due checkpoints (reconstructed: broad adherence).",
            source=theirs["effects"]["at"],
        )
    yield from _models(found)


def _composed(places: Mapping[str, Any]) -> Table:
    return Table(
        key="composition",
        title="Failure composition by checkpoint",
        label="Observational",
        head=("checkpoint", *CODES.values()),
        rows=tuple((p, *(share(codes[k]) for k in CODES)) for p, codes in places.items()),
        note="Share of due responses, baseline arm, XML, deployments pooled; omissions stay in the denominator.",
    )


def _matrix(counts: Mapping[str, Mapping[str, int]]) -> Table:
    rows = []
    for stage in ORDER:
        line = counts[stage.value]
        of = sum(line.values())
        rows.append((stage.value, *(f"{line[r]} ({100 * line[r] / of:.1f}%)" if of else "0" for r in REPORTED)))
    return Table(
        key="matrix",
        title="Gold stage by reported stage",
        label="Observational",
        head=("gold", *REPORTED),
        rows=tuple(rows),
        note="Counts and row percentages over all due responses, baseline arm, XML, pooled by checkpoint.",
    )


def _models(found: Mapping[str, Any]) -> Iterator[Table]:
    theirs, pooled = published()["models"], found["pooled"]
    rows = [
        (d, estimate(one["mixed"], 1, 3, sign=True), p_value(one["mixed"]), str(one["mixed"]["rows"]))
        for d, one in found["deployments"].items()
    ]
    rows.append((theirs_of("range"), _thousandths(theirs["mixed"]["range"]), "", str(theirs["mixed"]["rows"])))
    yield Table(
        key="mixed",
        title="Linear mixed model: clean on intermediate, scenario intercept",
        label="Observational",
        head=("deployment", "coefficient", "p", "rows"),
        rows=tuple(rows),
        note="Baseline arm, XML, due rows; a difference of probabilities.",
        source=theirs["mixed"]["at"],
    )
    if "gee" not in pooled:
        return
    left, gee = pooled["left_out"], pooled["gee"]
    span = NOT_ESTIMABLE if left["low"] is None else _thousandths((left["low"], left["high"]))
    lost = [name for name, one in left["by_scenario"].items() if one["value"] is None]
    note = "Baseline, XML, due rows; log odds, deployment effects, scenario clusters, independence working (ours)."
    note += f" {gee['why'].capitalize()}." if gee["value"] is not None and gee["why"] else ""
    note += f" Not estimable without {', '.join(lost)}." if lost and left["low"] is not None else ""
    yield Table(
        key="gee",
        title="Pooled logistic GEE, and with each scenario left out",
        label="Observational",
        head=("", "coefficient", "se", "p", "left out one: range"),
        rows=(
            (
                "ours",
                estimate(gee, 1, 3, sign=True),
                "" if gee["se"] is None else f"{gee['se']:.3f}",
                p_value(gee),
                span,
            ),
            (
                theirs_of("seven deployments"),
                f"{theirs['pooled']['value']:+.3f}",
                f"{theirs['pooled']['se']:.3f}",
                f"{theirs['pooled']['p']:.1e}",
                _thousandths(theirs["left_out"]["range"]),
            ),
        ),
        note=f"{note}",
        source=theirs["pooled"]["at"],
    )


def _thousandths(values: Iterable[float]) -> str:
    return " to ".join(f"{v:+.3f}" for v in values)


_STUDIES: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[Table]]]] = {
    "main": _main,
    "five_arms": other.five_arms,
    "breadth": other.breadth,
    "negative": other.negative,
    "obligations": other.obligations,
    "demand": other.demand,
    "thinking": other.thinking,
    "bundle": other.bundle,
    "crossed": other.crossed,
}
