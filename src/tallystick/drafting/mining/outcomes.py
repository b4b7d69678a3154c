"""What results say: which words mean done, which that nothing happened, and what a result repeats of its call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.audit.step import is_id_name
from tallystick.audit.tools import REHEARSALS
from tallystick.drafting.counts import Tally
from tallystick.drafting.mining.corpus import Corpus, Sample, Usage
from tallystick.drafting.sheet import is_identifier
from tallystick.model import jsontext
from tallystick.model.values import same

_STATES: Final = ("status", "state", "outcome", "result")
RARE: Final = 0.1
"""Share of previews that may answer like a commit and still count as slips of the tool, not as its way."""


@dataclass(kw_only=True)
class Outcomes:
    """The success and rejection predicates of a tool, each with the cases behind it; None where nothing shows one."""

    ok: str | None = None
    ok_tally: Tally = field(default_factory=Tally)
    pending: str | None = None
    no_effect: str | None = None
    no_effect_tally: Tally = field(default_factory=Tally)
    remarks: list[str] = field(default_factory=list)
    echoes: dict[str, str] = field(default_factory=dict)
    echo_tally: Tally = field(default_factory=Tally)


def text_of(value: str) -> str:
    """Return a CEL string literal."""
    return jsontext.dumps(value)


def is_quotable(value: Any) -> bool:
    """Return whether a value is a short printable text, fit to stand in an expression."""
    return isinstance(value, str) and 0 < len(value) <= 60 and value.isprintable()


def commits(usage: Usage, env: str = "args") -> str:
    """Return the condition under which a call of a tool with a switch is the real thing."""
    assert usage.switch is not None
    name = f"{env}.{usage.switch}"
    real = f"!{name}" if usage.switch.lower() in REHEARSALS else name
    return f"(has({name}) && {real})" if usage.default_preview else f"(!has({name}) || {real})"


def outcomes_of(usage: Usage, corpus: Corpus) -> Outcomes:
    """Return what the results of a tool's calls say about them."""
    found = Outcomes()
    if not usage.writes:
        return found
    done = [s for s in usage.of("write") if s.good]
    shown = [s for s in usage.of("preview") if s.good]
    key = _state_key(done)
    if key is not None:
        _success(found, usage, key, done, shown)
    _unfinished(found, usage)
    _rejections(found, usage, corpus)
    _echoes(found, [*done, *shown])
    return found


def _unfinished(found: Outcomes, usage: Usage) -> None:
    """An answer that is not final by its own word (queued, in progress)."""
    cases = [s for s in usage.of("write") if s.came == "pending"]
    key = _state_key(cases)
    if key is not None:
        found.pending = _among(key, {s.value[key] for s in cases})


def _state_key(samples: Sequence[Sample]) -> str | None:
    for key in _STATES:
        if samples and all(isinstance(s.value, Mapping) and is_quotable(s.value.get(key)) for s in samples):
            return key
    return None


def _among(key: str, values: Iterable[str]) -> str:
    listed = sorted(set(values))
    if len(listed) == 1:
        return f"result.{key} == {text_of(listed[0])}"
    return f"result.{key} in [{', '.join(map(text_of, listed))}]"


def _success(found: Outcomes, usage: Usage, key: str, done: Sequence[Sample], shown: Sequence[Sample]) -> None:
    values = {s.value[key] for s in done}
    if len(values) > 8:
        return  # a text of its own each time, not a status
    real = _among(key, values)
    for sample in (*done, *shown):
        found.ok_tally.add(sample.seen, True)
    if usage.switch is None:
        found.ok = real
        return
    told = {s.value.get(key) for s in shown if isinstance(s.value, Mapping)}
    odd = [s for s in shown if isinstance(s.value, Mapping) and s.value.get(key) in values]
    if odd and len(odd) <= RARE * len(shown) and told - values:
        cases = ", ".join(str(s.seen) for s in odd[:2])
        found.remarks.append(f"decide: {len(odd)} previews answered like commits, so they may be real: {cases}")
        told -= values
    if told & values:
        found.remarks.append(f"decide: a preview and a commit both answer {_among(key, values)}; `ok` cannot tell them")
        return
    if not told or not all(is_quotable(t) for t in told):
        found.ok = f"!{commits(usage)} || {real}"
        return
    if len(values) == len(told) == 1:
        (one,), (other,) = values, told
        found.ok = f"result.{key} == ({commits(usage)[1:-1]} ? {text_of(one)} : {text_of(str(other))})"
        return
    found.ok = f"{commits(usage)} ? {real} : {_among(key, map(str, told))}"


def _rejections(found: Outcomes, usage: Usage, corpus: Corpus) -> None:
    """A rejection counts as one where its own word says so, or where reads before and after it agree."""
    parts: list[str] = []
    by_trace: Mapping[str, list[Sample]] | None = None
    for came, what in (("error", "an error"), ("rejected", "a rejection")):
        cases = [s for s in usage.samples if s.came == came and isinstance(s.value, Mapping)]
        if not cases:
            continue
        by_trace = by_trace if by_trace is not None else corpus.by_trace()
        checked = Tally()
        for sample in cases:
            unchanged = _unchanged(sample, by_trace[sample.trace])
            if unchanged is None and _repeated(sample, by_trace[sample.trace]):
                unchanged = True
            if unchanged is not None:
                checked.add(sample.seen, unchanged)
        text = _sign_of(cases)
        if checked.broke:
            found.remarks.append(f"decide: {what} is not taken as harmless: reads show a change around "
                                 f"{checked.examples()}")  # fmt: skip
        elif text is not None and (came == "rejected" or checked.held):
            parts.append(text)
            for sample in cases:
                found.no_effect_tally.add(sample.seen, True)
        elif text is not None:
            found.remarks.append(f"decide: does `{text}` mean that nothing happened? nothing read shows it "
                                 f"({len(cases)} seen); then `no_effect: {text}`")  # fmt: skip
    found.no_effect = " || ".join(parts) if parts else None


def _sign_of(cases: Sequence[Sample]) -> str | None:
    """Return the predicate that all these results satisfy."""
    for key in ("error", "errors"):
        if all(s.value.get(key) for s in cases):
            return f"has(result.{key})"
    state = _state_key(cases)
    return None if state is None else _among(state, {s.value[state] for s in cases})


def _unchanged(sample: Sample, calls: Sequence[Sample]) -> bool | None:
    """Whether one read made before and again after a rejected call answers the same, no write between; None if none."""
    before: dict[tuple[str, str], Any] = {}
    for other in calls:
        if other.order >= sample.order:
            break
        if _may_change(other) and other.came not in ("rejected", "error"):
            before.clear()
        elif other.effect == "read" and other.good:
            before[other.call.tool, repr(sorted(other.args.items(), key=repr))] = other.value
    named = {str(v) for v in sample.args.values() if isinstance(v, (str, int)) and not isinstance(v, bool)}
    for other in calls:
        if other.order <= sample.order:
            continue
        if _may_change(other):
            return None
        key = (other.call.tool, repr(sorted(other.args.items(), key=repr)))
        about = any(str(v) in named for v in other.args.values() if isinstance(v, (str, int)))
        if other.effect == "read" and other.good and about and key in before:
            return same(before[key], other.value)
    return None


def _may_change(sample: Sample) -> bool:
    return sample.effect == "write" or (sample.effect == "preview" and sample.came == "ok")


def _repeated(sample: Sample, calls: Sequence[Sample]) -> bool:
    """Whether the very same call was made again and done: in a good trajectory, then, the first had done nothing."""
    return any(
        o.order > sample.order and o.good and o.call.tool == sample.call.tool and same(dict(o.args), dict(sample.args))
        for o in calls
    )


def _echoes(found: Outcomes, good: Sequence[Sample]) -> None:
    """An identifying argument that every good result repeats under its own name."""
    for arg in dict.fromkeys(a for s in good for a in s.args):
        if not is_id_name(arg) or not is_identifier(arg):
            continue
        cases = [s for s in good if arg in s.args and isinstance(s.value, Mapping) and arg in s.value]
        texts = {str(s.args[arg]) for s in cases}
        if len(texts) > 1 and all(same(s.value[arg], s.args[arg]) for s in cases):
            found.echoes[arg] = f"/{arg}"
            for sample in cases:
                found.echo_tally.add(sample.seen, True)
