"""What each study is asked for, as plain values: estimates with their counts, by deployment. `tables` shows them.

Source: unreliable-progress-bar, section 4 and appendices M to S; one function a study. A study's rows are never pooled
with another's, and English runs are studies of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.common.estimate import Estimate, not_estimable
from tallystick.evals.common.intervals import numpy
from tallystick.evals.lifecycle import measures as m
from tallystick.evals.lifecycle import models, obligations, proxy
from tallystick.evals.lifecycle.columns import Columns, columns
from tallystick.evals.lifecycle.row import NEGATIVES, Row
from tallystick.evals.lifecycle.score import READINGS
from tallystick.gates.stage import Stage

FACTORS: Final[Mapping[str, tuple[str, str]]] = {
    "ownership": ("self", "other"), "tool": ("available", "withdrawn"), "cue": ("resolved", "problem"),
}  # fmt: skip
"""Crossed factors with their reference and treated levels."""
CONTRASTS: Final = {"E - A": ("E", "A"), "C - B": ("C", "B"), "D - B": ("D", "B")}
"""Of the five arms: reminder, semantics, reminder with a constant."""
ACTION_BEARING: Final = ("ready", "step")
"""Due checkpoints where a call is available or pending (CP2 and CP4)."""
_SPOKEN: Final = ("wait", "ready", "step")
"""Checkpoints before the last at which the state requires speech, whatever an arm demands."""
Found = dict[str, Any]


def analyse(study: str, rows: Sequence[Row], *, fit: bool = True) -> Found:
    """Return what a study's rows say.

    Args:
        study: its name, with or without `-en`.
        rows: of this study only, from admitted deployments.
        fit: fit the two models of the main study, which needs statsmodels.

    Raises:
        InputError: there is no such study; no rows; rows of another study.
    """
    kind = study.removesuffix("-en")
    if kind not in _STUDIES:
        raise InputError(f"there is no study `{study[:80]}`", fix=f"one of: {', '.join(_STUDIES)}")
    other = next((r.study for r in rows if r.study != study), None)
    if other is not None:
        raise InputError(f"a row of `{other[:80]}` among those of `{study}`", fix="studies are never pooled")
    if kind == "obligations":
        return _obligations(rows)
    strict = columns(rows)
    found = _STUDIES[kind](strict, rows, fit)
    return {"denominators": m.denominators(strict), "readings": _readings(rows, strict), **found}


def _readings(rows: Sequence[Row], strict: Columns) -> Found:
    """Strict beside envelope-stripped, every measure; the second is a diagnostic."""
    stripped = columns(rows, "envelope_stripped")
    return {name: m.tally(c) for name, c in zip(READINGS, (strict, stripped), strict=True)}


def _each(c: Columns, work: Callable[[Columns], Found]) -> dict[str, Found]:
    return {name: work(c.only(deployment=name)) for name in c.present("deployment")}


def _halves(c: Columns) -> Found:
    """Intermediate and terminal θ, φ and emission, and ω: the columns of the paper's table 11."""
    before, last = c.at(*m.INTERMEDIATE), c.at(Stage.COMPLETED)
    return {
        "int_theta": m.measure(c, "theta", before), "term_theta": m.measure(c, "theta", last),
        "int_phi": m.measure(c, "phi", before), "term_phi": m.measure(c, "phi", last),
        "int_emission": m.measure(c, "emission", before), "omega": m.measure(c, "omega"),
    }  # fmt: skip


# ---------------------------------------------------------------------- studies


def _main(c: Columns, _: Sequence[Row], fit: bool) -> Found:
    base, xml = c.only(arm="baseline"), c.only(arm="baseline", encoding="xml")
    model_rows = models.rows_of(c) if fit else None

    def one(d: Columns) -> Found:
        name = d.present("deployment")[0]
        own = base.only(deployment=name)
        arms = {arm: m.by_checkpoint(d, mask=d.named("arm", arm)) for arm in d.present("arm")}
        baseline = d.named("arm", "baseline")
        effects = {a: m.contrast(d, "theta", d.named("arm", a), baseline) for a in d.present("arm") if a != "baseline"}
        fitted = (
            models.mixed(model_rows.only(deployment=name)) if model_rows is not None else not_estimable("not fitted")
        )
        return {
            "theta": m.by_checkpoint(own), "phi": m.by_checkpoint(own, "phi"), "delta": m.delta(own),
            "measures": m.tally(own), "arms": arms, "effects": effects, "pooled_arms": _halves(d), "mixed": fitted,
            "composition": _compositions(xml.only(deployment=name)),
        }  # fmt: skip

    pooled: Found = {
        "theta": m.by_checkpoint(base), "composition": _compositions(xml), "matrix": m.matrix(xml),
        "wrong_values": m.wrong_values(xml),
        "arms": {arm: m.by_checkpoint(c, mask=c.named("arm", arm)) for arm in c.present("arm")},
    }  # fmt: skip
    if model_rows is not None:
        pooled["gee"] = models.pooled(model_rows)
        pooled["left_out"] = models.without_each_scenario(model_rows)
    return {"deployments": _each(c, one), "pooled": pooled}


def _compositions(c: Columns) -> Found:
    found = {place: m.composition(c, c.named("checkpoint", place)) for place in c.present("checkpoint")}
    return {place: codes for place, codes in found.items() if codes["CLEAN"].of}


def _five_arms(c: Columns, _: Sequence[Row], __: bool) -> Found:
    def one(d: Columns) -> Found:
        answered, clean = d.s, d.coded("CLEAN")
        every = {
            label: m.compared(d, answered & d.named("arm", a), clean, answered & d.named("arm", b), clean)
            for label, (a, b) in CONTRASTS.items()
        }
        due = {k: m.contrast(d, "theta", d.named("arm", a), d.named("arm", b)) for k, (a, b) in CONTRASTS.items()}
        theta = {arm: m.measure(d, "theta", d.named("arm", arm)) for arm in d.present("arm")}
        return {"theta": theta, "contrasts": due, "contrasts_all": every, "delta": m.delta(d, d.named("arm", "A"))}

    acting = c.named("checkpoint", *ACTION_BEARING)
    mix = {arm: m.composition(c, acting & c.named("arm", arm)) for arm in c.present("arm")}
    return {"deployments": _each(c, one), "pooled": {"mix": mix, **one(c)}}


def _breadth(c: Columns, _: Sequence[Row], __: bool) -> Found:
    def one(d: Columns) -> Found:
        found = {}
        for arm in d.present("arm"):
            here = d.only(arm=arm)
            halves = _halves(here)
            kept = {k: halves[k] for k in ("int_theta", "term_theta", "omega")}
            found[arm] = {**kept, "gap": m.delta(here), "theta": m.by_checkpoint(here)}
        return found

    return {"deployments": _each(c, one)}


def _negative(c: Columns, _: Sequence[Row], __: bool) -> Found:
    def one(d: Columns) -> Found:
        return {place: m.cell(d, d.s & ~d.due & d.named("checkpoint", place), d.e) for place in d.present("checkpoint")}

    return {"deployments": _each(c, one)}


def _obligations(rows: Sequence[Row]) -> Found:
    views = {view: columns(rows, scores=[obligations.score(r, view) for r in rows]) for view in obligations.VIEWS}
    found: Found = {"denominators": m.denominators(views["strict"])}
    deployments: dict[str, Found] = {}
    for name in views["strict"].present("deployment"):
        per_view: Found = {}
        for view, whole in views.items():
            d = whole.only(deployment=name)
            arms = {arm: m.measure(d, "theta", d.named("arm", arm)) for arm in d.present("arm")}
            shift = {
                o: m.contrast(d, "theta", d.named("arm", f"{o}+reminder"), d.named("arm", o))
                for o in ("O1", "O2", "O3")
            }
            plain = d.only(arm="O3")
            per_view[view] = {
                "theta": arms, "reminder": shift,
                "O3_term": m.measure(plain, "theta", plain.at(Stage.COMPLETED)),
                "O3_int": m.measure(plain, "theta", plain.at(*m.INTERMEDIATE)),
            }  # fmt: skip
        deployments[name] = per_view
    return {**found, "deployments": deployments}


def _demand(c: Columns, rows: Sequence[Row], _: bool) -> Found:
    told = [proxy.passes(row) for row in rows]
    np = numpy()
    judged, passed = np.array([t is not None for t in told]), np.array([t is True for t in told])
    before = c.s & c.named("checkpoint", *_SPOKEN)
    on, off = c.named("arm", "on"), c.named("arm", "off")

    def one(name: str) -> Found:
        own = c.named("deployment", name)
        asked, free = before & on & own, before & off & own
        spoke_on, spoke_off = judged & on & own & c.s, judged & off & own & c.s
        missed = before & on & own & c.m & ~c.e & judged
        wait = c.s & own & on & c.named("checkpoint", "wait") & c.coded("CLEAN") & judged
        return {
            "speaking": {"on": m.cell(c, asked, c.m), "off": m.cell(c, free, c.m)},
            "speaking_difference": m.compared(c, asked, c.m, free, c.m),
            "task": {"on": m.cell(c, spoke_on, passed), "off": m.cell(c, spoke_off, passed)},
            "task_difference": m.compared(c, spoke_on, passed, spoke_off, passed),
            "passed_marker_omitted": m.cell(c, missed, passed),
            "clean_proxy_failed": m.cell(c, wait, ~passed),
        }

    return {"deployments": {name: one(name) for name in c.present("deployment")}}


def _thinking(c: Columns, _: Sequence[Row], __: bool) -> Found:
    def one(d: Columns) -> Found:
        before = d.at(*m.INTERMEDIATE)
        off_duty = d.named("checkpoint", *NEGATIVES) & d.s & ~d.due
        arms, on, off = {}, d.named("arm", "on"), d.named("arm", "off")
        for arm in d.present("arm"):
            own = d.named("arm", arm)
            shares = {k: m.measure(d, k, before & own) for k in ("theta", "omission", "divergence")}
            arms[arm] = {**shares, "false_alarms": m.cell(d, off_duty & own, d.e), "gap": m.delta(d, own)}
        changes = {k: m.contrast(d, k, before & on, before & off) for k in ("theta", "omission", "divergence")}
        alarms = m.compared(d, off_duty & on, d.e, off_duty & off, d.e)
        return {"arms": arms, "changes": {**changes, "false_alarms": alarms}}

    return {"deployments": _each(c, one)}


def _bundle(c: Columns, _: Sequence[Row], __: bool) -> Found:
    def one(d: Columns) -> Found:
        arms = {a: {k: m.measure(d, k, d.named("arm", a)) for k in ("emission", "mu", "nu")} for a in d.present("arm")}
        other, own = d.named("arm", "other"), d.named("arm", "self")
        return {"arms": arms, "delta": {k: m.contrast(d, k, other, own) for k in ("emission", "mu")}}

    return {"deployments": _each(c, one), "pooled": one(c)}


def _crossed(c: Columns, _: Sequence[Row], __: bool) -> Found:
    def one(d: Columns) -> Found:
        families = {
            family: {k: m.crossed(d, FACTORS, k, d.named("family", family)) for k in m.EFFECTS}
            for family in d.present("family")
        }
        return {"effects": {k: m.crossed(d, FACTORS, k) for k in m.EFFECTS}, "families": families}

    found = _each(c, one)
    return {"deployments": found, "ranges": _ranges(found)}


def _ranges(found: Mapping[str, Found]) -> Found:
    """Over deployments: the range of each effect, how many exclude zero, how many keep their sign in every family."""
    names = next((list(one["effects"]["theta"]) for one in found.values()), [])
    ranges: Found = {}
    for name in names:
        ranges[name] = {}
        for outcome in m.EFFECTS:
            told: list[Estimate] = [one["effects"][outcome][name] for one in found.values()]
            values = [e.value for e in told if e.value is not None]
            steady = sum(_steady(one, outcome, name) for one in found.values())
            ranges[name][outcome] = {
                "low": min(values, default=None), "high": max(values, default=None), "of": len(values),
                "excluding_zero": sum(e.excludes_zero for e in told), "same_in_every_family": steady,
            }  # fmt: skip
    return ranges


def _steady(one: Found, outcome: str, name: str) -> bool:
    signs = {(e.value > 0) - (e.value < 0) if e.value is not None else None
             for e in (family[outcome][name] for family in one["families"].values())}  # fmt: skip
    return signs in ({-1}, {1})


_STUDIES: Final[Mapping[str, Callable[[Columns, Sequence[Row], bool], Found]]] = {
    "main": _main, "five_arms": _five_arms, "breadth": _breadth, "negative": _negative,
    "obligations": lambda _, rows, __: _obligations(rows), "demand": _demand, "thinking": _thinking,
    "bundle": _bundle, "crossed": _crossed,
}  # fmt: skip
STUDIES: Final = tuple(_STUDIES)


def plain(found: Any) -> Any:
    """Return an analysis as plain JSON values."""
    return msgspec.to_builtins(found)
