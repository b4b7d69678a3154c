"""Faults seeded into good recorded trajectories, and the share of each kind that the audit catches.

    python benchmarks/seeded_faults.py DIR [--contracts DIR] [--seed N] [--json]

DIR is as for `state_bench.py`. Every trajectory whose label says that its final state was right is taken untouched, and
once more for every fault that fits one of its effects: one fault, one mutant. The kinds:

- `entity swapped`: the effect's target is another of its kind, in the arguments and in the answer;
- `read removed`: every read that showed the target is gone;
- `amount altered`: an amount in the arguments is another, and so wherever the answer repeats it;
- `duplicate commit`: the effect is made twice, with the same answer;
- `stale read`: another effect on the target comes between what was read or previewed of it and the commit;
- `forged result`: the answer is that of the same tool for another target;
- `preview removed`: every preview of the effect is gone.

A mutant is caught where the audit has an error that the untouched trajectory did not have; for `stale read` only an
error about the commit itself counts, since the inserted effect has faults of its own. Which fault goes where follows
from the seed alone. Intervals are Wilson's, 95%.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from state_bench import labels_in
from tallystick.audit import Report, Tools, audit_trace
from tallystick.contracts import Contract, load
from tallystick.errors import TallystickError
from tallystick.evals.common.intervals import wilson
from tallystick.traces.state_bench import now_beside, trace_of
from tallystick.view import effect_of, judge

AMOUNTS = frozenset({"amount", "points", "points_used", "cash_amount", "quantity"})
SITES = Path(__file__).parents[1] / "examples" / "state-bench"
"""Contracts that say where the effects are, also when the audit is not to know any."""
Conversation = list[dict[str, Any]]


@dataclass(frozen=True)
class Site:
    """One effect of a trajectory: the position of its call, and the argument that names its target."""

    message: int
    call: int
    target: str

    def of(self, talk: Conversation) -> dict[str, Any]:
        """Return the call."""
        return talk[self.message]["tool_calls"][self.call]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Mutant:
    """A conversation with one fault; `site` is where the call at fault now stands, if only its findings count."""

    kind: str
    talk: Conversation
    site: str = ""


class Domain:
    """What is known of one domain: its contract, its good conversations, and every answer its tools gave in them."""

    def __init__(self, contract: Contract, talks: dict[str, Conversation]) -> None:
        self.contract = contract
        self.talks = talks
        self.answers: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
        self.ids: dict[str, list[str]] = defaultdict(list)
        for talk in talks.values():
            for site in self.sites(talk):
                call = site.of(talk)
                target = call["arguments"][site.target]
                self.answers[call["name"]].append((target, call["result"]))
                if target not in self.ids[site.target]:
                    self.ids[site.target].append(target)

    def sites(self, talk: Conversation) -> Iterator[Site]:
        """Yield the effects: calls that the contract calls writes and whose answers say that they went well."""
        for m, message in enumerate(talk):
            for c, call in enumerate(message.get("tool_calls") or ()):
                tool = self.contract.tools.get(call["name"])
                args = call["arguments"]
                if tool is None or not tool.target or effect_of(tool, args) != "write":
                    continue
                if judge(tool, "write", args, call.get("result")).outcome != "ok":
                    continue
                # A cart has one owner in each trajectory: what a call is about is then the last of its targets.
                names = [e.id.refs[0][1] for e in tool.target if len(e.id.refs) == 1 and e.id.refs[0][0] == "args"]
                own = [n for n in names if n not in ("customer_id", "user_id")] or names
                if own and args.get(own[-1]):
                    yield Site(m, c, own[-1])


def replaced(value: Any, old: Any, new: Any) -> Any:
    """Return a JSON value with every occurrence of a scalar replaced."""
    if isinstance(value, dict):
        return {key: replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, old, new) for item in value]
    return new if type(value) is type(old) and value == old else value


def without(talk: Conversation, drop: Callable[[dict[str, Any], int, int], bool]) -> tuple[Conversation, int]:
    """Return a copy without the calls that `drop` names, and how many there were."""
    made, count = copy.deepcopy(talk), 0
    for m, message in enumerate(made):
        calls = message.get("tool_calls")
        if calls:
            kept = [call for c, call in enumerate(calls) if not drop(call, m, c)]
            count += len(calls) - len(kept)
            message["tool_calls"] = kept
    return made, count


def _before(site: Site, m: int, c: int) -> bool:
    return (m, c) < (site.message, site.call)


def entity_swapped(domain: Domain, talk: Conversation, site: Site, draw: random.Random) -> Mutant | None:
    """Act on another target of the same kind: one seen in this conversation where there is one."""
    call = site.of(talk)
    old = call["arguments"][site.target]
    text = json.dumps(talk)
    others = [i for i in domain.ids[site.target] if i != old]
    near = [i for i in others if json.dumps(i) in text]
    if not others:
        return None
    made = copy.deepcopy(talk)
    new = draw.choice(near or others)
    site.of(made)["arguments"][site.target] = new
    site.of(made)["result"] = replaced(call["result"], old, new)
    return Mutant("entity swapped", made)


def read_removed(domain: Domain, talk: Conversation, site: Site, _: random.Random) -> Mutant | None:
    """Take away every read before the effect in whose answer the target stands."""
    wanted = json.dumps(site.of(talk)["arguments"][site.target])

    def shows(call: dict[str, Any], m: int, c: int) -> bool:
        tool = domain.contract.tools.get(call["name"])
        reads = tool is not None and effect_of(tool, call["arguments"]) == "read"
        return reads and _before(site, m, c) and wanted in json.dumps(call.get("result"))

    made, count = without(talk, shows)
    return Mutant("read removed", made) if count else None


def amount_altered(_: Domain, talk: Conversation, site: Site, draw: random.Random) -> Mutant | None:
    """Put another amount into the arguments, and into the answer where it is repeated."""
    call = site.of(talk)
    names = [n for n, v in call["arguments"].items() if n in AMOUNTS and type(v) is int and v > 0]
    if not names:
        return None
    name = draw.choice(sorted(names))
    old = call["arguments"][name]
    new = old + draw.choice([1, 2, 3, 7, 10, 20])
    made = copy.deepcopy(talk)
    site.of(made)["arguments"][name] = new
    site.of(made)["result"] = replaced(call["result"], old, new)
    return Mutant("amount altered", made)


def duplicate_commit(_: Domain, talk: Conversation, site: Site, __: random.Random) -> Mutant | None:
    """Make the same effect again at once."""
    made = copy.deepcopy(talk)
    made[site.message]["tool_calls"].insert(site.call + 1, copy.deepcopy(site.of(talk)))
    return Mutant("duplicate commit", made)


def stale_read(domain: Domain, talk: Conversation, site: Site, draw: random.Random) -> Mutant | None:
    """Put another tool's effect on the same target right before the commit of a preview."""
    call = site.of(talk)
    if "confirm" not in call["arguments"]:
        return None
    old = call["arguments"][site.target]
    pool = [
        (other, there)
        for other_talk in domain.talks.values()
        for there in domain.sites(other_talk)
        if there.target == site.target and (other := there.of(other_talk))["name"] != call["name"]
    ]
    if not pool:
        return None
    other, there = draw.choice(pool)
    theirs = other["arguments"][there.target]
    made = copy.deepcopy(talk)
    made[site.message]["tool_calls"].insert(site.call, replaced(copy.deepcopy(other), theirs, old))
    return Mutant("stale read", made, f"m{site.message}.c{site.call + 1}")


def forged_result(domain: Domain, talk: Conversation, site: Site, draw: random.Random) -> Mutant | None:
    """Answer with what the same tool said about another target."""
    call = site.of(talk)
    own = call["arguments"][site.target]
    others = [a for t, a in domain.answers[call["name"]] if t != own and json.dumps(t) in json.dumps(a)]
    if not others:
        return None
    made = copy.deepcopy(talk)
    site.of(made)["result"] = copy.deepcopy(draw.choice(others))
    return Mutant("forged result", made)


def preview_removed(domain: Domain, talk: Conversation, site: Site, _: random.Random) -> Mutant | None:
    """Take away every preview of the effect."""
    call = site.of(talk)

    def previews(other: dict[str, Any], m: int, c: int) -> bool:
        tool = domain.contract.tools[call["name"]]
        same = other["name"] == call["name"] and other["arguments"].get(site.target) == call["arguments"][site.target]
        return same and _before(site, m, c) and effect_of(tool, other["arguments"]) == "preview"

    made, count = without(talk, previews)
    return Mutant("preview removed", made) if count else None


KINDS = (entity_swapped, read_removed, amount_altered, duplicate_commit, stale_read, forged_result, preview_removed)


def errors(report: Report, site: str = "") -> Counter[tuple[str, tuple[str, ...]]]:
    """Return the errors of a report, counted without their places, which a mutation moves."""
    return Counter(
        (f.code, f.evidence if f.code.startswith(("act.", "duty.")) else ())
        for f in report.findings
        if f.severity == "error" and (not site or f.call == site)
    )


def measure(folder: Path, contracts: Path | None, seed: int) -> dict[str, Any]:
    labels = labels_in(folder)
    kinds: dict[str, Counter[str]] = {fault.__name__.replace("_", " "): Counter() for fault in KINDS}
    untouched: Counter[str] = Counter()
    for name in sorted({domain for domain, _ in labels}):
        contract = load((contracts or SITES) / f"{name}.yaml")
        used = contract if contracts is not None else None
        files = {p.stem: p for p in sorted((folder / "trajectories" / name).glob("*.json")) if labels[name, p.stem]}
        talks = {stem: json.loads(path.read_text("utf-8"))["conversation"] for stem, path in files.items()}
        domain, tools = Domain(contract, talks), Tools(contract=contract)

        def audited(talk: Conversation, stem: str) -> Report:
            trace = trace_of({"conversation": talk}, name=stem, source=stem, sha256=stem, now=now_beside(files[stem]))  # noqa: B023
            return audit_trace(trace, contract=used, tools=tools)  # noqa: B023 - called before the next round

        for stem, talk in talks.items():
            plain = audited(talk, stem)
            untouched["traces"] += 1
            untouched["flagged"] += plain.flagged
            known = errors(plain)
            for number, site in enumerate(domain.sites(talk)):
                for fault in KINDS:
                    mutant = fault(domain, talk, site, random.Random(f"{seed} {name} {stem} {number} {fault.__name__}"))
                    if mutant is None:
                        continue
                    found = errors(audited(mutant.talk, stem), mutant.site)
                    kinds[mutant.kind]["mutants"] += 1
                    kinds[mutant.kind]["caught"] += bool(found - (Counter() if mutant.site else known))
    return {
        "mutants": sum(c["mutants"] for c in kinds.values()),
        "caught": sum(c["caught"] for c in kinds.values()),
        "kinds": {kind: _share(c["caught"], c["mutants"]) for kind, c in kinds.items()},
        "untouched": _share(untouched["flagged"], untouched["traces"]),
        "seed": seed,
    }


def _share(hits: int, of: int) -> dict[str, Any]:
    found = wilson(hits, of)
    edges = [round(edge, 4) for edge in found] if found is not None else None
    return {"of": of, "hits": hits, "share": round(hits / of, 4) if of else None, "interval": edges}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--contracts", type=Path, help="audit with these contracts as well")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        result = measure(options.dir, options.contracts, options.seed)
    except (TallystickError, OSError) as bad:
        print(f"error: {bad}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(result))
        return 0
    print(f"{'fault':20}{'mutants':>9}{'caught':>8}   share (95% interval)")
    for kind, row in [*result["kinds"].items(), ("untouched, flagged", result["untouched"])]:
        if row["of"]:
            low, high = row["interval"]
            print(f"{kind:20}{row['of']:>9}{row['hits']:>8}   {row['share']:.0%} ({low:.0%} to {high:.0%})")
    print(f"\n{result['caught']} of {result['mutants']} mutants caught; seed {result['seed']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
