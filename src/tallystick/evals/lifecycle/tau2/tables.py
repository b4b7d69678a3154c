"""Tables of the duty, like the paper's; its own rows beside, named as published, for telecom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tallystick.evals.lifecycle import table
from tallystick.evals.lifecycle.score import READINGS
from tallystick.evals.lifecycle.table import CODES, Table, number, published, share, theirs_of
from tallystick.evals.lifecycle.tau2.report import COMPLETIONS, POINTS

_SHORT: Final = {"strict": "", "envelope_stripped": " stripped"}


def text(told: Mapping[str, Any]) -> str:
    """Return a report as text."""
    lines = [f"study {told['study']}"]
    if told["scripted"]:
        lines.append(f"scripted agents, not models: {', '.join(told['scripted'])}")
    lines += [f"{name}: the customer is {one['user']}" for name, one in _settings(told)]
    for name, one in told["episodes"].items():
        lines.append(
            f"{name}: {one['episodes']} episodes, {one['ended_by_customer']} ended by the customer,"
            f" {len(one['lost'])} lost, {one['without_scored_message']} without a message that can be scored;"
            f" {one['undetermined_messages']} messages whose stage the record cannot tell"
        )
        lines += [f"  lost {why}" for why in one["lost"]]
    lines.append(f"no-user mode: {told['no_user_mode']}")
    if "analysis" not in told:
        return "\n".join([*lines, "nothing is scored"]) + "\n"
    gate = told["corruption"]
    lines += [f"corruption gate {'passed' if gate['passed'] else 'FAILED'}", *gate["failures"], ""]
    return "\n".join(lines) + "\n" + table.text(tables(told))


def tables(told: Mapping[str, Any]) -> list[Table]:
    """Return the tables of a report that has an analysis."""
    each, telecom = told["analysis"]["deployments"], told["domain"] == "telecom"
    return list(_tables(each, published()["tau2"], telecom=telecom))


def _tables(each: Mapping[str, Any], theirs: Mapping[str, Any], *, telecom: bool) -> Iterator[Table]:
    usual = theirs["follow_rate"]
    yield Table(
        key="followed",
        title="Does it report: share of messages to the customer with a report",
        label="Observational",
        head=("deployment", *READINGS),
        rows=(
            *((name, *(share(one["followed"][r]) for r in READINGS)) for name, one in each.items()),
            *(((theirs_of("seven that usually report"), _range(usual["usually"]), ""),
               (theirs_of("four that rarely do"), _range(usual["rarely"]), "")) if telecom else ()),
        ),
        source=usual["at"] if telecom else "",
    )  # fmt: skip
    yield Table(
        key="points",
        title="Clean reports before acting, by mid-task position, and after completion",
        label="Observational",
        head=("deployment", *POINTS),
        rows=(
            *(
                (name + _SHORT[r], *(_counted(one["points"][r][p]) for p in POINTS))
                for name, one in each.items()
                for r in READINGS
            ),
            *((theirs_of(n), *(_ratio(h, of) for h, of in row)) for n, row in theirs["rows"].items() if telecom),
        ),
        note="Clean of due, and percent. Five equal widths of position, min-max normalised within trajectories of two "
        "mid-task messages or more; position differences are descriptive.",
        source=theirs["at"] if telecom else "",
    )
    yield Table(
        key="stages",
        title="Clean reports by stage, strict beside envelope-stripped",
        label="Observational",
        head=("deployment", "reading", "pre", "mid", "completed"),
        rows=(
            *(
                (name, r, *(share(one["stages"][r][p]) for p in ("pre", "mid", "completed")))
                for name, one in each.items()
                for r in READINGS
            ),
            *((theirs_of(n), r, *map(number, v)) for n, both in theirs["readings"].items() for r, v in both.items()
              if telecom),
        ),
        note="Percent with 95% intervals over tasks. Before acting NEEDS_INFO and READY are both right. The stripped "
        "reading is a diagnostic, never the main score.",
        source="table 1" if telecom else "",
    )  # fmt: skip
    yield Table(
        key="composition",
        title="What becomes of a due report",
        label="Observational",
        head=("deployment", "stage", *CODES.values()),
        rows=tuple(
            (name, place, *(share(codes[k]) for k in CODES))
            for name, one in each.items()
            for place, codes in one["composition"].items()
            if place != "lost"
        ),
        note="Strict. A message that calls a tool is not one to the customer, so there is no divergence here.",
    )
    kinds = ("stale", "premature", "ahead", "other")
    said = theirs["wrong_values"]
    yield Table(
        key="wrong-values",
        title="What well-formed wrong values say, mid-task",
        label="Observational",
        head=("deployment", *kinds, "false COMPLETED of all"),
        rows=(
            *(
                (name, *(share(one["wrong_values"]["mid"][k]) for k in kinds), share(one["false_completion"]))
                for name, one in each.items()
            ),
            *(((theirs_of("five worst mid-task"), _range(said["stale"]), _range(said["premature"]), "", "", ""),)
              if telecom else ()),
        ),
        note="Strict. stale: a stage already passed; premature: COMPLETED of an unfinished task.",
        source=said["at"] if telecom else "",
    )  # fmt: skip
    yield Table(
        key="trajectories",
        title="Trajectories whose mid-task reports are all wrong, or all right",
        label="Observational",
        head=("deployment", "reading", "all wrong", "mixed", "all right"),
        rows=(
            *(
                (name, r, *(_ratio(t[k], t["of"]) for k in ("all_wrong", "mixed", "all_right")))
                for name, one in each.items()
                for r, t in one["trajectories"].items()
            ),
            *((theirs_of(n), "strict", _ratio(*v), "", "") for n, v in theirs["all_wrong"].items()
              if n != "at" and telecom),
        ),
        note="Of those with two mid-task messages or more. A report left out is wrong.",
        source=theirs["all_wrong"]["at"] if telecom else "",
    )  # fmt: skip
    yield Table(
        key="completion",
        title="Reports after completion, by how it came about",
        label="Observational",
        head=("deployment", "reading", *COMPLETIONS),
        rows=(
            *(
                (name, r, *(_counted(one["completion"][r][k]) for k in COMPLETIONS))
                for name, one in each.items()
                for r in READINGS
            ),
            *((theirs_of(n), "", _ratio(*v), "", "") for n, v in theirs["post_transfer"].items()
              if n != "at" and telecom),
        ),
        note="hand-off: the task ends in a transfer; confirmed: a customer's message since the last unfinished one has "
        "a cue of resolution and no negation (a keyword proxy; the words beyond the paper's are ours).",
        source=theirs["post_transfer"]["at"] if telecom else "",
    )  # fmt: skip
    yield _counts(each)


def _counts(each: Mapping[str, Any]) -> Table:
    first = next(iter(each.values()))["denominators"]
    return Table(
        key="denominators",
        title="Denominators and codes",
        label="Audit/engineering",
        head=("deployment", *first),
        rows=tuple((name, *map(str, one["denominators"].values())) for name, one in each.items()),
        note="Messages of lost episodes are transport, and in no other denominator.",
    )


def _settings(told: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(str(s["deployment"]), s) for s in told["settings"]]


def _counted(found: Mapping[str, Any]) -> str:
    return _ratio(found["hits"], found["of"])


def _ratio(hits: int, of: int) -> str:
    return f"{hits}/{of} ({100 * hits / of:.1f}%)" if of else "0/0"


def _range(values: Sequence[float]) -> str:
    return " to ".join(f"{v:g}" for v in values)
