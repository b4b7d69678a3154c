"""Which candidates become rules: those that no good trajectory contradicts, and that are unlikely to be accidents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

from tallystick.contracts import build
from tallystick.contracts.types import Contract
from tallystick.drafting.counts import SURE, Tally
from tallystick.drafting.mining.candidate import USUAL, Candidate
from tallystick.drafting.mining.corpus import Corpus
from tallystick.drafting.mining.structure import Structure
from tallystick.drafting.mining.witness import count
from tallystick.drafting.sheet import RuleSheet, Sheet, ToolSheet, as_mapping
from tallystick.errors import ContractError

ALPHA: Final = 0.05
"""Largest chance of an accident at which a candidate becomes a rule."""
WORDS: Final = ("heard", "confirmed")
"""Forms that rest on words. Words can be had without meaning it, so such a rule needs `SURE`, as an absence does."""
POOLED: Final = ("target-read", "previewed")
"""Forms that speak of any tool alike, so that a tool with few cases of its own may lean on the others'."""


@dataclass(kw_only=True)
class Rule:
    """A weighed candidate.

    Attributes:
        id: its name within the tool.
        tally: cases for and against, as the act gate says.
        in_force: whether it is written as a requirement; `verdict` says why, or why not.
    """

    id: str
    candidate: Candidate
    tally: Tally = field(default_factory=Tally)
    in_force: bool = False
    verdict: str = ""

    @property
    def near(self) -> bool:
        """Whether it held so often that a person should see it, though it is no rule."""
        cases = self.tally.support + self.tally.counter
        open_ = self.tally.counter > 0 or self.candidate.form in WORDS
        return (
            not self.in_force and open_ and self.candidate.chance <= ALPHA
            and self.tally.support > 1 and self.tally.support >= USUAL * cases
        )  # fmt: skip


def weigh(found: Iterable[Candidate], structure: Structure, corpus: Corpus, least: int) -> list[Rule]:
    """Return every candidate weighed.

    Args:
        found: the candidates.
        structure: the contract's structure; it is not changed.
        corpus: the trajectories.
        least: the fewest trajectories in which a rule must have come up.
    """
    rules = _named(found)
    rules, contract = _compiled(rules, structure.sheet)
    tallies = count(corpus.traces, contract)
    for rule in rules:
        rule.tally = tallies.get((rule.candidate.tool, rule.id), Tally())
    pooled: dict[str, Tally] = {}
    for rule in rules:
        if rule.candidate.form in POOLED and "with" not in rule.candidate.fields:
            pooled.setdefault(rule.candidate.form, Tally()).extend(rule.tally)
    for rule in rules:
        _decide(rule, pooled, least)
    _prune(rules)
    return rules


def _named(found: Iterable[Candidate]) -> list[Rule]:
    rules: list[Rule] = []
    taken: dict[str, set[str]] = {}
    for candidate in found:
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", candidate.stem).strip("-.")[:80] or "rule"
        used = taken.setdefault(candidate.tool, set())
        id_, n = stem, 2
        while id_ in used:
            id_, n = f"{stem}-{n}", n + 1
        used.add(id_)
        rules.append(Rule(id=id_, candidate=candidate))
    return rules


def _compiled(rules: list[Rule], sheet: Sheet) -> tuple[list[Rule], Contract]:
    """Return the candidates the contract language can say, and the contract with all of them.

    A candidate that compares what cannot be compared is dropped here, by the checker's own word.
    """
    while True:
        trial = deepcopy(sheet)
        order: list[Rule] = []
        for tool in trial.tools.values():
            mine = [r for r in rules if r.candidate.tool == tool.name]
            tool.requires = [_sheet_of(rule) for rule in mine]
            add_binds(tool, mine)
            order.extend(mine)
        try:
            return order, build(as_mapping(trial))
        except ContractError as bad:
            broken = set()
            for problem in bad.problems:
                place = re.fullmatch(r"/tools/(.+)/requires/(\d+)(?:/.*)?", problem.pointer)
                if place is None:
                    raise
                name = place[1].replace("~1", "/").replace("~0", "~")
                mine = [r for r in order if r.candidate.tool == name]
                broken.add((name, mine[int(place[2])].id))
            rules = [r for r in order if (r.candidate.tool, r.id) not in broken]


def _sheet_of(rule: Rule) -> RuleSheet:
    return RuleSheet(fields={"id": rule.id, **rule.candidate.fields})


def add_binds(tool: ToolSheet, rules: Iterable[Rule]) -> None:
    """Bind the entities that some rules of a tool read besides those its arguments name."""
    stated = tool.value("bind")
    bound = [stated] if isinstance(stated, str) else list(stated or ())
    for text in dict.fromkeys(text for rule in rules for text in rule.candidate.binds):
        if text not in bound:
            bound.append(text)
    tool.put("bind", bound[0] if len(bound) == 1 else bound)


def _decide(rule: Rule, pooled: Mapping[str, Tally], least: int) -> None:
    tally, candidate = rule.tally, rule.candidate
    shared = pooled.get(candidate.form)
    lean = (
        shared is not None and "with" not in candidate.fields
        and tally.support > 0 and shared.counter == 0 and shared.support >= least
    )  # fmt: skip
    words = candidate.form in WORDS and tally.lower < SURE
    if tally.counter:
        rule.verdict = "good trajectories contradict it"
    elif words and tally.support >= least:
        rule.verdict = f"it always held, but rests on words, and so needs a lower bound of {SURE}"
    elif tally.support >= least and candidate.chance <= ALPHA:
        rule.in_force, rule.verdict = True, "it always held"
    elif lean:
        rule.in_force, rule.verdict = True, "it always held, as it did for every other tool"
    elif tally.support < least:
        rule.verdict = f"it came up in fewer than {least} trajectories"
    else:
        rule.verdict = "it may be an accident: elsewhere it is so too"


def _prune(rules: list[Rule]) -> None:
    """Of rules in force that say the same, keep the one that says it most directly."""

    def key(rule: Rule) -> tuple[float, int]:
        return (rule.candidate.chance, rules.index(rule))

    for tool in {r.candidate.tool for r in rules}:
        live = [r for r in rules if r.candidate.tool == tool and r.in_force]
        settled: set[str] = set()  # arguments that a rule in force gives a source
        for form in ("previewed", "match", "predecessor", "limit"):
            for rule in sorted((r for r in live if r.candidate.form == form), key=key):
                arg = _argument(rule)
                if arg is None:
                    continue
                if arg in settled:
                    rule.in_force, rule.verdict = False, f"another rule says where `{arg}` comes from"
                settled.add(arg)
        stronger = [r for r in live if r.in_force and r.candidate.form == "previewed" and "with" in r.candidate.fields]
        for rule in live:
            if rule.candidate.form == "previewed" and "with" not in rule.candidate.fields and stronger:
                rule.in_force, rule.verdict = False, f"`{stronger[0].id}` says it and more"
        _same_field(live)


def _argument(rule: Rule) -> str | None:
    fields = rule.candidate.fields
    if "arg" in fields:
        return str(fields["arg"])
    found = re.search(r"args\.(\w+)\)? (?:==|<=)", str(fields.get("with", fields.get("fact", ""))))
    return found[1] if found is not None and rule.candidate.form != "fact" else None


def _same_field(live: list[Rule]) -> None:
    taken: set[str] = set()
    for rule in live:
        if rule.candidate.form == "fact" and rule.in_force:
            subject = str(rule.candidate.fields["fact"]).partition(" == ")[0]
            if subject in taken:
                rule.in_force, rule.verdict = False, "another rule speaks of that field"
            taken.add(subject)
