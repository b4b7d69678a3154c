"""What STATE-Bench's recordings say of contracts, before anybody takes over: effects, choices, results that mislead.

The truth is what replaying a recording in the simulator changed (without one: the folder's labels). Nothing here is a
successor's doing, and nothing here is given to one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from tallystick.audit.contract import Folded
from tallystick.contracts.types import Contract
from tallystick.evals.takeover.state_bench import Frontier, StateBench
from tallystick.evals.takeover.state_bench_cuts import Cut, Made, Walk, failed
from tallystick.gates.residual import construct
from tallystick.gates.residual.ground import kept_effects
from tallystick.view import View, effect_of, targets_of

Sort = Literal["error_changed_state", "success_changed_nothing", "preview_took_effect"]
NOT_RUN: Final = "not run"


def measured(surface: StateBench) -> dict[str, Any]:
    """Return the surface's own measures.

    - world: what answers after a frontier.
    - domains: per domain, recordings, frontiers, whether the recording's end is right, and where the continuation comes
      from: the recording, a search with the answer key (`found`), or nowhere (`unknown`: kept out of the stages).
    - effects: K at all frontiers beside what really changed and still stands; a prefix with several cuts counts
      at each.
    - bindings: choices with a host's typed event behind them, and, apart, choices guessed from words.
    - obligations: contracts frozen with obligations made from gold (an upper bound), and why the others were not.
    - misleading: every recorded call whose result does not say what it did, and what the record makes of it.
    """
    frontiers = surface.cuts
    return {
        "world": surface.world,
        "recordings": len(surface.walks),
        "replayed_alike": sum(w.faithful for w in surface.walks) if surface.player is not None else NOT_RUN,
        "frontiers": len(frontiers),
        "domains": {d: _domain(surface, d) for d in dict.fromkeys(w.episode.domain for w in surface.walks)},
        "effects": effects(frontiers),
        "bindings": bindings(frontiers),
        "obligations": obligations(surface),
        "misleading": [_told(surface, one) for one in misleading(surface)],
    }


def _domain(surface: StateBench, domain: str) -> dict[str, Any]:
    own = [f for f in surface.cuts if f.domain == domain]
    return {
        "recordings": sum(w.episode.domain == domain for w in surface.walks),
        "frontiers": len(own),
        "end_right": sum(bool(f.cut.walk.right) for f in own),
        "end_wrong": sum(not f.cut.walk.right for f in own),
        "continuation": {
            "recorded": sum(bool(f.cut.rest) for f in own),
            "found": sum(bool(f.cut.repair) for f in own),
            "unknown": sum(not (f.cut.rest or f.cut.repair) for f in own),
        },
        "several_turns": sum(f.cut.turns > 0 for f in own),
        "in_doubt": sum(bool(f.view.doubts) for f in own),
    }


# ---------------------------------------------------------------- K


def effects(frontiers: Sequence[Frontier]) -> dict[str, Any]:
    """Return precision and recall of K, call by call.

    What K lacks is in doubt (nothing is built on it), or missed: the record holds that it never was or is undone.
    """
    found = right = real = 0
    doubted: list[str] = []
    missed: list[str] = []
    wrong: list[str] = []
    for one in frontiers:
        walk, upto = one.cut.walk, one.cut.upto
        kept = {k.call for k in kept_effects(one.view)}
        standing = {walk.calls[at].id for at in walk.standing(upto)}
        found, right, real = found + len(kept), right + len(kept & standing), real + len(standing)
        wrong += [f"{one.id} {call}" for call in sorted(kept - standing)]
        for call in sorted(standing - kept):
            (doubted if call in one.view.doubts else missed).append(f"{one.id} {call}")
    return {
        "found": found,
        "real": real,
        "right": right,
        "precision": right / found if found else None,
        "recall": right / real if real else None,
        "in_doubt": doubted,
        "missed": missed,
        "wrong": wrong,
    }


# ---------------------------------------------------------------- B


def bindings(frontiers: Sequence[Frontier]) -> dict[str, Any]:
    """Return choices fixed by the prefix: those with a typed event (the recordings have none), and guesses from words.

    Gold are the entities that realised effects address. A guess is right where an effect, done or owed, addresses it.
    """
    gold = typed = guessed = met = right = 0
    for one in frontiers:
        contract, cut = one.contract, one.cut
        done = _addressed(contract, [cut.walk.calls[at] for at in cut.walk.standing(cut.upto)])
        owed = {
            (ref.kind, ref.id)
            for tool, args, _, wanted in cut.continuation
            if wanted
            for ref in targets_of(contract.tools[tool], args)
        }
        kinds = {kind for kind, _ in done | owed}
        chosen = {
            (ref.kind, ref.id): all(choice.body.guessed for choice in choices.values())
            for ref, choices in _in_words(one).index.confirmed.items()
            if ref.kind in kinds
        }
        gold, typed = gold + len(done), typed + sum(not g for g in chosen.values())
        words = {pair for pair, is_guess in chosen.items() if is_guess}
        guessed, met, right = guessed + len(words), met + len(words & done), right + len(words & (done | owed))
    return {
        "gold": gold,
        "typed": typed,
        "guessed_from_words": {
            "found": guessed,
            "precision": right / guessed if guessed else None,
            "recall": met / gold if gold else None,
            "note": "a guess, marked as one; no contract rests on it",
        },
    }


def _addressed(contract: Contract, calls: Sequence[Made]) -> set[tuple[str, str]]:
    return {(ref.kind, ref.id) for call in calls for ref in targets_of(contract.tools[call.tool], call.args)}


def _in_words(one: Frontier) -> View:
    """Return the prefix folded as an audit folds it: with the choices that the customer's words seem to make."""
    folded = Folded(one.trace, one.contract)
    for _ in folded.moments():
        pass
    return folded.view


# ---------------------------------------------------------------- O


def obligations(surface: StateBench) -> dict[str, Any]:
    """Return how many contracts freeze with obligations made from gold. It is an upper bound, and no recall."""
    frozen = owed = 0
    bottom: Counter[str] = Counter()
    known = surface.frontiers(None, "")
    for one in known:
        with one.open() as opened:
            for number, wanted in enumerate(one.gold.owed):
                opened.run.oblige(f"gold-{number + 1}", tool=wanted.tool, args=wanted.args)
            residual, decision = construct(opened.run.view, one.contract, tenure="measure", now=opened.run.now())
        frozen += residual is not None
        owed += len(one.gold.owed) if residual is not None else 0
        if residual is None:
            bottom[decision.codes[0]] += 1
    return {
        "upper_bound_from_gold": {"frontiers": len(known), "frozen": frozen, "owed": owed, "bottom": dict(bottom)},
        "model_extractor": NOT_RUN,
    }


# ---------------------------------------------------------------- results that mislead


def misleading(surface: StateBench) -> Iterator[tuple[Walk, int, Sort]]:
    """Yield every recorded call whose result does not say what it did: an error, a success, a preview."""
    for walk in surface.walks:
        contract = surface.contract(walk.episode.domain)
        for at, call in enumerate(walk.calls):
            sort = _sort(contract, call)
            if sort is not None:
                yield walk, at, sort


def _sort(contract: Contract, call: Made) -> Sort | None:
    tool = contract.tools.get(call.tool)
    if tool is None:
        return None
    effect = effect_of(tool, call.args)
    if call.changed:
        return "error_changed_state" if failed(call) else "preview_took_effect" if effect == "preview" else None
    return "success_changed_nothing" if effect == "write" and not failed(call) else None


def _told(surface: StateBench, found: tuple[Walk, int, Sort]) -> Mapping[str, Any]:
    """Return what the record makes of a misleading result, right after it and after the contract's own status query.

    `ends` is `doubt` where nothing is built on it until it is settled, and `guess` where the record takes it for
    something it was not.
    """
    walk, at, sort = found
    call = walk.calls[at]
    cut = Cut(walk=walk, upto=at + 1, messages=call.message, partial=call.index + 1)
    one = surface.frontier(cut)
    record = one.view.calls[call.id]
    row: dict[str, Any] = {
        "recording": walk.episode.name,
        "call": call.id,
        "tool": call.tool,
        "sort": sort,
        "end_right": walk.right,
        "outcome": record.outcome,
        "ends": "doubt" if record.in_doubt else "guess",
        "settled": NOT_RUN,
    }
    if record.in_doubt and surface.player is not None:
        with one.open() as opened:
            residual, decision = construct(opened.run.view, one.contract, tenure="measure", now=opened.run.now())
            row["contract"] = "frozen" if residual is not None else decision.codes[0]
            opened.run.settle_by_query()
            after = opened.run.view
            statuses = sorted({effect.status for effect in after.effects_of_call(call.id)})
            row["settled"] = "in doubt" if call.id in after.doubts else ", ".join(statuses)
    return row
