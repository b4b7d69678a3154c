"""Tables like the paper's, from a report; published rows stand beside ours and are named as such."""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import yaml

from tallystick.evals.lifecycle.table import Table, estimate, number, theirs_of

COLUMNS: Final = {
    "n": "n", "P": "P", "D": "D", "U": "U", "C": "C", "Y": "forbidden", "transition_loss": "transition loss",
    "recognised": "recognised", "retention": "retention", "prerequisite_kept": "prereq. retained",
    "prerequisite": "prerequisite", "status": "status",
    "authority": "authority", "fallback": "fallback", "actionability": "actionability",
}  # fmt: skip
_MAIN: Final = ("n", "P", "D", "U", "C", "Y", "transition_loss")
_STUDY: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "compression": ("Compression gradient", ("n", "P", "D", "Y", "retention")),
    "restoration": ("Component restoration on fixed artifacts", ("n", "P", "D", "Y", "prerequisite_kept")),
    "leave_out": ("All fields restored but one, two executor routes", ("n", "P", "C", "recognised", "Y")),
    "endpoint": ("Endpoint controls over the same artifacts, two executor routes", ("n", "P", "C", "recognised", "Y")),
    "paraphrase": ("The same operations in other words", ("n", "P", "D", "C", "Y")),
    "gate": ("Tallystick's two layers over the same artifacts", ("n", "P", "D", "C", "Y")),
}  # fmt: skip
_LABEL: Final = "Controlled intervention"


@cache
def published() -> Mapping[str, Any]:
    """Return the paper's figures, with their places."""
    text = importlib.resources.files(__package__).joinpath("published.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


def tables(told: Mapping[str, Any], reading: str = "precedence") -> list[Table]:
    """Return the tables of a report under one reading.

    Args:
        told: what `report.report` returns.
        reading: precedence or plain.
    """
    found = told["readings"][reading]
    made = list(_primary(found)) if "main" in found else []
    made += [_study(found, name) for name in _STUDY if name in found]
    if "transport" in found:
        made.append(_transport(found["transport"]))
    return [*made, *_readings(told["readings"]), _upstream(told)]


def _cell(found: Mapping[str, Any], column: str) -> str:
    if column == "n":
        return str(found["P"]["of"])
    return estimate(found[column]["value"]) if column in found else ""


def _theirs(columns: Sequence[str], place: Mapping[str, Any], row: str) -> tuple[str, ...]:
    values = dict(zip(place["columns"], place["rows"].get(row, ()), strict=False))
    return tuple("" if (v := values.get(c)) is None else str(v) if c == "n" else number(v) for c in columns)


def _primary(found: Mapping[str, Any]) -> Iterator[Table]:
    place = published()["main"]
    rows: list[tuple[str, ...]] = []
    for name, one in found["main"].items():
        rows.append((name, *(_cell(one, c) for c in _MAIN)))
        rows.append((theirs_of(name), *_theirs(_MAIN, place, name)))
    yield Table(
        key="main", title="Condition matrix", label=_LABEL, head=("condition", *(COLUMNS[c] for c in _MAIN)),
        rows=tuple(rows), source=place["at"],
        note="Percent, with 95% intervals over tasks. P and D exclude each other; C and Y are judged apart from both."
        " Transition loss: identified upstream, not recognised by the executor (reconstructed).",
    )  # fmt: skip
    place = published()["losses"]
    head = ("n", "status", "prerequisite", "authority", "fallback", "actionability")
    rows = []
    for name, one in found["losses"].items():
        own = (str(one["status"]["of"]), *(_loss(one[c]) for c in head[1:]))
        rows += [(name, *own), (theirs_of(name), *_theirs(head, place, name))]
    yield Table(
        key="losses", title="Component loss", label=_LABEL, head=("artifacts", *(COLUMNS[c] for c in head)),
        rows=tuple(rows), source=place["at"],
        note="Percent of artifacts that lost the field. Authority counts dynamic artifacts only; actionability is D.",
    )  # fmt: skip
    place = published()["contrasts"]
    rows = []
    for one in found["contrasts"]:
        deltas = (estimate(one[k], sign=True) for k in ("delta_p", "delta_d", "delta_y"))
        rows.append((f"{one['condition']} vs. {one['control']}", f"{one['n'][0]}/{one['n'][1]}", *deltas))
        theirs = place["rows"][one["condition"]]
        shown = (f"{v[0]:+.1f} [{v[1]:+.1f}, {v[2]:+.1f}]" for v in (theirs["D"], theirs["Y"]))
        rows.append((theirs_of(one["condition"]), "", "", *shown))
    yield Table(
        key="contrasts", title="Matched risk differences given D_up = 1", label=_LABEL,
        head=("contrast", "n", "loss of P", "gain of D", "gain of forbidden"), rows=tuple(rows), source=place["at"],
        note="Points, with task-cluster bootstrap intervals."
        + ("" if rows else " None here: no task is under a condition and under its control."),
    )  # fmt: skip
    yield _robust(found)
    place = published()["odds"]
    rows = []
    for name, one in found["odds"].items():
        v = place["rows"][name]
        rows += [(name, estimate(one, 1, 2)), (theirs_of(name), f"{v[0]:.2f} [{v[1]:.2f}, {v[2]:.2f}]")]
    yield Table(
        key="odds", title="Penalised logistic odds ratios", label="Observational", head=("model", "odds ratio"),
        rows=tuple(rows), source=place["at"],
        note="Firth's penalty (reconstructed), task-cluster bootstrap. Secondary to the risk differences."
        " Without an interval: undefined in too many resamples.",
    )  # fmt: skip


def _loss(one: Mapping[str, Any]) -> str:
    return estimate(one["value"]) if one["of"] else "not scored"


def _robust(found: Mapping[str, Any]) -> Table:
    place, flips = published()["spans"], published()["flips"]
    rows: list[tuple[str, ...]] = [
        ("pooled gap", estimate(found["gaps"]["D"], sign=True), estimate(found["gaps"]["Y"], sign=True))
    ]
    for name, one in found["spans"].items():
        rows.append((name.replace("_", " "), *(_span(one[k]["low"], one[k]["high"]) for k in ("D", "Y"))))
        theirs = place["rows"][name]
        rows.append((theirs_of(name.replace("_", " ")), _points(theirs["D"]), _points(theirs["Y"])))
    for d, y in zip(found["flips"]["D"], found["flips"]["Y"], strict=True):
        share = round(100 * d["share"])
        rows.append((f"labels flipped: {share}%", *(_flip(one) for one in (d, y))))
        rows.append((theirs_of(f"labels flipped: {share}%"), *flips["rows"][share]))
    return Table(
        key="robustness", title="Transformation minus control: ranges, weights, worst flips", label=_LABEL,
        head=("analysis", "D", "forbidden"), rows=tuple(rows), source=f"{place['at']}, {flips['at']}",
        note="Points. A range is over what is left when each domain or model is left out, or over weights by which"
        " domains, models, conditions, tasks or trajectories count alike.",
    )  # fmt: skip


def _span(low: float | None, high: float | None) -> str:
    return "not estimable (one slice)" if low is None or high is None else _points((100 * low, 100 * high))


def _points(values: Sequence[float]) -> str:
    return f"{values[0]:.1f} to {values[1]:.1f}"


def _flip(one: Mapping[str, Any]) -> str:
    return one["state"] if one["gap"] is None else f"{one['state']} ({100 * one['gap']:+.1f})"


def _study(found: Mapping[str, Any], name: str) -> Table:
    title, columns = _STUDY[name]
    place = published().get(name)
    rows: list[tuple[str, ...]] = []
    for arm, one in found[name].items():
        cells = dict(one)
        more: dict[str, Callable[[], str]] = {
            "retention": lambda arm=arm: f"{100 * found[f'{name}_retention'][arm]:.1f}",  # type: ignore[misc]
            "prerequisite_kept": lambda arm=arm: _kept(found[f"{name}_losses"][arm]["prerequisite"]),  # type: ignore[misc]
        }
        rows.append((arm, *(more[c]() if c in more else _cell(cells, c) for c in columns)))
        if place is not None:
            rows.append((theirs_of(arm), *_theirs(columns, place, arm)))
    return Table(
        key=name, title=title, label=_LABEL, head=("arm", *(COLUMNS[c] for c in columns)), rows=tuple(rows),
        source=place["at"] if place is not None else "",
        note="Percent, with 95% intervals over tasks." + ("" if place is not None else " The arms are ours."),
    )  # fmt: skip


def _kept(lost: Mapping[str, Any]) -> str:
    return f"{100 * (lost['of'] - lost['hits']) / lost['of']:.1f}" if lost["of"] else ""


def _transport(found: Mapping[str, Any]) -> Table:
    place = published()["transport"]
    columns = ("n", "P", "D", "Y")
    rows: list[tuple[str, ...]] = []
    for substrate, matrix in found.items():
        for name, one in matrix.items():
            rows.append((f"{substrate} {name}", *(_cell(one, c) for c in columns)))
            theirs = place["substrates"].get(substrate, {})
            if name in theirs:
                shown = _theirs(columns, {"columns": place["columns"], "rows": theirs}, name)
                rows.append((theirs_of(f"{substrate} {name}"), *shown))
    return Table(
        key="transport", title="The same episodes carried inside a framework", label=_LABEL,
        head=("substrate and condition", *(COLUMNS[c] for c in columns)), rows=tuple(rows), source=place["at"],
        note="Percent; scoring is the same everywhere.",
    )  # fmt: skip


def _readings(told: Mapping[str, Any]) -> Iterator[Table]:
    """Yield where the two readings part, arm by arm."""
    first, second = told["precedence"], told["plain"]
    rows: list[tuple[str, ...]] = []
    for name in (n for n in ("main", *_STUDY) if n in first):
        for arm, one in first[name].items():
            other = second[name][arm]
            if any(one[k]["hits"] != other[k]["hits"] for k in "PDC"):
                shown = (f"{100 * m[k]['hits'] / m[k]['of']:.1f}" for k in "PDC" for m in (one, other))
                rows.append((f"{name}: {arm}", str(one["P"]["of"]), *shown))
    if rows:
        yield Table(
            key="readings", title="Where the precedence and the plain reading part", label="Audit/engineering",
            head=("arm", "n", *(f"{k}, {reading}" for k in "PDC" for reading in ("precedence", "plain"))),
            rows=tuple(rows), note="Percent. Arms that are not here are the same under both.",
        )  # fmt: skip


def _upstream(told: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            name, one["reviewer"], f"{one['tasks_identified']} of {one['tasks']}",
            f"{one['tasks_competent']} of {one['tasks']}", f"{one['episodes_identified']} of {one['episodes']}",
        )
        for name, one in told["upstream"].items()
    )  # fmt: skip
    n = published()["audits"]["episodes_identified"]
    return Table(
        key="upstream", title="Identified upstream, and the competence control", label="Audit/engineering",
        head=("model", "reviewer", "tasks, D_up = 1", "tasks, control passed", "episodes, D_up = 1"), rows=rows,
        source=published()["audits"]["at"],
        note=f"A scripted reviewer identifies by its script. The paper: all {n} episodes, reviewer and control.",
    )  # fmt: skip
