"""A report as text: our counts, the published ones beside them and marked, differences, gates and controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tallystick.evals.termination.closed.policies import ORDER

_NAMES: Final = {
    "critic_core": "critic core",
    "controller": "its controller",
    "full_trace_critic": "full-trace critic",
    "ect": "ECT",
}
_COUNTS: Final = ("U", "S", "FC", "R")


def text(told: Mapping[str, Any]) -> str:
    """Return the tables of what `run` returned, as plain text for a terminal or a file."""
    return "\n".join(_lines(told)) + "\n"


def label(told: Mapping[str, Any], policy: str) -> str:
    """Return a policy's name, with what must be said beside it."""
    name = _NAMES.get(policy, policy)
    return f"{name} (scripted)" if policy == "full_trace_critic" and told["scripted_critic"] else name


def who(told: Mapping[str, Any]) -> str:
    """Return who acted."""
    return "scripted agents of stated behaviour" if told["scripted"] else f"{told['agent']}"


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"closed loop: {told['trajectories']} trajectories, {told['clusters']} task clusters ({told['primary']} "
        f"primary), {told['repetitions']} repetitions; {who(told)}"
    )
    if told["manifest_ok"] is not None:
        yield f"  manifest {'kept' if told['manifest_ok'] else 'BROKEN'}"
    for note in told["notes"]:
        yield f"  note: {note}"
    yield ""
    yield "primary clusters; (published) is the paper's, of other tasks and another agent"
    yield from _table(_rows(told))
    yield ""
    yield from _compared(told)
    if told["controls"]:
        yield ""
        yield "controls, which must each fail a gate"
        yield from _table(_controls(told["controls"]))
    yield ""
    yield f"decisions made again from the record: {told['reproduced']} of {told['trajectories']} runs reproduce"
    yield from (f"  {name}: {words}" for name, words in told["definitions"].items())
    yield "  the clusters, gaps, policies and definitions are reconstructed; the source has abstract and tables only"


def _rows(told: Mapping[str, Any]) -> list[list[str]]:
    rows = [["policy", *_COUNTS, "then complete", "turns", "calls"]]
    published = told["published"]["policies"]
    of = told["published"]["of"]
    for name in ORDER:
        mine = told["policies"][name]
        if mine is None:
            rows.append([label(told, name), "not run"])
        else:
            counts = [f"{mine[c]}/{mine[f'{c}_of']}" for c in _COUNTS]
            then = f"{mine['recovered_then_completed']}/{mine['R']}"
            rows.append([label(told, name), *counts, then, f"{mine['turns']:.2f}", f"{mine['calls']:.2f}"])
        theirs = published[name]
        then = ""
        if name == "ect":
            both = told["published"]["recovered_then_completed"]
            then = f"{both['value']}/{both['of']}"
        counts = [f"{theirs[c]}/{of[c]}" for c in _COUNTS]
        rows.append(["  (published)", *counts, then, f"{theirs['turns']:.2f}", f"{theirs['calls']:.2f}"])
    return rows


def _compared(told: Mapping[str, Any]) -> Iterator[str]:
    yield "ECT to the controller, in points, 95% interval by bootstrap over task clusters"
    for name in ("U", "S"):
        mine, theirs = told["differences"][name], told["published"]["differences"][name]
        yield f"  {name}: {_interval(mine)} (published {_interval(theirs)})"
    for name, passed in told["gates"].items():
        yield f"  gate {name}: {_passed(passed)}"


def _controls(controls: Mapping[str, Any]) -> list[list[str]]:
    rows = [["control", *_COUNTS, "S difference", "must fail", "fails"]]
    for name, found in controls.items():
        mine = found["row"]
        counts = [f"{mine[c]}/{mine[f'{c}_of']}" for c in _COUNTS]
        apart = _interval(found["differences"]["S"])
        rows.append([name, *counts, apart, found["must_fail"], "yes" if found["fails"] else "NO"])
    return rows


def _interval(found: Mapping[str, Any]) -> str:
    if found["points"] is None:
        return "not told"
    if found["low"] is None:
        return f"{found['points']:+.2f} (no interval)"
    return f"{found['points']:+.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def _passed(passed: bool | None) -> str:
    return "not told" if passed is None else "passed" if passed else "FAILED"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    columns = max(map(len, rows))
    widths = [max((len(row[i]) for row in rows if i < len(row)), default=0) for i in range(columns)]
    for row in rows:
        yield ("  " + "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row))).rstrip()
