"""`mine`: a first contract from good trajectories, each rule with the cases that taught it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tallystick import contracts
from tallystick.audit.contract import judge
from tallystick.contracts.types import Contract
from tallystick.drafting.counts import Tally
from tallystick.drafting.draft import OWES_NOTHING
from tallystick.drafting.mining.candidates import candidates
from tallystick.drafting.mining.corpus import Corpus, corpus
from tallystick.drafting.mining.kinds import kinds_in
from tallystick.drafting.mining.report import report_of
from tallystick.drafting.mining.structure import Structure, structure_of
from tallystick.drafting.mining.together import Apart, Once, exclusions, once_per
from tallystick.drafting.mining.weigh import ALPHA, Rule, add_binds, weigh
from tallystick.drafting.mining.witness import Witness, witness
from tallystick.drafting.shape import id_base, is_amount
from tallystick.drafting.sheet import RuleSheet, as_mapping, contract_name, kind_name
from tallystick.drafting.spec import ToolSpec
from tallystick.drafting.yaml import write
from tallystick.errors import InputError
from tallystick.model.trace import Trace

MIN_SUPPORT: Final = 5
"""Fewest trajectories in which a rule must have come up, and always held."""
_NEAR: Final = 3
"""Most almost-rules written for one tool; the report has all of them."""
_WORDS: Final = 8
"""Most different texts of a field that still reads as a status or a class."""


@dataclass(frozen=True, kw_only=True)
class Mined:
    """A mined contract: its text, the same compiled, and the report (plain JSON values)."""

    text: str
    contract: Contract
    report: dict[str, Any]
    notes: tuple[str, ...] = ()


def mine(
    traces: Sequence[Trace],
    *,
    specs: Mapping[str, ToolSpec] | None = None,
    name: str = "mined",
    min_support: int = MIN_SUPPORT,
    of: int | None = None,
) -> Mined:
    """Return a first contract from good trajectories.

    The result depends on the trajectories alone, not on their order or on how often one is given.

    Args:
        traces: the good ones; a quarantined trace is left out.
        specs: declared tools, by name (`drafting.specs.read_sources`); without them, names are guessed from.
        name: for the contract.
        min_support: fewest trajectories in which a rule must have come up.
        of: how many trajectories there were before the good ones were chosen, for the report.

    Raises:
        InputError: nothing to learn from, or `min_support` is not positive.
    """
    if min_support < 1:
        raise InputError(f"`{min_support}` trajectories can teach nothing", fix="a minimum support of 1 or more")
    learnt = corpus(traces, specs or {})
    if not learnt.tools:
        raise InputError("the trajectories hold no call that can be used", fix="traces with tool calls and results")
    kinds = kinds_in(learnt)
    made = structure_of(learnt, kinds, contract_name(name))
    seen = witness(learnt.traces, contracts.build(as_mapping(made.sheet)))
    found = [c for tool in made.sheet.tools for c in candidates(tool, made, seen, learnt, kinds)]
    rules = weigh(found, made, learnt, min_support)
    once = {tool: once_per(tool, made, seen, ALPHA) for tool in seen.successes}
    apart = exclusions(made, seen, ALPHA, min_support)
    _finish(made, rules, once, apart, seen)
    _intro(made, learnt, min_support, of)
    against = _admitted(made, once, learnt)
    text = write(made.sheet)
    contract = contracts.parse(text)
    report = report_of(learnt, kinds, made, rules, once, apart, against, min_support=min_support, of=of)
    notes = [f"`{tool}` is left out: no contract can mention a tool of that name" for tool in learnt.left_out]
    dropped = len({t.sha256 for t in traces if t.quarantined})
    if dropped:
        notes.append(f"{dropped} left out: which result answers which call cannot be told")
    return Mined(text=text, contract=contract, report=report, notes=tuple(notes))


def _intro(made: Structure, learnt: Corpus, least: int, of: int | None) -> None:
    many = len(learnt.traces)
    chosen = f"{many} good trajector{'y' if many == 1 else 'ies'}" + (f" of {of}" if of not in (None, many) else "")
    counted = (
        f"A first contract, mined from {chosen}. Every count is of trajectories; the percentage is the lower end of "
        "Wilson's 95% interval: how often the rule may be expected to hold elsewhere, no better than that."
    )
    weighed = (
        f"In force is what came up in {least} or more, always held, and is unlikely to be an accident. Rules behind a "
        "`#` are for a person to decide. What always happened need not be what is required."
    )
    made.sheet.intro = [counted, weighed, OWES_NOTHING]


def _finish(
    made: Structure, rules: Sequence[Rule], once: Mapping[str, Once], apart: Sequence[Apart], seen: Witness
) -> None:
    for tool, page in made.sheet.tools.items():
        mine_ = [r for r in rules if r.candidate.tool == tool]
        live = [r for r in mine_ if r.in_force]
        near = sorted((r for r in mine_ if r.near), key=lambda r: (-r.tally.lower, r.id))[:_NEAR]
        add_binds(page, live)
        page.requires = [_requirement(r) for r in [*live, *near]]
        effects = len(seen.successes.get(tool, ()))
        if page.writes and not effects:
            page.remarks.append("no effect of it was seen, so nothing is known about what it needs")
        _once(made, tool, once.get(tool))
    for group in apart:
        if group.in_force or group.likely:
            made.sheet.exclusive.append(_exclusive(group))
    _trim(made, seen)


def _requirement(rule: Rule) -> RuleSheet:
    off = "" if rule.in_force else "not in force: "
    cases = f"against: {rule.tally.examples()}" if rule.tally.broke else f"e.g. {rule.tally.examples(1)}"
    remark = f"{off}{rule.candidate.because}: {rule.tally.words()}; {cases}"
    return RuleSheet(fields={"id": rule.id, **rule.candidate.fields}, remark=remark, in_force=rule.in_force)


def _once(made: Structure, tool: str, once: Once | None) -> None:
    page = made.sheet.tools[tool]
    if once is None or not page.writes:
        return
    if once.arg is not None:
        page.put("once_per", f"args.{once.arg}", f"no second effect on one: {once.tally.words()}")
        return
    if once.undone_by:
        page.put(
            "undone_by", list(once.undone_by), f"the same call took effect again after it: {once.tally.examples()}"
        )
    elif once.tally.broke:
        page.remarks.append(
            f"decide: the very same call took effect twice ({once.tally.examples()}); the gate answers the second one "
            "from the record. Say what tells them apart: `once_per`"
        )
    elif tool in made.primary and made.primary[tool].arg is not None:
        arg = made.primary[tool].arg
        page.remarks.append(f"decide: one effect per `{arg}`? then `once_per: args.{arg}`; now it is all arguments")


def _exclusive(group: Apart) -> RuleSheet:
    args = set(group.per.values())
    per: Any = f"args.{next(iter(args))}" if len(args) == 1 else {t: f"args.{a}" for t, a in sorted(group.per.items())}
    fields = {"id": f"one-per-{group.kind}-{group.tools[0]}".replace("/", "-").replace(":", "-")[:100],
              "tools": list(group.tools), "per": per}  # fmt: skip
    entities = len(group.tally.held)
    off = "" if group.in_force else "not in force: "
    remark = f"{off}never two of these on one {group.kind} ({entities} of them): {group.tally.words()}"
    return RuleSheet(fields=fields, remark=f"{remark}; e.g. {group.tally.examples(1)}", in_force=group.in_force)


def _trim(made: Structure, seen: Witness) -> None:
    """Leave out what facts nobody asks about: free text, and numbers that are no amounts."""
    asked = " ".join(
        " ".join([str(page.value("bind") or ""), *(str(v) for r in page.requires for v in r.fields.values())])
        for page in made.sheet.tools.values()
    )
    values: dict[tuple[str, str], set[str]] = {}
    for (_, kind, _), fields in seen.entities.items():
        for name, value in fields.items():
            values.setdefault((kind, name), set()).add(repr(value))
    many = Counter(kind for _, kind, _ in seen.entities)
    for kind, fields in made.sheet.entities.items():
        for name in list(fields):
            text = made.types.get((kind, name), "id")
            few = len(values.get((kind, name), ())) <= min(_WORDS, many[kind] // 2)
            keep = (
                name == "id" or f".{name}" in asked or text == "boolean" or (text == "string" and few)
                or (text == "id" and kind_name(id_base(name)) in made.sheet.entities)
                or (text in ("integer", "decimal") and is_amount(name))
            )  # fmt: skip
            if not keep:
                del fields[name]
    for page in made.sheet.tools.values():
        for rule in page.yields:
            known = made.sheet.entities[rule.kind]
            rule.fields = {n: p for n, p in rule.fields.items() if n in known}


def _admitted(made: Structure, once: dict[str, Once], learnt: Corpus) -> Tally:
    """Return which effects of the trajectories the finished contract admits, after taking back each `once_per` by
    which the gate would have stopped one: an attempt that failed in doubt and was made again differently, say.
    """  # noqa: D205 - one sentence
    while True:
        contract = contracts.build(as_mapping(made.sheet))
        tally = _against(contract, learnt)
        stopped = {(s.trace, s.call) for s in tally.broke}
        tools = {c.tool for label, t in learnt.traces.items() for c in t.calls if (label, c.id) in stopped}
        wrong = [tool for tool in sorted(tools) if made.sheet.tools[tool].value("once_per")]
        if not wrong:
            return tally
        for tool in wrong:
            page = made.sheet.tools[tool]
            page.put("once_per", None)
            once[tool] = Once(arg=None, tally=tally, chance=1.0)
            cases = Tally(broke=[s for s in tally.broke if (s.trace, s.call) in stopped])
            page.remarks.append(f"decide: what makes two calls one effect is not clear: {cases.examples()}; `once_per`")


def _against(contract: Contract, learnt: Corpus) -> Tally:
    """Return which effects of the trajectories a contract admits, and which it would have stopped."""
    tally = Tally()
    for label, trace in learnt.traces.items():
        stopped = {f.call for f in judge(trace, contract) if f.severity == "error"}
        for usage in learnt.tools.values():
            for sample in usage.samples:
                if sample.trace == label and sample.effect == "write" and sample.good:
                    tally.add(sample.seen, sample.call.id not in stopped)
    return tally
