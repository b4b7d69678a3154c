"""Tables of the studies beside the main one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tallystick.evals.common.estimate import NOT_ESTIMABLE
from tallystick.evals.lifecycle.analysis import CONTRASTS
from tallystick.evals.lifecycle.table import (
    CODES,
    Table,
    estimate,
    number,
    p_value,
    points,
    published,
    share,
    spread,
    theirs_of,
)


def five_arms(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of this study."""
    theirs = published()["five_arms"]
    rows = [
        (
            d,
            *(estimate(one["contrasts"][k], sign=True) for k in CONTRASTS),
            estimate(one["contrasts_all"]["E - A"], sign=True),
            estimate(one["delta"], sign=True),
        )
        for d, one in {**found["deployments"], "pooled": found["pooled"]}.items()
    ]
    low, high = theirs["reminder"]["ci"]
    rows.append(
        (
            theirs_of("largest"),
            f"{theirs['reminder']['active_only']:+.1f}",
            "",
            spread(theirs["constant_reminder"]["range"]),
            f"{theirs['reminder']['largest']:+.1f} [{low:+.1f}, {high:+.1f}]",
            "",
        )
    )
    yield Table(
        key="contrasts",
        title="Contrasts of the five arms",
        label="Controlled intervention",
        head=("deployment", *CONTRASTS, "E - A, all five checkpoints", "gap in A"),
        rows=tuple(rows),
        note="Points of clean over due checkpoints: E - A salience, C - B semantics, D - B reminder with a constant.",
        source=theirs["at"],
    )
    rows = [(arm, *(share(codes[k]) for k in CODES)) for arm, codes in found["pooled"]["mix"].items()]
    rows += [
        (theirs_of(arm), *(number(row.get(k.replace(" ", "_"))) for k in CODES.values()))
        for arm, row in theirs["mix"].items()
    ]
    yield Table(
        key="mix",
        title="Outcomes at the two action-bearing checkpoints",
        label="Controlled intervention",
        head=("arm", *CODES.values()),
        rows=tuple(rows),
        note="Share of due responses at `ready` and `step`.",
        source=theirs["at"],
    )


def breadth(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of this study."""
    theirs = published()["breadth"]
    arms = list(dict.fromkeys(a for one in found["deployments"].values() for a in one))
    for arm in arms:
        rows = [
            (
                d,
                share(one[arm]["int_theta"]),
                share(one[arm]["term_theta"]),
                estimate(one[arm]["gap"], sign=True),
                p_value(one[arm]["gap"]),
                share(one[arm]["omega"]),
            )
            for d, one in found["deployments"].items()
            if arm in one
        ]
        rows += [
            (theirs_of(d), number(row[arm][0]), number(row[arm][1]), points(row[arm][2]), "", "")
            for d, row in theirs["rows"].items()
            if arm in row
        ]
        yield Table(
            key=f"breadth-{arm}",
            title=f"Breadth, {arm}: intermediate, terminal, gap",
            label="Observational",
            head=("deployment", "intermediate", "terminal", "gap", "sign-flip p", "omega"),
            rows=tuple(rows),
            note="The smallest p at six scenarios is .031.",
            source=theirs["at"],
        )


def negative(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of this study."""
    theirs = published()["negative"]
    places = list(dict.fromkeys(p for one in found["deployments"].values() for p in one))
    rows = [(d, *(share(one.get(p)) for p in places)) for d, one in found["deployments"].items()]
    rows += [
        (theirs_of(d), *(number(row[theirs["columns"].index(p)]) for p in places)) for d, row in theirs["rows"].items()
    ]
    yield Table(
        key="false-alarms",
        title="False alarms where nothing is due",
        label="Observational",
        head=("deployment", *places),
        rows=tuple(rows),
        note="Lower is better.",
        source=theirs["at"],
    )


def obligations(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of this study."""
    theirs, duties = published()["obligations"], ("O1", "O2", "O3")
    for view in ("lenient", "strict"):
        each = {d: one[view] for d, one in found["deployments"].items()}
        rows = [
            (
                d,
                *(share(one["theta"].get(f"{o}{r}")) for o in duties for r in ("", "+reminder")),
                share(one["O3_term"]),
                share(one["O3_int"]),
            )
            for d, one in each.items()
        ]
        if view == "lenient":
            rows += [
                (
                    theirs_of(d),
                    *(number(v) for o in duties for v in row[o]),
                    number(row["O3_term"]),
                    number(row["O3_int"]),
                )
                for d, row in theirs["rows"].items()
            ]
        else:
            rows.append((theirs_of("mean"), "", "", number(theirs["strict_O2"]["value"]), *("",) * 5))
        yield Table(
            key=f"obligations-{view}",
            title=f"Matched obligations, O2 in the {view} view",
            label="Controlled intervention",
            head=(
                "deployment",
                *(f"{o}{r}" for o in duties for r in ("", " reminded")),
                "O3 terminal",
                "O3 intermediate",
            ),
            rows=tuple(rows),
            note="O1 final sigil, O2 status sentence, O3 machine tag; adherence at due checkpoints.",
            source=theirs["at"] if view == "lenient" else theirs["strict_O2"]["at"],
        )


def demand(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of this study."""
    theirs, each = published()["demand"], found["deployments"]
    off, by = theirs["speaking"]["off"], theirs["speaking"]["lowered_by"]
    rows = [
        (
            d,
            share(one["speaking"]["off"]),
            share(one["speaking"]["on"]),
            estimate(one["speaking_difference"], sign=True),
            share(one["task"]["off"]),
            share(one["task"]["on"]),
            estimate(one["task_difference"], sign=True),
        )
        for d, one in each.items()
    ]
    rows += [
        (theirs_of("an affected one"), number(o), "", f"-{b:.1f}", "", "", "") for o, b in zip(off, by, strict=True)
    ]
    rows.append((theirs_of("the one with a cost"), "", "", "", "", "", f"{theirs['task_points']['value']:+.1f}"))
    yield Table(
        key="demand",
        title="With and without the protocol demand",
        label="Controlled intervention",
        head=(
            "deployment",
            "speaks, off",
            "speaks, on",
            "difference",
            "task proxy, off",
            "task proxy, on",
            "difference",
        ),
        rows=tuple(rows),
        note="Speaking share at checkpoints before the last; a frozen lexical proxy over spoken turns.",
        source=theirs["at"],
    )
    pairs = [(d, share(one["passed_marker_omitted"]), share(one["clean_proxy_failed"])) for d, one in each.items()]
    ranges = (theirs["proxy_passed_marker_omitted"]["range"], theirs["clean_proxy_failed"]["range"])
    pairs.append((theirs_of("range"), f"{ranges[0][0]:g} to {ranges[0][1]:g}", f"{ranges[1][0]:g} to {ranges[1][1]:g}"))
    yield Table(
        key="quadrants",
        title="Off-diagonal: task without report, report without task",
        label="Post-treatment descriptive",
        head=("deployment", "proxy passed, marker omitted", "clean, proxy failed"),
        rows=tuple(pairs),
        note="Each column has its own population; they are not cells of one joint distribution.",
        source=theirs["at"],
    )


def thinking(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of this study."""
    theirs = published()["thinking"]
    kinds = ("theta", "omission", "divergence", "false_alarms")
    rows = [
        (
            d,
            *(estimate(one["changes"][k], sign=True) for k in kinds),
            *(estimate(arm["gap"], sign=True) for arm in one["arms"].values()),
        )
        for d, one in found["deployments"].items()
    ]
    arms = list(dict.fromkeys(a for one in found["deployments"].values() for a in one["arms"]))
    rows = [(*row, *("",) * (1 + len(kinds) + len(arms) - len(row))) for row in rows]
    one = theirs["one_deployment"]
    rows.append(
        (
            theirs_of("range; one deployment"),
            spread(theirs["intermediate_points"]["range"]),
            *(points(one[k][1] - one[k][0]) for k in ("omission", "divergence")),
            points(theirs["false_alarms_points"]["value"]),
            *(spread(theirs["gaps_points"]["range"]) for _ in arms),
        )
    )
    yield Table(
        key="thinking",
        title="Thinking on minus off",
        label="Controlled intervention",
        head=("deployment", *(f"{k}, on - off" for k in kinds), *(f"gap, {a}" for a in arms)),
        rows=tuple(rows),
        note="Points at intermediate checkpoints; false alarms at the three negatives.",
        source=theirs["at"],
    )


def bundle(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of this study."""
    theirs = published()["bundle"]
    every = {**found["deployments"], "pooled": found["pooled"]}
    rows = []
    for d, one in every.items():
        shares = [share(one["arms"].get(a, {}).get(k)) for k in ("emission", "mu") for a in ("self", "other")]
        rows.append(
            (
                d,
                *shares[:2],
                estimate(one["delta"]["emission"], sign=True),
                *shares[2:],
                estimate(one["delta"]["mu"], sign=True),
            )
        )
    e, w = theirs["emission"], theirs["false_completion"]
    rows.append(
        (
            theirs_of("pooled"),
            number(e["self"]),
            number(e["other"]),
            points(e["points"]),
            number(w["self"]),
            number(w["other"]),
            points(w["points"]),
        )
    )
    yield Table(
        key="bundle",
        title="Withdraw and delegate, mid-task: emission and false completion",
        label="Controlled intervention",
        head=("deployment", "E self", "E other", "difference", "mu self", "mu other", "difference"),
        rows=tuple(rows),
        note="The bundle's total effect: a tool is withdrawn and another system made responsible at once.",
        source=theirs["at"],
    )
    rows = [(d, *(share(one["arms"].get(a, {}).get("nu")) for a in ("self", "other"))) for d, one in every.items()]
    rows.append((theirs_of("pooled"), "", number(theirs["nu_other"])))
    yield Table(
        key="bundle-nu",
        title="False completion among emitted reports",
        label="Post-treatment descriptive",
        head=("deployment", "nu self", "nu other"),
        rows=tuple(rows),
        source=theirs["at"],
    )


def crossed(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of this study."""
    theirs, outcomes = published()["crossed"], ("theta", "emission", "mu")
    names = list(found["ranges"])
    rows = [
        (d, *(estimate(one["effects"]["theta"][n], sign=True) for n in names))
        for d, one in found["deployments"].items()
    ]
    yield Table(
        key="crossed",
        title="Crossed factors: effects on theta by deployment",
        label="Controlled intervention",
        head=("deployment", *names),
        rows=tuple(rows),
        note="Points; main effects averaged over the other two factors (equation 16), interactions reconstructed.",
    )
    rows = []
    for name in names:
        ours = found["ranges"][name]
        rows.append(
            (
                name,
                *(_span(ours[o]) for o in outcomes),
                f"{ours['theta']['excluding_zero']} of {ours['theta']['of']}",
                f"{ours['theta']['same_in_every_family']} of {ours['theta']['of']}",
            )
        )
        if name in theirs["rows"]:
            told = [spread(theirs["rows"][name][o]) for o in outcomes]
            sign = theirs["tool_same_sign"]
            more = (f"{sign['excluding_zero']} of {sign['all']}", f"{sign['same_in_every_family']} of {sign['all']}")
            rows.append((theirs_of(name), *told, *(more if name == "tool" else ("", ""))))
    yield Table(
        key="crossed-ranges",
        title="Crossed factors: range over deployments",
        label="Controlled intervention",
        head=("effect", *outcomes, "theta excludes 0", "same sign in every family"),
        rows=tuple(rows),
        note="Points over the fixed number of responses; emission and mu are diagnostics.",
        source=theirs["at"],
    )


def _span(found: Mapping[str, Any]) -> str:
    return NOT_ESTIMABLE if found["low"] is None else spread((100 * found["low"], 100 * found["high"]))
