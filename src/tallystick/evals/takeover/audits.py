"""Audits of contracts and of what was admitted: grounding, recall, ungrounded writes, interventions, replay.

What a contract says is compared with gold, by the evaluator and afterwards. Where its obligations were themselves made
from gold, their recall means nothing: it is reported as an upper bound, apart, and never as a recall.
Source: residual completion, section 4.3 and table 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tallystick.contracts.types import Contract
from tallystick.evals.common.exact import upper_limit
from tallystick.evals.takeover.measures import interventions
from tallystick.evals.takeover.rows import Row
from tallystick.evals.takeover.surface import Frontier, Wanted
from tallystick.model import jsontext
from tallystick.model.residual import Binding, Owed, Residual
from tallystick.model.values import same
from tallystick.runtime.extraction import Extractor
from tallystick.view import View
from tallystick.view.keys import effect_keys, targets_of


class Contracted(msgspec.Struct, frozen=True, kw_only=True):
    """One contract beside gold: how much of what is found is right, and how much of what there is was found.

    Attributes:
        bindings: entities that the contract says were chosen; grounded: those that gold says were, with a recorded
            event behind them; bindings_gold, bindings_met: what gold says was chosen, and how much of it is there.
        kept, kept_right, kept_gold, kept_met: the same for realised effects.
        owed, owed_right, owed_gold, owed_met: the same for open obligations.
        missed: gold obligations without one in the contract, as `tool` each.
        extracted: an extractor found obligations, and which sort: `task`, `gold`, `model`.
    """

    frontier: str
    bindings: int
    grounded: int
    bindings_gold: int
    bindings_met: int
    kept: int
    kept_right: int
    kept_gold: int
    kept_met: int
    owed: int
    owed_right: int
    owed_gold: int
    owed_met: int
    missed: tuple[str, ...] = ()
    extracted: str = "task"


def contracted(frontier: Frontier, residual: Residual, view: View, extract: Extractor | None) -> Contracted:
    """Compare a contract with its frontier's gold."""
    gold, contract = frontier.gold, frontier.contract
    chosen = {(b.kind, b.id): b for b in residual.bindings if b.id}
    wanted = set(gold.bindings)
    kept = [(k.tool, k.key) for k in residual.kept]
    done = [(w.tool, key) for w in gold.done for key in _keys(contract, w)]
    pairs = _matched(residual.owed, gold.owed, contract)
    return Contracted(
        frontier=frontier.id,
        bindings=len(chosen), grounded=sum(pair in wanted and _supported(b, view) for pair, b in chosen.items()),
        bindings_gold=len(wanted), bindings_met=len(wanted & set(chosen)),
        kept=len(kept), kept_right=sum(one in done for one in kept),
        kept_gold=len(done), kept_met=sum(one in kept for one in done),
        owed=len(residual.owed), owed_right=len(pairs), owed_gold=len(gold.owed), owed_met=len(pairs),
        missed=tuple(w.tool for n, w in enumerate(gold.owed) if n not in pairs.values()),
        extracted="task" if extract is None else str(getattr(extract, "made_from", "model")),
    )  # fmt: skip


def _supported(binding: Binding, view: View) -> bool:
    return view.has_event(binding.support, view.upto)


def _keys(contract: Contract, wanted: Wanted) -> tuple[str, ...]:
    tool = contract.tools.get(wanted.tool)
    return effect_keys(tool, wanted.args) if tool is not None else ()


def _matched(owed: Sequence[Owed], gold: Sequence[Wanted], contract: Contract) -> dict[int, int]:
    """Pair obligations with gold effects, each once, in order: index of the obligation → index of the effect."""
    free = list(range(len(gold)))
    pairs: dict[int, int] = {}
    for n, one in enumerate(owed):
        met = next((m for m in free if meets(one, gold[m], contract)), None)
        if met is not None:
            free.remove(met)
            pairs[n] = met
    return pairs


def meets(owed: Owed, wanted: Wanted, contract: Contract) -> bool:
    """Return whether an obligation asks for this effect: one of its tools, its entity, and no argument otherwise."""
    tool = contract.tools.get(wanted.tool)
    if tool is None or wanted.tool not in owed.tools:
        return False
    if owed.entity and owed.entity not in [[ref.kind, ref.id] for ref in targets_of(tool, wanted.args)]:
        return False
    return all(name not in wanted.args or _alike(wanted.args[name], jsontext.loads(text)) for name, text in owed.args)


def _alike(one: Any, other: Any) -> bool:
    exact = jsontext.loads(jsontext.dumps(one)) if not isinstance(one, float) else jsontext.loads(repr(one))
    return same(exact, other) or str(exact) == str(other)


def audited(found: Iterable[Contracted], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the audit of one surface and one successor.

    Args:
        found: its contracts.
        rows: its rows of the stage `full`, engaged ones and others.
    """
    contracts = list(found)
    by_gold = [c for c in contracts if c.extracted == "gold"]
    own = [c for c in contracts if c.extracted != "gold"]
    engaged = [r for r in rows if r.engaged]
    ran = [r for r in engaged if r.writes]
    bad = sum(r.ungrounded > 0 for r in ran)
    limit = upper_limit(bad, len(ran))
    missed = {c.frontier for c in own if c.missed}
    return {
        "contracts": len(contracts),
        "bindings_grounded": _share(sum(c.grounded for c in contracts), sum(c.bindings for c in contracts)),
        "bindings_recall": _share(sum(c.bindings_met for c in contracts), sum(c.bindings_gold for c in contracts)),
        "effects_precision": _share(sum(c.kept_right for c in contracts), sum(c.kept for c in contracts)),
        "effects_recall": _share(sum(c.kept_met for c in contracts), sum(c.kept_gold for c in contracts)),
        "obligation_recall": _share(sum(c.owed_met for c in own), sum(c.owed_gold for c in own)) if own else None,
        "obligation_precision": _share(sum(c.owed_right for c in own), sum(c.owed for c in own)) if own else None,
        "obligations_from": sorted({c.extracted for c in contracts}),
        "upper_bound_from_gold": _share(sum(c.owed_met for c in by_gold), sum(c.owed_gold for c in by_gold))
        if by_gold
        else None,
        "missed_then": {
            "episodes": len(missed),
            "blocked": sum(r.frontier in missed and not r.complete for r in engaged),
            "false_complete": sum(r.frontier in missed and r.false_complete for r in engaged),
        },
        "ungrounded_live_writes": {
            "episodes_with_writes": len(ran), "with_ungrounded": bad,
            "upper_95_percent": None if limit is None else 100 * limit,
        },
        **interventions(engaged),
    }  # fmt: skip


def _share(hits: int, of: int) -> dict[str, Any]:
    return {"hits": hits, "of": of, "percent": 100 * hits / of if of else None}
