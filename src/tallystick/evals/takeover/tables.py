"""Tables like the paper's, from a report; published rows stand beside ours and are named as such."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tallystick.evals.lifecycle import table
from tallystick.evals.lifecycle.table import Table, number, theirs_of
from tallystick.evals.takeover.published import published
from tallystick.evals.takeover.report import SOURCE_NOTES

_MEASURES: Final = {
    "episodes": "episodes", "engaged": "engaged", "correct": "correct", "false_complete": "false complete",
    "needless_refusal": "needless refusal", "duplicate_effects": "duplicate effects",
    "partial_after_live_failure": "partial after failure", "writes_under_rejected": "writes under rejected",
    "tokens": "tokens",
}  # fmt: skip
_AUDITS: Final = {
    "bindings_grounded": "bindings grounded", "bindings_recall": "bindings found, of gold's",
    "effects_precision": "realised effects that are right", "effects_recall": "realised effects found",
    "obligation_recall": "obligation recall", "obligation_precision": "obligation precision",
    "upper_bound_from_gold": "obligations met where built from gold (upper bound)",
}  # fmt: skip


def tables(told: Mapping[str, Any]) -> list[Table]:
    """Return the tables of a report."""
    made: list[Table] = []
    for name, one in told["successors"].items():
        made.append(_stages(told, name, one))
        if any(one["modes"].values()):
            made.append(_modes(name, one))
    if told["successors"]:
        made.append(_audits(told))
    if "methods" in told:
        made.append(_methods(told))
        if not told["scripted"]:
            made.append(_split(told))
    return [*made, _results(), _surfaces(told)]


def text(told: Mapping[str, Any]) -> str:
    """Return a report as text: who played, then the tables."""
    lines = [f"takeover suite, {told['surface']}"]
    if told["scripted"]:
        lines.append(
            "successors are scripts with stated mistakes: their figures follow from the rates, not from models"
        )
        for name, one in told["settings"]["scripted"].items():
            rates = ", ".join(f"{mode} {100 * rate:g}%" for mode, rate in one["rates"].items() if rate)
            lines.append(f"  {name}: {rates}; mends after feedback {100 * one['mend']:g}%")
    if told["engaged_percent"] is not None:
        lines.append(f"engaged: {told['engaged_percent']:.1f}% of episodes; {SOURCE_NOTES[told['obligations_from']]}")
    lines += [f"  not engaged, {n} episodes: {why}" for why, n in told["unengaged"].items()]
    return "\n".join(lines) + "\n\n" + table.text(tables(told))


def _score(one: Mapping[str, Any]) -> str:
    if one["mean"] is None:
        return ""
    if one["sd"] is not None:
        return f"{one['mean']:.1f} ± {one['sd']:.1f}"
    interval = one["interval"]
    return f"{one['mean']:.1f} [{interval[0]:.1f}, {interval[1]:.1f}]" if interval else f"{one['mean']:.1f}"


def _stages(told: Mapping[str, Any], name: str, one: Mapping[str, Any]) -> Table:
    place = published()["stages"]
    rows = []
    for stage, found in one["stages"].items():
        codes = ", ".join(f"{code} {n}" for code, n in found["rejections"].items())
        cells = (*(str(found[m]) for m in _MEASURES), codes)
        rows.append((stage, _score(one["scores"][stage]), *cells))
        rows.append((theirs_of(stage), number(place["rows"][stage][0]), *("" for _ in cells)))
    return Table(
        key=f"stages-{name}", title=f"Stage progression from the same frontiers, {told['surface']}, {name}",
        label="Controlled intervention", head=("stage", "score", *_MEASURES.values(), "rejections"), rows=tuple(rows),
        source=f"{place['at']}, other surfaces and models; its cells per surface are not in the text",
        note="Score: percent correct by the world's own truth over all episodes, with its SD over complete runs or, for"
        " one run, Wilson's 95% interval; episodes that are not engaged keep their prefix's outcome. A rejection counts"
        " once, by its first reason; `hold` is no rejection. Stage definitions are ours.",
    )  # fmt: skip


def _modes(name: str, one: Mapping[str, Any]) -> Table:
    rows = [
        (stage, mode, *(str(found[m]) for m in _MODE))
        for stage, modes in one["modes"].items()
        for mode, found in modes.items()
    ]
    return Table(
        key=f"modes-{name}", title=f"By scripted mistake, {name}", label="Controlled intervention",
        head=("stage", "mistake", *(_MEASURES[m] for m in _MODE)), rows=tuple(rows),
        note="Engaged episodes only; the mistake is the one drawn first, mended or not.",
    )  # fmt: skip


_MODE: Final = (
    "episodes",
    "correct",
    "false_complete",
    "needless_refusal",
    "duplicate_effects",
    "writes_under_rejected",
)


def _share(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "not run"
    if not one["of"]:
        return "not compared"
    return f"{one['hits']} of {one['of']}" + (f" ({one['percent']:.1f}%)" if one["percent"] is not None else "")


def _audits(told: Mapping[str, Any]) -> Table:
    place = published()["audits"]
    theirs = place["rows"]
    of = {name: one["audit"] for name, one in told["successors"].items()}
    first = next(iter(of.values()))
    rows: list[tuple[str, ...]] = []
    for key, words in _AUDITS.items():
        if key == "upper_bound_from_gold" and first[key] is None:
            continue
        rows.append((words, *(_share(one[key]) for one in of.values()), _pair(theirs.get(words))))
    rows.append(
        (
            "episodes with an ungrounded live write", *(_ungrounded(one) for one in of.values()),
            f"{_pair(theirs['ungrounded live writes'])}; at most {theirs['ungrounded live writes, upper bound (%)']}%",
        )
    )  # fmt: skip
    rows += list(_interventions(of, theirs))
    return Table(
        key="audits", title="Audits of contracts and of checked execution", label="Audit/engineering",
        head=("audit", *of, "published"), rows=tuple(rows), source=place["at"],
        note="Of the stage `full`. Bindings and effects are compared with gold, afterwards. The bound is one-sided 95%"
        " Clopper-Pearson. A hold (ours) neither admits nor rejects: evidence that could be had is missing.",
    )  # fmt: skip


def _ungrounded(one: Mapping[str, Any]) -> str:
    found = one["ungrounded_live_writes"]
    limit = found["upper_95_percent"]
    return f"{found['with_ungrounded']} of {found['episodes_with_writes']}" + (
        "" if limit is None else f"; at most {limit:.1f}%"
    )


def _interventions(of: Mapping[str, Mapping[str, Any]], theirs: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    yield (
        "interventions before the first live write",
        *(f"{one['before_first_write']} of {one['interventions']}" for one in of.values()),
        _pair(theirs["interventions before the first live write"]),
    )
    yield "rejections", *(str(one["rejections"]) for one in of.values()), str(theirs["rejections"])
    for code in dict.fromkeys(
        ("coverage", "dependency", "grounding", *(c for one in of.values() for c in one["codes"]))
    ):
        published_ = theirs.get(f"rejections for {code}")
        yield (
            f"rejections for {code}", *(str(one["codes"].get(code, 0)) for one in of.values()),
            "" if published_ is None else str(published_),
        )  # fmt: skip
    yield "holds", *(str(one["holds"]) for one in of.values()), str(theirs["holds"])
    yield (
        "rejections that recheck alike",
        *(f"{one['rechecked_alike']} of {one['rechecked']}" for one in of.values()),
        _pair(theirs["rejections replayed"]),
    )
    for key, words, name in (
        ("blocked", "missed obligations: episodes blocked downstream", "missed obligations blocked downstream"),
        ("false_complete", "missed obligations: false completions", "missed obligations ending as false completions"),
    ):
        cells = (f"{one['missed_then'][key]} of {one['missed_then']['episodes']}" for one in of.values())
        yield words, *cells, _pair(theirs[name])


def _pair(found: Any) -> str:
    return "" if found is None else f"{found[0]} of {found[1]}"


def _money(found: Mapping[str, Any], part: str = "") -> str:
    amount = found["split"][part] if part else found["usd"]
    if not any(one["input"] + one["output"] for one in found["tokens"].values()):
        return ""
    return "no price" if amount is None else f"{amount} stand-in" if found["stand_in"] else str(amount)


def _methods(told: Mapping[str, Any]) -> Table:
    rows = [
        (
            name, _score(one["score"]), str(one["episodes"]), str(one["requests"]), str(one["tokens"]),
            _money(one["cost"]),
            "" if one["gap"] is None else f"{one['gap']:+.1f}",
            "" if one["cost_percent"] is None else f"{one['cost_percent']:.1f}",
        )
        for name, one in told["methods"].items()
    ]  # fmt: skip
    return Table(
        key="methods", title=f"Quality and cost, {told['surface']}", label="Controlled intervention",
        head=("method", "score", "episodes", "requests", "tokens", "USD", "gap", "cost %"), rows=tuple(rows),
        note=f"{told['methods_note']} Cost % is the mean of per-surface ratios to the strong agent alone; here one"
        f" surface. Prices of {told['prices']['date']}; a stand-in price is no provider's. `-style`: a simple"
        " version of ours. MTRouter and AgServe-QAC: not reproduced.",
    )  # fmt: skip


def _split(told: Mapping[str, Any]) -> Table:
    rows = [
        (name, *(_money(one["cost"], part) for part in ("prefix", "rscc", "residual")), _money(one["cost"]))
        for name, one in told["methods"].items()
    ]
    place = published()["decomposition"]
    rows += [
        (theirs_of(name), *("" if v is None else str(v) for v in values)) for name, values in place["rows"].items()
    ]
    return Table(
        key="split", title="Where cost is spent", label="Audit/engineering",
        head=("method", "cheap prefix", "RSCC", "ERC+CE", "total"), rows=tuple(rows),
        source=f"{place['at']}; {place['missing']}",
        note="RSCC is deterministic where the task says what is owed, and then costs nothing.",
    )  # fmt: skip


def _results() -> Table:
    """The paper's table 1, as printed; nothing of ours is comparable with it, so nothing of ours is in it."""
    found = published()
    rows = []
    for one in found["results"]["rows"]:
        cells = ["" if cell is None else f"{cell[0]} / {cell[1]}" for cell in one["cells"]]
        gap = "ref" if one["gap"] is None else f"{one['gap']:+}"
        known = found["results"]["reproduced_here"].get(one["method"], "")
        rows.append((one["pair"], one["method"], *cells, gap, str(one["cost_percent"]), known))
    return Table(
        key="published", title="Published results: score (%) / cost (USD)", label="Observational",
        head=("pair", "method", *found["surfaces"], "gap", "cost %", "here"), rows=tuple(rows),
        source=found["results"]["at"], note="None of these is ours; blank cells were not evaluated by the paper.",
    )  # fmt: skip


def _surfaces(told: Mapping[str, Any]) -> Table:
    return Table(
        key="surfaces", title="Surfaces", label="Audit/engineering", head=("surface", "here"),
        rows=tuple(told["surfaces"].items()),
    )  # fmt: skip
