"""The full account of a mining: every rule weighed, in force or not, with every call for and against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tallystick.drafting.counts import Tally
from tallystick.drafting.mining.corpus import Corpus
from tallystick.drafting.mining.kinds import Kinds
from tallystick.drafting.mining.structure import Structure
from tallystick.drafting.mining.together import Apart, Once
from tallystick.drafting.mining.weigh import ALPHA, Rule
from tallystick.model.pointer import join

FORMAT: Final = "tallystick-mining/1"


def report_of(
    learnt: Corpus,
    kinds: Kinds,
    made: Structure,
    rules: Sequence[Rule],
    once: dict[str, Once],
    apart: Sequence[Apart],
    against: Tally,
    *,
    min_support: int,
    of: int | None,
) -> dict[str, Any]:
    """Return the report as plain JSON values; rates are decimal text."""
    return {
        "format": FORMAT,
        "contract": made.sheet.name,
        "settings": {"min_support": min_support, "alpha": f"{ALPHA}"},
        "trajectories": [
            {"trace": label, "source": trace.source, "sha256": trace.sha256} for label, trace in learnt.traces.items()
        ],
        "chosen_from": of if of is not None else len(learnt.traces),
        "tools": {name: _tool(name, learnt, kinds, made, once) for name in made.sheet.tools},
        "entities": {
            kind: {
                "fields": {name: str(line.value) for name, line in fields.items()},
                "places": [
                    {"tool": p.tool, "at": join(p.at), "id": join(p.id) if p.id else f"args.{p.id_arg}",
                     "records": p.cases}
                    for listed in kinds.places.values() for p in listed if p.kind == kind
                ],
            }
            for kind, fields in made.sheet.entities.items()
        },
        "rules": [_rule(rule) for rule in rules],
        "exclusions": [_apart(x) for x in apart],
        "effects_admitted": against.to_json(),
    }  # fmt: skip


def _tool(name: str, learnt: Corpus, kinds: Kinds, made: Structure, once: dict[str, Once]) -> dict[str, Any]:
    usage, outcomes = learnt.tools[name], made.outcomes[name]
    found: dict[str, Any] = {
        "writes": usage.writes,
        "because": usage.because,
        "guess": usage.guess,
        "calls": {effect: len(usage.of(effect)) for effect in ("read", "preview", "write")},
        "arguments": {
            arg: {"kind": kind, **({"by_value": list(kinds.linked[name, arg])} if (name, arg) in kinds.linked else {})}
            for (tool, arg), kind in kinds.of_arg.items() if tool == name
        },
    }  # fmt: skip
    if usage.switch is not None:
        found["switch"] = {"argument": usage.switch, "without_it": "preview" if usage.default_preview else "write"}
    for field, text, tally in (
        ("ok", outcomes.ok, outcomes.ok_tally), ("no_effect", outcomes.no_effect, outcomes.no_effect_tally),
    ):  # fmt: skip
        if text is not None:
            found[field] = {"text": text, **tally.to_json()}
    if outcomes.echoes:
        found["echoes"] = {"arguments": outcomes.echoes, **outcomes.echo_tally.to_json()}
    if name in once:
        said = once[name]
        found["once_per"] = {
            "argument": said.arg,
            "undone_by": list(said.undone_by),
            "chance": f"{said.chance:.4g}",
            **said.tally.to_json(),
        }
    return found


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "tool": rule.candidate.tool,
        "id": rule.id,
        "form": rule.candidate.form,
        "requirement": {"id": rule.id, **rule.candidate.fields},
        "binds": list(rule.candidate.binds),
        "because": rule.candidate.because,
        "in_force": rule.in_force,
        "verdict": rule.verdict,
        "chance": f"{rule.candidate.chance:.4g}",
        **rule.tally.to_json(),
    }


def _apart(group: Apart) -> dict[str, Any]:
    return {
        "tools": list(group.tools),
        "kind": group.kind,
        "per": dict(sorted(group.per.items())),
        "in_force": group.in_force,
        "chance": f"{group.chance:.4g}",
        **group.tally.to_json(),
    }
