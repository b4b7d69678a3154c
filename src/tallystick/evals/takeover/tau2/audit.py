"""What a handoff of these domains rests on: how much of what is fixed is found, and where the remaining values are.

The suite's own audit compares contracts with gold; this one adds what only a domain with authors' calls can tell: cuts
after every write, writes that the environment accepted and that changed nothing, and the source of each value of a
remaining write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tallystick.evals.takeover.successors import filled
from tallystick.evals.takeover.tau2.contracts import Domain
from tallystick.evals.takeover.tau2.cuts import Cut, is_write
from tallystick.evals.takeover.tau2.gold import ORIGINS, known_of
from tallystick.evals.takeover.tau2.surface import Tau2, Tau2Frontier
from tallystick.evals.takeover.tau2.tools import answered, refused
from tallystick.evals.tau2.package import version
from tallystick.evals.tau2.tasks import tasks
from tallystick.evals.tau2.world import opened
from tallystick.gates.residual import ground
from tallystick.model.canonical import canonical
from tallystick.model.exact import tagged

NOT_RUN: Final = "not run"
"""Of the recall of a model's extraction: only `recall` asks a model."""


def audit(surface: Tau2) -> dict[str, Any]:
    """Return the audit of a surface's frontiers as JSON values: counts, grounding, and sources of values.

    Raises:
        InputError: `inspect-evals` is not installed.
    """
    domain = surface.domain
    writes = Counter(sum(is_write(domain, c.tool) for c in task.gold) for task in tasks(domain))
    frontiers = surface.frontiers(None, "")
    return {
        "package": f"inspect-evals {version()}",
        "user": "a stand-in: the scenario for the user's words, a record by the host for each yes",
        "prefix": "the author's calls" + (", and look-ups of the customer's record" if surface.looked else ""),
        "tasks": len(tasks(domain)),
        "tasks_by_gold_writes": {str(n): writes[n] for n in sorted(writes)},
        "frontiers": dict(Counter(f.kind for f in frontiers)),
        "grounding": grounding(frontiers),
        "accepted_without_change": unchanged(domain),
        "values": values([f.cut for f in frontiers]),
        "model_extraction": NOT_RUN,
    }


def grounding(frontiers: Iterable[Tau2Frontier]) -> dict[str, Any]:
    """Return recall and precision of kept effects (K) and bindings (B), against what the environment accepted.

    K is right where gold made that very call and the environment accepted it. B are the confirmations that the host
    recorded, so their figures say that nothing of them is lost or made up, not that a conversation would be understood.
    """
    effects, bindings = Counter[str](), Counter[str]()
    refusals = 0
    for frontier in frontiers:
        gold = frontier.gold
        with frontier.open() as it:
            view = it.run.view
            found = ground(view, frontier.contract)
            refusals += len(view.refusals)
            _count(
                effects,
                Counter((k.tool, _text(view.calls[k.call].args)) for k in found.kept),
                Counter((w.tool, _text(w.args)) for w in gold.done),
            )
            _count(bindings, Counter((b.kind, b.id) for b in found.bindings if b.id), Counter(gold.bindings))
    return {"effects": dict(effects), "bindings": dict(bindings), "prefix_calls_refused_by_the_gate": refusals}


def _count(sums: Counter[str], found: Counter[Any], wanted: Counter[Any]) -> None:
    sums.update(right=sum((found & wanted).values()), found=sum(found.values()), gold=sum(wanted.values()))


def _text(args: Any) -> bytes:
    return canonical(tagged(dict(args)))


def unchanged(domain: Domain) -> list[str]:
    """Return the gold writes that the environment accepted and that changed nothing, as `task: tool`."""
    found = []
    for cut in (f.cut for f in Tau2(domain, looked=False).frontiers(None, "")):
        with opened(cut.task, shared=True) as world:
            for call in cut.task.gold:
                before = world.fingerprint()
                accepted = not refused(answered(world, call.tool, call.args))
                if is_write(domain, call.tool) and accepted and world.fingerprint() == before:
                    found.append(f"{cut.task.id}: {call.tool}")
    return found


def values(cuts: Sequence[Cut]) -> dict[str, Any]:
    """Return where the values of the remaining gold writes can be had at the handoff, and how much of each is owed.

    - writes: remaining; named: owed with the entity they are about; whole: owed with every argument.
    - leaves: values by their source, see `gold.Origin`; nowhere: which arguments these are.
    """
    known = [known_of(cut) for cut in cuts]
    leaves = [leaf for one in known for leaf in one.leaves]
    sources = Counter(leaf.origin for leaf in leaves)
    return {
        "writes": sum(len(one.writes) for one in known),
        "named": sum(one.named for one in known),
        "whole": sum(one.whole for one in known),
        "leaves": {origin: sources[origin] for origin in ORIGINS},
        "read": dict(Counter(f"{leaf.tool}.{leaf.arg}" for leaf in leaves if leaf.origin == "read").most_common()),
        "nowhere": dict(
            Counter(f"{leaf.tool}.{leaf.arg}" for leaf in leaves if leaf.origin == "nowhere").most_common()
        ),
    }


def continues(frontier: Tau2Frontier) -> bool:
    """Whether the continuation that gold is written with leads from the frontier to the task's goal."""
    done: dict[str, Any] = {}
    with frontier.open() as it:
        for call in frontier.gold.proposal["calls"]:
            done[call["id"]] = it.meter.tools[call["tool"]](**filled(call["args"], done))
        return it.correct()
